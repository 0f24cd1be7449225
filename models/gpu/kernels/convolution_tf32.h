#pragma once

#include "models/gpu/kernels/convolution_weights.h"
#include "models/gpu/kernels/matrix_tile.h"

/// Convolutions of stride 1, their dx and dW, by products of TF32 parts: float32 whose sums are off
/// by some 1e-6 of their norm with 16 input channels and 4e-6 with 64.
namespace gradrace::kernels {

/// What a block makes: a crew makes 16 maps of 8 x 8 numbers, and a block `groups` x `bands` x
/// `segments` of these of `images` images.  In shared memory x lies as [channels, images, height,
/// pitch], channels channel_pitch apart, and W as [channels, kernel, kernel, weights_pitch].
struct MatrixConvolutionTile {
  std::uint32_t images, groups, bands, segments;
  std::uint32_t channels, height, pitch, channel_pitch, weights_pitch;
  std::uint32_t image_tiles, group_tiles, band_tiles, segment_tiles;

  GRADRACE_HD std::uint32_t blocks() const {
    return image_tiles * group_tiles * band_tiles * segment_tiles;
  }
  GRADRACE_HD std::uint32_t crews() const { return images * groups * bands * segments; }
};

/// The tile of at most eight crews for n images.
template <std::uint32_t kernel>
MatrixConvolutionTile matrix_convolution_tile(const WayShape& shape, std::uint32_t n) {
  constexpr std::uint32_t room = 3 * scratch_numbers, area = kernel * kernel;
  MatrixConvolutionTile tile{};
  std::uint32_t left = 8;
  const auto cut = [&](std::uint32_t all, std::uint32_t most, std::uint32_t& tiles) {
    const std::uint32_t together = ceiling(all, ceiling(all, std::min(most, left)));
    tiles = ceiling(all, together), left /= together;
    return together;
  };
  tile.groups = cut(ceiling(shape.outputs, 16), 4, tile.group_tiles);
  tile.segments = cut(ceiling(shape.width, 8), 4, tile.segment_tiles);
  tile.bands = cut(ceiling(shape.height, 8), 2, tile.band_tiles);
  tile.images = cut(n, tile.group_tiles * tile.segment_tiles * tile.band_tiles == 1 ? 8 : 1,
                    tile.image_tiles);
  tile.height = 8 * tile.bands + kernel - 1;
  tile.pitch = in_fours(8 * tile.segments + kernel - 1);
  tile.channel_pitch = spread(tile.images * tile.height * tile.pitch, 4, 16);
  tile.weights_pitch = 16 * tile.groups + 4;
  const std::uint32_t per_eight = 8 * (tile.channel_pitch + area * tile.weights_pitch);
  const std::uint32_t eights = ceiling(shape.inputs, 8);
  tile.channels = 8 * ceiling(eights, ceiling(eights, room / per_eight));
  return tile;
}

/// z and what follows it, or dx.
///
/// For eight input channels and one column of the kernel a lane reads 2 (7 + kernel) numbers of x
/// and 4 kernel of W, and its crew multiplies 24 kernel tiles.
template <std::uint32_t kernel, Way way>
struct MatrixConvolutionKernel {
  using Real = float;

  Pass<Real> pass;
  Layer layer;
  WayShape shape;
  MatrixConvolutionTile tile;

  MatrixConvolutionKernel(const Pass<Real>& of_pass, const Layer& of_layer)
      : pass(of_pass),
        layer(of_layer),
        shape(layer, way, 0),
        tile(matrix_convolution_tile<kernel>(shape, pass.n)) {}

