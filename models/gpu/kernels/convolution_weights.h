#pragma once

#include "models/gpu/kernels/convolution.h"

/// dW and db of convolutions: sums over the pixels of a minibatch, in parts of so many of them,
/// which are added in their order.  The parts follow from the layer and the rows of the minibatch
/// alone.
namespace gradrace::kernels {

/// How dW is cut into parts: a strip is some rows and columns of the dz of an image, and so many
/// strips beside each other are a part, which has a block for each `outputs` x `channels`.
struct WeightTile {
  std::uint32_t outputs, channels, output_tiles, channel_tiles;
  std::uint32_t rows, segments;              // of a strip; a segment has eight columns
  std::uint32_t strips_down, strips_across;  // of an image
  std::uint32_t strips_of_part, parts;
  // In shared memory at once: `images` strips, x as [channels, images, height, pitch] with channels
  // channel_pitch apart, dz as [images, rows, segments, 8, column_pitch] with segments
  // segment_pitch apart.
  std::uint32_t images, height, pitch, channel_pitch, segment_pitch, column_pitch;
  // A share of a strip is every slices-th of its blocks of block_rows x 8 numbers of dz.
  std::uint32_t slices, block_rows;

  GRADRACE_HD std::uint32_t strips() const { return strips_down * strips_across; }
  GRADRACE_HD std::uint32_t x_numbers() const { return channels * channel_pitch; }
  GRADRACE_HD std::uint32_t z_numbers() const { return images * rows * segments * segment_pitch; }
  GRADRACE_HD std::uint32_t blocks() const { return parts * output_tiles * channel_tiles; }
};

/// What a thread makes of dW: `outputs` x `channels` (one) x kernel_rows rows of the kernel.
///
/// For eight numbers of dz of each of its outputs it reads 8 + kernel or so of x and multiplies 8
/// outputs kernel_rows kernel times.
template <class Number, std::uint32_t kernel_, std::uint32_t stride_, std::uint32_t outputs_>
struct ThreadWeights {
  using Real = Number;
  static constexpr std::uint32_t kernel = kernel_, stride = stride_, outputs = outputs_;
  static constexpr std::uint32_t channels = 1, kernel_rows = kernel == 3 ? 3 : 1;
  static constexpr std::uint32_t shares = 256, most_outputs = 4 * outputs;
  static constexpr std::uint32_t at_once = sizeof(Real) > 4 ? 1 : kernel == 3 ? 2 : 3;
  static constexpr std::uint32_t least_work = kernel == 3 ? 1 << 20 : 5 << 17;
  /// Threads of a share.
  template <class Block>
  static constexpr std::uint32_t crew = 1;
  struct ShareSums {
    Real of_tap[kernel_rows * kernel][outputs] = {};
  };
  template <std::uint32_t>
  using Sums = ShareSums;

  static std::uint32_t column_pitch(std::uint32_t of_block) { return of_block; }

