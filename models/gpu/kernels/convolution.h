#pragma once

#include <algorithm>

#include "models/gpu/kernels/maps.h"
#include "models/gpu/kernels/pass.h"

/// Convolutions z = W * x and their derivatives dx, without patches in memory.  A thread makes four
/// neighbours, a square of 2 x 2, of some maps: it takes the window of the input that the square
/// looks at into registers and multiplies it by W, input channel by input channel.
///
/// A number is one sum over input channel, row and column of the kernel, in this order, of fused
/// multiplications and additions, begun at 0: its bits depend on nothing but what is multiplied.
namespace gradrace::kernels {

/// Forward from x to z; back from dz to dx.
enum class Way : std::uint8_t { forward, back };

/// Of what is convolved; z before it is pooled.
struct ConvolvedShape {
  std::uint32_t channels, height, width, outputs, z_height, z_width;

  GRADRACE_HD explicit ConvolvedShape(const Layer& layer)
      : channels(layer.channels),
        height(layer.height),
        width(layer.width),
        outputs(layer.outputs),
        z_height(layer.out_height * (layer.pools ? 2 : 1)),
        z_width(layer.out_width * (layer.pools ? 2 : 1)) {}
};

template <class Real>
GRADRACE_HD Maps<Real> maps_of_x(const LayerAt<Real>& at) {
  return {at.x, nullptr, at.layer.channels, at.layer.height, at.layer.width};
}

template <class Real>
GRADRACE_HD Maps<Real> maps_of_dz(const LayerAt<Real>& at) {
  const ConvolvedShape shape(at.layer);
  return {at.by_y, at.layer.pools ? at.kept : nullptr, shape.outputs, shape.z_height,
          shape.z_width};
}

/// Which numbers of a window are multiplied by which of the kernel x kernel weights, along one
/// axis: a square has places 0 and 1, a window `span` numbers.
template <std::uint32_t kernel_, std::uint32_t stride_, Way way_>
struct WindowTaps {
  static constexpr std::uint32_t kernel = kernel_, stride = stride_, area = kernel * kernel;
  static constexpr Way way = way_;
  static constexpr bool forward = way == Way::forward;
  /// From one square's window to the next.
  static constexpr std::uint32_t step = forward ? 2 * stride : 2 / stride;
  static constexpr std::uint32_t span = forward       ? stride + kernel
                                        : stride == 1 ? kernel + 1
                                                      : (kernel + 1) / 2;
  static_assert(stride == 1 || (stride == 2 && kernel % 2 == 1));

  /// Whether the derivative by a place has that tap: of stride 2 every other.
  GRADRACE_HD static constexpr bool has(std::uint32_t place, std::uint32_t tap) {
    return forward || (place + stride - 1 + tap) % stride == 0;
  }
  /// By which number of the window it is multiplied.
  GRADRACE_HD static constexpr std::uint32_t at(std::uint32_t place, std::uint32_t tap) {
    if (forward) return stride * place + tap;
    if (stride == 1) return place + kernel - 1 - tap;
    return (place + kernel - 2 - tap) / 2;
  }
  /// By how much the first square begins before the first number, so that place 0 of each has the
  /// same taps.
  GRADRACE_HD static std::uint32_t before(std::uint32_t padding) {
    return forward || stride == 1 ? 0 : (padding + 1) % 2;
  }
  /// Where the window of the first square begins.
  GRADRACE_HD static std::int32_t origin(std::uint32_t padding) {
    const auto p = static_cast<std::int32_t>(padding), k = static_cast<std::int32_t>(kernel);
    if (forward) return -p;
    return stride == 1 ? p - (k - 1) : (p + 1) / 2 - (k - 1) / 2;
  }
};

/// Input and output of a way.
struct WayShape {
  std::uint32_t inputs, outputs, height, width;  // channels; of the output's maps
  std::uint32_t squares_down, squares_across;