  static constexpr std::uint32_t threads = 256, at_once = 2;
  std::size_t shared_numbers() const {
    return tile.channels * (tile.channel_pitch + area * tile.weights_pitch);
  }
  /// Of a job.
  GRADRACE_HD std::uint32_t blocks() const { return tile.blocks(); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    constexpr std::uint32_t crew = crew_threads<Block>;
    const LayerAt<Real> at = pass.at(layer, number / blocks());
    std::uint32_t rest = number % blocks();
    const auto next = [&](std::uint32_t tiles, std::uint32_t together) {
      const std::uint32_t first = rest % tiles * together;
      rest /= tiles;
      return first;
    };
    const std::uint32_t segment = next(tile.segment_tiles, tile.segments);
    const std::uint32_t band = next(tile.band_tiles, tile.bands);
    const std::uint32_t group = next(tile.group_tiles, tile.groups), image = rest * tile.images;
    const std::int32_t origin = WindowTaps<kernel, 1, way>::origin(layer.padding);
    MapPart part{image,
                 smaller(tile.images, pass.n - image),
                 0,
                 0,
                 origin + static_cast<std::int32_t>(8 * band),
                 origin + static_cast<std::int32_t>(8 * segment),
                 tile.height,
                 tile.pitch};
    Real* const x = block.template scratch<Real>();
    Real* const w = x + tile.channels * tile.channel_pitch;

    // Of each crew's share that the thread takes part in: one, where all threads are there.
    constexpr std::uint32_t most = Block::has_all_threads ? 1 : 8;
    MatrixTile<crew> sums[most][8];
    const std::uint32_t lane = crew_lane(block);
    const auto each_share = [&](const auto& f) {
      for (std::uint32_t s = 0; s < most; ++s) {
        const std::uint32_t share = (block.thread() + s * block.threads()) / crew;
        if (share < tile.crews()) f(sums[s], Share(tile, share));
      }
    };
    for (; part.first_channel < shape.inputs; part.first_channel += tile.channels) {
      part.channels = smaller(tile.channels, shape.inputs - part.first_channel);
      if (part.first_channel == 0 || (way == Way::back && layer.pools)) {
        clear(block, x, tile.channels * tile.channel_pitch);
        block.sync();
      }
      load<false>(block, way == Way::forward ? maps_of_x(at) : maps_of_dz(at), part,
                  [&](std::uint32_t channel, std::uint32_t e, std::uint32_t i, std::uint32_t j,
                      Real value) {
                    x[channel * tile.channel_pitch + (e * tile.height + i) * tile.pitch + j] =
                        value;
                  });
      load_weights(block, at.W(), part, 16 * group, w);
      block.sync();
      each_share([&](MatrixTile<crew>(&sum)[8], const Share& share) {
        const Real* from =
            x + (share.image * tile.height + 8 * share.band) * tile.pitch + 8 * share.segment;
        const Real* weights = w + 16 * share.group;
        GRADRACE_ROLLED
        for (std::uint32_t c = 0; c < part.channels; c += 8) {
          GRADRACE_ROLLED
          for (std::uint32_t l = 0; l < kernel; ++l)
            add(lane, from + l, weights + l * tile.weights_pitch, sum);
          from += 8 * tile.channel_pitch, weights += 8 * area * tile.weights_pitch;
        }
      });
      block.sync();
    }
    each_share([&](MatrixTile<crew>(&sum)[8], const Share& share) {
      if (share.image >= part.images) return;
      GRADRACE_UNROLL
      for (std::uint32_t row = 0; row < 8; row += 2) {
        GRADRACE_UNROLL
        for (std::uint32_t i = 0; i < MatrixTile<crew>::held; i += 2) {
          const MatrixPlace place = MatrixTile<crew>::place(lane, i);
          const std::uint32_t o = 16 * (group + share.group) + place.row;
          const std::uint32_t top = 8 * (band + share.band) + row;
          const std::uint32_t left = 8 * (segment + share.segment) + place.column;
          const Real z[4][1] = {{sum[row].number[i]},
                                {sum[row].number[i + 1]},
                                {sum[row + 1].number[i]},
                                {sum[row + 1].number[i + 1]}};
          if (o < shape.outputs && top < shape.height && left < shape.width)
            store_squares<way>(at, shape, image + share.image, o, top, left, z);
        }
      }
    });
  }

 private:
  static constexpr std::uint32_t area = kernel * kernel;

  /// What a crew makes.
  struct Share {
    std::uint32_t segment, band, image, group;

    GRADRACE_HD Share(const MatrixConvolutionTile& tile, std::uint32_t number)
        : segment(number % tile.segments),
          band(number / tile.segments % tile.bands),
          image(number / tile.segments / tile.bands % tile.images),
          group(number / tile.segments / tile.bands / tile.images) {}
  };