  /// sums += what eight columns of block_rows rows of dz give.
  GRADRACE_HD static void add(std::uint32_t, const WeightTile& tile, const Real* x, const Real* z,
                              Sums<1>& sums) {
    constexpr std::uint32_t span = 7 * stride + kernel;
    // From one row of dz to the next the window moves on.
    constexpr std::uint32_t kept = kernel_rows > stride ? kernel_rows - stride : 0;
    Real window[kernel_rows][span];
    if constexpr (kept > 0) {
      GRADRACE_UNROLL
      for (std::uint32_t i = 0; i < kept; ++i) read<4, span>(x + i * tile.pitch, window[i]);
    }
    GRADRACE_UNROLL_BY_4
    for (std::uint32_t row = 0; row < tile.block_rows; ++row) {
      GRADRACE_UNROLL
      for (std::uint32_t i = kept; i < kernel_rows; ++i)
        read<4, span>(x + i * tile.pitch, window[i]);
      GRADRACE_UNROLL
      for (std::uint32_t j = 0; j < 8; ++j) {
        Real d[outputs];
        read<outputs & -outputs, outputs>(z + j * tile.column_pitch, d);
        GRADRACE_UNROLL
        for (std::uint32_t t = 0; t < kernel_rows * kernel; ++t) {
          GRADRACE_UNROLL
          for (std::uint32_t o = 0; o < outputs; ++o)
            sums.of_tap[t][o] =
                fused(d[o], window[t / kernel][stride * j + t % kernel], sums.of_tap[t][o]);
        }
      }
      if constexpr (kept > 0) {
        GRADRACE_UNROLL
        for (std::uint32_t i = 0; i < kept; ++i) {
          GRADRACE_UNROLL
          for (std::uint32_t j = 0; j < span; ++j) window[i][j] = window[i + stride][j];
        }
      }
      x += stride * tile.pitch, z += tile.segments * tile.segment_pitch;
    }
  }
  /// f(tap, output, channel, number), taps counted from the share's first.
  template <class Function>
  GRADRACE_HD static void each(std::uint32_t, Sums<1>& sums, const Function& f) {
    GRADRACE_UNROLL
    for (std::uint32_t t = 0; t < kernel_rows * kernel; ++t) {
      GRADRACE_UNROLL
      for (std::uint32_t o = 0; o < outputs; ++o) f(t, o, 0u, sums.of_tap[t][o]);
    }
  }
};

/// The tile of a layer in minibatches of n rows.  A part's block multiplies least_work times
/// or more, and there are not many more blocks than a device has at work at the same time.
template <class Maker>
WeightTile weight_tile(const Layer& layer, std::uint32_t n) {
  constexpr std::uint32_t room = 2 * scratch_numbers, kernel = Maker::kernel;
  constexpr std::uint32_t stride = Maker::stride, units = kernel / Maker::kernel_rows;
  const ConvolvedShape shape(layer);
  WeightTile tile{};
  const auto cut = [](std::uint32_t all, std::uint32_t most, std::uint32_t of_share,
                      std::uint32_t& tiles) {
    const std::uint32_t shares = ceiling(all, of_share);
    tiles = ceiling(shares, most / of_share);
    return ceiling(shares, tiles) * of_share;
  };
  tile.outputs = cut(shape.outputs, Maker::most_outputs, Maker::outputs, tile.output_tiles);
  tile.channels = cut(shape.channels, 64 / units, Maker::channels, tile.channel_tiles);
  tile.slices =
      Maker::shares / (tile.channels / Maker::channels * units * (tile.outputs / Maker::outputs));
  tile.column_pitch = Maker::column_pitch(tile.outputs);
  tile.segment_pitch = 8 * tile.column_pitch + 4;
  const std::uint32_t all_segments = ceiling(shape.z_width, 8);
  tile.block_rows =
      Maker::kernel_rows == 1 ? 1 : std::clamp(shape.z_height * all_segments / tile.slices, 2u, 8u);

  const auto fits = [&](std::uint32_t rows, std::uint32_t segments, std::uint32_t images) {
    tile.rows = rows, tile.segments = segments, tile.images = images;
    tile.height = (rows - 1) * stride + kernel;
    tile.pitch = in_fours((8 * segments - 1) * stride + kernel);
    tile.channel_pitch = images * tile.height * tile.pitch;
    if (tile.channel_pitch % 8 == 0) tile.channel_pitch += 4;  // in other banks
    return tile.x_numbers() + tile.z_numbers() <= room;
  };
  const std::uint32_t all_rows = ceiling(shape.z_height, tile.block_rows) * tile.block_rows;
  std::uint32_t rows = all_rows, segments = std::min(all_segments, 4u);
  while (!fits(rows, segments, 1)) {
    if (rows > tile.block_rows)
      rows -= tile.block_rows;
    else if (segments > 1)
      --segments, rows = all_rows;
    else
      --tile.block_rows, rows = tile.block_rows;
  }
  tile.strips_down = ceiling(shape.z_height, rows);
  tile.strips_across = ceiling(all_segments, segments);

  const std::uint32_t strips = n * tile.strips(), tiles = tile.output_tiles * tile.channel_tiles;
  const std::uint32_t work = 8 * segments * rows * tile.outputs * tile.channels * kernel * kernel;
  tile.parts =
      ceiling(strips, std::max(ceiling(Maker::least_work, work), ceiling(strips * tiles, 256)));
  tile.strips_of_part = ceiling(strips, tile.parts);
  tile.parts = ceiling(strips, tile.strips_of_part);
  std::uint32_t images = 1;
  while (tile.strips() == 1 && images < tile.strips_of_part && fits(rows, segments, images + 1))
    ++images;
  fits(rows, segments, ceiling(tile.strips_of_part, ceiling(tile.strips_of_part, images)));
  return tile;
}

/// The parts of dW, whose shares Maker makes, and of db: every lane adds up some pixels of an
/// output.
template <class Maker>
struct WeightPartsKernel {
  using Real = typename Maker::Real;