  WayShape(const Layer& layer, Way way, std::uint32_t before) {
    const ConvolvedShape shape(layer);
    const bool forward = way == Way::forward;
    inputs = forward ? shape.channels : shape.outputs;
    outputs = forward ? shape.outputs : shape.channels;
    height = forward ? shape.z_height : shape.height;
    width = forward ? shape.z_width : shape.width;
    squares_down = (height + before + 1) / 2, squares_across = (width + before + 1) / 2;
  }
};

/// Writes a square of `count` channels from o on: y = f(z + b), the greatest of the four where the
/// layer pools and in kept which it was, the first in reading order of equal ones; or dx.  Rows and
/// columns before the first wrap around, and are great.  What is read is read before much is
/// written, as it may be the same memory.
template <Way way, std::uint32_t count, class Real>
GRADRACE_HD void store_squares(const LayerAt<Real>& at, const WayShape& shape, std::uint32_t image,
                               std::uint32_t o, std::uint32_t top, std::uint32_t left,
                               const Real (&z)[4][count]) {
  const Layer& layer = at.layer;
  const std::uint32_t there = smaller(count, shape.outputs - o), plane = image * shape.outputs + o;
  /// f(number, channel, place in the square) for each of these channels that lies in the map.
  const auto each_number = [&](std::uint32_t first, std::uint32_t channels, const auto& f) {
    GRADRACE_UNROLL
    for (std::uint32_t k = 0; k < channels; ++k) {
      GRADRACE_UNROLL
      for (std::uint32_t e = 0; e < 4; ++e) {
        const std::uint32_t i = top + e / 2, j = left + e % 2;
        if (first + k < there && i < shape.height && j < shape.width)
          f(((plane + first + k) * shape.height + i) * shape.width + j, k, e);
      }
    }
  };
  if constexpr (way == Way::back) {
    constexpr std::uint32_t together = count % 2 == 0 ? 2 : 1;
    GRADRACE_UNROLL
    for (std::uint32_t k = 0; k < count; k += together) {
      Real x[together][4] = {}, was[together][4] = {};
      each_number(k, together, [&](std::uint32_t from, std::uint32_t c, std::uint32_t e) {
        x[c][e] = at.x[from];
        if (layer.adds) was[c][e] = at.by_x[from];
      });
      each_number(k, together, [&](std::uint32_t to, std::uint32_t c, std::uint32_t e) {
        at.by_x[to] = was[c][e] + z[e][k + c] * slope(layer.before, x[c][e]);
      });
    }
    return;
  }
  Real b[count] = {};
  GRADRACE_UNROLL
  for (std::uint32_t k = 0; k < count; ++k)
    if (layer.bias && k < there) b[k] = at.b()[o + k];
  if (!layer.pools)
    return each_number(0, count, [&](std::uint32_t to, std::uint32_t k, std::uint32_t e) {
      at.y[to] = activated(layer.f, z[e][k] + b[k]);
    });
  std::uint32_t to = (plane * layer.out_height + top / 2) * layer.out_width + left / 2;
  GRADRACE_UNROLL
  for (std::uint32_t k = 0; k < count; ++k) {
    Real best = z[0][k], winner = 0;
    GRADRACE_UNROLL
    for (std::uint32_t e = 1; e < 4; ++e) {
      if (!(z[e][k] > best || z[e][k] != z[e][k])) continue;  // NaN propagates
      best = z[e][k];
      winner = static_cast<Real>(e);
    }
    if (k < there) at.y[to] = activated(layer.f, best + b[k]), at.kept[to] = winner;
    to += layer.pixels();
  }
}

/// What a block makes: the squares of `images` images, `groups` groups of maps, `rows` x `columns`
/// squares of each map; and how the input lies in shared memory, `channels` at a time: [channels,
/// images, height, pitch], images image_pitch apart, beside W as [groups, channels, kernel, kernel,
/// outputs of a group], groups group_pitch apart.
struct ConvolutionTile {
  std::uint32_t images, groups, rows, columns;
  std::uint32_t channels, height, pitch, image_pitch, group_pitch;
  std::uint32_t image_tiles, group_tiles, row_tiles, column_tiles;