  /// The part's channels of W, as the window is multiplied by it, from output `first` on; zeros up
  /// to a multiple of eight channels.
  template <class Block>
  GRADRACE_HD void load_weights(const Block& block, const Real* W, const MapPart& part,
                                std::uint32_t first, Real* to) const {
    const std::uint32_t outputs = smaller(16 * tile.groups, shape.outputs - first);
    const std::uint32_t channels = (part.channels + 7) / 8 * 8;
    const Divisor run((way == Way::forward ? channels : outputs) * area);
    each(block, outputs * channels * area, [&](std::uint32_t item) {
      const std::uint32_t i = run.quotient(item), j = item - i * run.value;
      const std::uint32_t tap = j % area;
      const std::uint32_t channel = way == Way::forward ? j / area : i;
      const std::uint32_t o = way == Way::forward ? i : j / area;
      const std::uint32_t c = part.first_channel + channel;
      const std::uint32_t row =
          way == Way::forward ? (first + o) * shape.inputs + c : c * shape.outputs + first + o;
      const std::uint32_t place = way == Way::forward ? tap : area - 1 - tap;
      to[(channel * area + place) * tile.weights_pitch + o] =
          channel < part.channels ? W[row * area + tap] : 0;
    });
  }

  /// sums += what one column of the kernel gives of eight channels.
  template <std::uint32_t crew>
  GRADRACE_HD void add(std::uint32_t lane, const Real* from, const Real* weights,
                       MatrixTile<crew> (&sums)[8]) const {
    using Right = RightFactor<crew, 2>;
    Right rows[7 + kernel];
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < 7 + kernel; ++i)
      rows[i].load(lane, [&](std::uint32_t channel, std::uint32_t column) {
        return from[channel * tile.channel_pitch + i * tile.pitch + column];
      });
    GRADRACE_UNROLL
    for (std::uint32_t k = 0; k < kernel; ++k) {
      LeftFactor<crew, 2> of_row;
      of_row.load(lane, [&](std::uint32_t o, std::uint32_t channel) {
        return weights[(channel * area + k * kernel) * tile.weights_pitch + o];
      });
      multiply_add(sums, of_row, reinterpret_cast<const Right(&)[8]>(rows[k]));
    }
  }
};

/// What a crew makes of dW by such products: 16 outputs x 8 channels x kernel_rows rows of the
/// kernel, as ThreadWeights has it.
///
/// For eight numbers of dz of each of its outputs a lane reads four of dz and two of x for each
/// column of the kernel.
template <std::uint32_t kernel_>
struct CrewWeights {
  using Real = float;
  static constexpr std::uint32_t kernel = kernel_, stride = 1, outputs = 16, channels = 8;
  static constexpr std::uint32_t kernel_rows = kernel == 3 ? 3 : 1, taps = kernel_rows * kernel;
  static constexpr std::uint32_t shares = 8, most_outputs = 16;
  static constexpr std::uint32_t at_once = 2, least_work = 1 << 20;
  template <class Block>
  static constexpr std::uint32_t crew = crew_threads<Block>;
  template <std::uint32_t crew>
  struct Sums {
    MatrixTile<crew> of_tap[taps];
  };

  /// What lanes read lies in different banks.
  static std::uint32_t column_pitch(std::uint32_t of_block) { return of_block + 4; }

  template <std::uint32_t crew>
  GRADRACE_HD static void add(std::uint32_t lane, const WeightTile& tile, const Real* x,
                              const Real* z, Sums<crew>& sums) {
    RightFactor<crew, 2> window[taps];
    const auto load_row = [&](std::uint32_t row) {
      GRADRACE_UNROLL
      for (std::uint32_t l = 0; l < kernel; ++l)
        window[row * kernel + l].load(lane, [&](std::uint32_t column, std::uint32_t channel) {
          return x[channel * tile.channel_pitch + row * tile.pitch + column + l];
        });
    };
    GRADRACE_UNROLL
    for (std::uint32_t row = 0; row + 1 < kernel_rows; ++row) load_row(row);
    GRADRACE_ROLLED
    for (std::uint32_t row = 0; row < tile.block_rows; ++row) {
      load_row(kernel_rows - 1);
      LeftFactor<crew, 2> dz;
      dz.load(lane, [&](std::uint32_t o, std::uint32_t column) {
        return z[column * tile.column_pitch + o];
      });
      multiply_add(sums.of_tap, dz, window);
      GRADRACE_UNROLL
      for (std::uint32_t t = 0; t + kernel < taps; ++t) window[t] = window[t + kernel];
      x += tile.pitch, z += tile.segments * tile.segment_pitch;
    }
  }
  template <std::uint32_t crew, class Function>
  GRADRACE_HD static void each(std::uint32_t lane, Sums<crew>& sums, const Function& f) {
    GRADRACE_UNROLL
    for (std::uint32_t t = 0; t < taps; ++t)
      sums.of_tap[t].each(lane, [&](std::uint32_t o, std::uint32_t channel, Real number) {
        f(t, o, channel, number);
      });
  }
};

}  // namespace gradrace::kernels