  Pass<Real> pass;
  Layer layer;
  WeightTile tile;

  WeightPartsKernel(const Pass<Real>& of_pass, const Layer& of_layer)
      : pass(of_pass), layer(of_layer), tile(weight_tile<Maker>(of_layer, of_pass.n)) {}

  static constexpr std::uint32_t threads = 256, at_once = Maker::at_once;
  std::size_t shared_numbers() const {
    return std::max(tile.x_numbers() + tile.z_numbers(), slice_numbers() + threads);
  }
  GRADRACE_HD std::uint32_t parts() const { return tile.parts; }
  /// Of a job.
  GRADRACE_HD std::uint32_t blocks() const { return tile.blocks(); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const LayerAt<Real> at = pass.at(layer, number / blocks());
    const std::uint32_t of_job = number % blocks();
    const std::uint32_t first_output = of_job % tile.output_tiles * tile.outputs;
    const std::uint32_t first_channel =
        of_job / tile.output_tiles % tile.channel_tiles * tile.channels;
    const std::uint32_t part = of_job / tile.output_tiles / tile.channel_tiles;
    const std::uint32_t outputs = smaller(tile.outputs, layer.outputs - first_output);
    const std::uint32_t channels = smaller(tile.channels, layer.channels - first_channel);
    Real* const x = block.template scratch<Real>();
    Real* const z = x + tile.x_numbers();

    // Of each share that the thread takes part in: one, where all threads are there.
    constexpr std::uint32_t crew = Maker::template crew<Block>;
    constexpr std::uint32_t most = Block::has_all_threads ? 1 : Maker::shares;
    using Sums = typename Maker::template Sums<crew>;
    Sums sums[most];  // zeros
    const bool has_b = layer.bias && first_channel == 0;
    constexpr std::uint32_t most_pixels = Block::has_all_threads ? 1 : threads;
    const std::uint32_t lanes_of_b = threads / tile.outputs / 8 * 8;  // each has a column of eight
    double of_b[most_pixels] = {};
    const auto each_of_b = [&](const auto& f) {
      for (std::uint32_t s = 0; has_b && s < most_pixels; ++s) {
        const std::uint32_t i = block.thread() + s * block.threads();
        if (i < lanes_of_b * tile.outputs) f(of_b[s], i);
      }
    };
    const std::uint32_t lane = block.thread() % crew;
    const std::uint32_t count =
        tile.channels / Maker::channels * units * (tile.outputs / Maker::outputs) * tile.slices;
    const auto each_share = [&](const auto& f) {
      for (std::uint32_t s = 0; s < most; ++s) {
        const std::uint32_t share = (block.thread() + s * block.threads()) / crew;
        if (share < count) f(sums[s], Share(tile, share));
      }
    };
    const Divisor across(tile.segments), down((tile.rows + tile.block_rows - 1) / tile.block_rows);
    const std::uint32_t first = part * tile.strips_of_part;
    const std::uint32_t end = smaller(first + tile.strips_of_part, pass.n * tile.strips());
    for (std::uint32_t strip = first; strip < end; strip += tile.images) {
      const std::uint32_t images = smaller(tile.images, end - strip);
      const std::uint32_t image = strip / tile.strips(), of_image = strip % tile.strips();
      const auto top = static_cast<std::int32_t>(of_image / tile.strips_across * tile.rows);
      const auto left =
          static_cast<std::int32_t>(of_image % tile.strips_across * tile.segments * 8);
      clear(block, x, tile.x_numbers() + tile.z_numbers());
      block.sync();
      const auto step = static_cast<std::int32_t>(Maker::stride);
      const auto padding = static_cast<std::int32_t>(layer.padding);
      load<false>(block, maps_of_x(at),
                  {image, images, first_channel, channels, top * step - padding,
                   left * step - padding, tile.height, tile.pitch},
                  [&](std::uint32_t channel, std::uint32_t e, std::uint32_t i, std::uint32_t j,
                      Real value) {
                    x[channel * tile.channel_pitch + (e * tile.height + i) * tile.pitch + j] =
                        value;
                  });
      load<true>(
          block, maps_of_dz(at),
          {image, images, first_output, outputs, top, left, tile.rows, 8 * tile.segments},
          [&](std::uint32_t o, std::uint32_t e, std::uint32_t i, std::uint32_t j, Real value) {
            z[((e * tile.rows + i) * tile.segments + j / 8) * tile.segment_pitch +
              j % 8 * tile.column_pitch + o] = value;
          });
      block.sync();
      each_share([&](Sums& sum, const Share& share) {
        const std::uint32_t end_of_blocks = images * down.value * across.value;
        for (std::uint32_t b = share.slice; b < end_of_blocks; b += tile.slices) {
          const std::uint32_t line = across.quotient(b), e = down.quotient(line);
          const std::uint32_t row = (line - e * down.value) * tile.block_rows;
          const std::uint32_t segment = b - line * across.value;
          Maker::add(lane, tile,
                     x + share.channel * tile.channel_pitch +
                         (e * tile.height + row * Maker::stride + share.kernel_row) * tile.pitch +
                         8 * Maker::stride * segment,
                     z + ((e * tile.rows + row) * tile.segments + segment) * tile.segment_pitch +
                         share.output,
                     sum);
        }
      });
      each_of_b([&](double& sum, std::uint32_t i) {
        const Real* const from = z + i / tile.outputs % 8 * tile.column_pitch + i % tile.outputs;
        const std::uint32_t lines = images * tile.rows * tile.segments;
        GRADRACE_UNROLL_BY_4
        for (std::uint32_t l = i / tile.outputs / 8; l < lines; l += lanes_of_b / 8)
          sum += static_cast<double>(from[l * tile.segment_pitch]);
      });
      block.sync();
    }
    each_of_b(
        [&](double sum, std::uint32_t i) { x[slice_numbers() + i] = static_cast<Real>(sum); });
    each_share([&](Sums& sum, const Share& share) {
      Maker::each(lane, sum, [&](std::uint32_t tap, std::uint32_t o, std::uint32_t c, Real value) {
        const std::uint32_t output = share.slice * tile.outputs + share.output + o;
        x[(output * tile.channels + share.channel + c) * area + share.kernel_row * Maker::kernel +
          tap] = value;
      });
    });
    block.sync();
    const std::uint32_t in_row = channels * area;
    Real* const to = at.parts + std::uint64_t{part} * layer.learnt();
    each(block, has_b ? outputs : 0, [&](std::uint32_t o) {
      double total = 0;
      for (std::uint32_t i = o; i < lanes_of_b * tile.outputs; i += tile.outputs)
        total += static_cast<double>(x[slice_numbers() + i]);
      to[layer.weights() + first_output + o] = static_cast<Real>(total);
    });
    each(block, outputs * in_row, [&](std::uint32_t i) {
      const std::uint32_t o = i / in_row, j = i % in_row;
      Real total = 0;
      for (std::uint32_t slice = 0; slice < tile.slices; ++slice)
        total += x[(slice * tile.outputs + o) * tile.channels * area + j];
      to[(first_output + o) * layer.depth + first_channel * area + j] = total;
    });
    block.sync();
  }