  GRADRACE_HD std::uint32_t blocks() const {
    return image_tiles * group_tiles * row_tiles * column_tiles;
  }
  GRADRACE_HD std::uint32_t inputs() const { return channels * images * image_pitch; }
};

constexpr std::uint32_t ceiling(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

/// The smallest multiple of four from `least` on that is `apart` from a multiple of `period`: what
/// neighbours read from rows so far apart lies in different banks of shared memory.
constexpr std::uint32_t spread(std::uint32_t least, std::uint32_t apart, std::uint32_t period) {
  std::uint32_t pitch = in_fours(least);
  while (pitch % period != in_fours(apart) % period) pitch += 4;
  return pitch;
}

/// The tile that costs the fewest instructions of a layer of n images: numbers that are multiplied,
/// whether they are needed or not, and some eight for each that comes into shared memory.
template <class WindowTaps, std::uint32_t across>
ConvolutionTile convolution_tile(const WayShape& shape, std::uint32_t n) {
  constexpr std::uint32_t threads = 256;
  const std::uint32_t groups = ceiling(shape.outputs, across);
  ConvolutionTile best{};
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint32_t row_tiles = 1; row_tiles <= shape.squares_down; ++row_tiles) {
    ConvolutionTile tile{};
    tile.rows = ceiling(shape.squares_down, row_tiles);
    tile.row_tiles = ceiling(shape.squares_down, tile.rows);
    tile.columns = ceiling(shape.squares_across, ceiling(shape.squares_across, 32));
    tile.column_tiles = ceiling(shape.squares_across, tile.columns);
    const std::uint32_t squares = tile.rows * tile.columns;
    if (squares > threads) continue;
    tile.groups = ceiling(groups, ceiling(groups, std::min(groups, threads / squares)));
    tile.group_tiles = ceiling(groups, tile.groups);
    tile.height = WindowTaps::step * (tile.rows - 1) + WindowTaps::span;
    const std::uint32_t room = 2 * scratch_numbers - 4 * tile.groups;
    const std::uint32_t weights = tile.groups * WindowTaps::area * in_fours(across);
    const std::uint32_t width = in_fours(WindowTaps::step * (tile.columns - 1) + WindowTaps::span);
    const std::uint32_t most = std::min(n, threads / (squares * tile.groups));
    for (tile.images = most; tile.images > 0; --tile.images) {
      const bool rows_meet = tile.images == 1 && tile.columns < 16;  // in one read
      tile.pitch = rows_meet ? spread(width, tile.columns, 32 / WindowTaps::step) : width;
      tile.image_pitch = tile.height * tile.pitch;
      if (tile.images > 1)
        tile.image_pitch = spread(tile.image_pitch, WindowTaps::step * tile.columns, 32);
      const std::uint32_t per_channel = tile.images * tile.image_pitch + weights;
      if (per_channel * std::min(tile.images > 1 ? 4u : 1u, shape.inputs) > room) continue;
      tile.image_tiles = ceiling(n, tile.images);
      const std::uint64_t cost = std::uint64_t{tile.blocks()} *
                                 (threads * 4 * across * WindowTaps::area + 8 * per_channel);
      tile.channels = ceiling(shape.inputs, ceiling(shape.inputs, room / per_channel));
      tile.group_pitch = tile.channels * WindowTaps::area * in_fours(across) + 4;
      if (cost < least) least = cost, best = tile;
      break;
    }
  }
  return best;
}

/// z and what follows it, or dx; across: maps of a thread.
///
/// For each weight of an input channel a thread reads across numbers and multiplies 4 across times;
/// the window is read once.  Beside that some eight instructions for each number of a tile.
template <class Number, class WindowTaps, std::uint32_t across>
struct ConvolutionKernel {
  using Real = Number;

