#pragma once

#include "models/cpu/kernels/inline.h"
#include "models/cpu/kernels/map_kernels.h"
#include "models/cpu/kernels/some_lanes.h"

/// The greatest number and the mean of windows as map_kernels.h says, of the type Lanes: the n
/// images are the lanes.
namespace gradrace::kernels {
namespace {

/// How far window i reaches into so many pixels.
GRADRACE_INLINE std::size_t length_of(const PoolingShape& w, std::size_t i, std::size_t pixels) {
  const std::size_t rest = pixels - w.step * i;
  return rest < w.window ? rest : w.window;
}

/// A window: from which number of x it makes which number of y, of how many pixels.
struct Window {
  std::size_t x, y, rows, columns;
};

/// Calls use(window) for all of them; rows and columns of whole windows of 3 x 3 are constants.
template <class Use>
GRADRACE_INLINE void each_window(const PoolingShape& w, std::size_t n, const Use& use) {
  Window at{};
  for (std::size_t c = 0; c < w.channels; ++c) {
    for (std::size_t i = 0; i < w.out_height; ++i) {
      at.rows = length_of(w, i, w.height);
      for (std::size_t j = 0; j < w.out_width; ++j, at.y += n) {
        at.columns = length_of(w, j, w.width);
        at.x = ((c * w.height + w.step * i) * w.width + w.step * j) * n;
        if (at.rows == 3 && at.columns == 3)
          use(Window{at.x, at.y, 3, 3});
        else
          use(at);
      }
    }
  }
}

/// Calls use(lanes of a pixel, window k + l) for the pixels of a window in reading order.
template <class Use>
GRADRACE_INLINE void each_pixel(const PoolingShape& w, std::size_t n, const Window& at,
                                const float* x, std::size_t left, const Use& use) {
#pragma GCC unroll 3
  for (std::size_t k = 0; k < at.rows; ++k)
#pragma GCC unroll 3
    for (std::size_t l = 0; l < at.columns; ++l)
      use(some_lanes(x + (k * w.width + l) * n, left), k * w.window + l);
}

void greatest(const PoolingShape& w, std::size_t n, const float* x, float* y, float* places) {
  each_window(w, n, [&](const Window& at) GRADRACE_ALWAYS {
    for (std::size_t r = 0; r < n; r += lane_count) {
      const float* const from = x + at.x + r;
      Lanes best = some_lanes(from, n - r), best_place = Lanes::all(0);
      each_pixel(w, n, at, from, n - r, [&](Lanes pixel, std::size_t place) GRADRACE_ALWAYS {
        const Lanes own = Lanes::all(static_cast<float>(place));
        const auto better = pixel > best;
        const auto is_number = pixel == pixel;  // NOLINT(misc-redundant-expression): not of NaN
        best_place = Lanes::select(is_number, Lanes::select(better, own, best_place), own);
        best = Lanes::select(is_number, Lanes::select(better, pixel, best), pixel);
      });
      put_lanes(best, y + at.y + r, n - r);
      put_lanes(best_place, places + at.y + r, n - r);
    }
  });
}

void mean(const PoolingShape& w, std::size_t n, const float* x, float* y) {
  each_window(w, n, [&](const Window& at) GRADRACE_ALWAYS {
    const Lanes share = Lanes::all(1 / static_cast<float>(at.rows * at.columns));
    for (std::size_t r = 0; r < n; r += lane_count) {
      Lanes sum = Lanes::all(0);
      each_pixel(w, n, at, x + at.x + r, n - r,
                 [&](Lanes pixel, std::size_t) GRADRACE_ALWAYS { sum = sum + pixel; });
      put_lanes(sum * share, y + at.y + r, n - r);
    }
  });
}

/// The windows that see pixel u of so many in that direction: [first, end).
struct Seeing {
  std::size_t first, end;

  GRADRACE_INLINE Seeing(const PoolingShape& w, std::size_t u, std::size_t windows)
      : first(u < w.window ? 0 : (u - w.window) / w.step + 1), end(u / w.step + 1) {
    if (end > windows) end = windows;
  }
};

/// A pixel in window [i, j].
struct Seen {
  std::size_t i, j, place;  // window k + l
};

/// dx = the sum over the windows that see a pixel, in reading order; add(sum, number of y, how many
/// images, seen) adds one.
template <class Add>
GRADRACE_INLINE void sum_windows(const PoolingShape& w, std::size_t n, float* dx, const Add& add) {
  for (std::size_t c = 0; c < w.channels; ++c) {
    for (std::size_t u = 0; u < w.height; ++u) {
      const Seeing rows(w, u, w.out_height);
      for (std::size_t v = 0; v < w.width; ++v, dx += n) {
        const Seeing columns(w, v, w.out_width);
        for (std::size_t r = 0; r < n; r += lane_count) {
          Lanes sum = Lanes::all(0);
          for (std::size_t i = rows.first; i < rows.end; ++i)
            for (std::size_t j = columns.first; j < columns.end; ++j)
              sum = add(sum, ((c * w.out_height + i) * w.out_width + j) * n + r, n - r,
                        Seen{i, j, (u - w.step * i) * w.window + v - w.step * j});
          put_lanes(sum, dx + r, n - r);
        }
      }
    }
  }
}

void greatest_back(const PoolingShape& w, std::size_t n, const float* dy, const float* places,
                   float* dx) {
  const auto add = [&](Lanes sum, std::size_t y, std::size_t left,
                       const Seen& seen) GRADRACE_ALWAYS {
    const auto won = some_lanes(places + y, left) == Lanes::all(static_cast<float>(seen.place));
    return sum + Lanes::select(won, some_lanes(dy + y, left), Lanes::all(0));
  };
  sum_windows(w, n, dx, add);
}

void mean_back(const PoolingShape& w, std::size_t n, const float* dy, float* dx) {
  const std::size_t most = w.window * w.window;
  const float of_whole = 1 / static_cast<float>(most);
  const auto add = [&](Lanes sum, std::size_t y, std::size_t left,
                       const Seen& seen) GRADRACE_ALWAYS {
    const std::size_t pixels = length_of(w, seen.i, w.height) * length_of(w, seen.j, w.width);
    const float share = pixels == most ? of_whole : 1 / static_cast<float>(pixels);
    return Lanes::fma(Lanes::all(share), some_lanes(dy + y, left), sum);
  };
  sum_windows(w, n, dx, add);
}

}  // namespace
}  // namespace gradrace::kernels