 private:
  static constexpr std::uint32_t area = Maker::kernel * Maker::kernel;
  static constexpr std::uint32_t units = Maker::kernel / Maker::kernel_rows;

  GRADRACE_HD std::uint32_t slice_numbers() const {
    return tile.slices * tile.outputs * tile.channels * area;
  }

  /// The first of what a share is of.
  struct Share {
    std::uint32_t kernel_row, channel, slice, output;

    GRADRACE_HD Share(const WeightTile& tile, std::uint32_t number) {
      const std::uint32_t groups = tile.channels / Maker::channels;
      kernel_row = number % units;
      channel = number / units % groups * Maker::channels;
      slice = number / units / groups % tile.slices;
      output = number / units / groups / tile.slices * Maker::outputs;
    }
  };
};

/// The same for every kernel, stride and padding, with numbers from memory as they are needed: a
/// thread makes a number of W, or b, for four outputs, and a part is of some rows of the minibatch.
template <class Number>
struct AnyWeightPartsKernel {
  using Real = Number;

  Pass<Real> pass;
  Layer layer;

  AnyWeightPartsKernel(const Pass<Real>& of_pass, const Layer& of_layer)
      : pass(of_pass), layer(of_layer) {}

  static constexpr std::uint32_t threads = 256, at_once = 1, rows = 4, across = 4;
  static std::size_t shared_numbers() { return 0; }
  GRADRACE_HD std::uint32_t parts() const { return (pass.n + rows - 1) / rows; }
  /// Of a job.
  GRADRACE_HD std::uint32_t blocks() const { return parts() * tiles(); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const LayerAt<Real> at = pass.at(layer, number / blocks());
    const ConvolvedShape shape(layer);
    const Maps<Real> x = maps_of_x(at), dz = maps_of_dz(at);
    const std::uint32_t part = number % blocks() / tiles(), tile = number % tiles();
    Real* const to = at.parts + std::uint64_t{part} * layer.learnt();
    const std::uint32_t first = tile * threads;
    each(block, smaller(threads, sums() - first), [&](std::uint32_t i) {
      const std::uint32_t weight = (first + i) % per_output();  // of b: the depth-th
      const std::uint32_t output = (first + i) / per_output() * across;
      const bool of_b = weight == layer.depth;
      const std::uint32_t l = weight % layer.kernel, k = weight / layer.kernel % layer.kernel;
      const std::uint32_t channel = weight / layer.kernel / layer.kernel;
      Real sum[across] = {};
      for (std::uint32_t image = part * rows; image < smaller(part * rows + rows, pass.n); ++image)
        for (std::uint32_t a = 0; a < shape.z_height; ++a) {
          Real of_row[across] = {};
          for (std::uint32_t b = 0; b < shape.z_width; ++b) {
            const Real v = of_b ? Real{1}
                                : x(image, channel, a * layer.stride + k - layer.padding,
                                    b * layer.stride + l - layer.padding);
            GRADRACE_UNROLL
            for (std::uint32_t o = 0; o < across; ++o)
              if (output + o < layer.outputs)
                of_row[o] = fused(dz(image, output + o, a, b), v, of_row[o]);
          }
          GRADRACE_UNROLL
          for (std::uint32_t o = 0; o < across; ++o) sum[o] += of_row[o];
        }
      for (std::uint32_t o = 0; o < across && output + o < layer.outputs; ++o)
        to[of_b ? layer.weights() + output + o : (output + o) * layer.depth + weight] = sum[o];
    });
  }