  Pass<Real> pass;
  Layer layer;
  WayShape shape;
  ConvolutionTile tile;
  Divisor of_tiles[3], of_squares[3];  // see Place and Square

  ConvolutionKernel(const Pass<Real>& of_pass, const Layer& of_layer)
      : pass(of_pass),
        layer(of_layer),
        shape(layer, WindowTaps::way, WindowTaps::before(layer.padding)),
        tile(convolution_tile<WindowTaps, across>(shape, pass.n)),
        of_tiles{Divisor(tile.column_tiles), Divisor(tile.row_tiles), Divisor(tile.group_tiles)},
        of_squares{Divisor(tile.columns), Divisor(tile.images), Divisor(tile.rows)} {}

  static constexpr std::uint32_t threads = 256,
                                 at_once = sizeof(Real) == 4 ? (across > 4 ? 3 : 4) : 1;
  std::size_t shared_numbers() const { return tile.inputs() + tile.groups * tile.group_pitch; }
  /// Of a job.
  GRADRACE_HD std::uint32_t blocks() const { return tile.blocks(); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const LayerAt<Real> at = pass.at(layer, number / blocks());
    const Place place(of_tiles, number % blocks());
    const std::int32_t origin = WindowTaps::origin(layer.padding);
    MapPart part{place.image * tile.images,
                 smaller(tile.images, pass.n - place.image * tile.images),
                 0,
                 0,
                 origin + static_cast<std::int32_t>(WindowTaps::step * place.row * tile.rows),
                 origin + static_cast<std::int32_t>(WindowTaps::step * place.column * tile.columns),
                 tile.height,
                 tile.pitch};
    Real* const x = block.template scratch<Real>();
    Real* const w = x + tile.inputs();

    // Of each square that the thread makes: one, where all threads are there.
    constexpr std::uint32_t most = Block::has_all_threads ? 1 : threads;
    Real sums[most][4][across] = {};
    const std::uint32_t squares = tile.groups * tile.rows * tile.images * tile.columns;
    const auto each_square = [&](const auto& f) {
      for (std::uint32_t s = 0; s < most; ++s) {
        const std::uint32_t square = block.thread() + s * block.threads();
        if (square < squares) f(sums[s], Square(of_squares, square));
      }
    };
    for (; part.first_channel < shape.inputs; part.first_channel += tile.channels) {
      part.channels = smaller(tile.channels, shape.inputs - part.first_channel);
      if (part.first_channel == 0 || (!WindowTaps::forward && layer.pools)) {
        clear(block, x, tile.inputs());
        block.sync();
      }
      load<false>(block, WindowTaps::forward ? maps_of_x(at) : maps_of_dz(at), part,
                  [&](std::uint32_t channel, std::uint32_t image, std::uint32_t i, std::uint32_t j,
                      Real value) {
                    x[(channel * tile.images + image) * tile.image_pitch + i * tile.pitch + j] =
                        value;
                  });
      load_weights(block, at.W(), part, place.group * tile.groups * across, w);
      block.sync();
      each_square([&](Sums& sum, const Square& square) {
        const Real* window = x + square.image * tile.image_pitch +
                             WindowTaps::step * (square.row * tile.pitch + square.column);
        const Real* weights = w + square.group * tile.group_pitch;
        const Rows rows = rows_of(part, square);
        GRADRACE_ROLLED
        for (std::uint32_t c = 0; c < part.channels; ++c) {
          add(window, weights, rows, sum);
          window += tile.images * tile.image_pitch, weights += WindowTaps::area * beside;
        }
      });
      block.sync();
    }
    const std::uint32_t before = WindowTaps::before(layer.padding);
    each_square([&](Sums& sum, const Square& square) {
      if (square.image >= part.images) return;
      const std::uint32_t top = 2 * (place.row * tile.rows + square.row) - before;
      const std::uint32_t left = 2 * (place.column * tile.columns + square.column) - before;
      if (top + before >= shape.height + before || left + before >= shape.width + before) return;
      const std::uint32_t o = (place.group * tile.groups + square.group) * across;
      if (o < shape.outputs)
        store_squares<WindowTaps::way>(at, shape, part.first_image + square.image, o, top, left,
                                       sum);
    });
  }

 private:
  using Sums = Real[4][across];
  static constexpr std::uint32_t beside = in_fours(across);  // outputs of a group, with gaps

  /// Whether squares beside the edge leave out rows of zeros: dx of a layer without padding looks
  /// at many.
  static constexpr bool skips = !WindowTaps::forward && WindowTaps::kernel > 3;

  /// Which tile of a job.
  struct Place {
    std::uint32_t column, row, group, image;

    GRADRACE_HD Place(const Divisor (&of_tiles)[3], std::uint32_t number)
        : column(of_tiles[0].next(number)),
          row(of_tiles[1].next(number)),
          group(of_tiles[2].next(number)),
          image(number) {}
  };
  /// Which square of a tile: neighbours have the same weights, and rows.
  struct Square {
    std::uint32_t column, image, row, group;

    GRADRACE_HD Square(const Divisor (&of_squares)[3], std::uint32_t number)
        : column(of_squares[0].next(number)),
          image(of_squares[1].next(number)),
          row(of_squares[2].next(number)),
          group(number) {}
  };

  /// The part's channels of W [outputs, channels, kernel, kernel], from output `first` on; what
  /// follows the last output stays.
  template <class Block>
  GRADRACE_HD void load_weights(const Block& block, const Real* W, const MapPart& part,
                                std::uint32_t first, Real* to) const {
    const std::uint32_t outputs = smaller(tile.groups * across, shape.outputs - first);
    const std::uint32_t in_row = WindowTaps::forward ? part.channels : outputs;
    const std::uint32_t row = WindowTaps::forward ? shape.inputs : shape.outputs;
    const Real* const from = W + (WindowTaps::forward ? first * row + part.first_channel
                                                      : part.first_channel * row + first) *
                                     WindowTaps::area;
    const Divisor run(in_row * WindowTaps::area);
    each(block, outputs * part.channels * WindowTaps::area, [&](std::uint32_t item) {
      const std::uint32_t i = run.quotient(item), j = item - i * run.value;
      const std::uint32_t tap = j % WindowTaps::area, other = j / WindowTaps::area;
      const std::uint32_t channel = WindowTaps::forward ? other : i,
                          o = WindowTaps::forward ? i : other;
      to[o / across * tile.group_pitch + (channel * WindowTaps::area + tap) * beside + o % across] =
          from[i * row * WindowTaps::area + j];
    });
  }

  /// Rows of the kernel.
  struct Rows {
    std::uint32_t first, end;
  };

  /// Those that a square multiplies by other than the zeros above and below the input; of a small
  /// kernel, all.
  GRADRACE_HD Rows rows_of(const MapPart& part, const Square& square) const {
    constexpr auto kernel = static_cast<std::int32_t>(WindowTaps::kernel);
    if (!skips) return {0, WindowTaps::kernel};
    const std::int32_t top = part.top + static_cast<std::int32_t>(WindowTaps::step * square.row);
    const auto height = static_cast<std::int32_t>(ConvolvedShape(layer).z_height);
    const auto within = [&](std::int32_t k) {
      return static_cast<std::uint32_t>(k < 0 ? 0 : k < kernel ? k : kernel);
    };
    return {within(top + kernel - height), within(top + kernel + 1)};
  }