 private:
  GRADRACE_HD std::uint32_t per_output() const { return layer.depth + (layer.bias ? 1 : 0); }
  /// Of a part, of four outputs each.
  GRADRACE_HD std::uint32_t sums() const {
    return (layer.outputs + across - 1) / across * per_output();
  }
  GRADRACE_HD std::uint32_t tiles() const { return (sums() + threads - 1) / threads; }
};

/// The layer's part of g, the sums of the parts, eight runs of parts, each in its order, and then
/// these, with what W's regulariser adds.  moves: the state moves by it instead.
template <class Number>
struct AddPartsKernel {
  using Real = Number;

  Pass<Real> pass;
  Layer layer;
  std::uint32_t parts;
  bool moves;

  AddPartsKernel(const Pass<Real>& of_pass, const Layer& of_layer, std::uint32_t of_parts,
                 bool moves_state)
      : pass(of_pass), layer(of_layer), parts(of_parts), moves(moves_state) {}

  static constexpr std::uint32_t threads = 256, at_once = 1, runs = 8, numbers = threads / runs;
  static std::size_t shared_numbers() { return threads; }
  /// Of a job.
  GRADRACE_HD std::uint32_t blocks() const { return (layer.learnt() + numbers - 1) / numbers; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const LayerAt<Real> at = pass.at(layer, number / blocks());
    const std::uint32_t learnt = layer.learnt(), first = number % blocks() * numbers;
    const std::uint32_t count = smaller(numbers, learnt - first);
    Real* const sums = block.template scratch<Real>();
    each(block, threads, [&](std::uint32_t i) {
      if (i % numbers >= count) return;
      const std::uint32_t run = i / numbers;
      const Real* from = at.parts + first + i % numbers;
      Real total = 0;
      GRADRACE_UNROLL_BY_4
      for (std::uint32_t part = run * parts / runs; part < (run + 1) * parts / runs; ++part)
        total += from[std::uint64_t{part} * learnt];
      sums[i] = total;
    });
    block.sync();
    each(block, count, [&](std::uint32_t i) {
      Real total = 0;
      for (std::uint32_t run = 0; run < runs; ++run) total += sums[run * numbers + i];
      const std::uint32_t j = layer.first + first + i;
      if (at.decay > 0 && first + i < layer.weights()) total += at.decay * at.w[j];
      if (moves)
        pass.moves[number / blocks()](j, total);
      else
        at.g[j] = total;
    });
    block.sync();
  }
};

}  // namespace gradrace::kernels