  /// sums += what one channel gives.
  GRADRACE_HD void add(const Real* from, const Real* weights, const Rows& rows, Sums& sums) const {
    constexpr std::uint32_t span = WindowTaps::span, kernel = WindowTaps::kernel;
    const auto add_row = [&](std::uint32_t k) {
      Real window[2][span];
      GRADRACE_UNROLL
      for (std::uint32_t e = 0; e < 2; ++e)
        if (WindowTaps::has(e, k))
          read<WindowTaps::step, span>(from + WindowTaps::at(e, k) * tile.pitch, window[e]);
      GRADRACE_UNROLL
      for (std::uint32_t l = 0; l < kernel; ++l) {
        Real w[across];
        read<4, across>(weights + (k * kernel + l) * beside, w);
        GRADRACE_UNROLL
        for (std::uint32_t e = 0; e < 4; ++e) {
          if (!WindowTaps::has(e / 2, k) || !WindowTaps::has(e % 2, l)) continue;
          const Real v = window[e / 2][WindowTaps::at(e % 2, l)];
          GRADRACE_UNROLL
          for (std::uint32_t o = 0; o < across; ++o) sums[e][o] = fused(v, w[o], sums[e][o]);
        }
      }
    };
    if constexpr (skips) {
      GRADRACE_ROLLED
      for (std::uint32_t k = rows.first; k < rows.end; ++k) add_row(k);
    } else {
      GRADRACE_UNROLL
      for (std::uint32_t k = 0; k < kernel; ++k) add_row(k);
    }
  }
};

/// The same for every kernel, stride and padding, with numbers from memory as they are needed: a
/// thread makes a square of one map at a time.
template <class Number, Way way>
struct AnyConvolutionKernel {
  using Real = Number;

  Pass<Real> pass;
  Layer layer;
  WayShape shape;

  AnyConvolutionKernel(const Pass<Real>& of_pass, const Layer& of_layer)
      : pass(of_pass), layer(of_layer), shape(layer, way, 0) {}

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return 0; }
  GRADRACE_HD std::uint32_t squares() const {
    return pass.n * shape.outputs * shape.squares_down * shape.squares_across;
  }
  /// Of a job.
  GRADRACE_HD std::uint32_t blocks() const { return (squares() + threads - 1) / threads; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const LayerAt<Real> at = pass.at(layer, number / blocks());
    const Maps<Real> maps = way == Way::forward ? maps_of_x(at) : maps_of_dz(at);
    const std::uint32_t first = number % blocks() * threads;
    each(block, smaller(threads, squares() - first), [&](std::uint32_t i) {
      const std::uint32_t left = (first + i) % shape.squares_across * 2;
      const std::uint32_t line = (first + i) / shape.squares_across;
      const std::uint32_t top = line % shape.squares_down * 2, plane = line / shape.squares_down;
      const std::uint32_t o = plane % shape.outputs, image = plane / shape.outputs;
      Real z[4][1] = {};
      for (std::uint32_t c = 0; c < shape.inputs; ++c)
        for (std::uint32_t k = 0; k < layer.kernel; ++k)
          for (std::uint32_t l = 0; l < layer.kernel; ++l) {
            const std::uint32_t of =
                way == Way::forward ? o * shape.inputs + c : c * shape.outputs + o;
            const Real w = at.W()[(of * layer.kernel + k) * layer.kernel + l];
            GRADRACE_UNROLL
            for (std::uint32_t e = 0; e < 4; ++e)
              z[e][0] =
                  fused(maps(image, c, from(top + e / 2, k), from(left + e % 2, l)), w, z[e][0]);
          }
      store_squares<way>(at, shape, image, o, top, left, z);
    });
  }

 private:
  /// Row or column of the input that tap k multiplies for number i; beside the image where there is
  /// none.  Before the first they wrap around.
  GRADRACE_HD std::uint32_t from(std::uint32_t i, std::uint32_t k) const {
    if (way == Way::forward) return i * layer.stride + k - layer.padding;
    const std::uint32_t padded = i + layer.padding - k;
    return padded % layer.stride == 0 ? padded / layer.stride : ~0u;
  }
};

}  // namespace gradrace::kernels
