#pragma once

#include <concepts>
#include <type_traits>

#include "models/gpu/kernels/in_place_change.h"
#include "models/gpu/kernels/in_place_layer.h"
#include "models/gpu/kernels/network.h"

namespace gradrace::kernels {

/// An update by the plain rule.
struct Subtracted {
  GRADRACE_HD float operator()(std::uint32_t, float w, float change) const { return w - change; }
};

/// What an update by another rule does with a sum of products.
struct Applied {
  bool adds;   // to what stands in the work memory
  bool moves;  // W; else it stands there
};

/// Some rows of an old gradient and some of a new one that go over a layer together.
struct LayerPass {
  const float* delta;  // [old_rows, stride]
  std::uint32_t old_rows, new_rows;
  bool updates;
  Applied applied;
  float scale;          // of what the layer looks at
  float* sums;          // [numbers], work memory; behind it what a state has beside w:
  std::uint32_t parts;  // so many of [numbers]
  float* y;             // [new_rows, stride]; null of the last layer
};

/// A network of dense layers, of a block that keeps the state at hand in panels: a layer's W and b
/// in shared memory where that is large enough, else in the block's work memory, from where it
/// streams panel by panel.
///
/// A gradient's factors, of n rows: of each layer delta, the derivative of the loss by what f is
/// applied to, times the gradient's weight; of each but the first what it looks at.
struct InPlaceNetwork {
  Network<float> of;           // the rest
  const InPlaceLayer* layers;  // [of.depth]
  std::uint32_t numbers;       // of a state's w
  std::uint32_t per_row;       // numbers of a row's factors
  std::uint32_t work_per_row;  // and of its outputs
  std::uint32_t together;      // rows that go over a layer at once, at most 32
  // Where these begin in shared memory; parts of sums stand first.
  std::uint32_t run, changes, drawn;  // [run_numbers]; [kept_changes]; [2, most_together]
  std::uint32_t ring, old_rows, new_rows, shared;

  static constexpr std::uint32_t threads = 256, at_once = 2;
  static constexpr std::uint32_t crews = threads / 32;  // at most
  static constexpr std::uint32_t most_together = 32;
  static constexpr std::uint32_t run_numbers = 8;   // what a replay knows of its run
  static constexpr std::uint32_t kept_changes = 4;  // of it, the one at hand and its neighbours
  std::size_t shared_numbers() const { return shared; }

  GRADRACE_HD float* x(std::uint32_t l, float* factors, std::uint32_t n) const {
    return factors + std::uint64_t{layers[l].x} * n;
  }
  GRADRACE_HD float* delta(std::uint32_t l, float* factors, std::uint32_t n) const {
    return factors + std::uint64_t{layers[l].delta} * n;
  }
  /// What layer l gives, in the work memory.
  GRADRACE_HD float* y(std::uint32_t l, float* outputs, std::uint32_t n) const {
    return outputs + std::uint64_t{layers[l].y} * n;
  }

  /// Panels and b of a layer, of the state at hand.
  template <class Block>
  GRADRACE_HD float* weights(const Block& block, const InPlaceLayer& layer, float* state) const {
    return layer.streams ? state + layer.at : block.template scratch<float>() + layer.shared;
  }

  /// The state at hand = w [parameters].
  template <class Block>
  GRADRACE_HD void load(const Block& block, const float* w, float* state) const {
    each_place(block, [&](const InPlaceLayer& layer, std::uint32_t i, std::uint32_t number) {
      weights(block, layer, state)[i] = number != InPlaceLayer::none ? w[layer.first + number] : 0;
    });
  }

  /// The other way.
  template <class Block>
  GRADRACE_HD void store(const Block& block, float* state, float* w) const {
    each_place(block, [&](const InPlaceLayer& layer, std::uint32_t i, std::uint32_t number) {
      if (number != InPlaceLayer::none) w[layer.first + number] = weights(block, layer, state)[i];
    });
  }

  /// f(i, j) for the number j < count of a part that is kept beside w, which is number i of panels;
  /// padding has j = none.
  template <class Block, class Function>
  GRADRACE_HD void each_beside(const Block& block, std::uint32_t count, const Function& f) const {
    each_place(block, [&](const InPlaceLayer& layer, std::uint32_t i, std::uint32_t number) {
      const bool is_padding = number == InPlaceLayer::none;
      if (is_padding || layer.first + number < count)
        f(layer.at + i, is_padding ? number : layer.first + number);
    });
  }

  /// Rows that layer l looks at, to shared memory: of the data set where rows is not null, else of
  /// x.  Up to a multiple of eight the last one is repeated.
  template <class Block>
  GRADRACE_HD void fetch(const Block& block, std::uint32_t l, const std::uint32_t* rows,
                         const float* x, std::uint32_t n, std::uint32_t to) const {
    if (l == 0 && of.train.bytes != nullptr)
      fetch<BytesInPlace>(block, l, rows, of.train.bytes, n, to);
    else
      fetch<FloatsInPlace>(block, l, l > 0 ? nullptr : rows, l > 0 ? x : of.train.floats, n, to);
  }

  /// Goes over layer l once, with rows that have been fetched: W is moved by the old ones, and the
  /// new ones get their outputs.  moved(number, w, change) is w'; of a Subtracted no sums are kept.
  /// move_b(i, n) moves b by thread i of n.
  template <class Block, class Moved, class MoveB>
  GRADRACE_HD void pass_over(const Block& block, std::uint32_t l, const LayerPass& pass,
                             float* state, const Moved& moved, const MoveB& move_b) const {
    if (b_before_outputs(layers[l], pass)) {
      move_b(block.thread(), block.threads());
      block.sync();
    }
    const bool all = (!pass.updates || pass.old_rows == most_together) &&
                     (pass.new_rows == 0 || pass.new_rows == most_together);
    if (l > 0 || of.train.bytes == nullptr)
      go_over<FloatsInPlace, false>(block, l, pass, state, moved);
    else if (all)
      go_over<BytesInPlace, true>(block, l, pass, state, moved);
    else
      go_over<BytesInPlace, false>(block, l, pass, state, moved);
    constexpr std::uint32_t crew = crew_threads<Block>;
    if (!b_before_outputs(layers[l], pass) && block.thread() / crew == 0)
      move_b(crew_lane(block), crew);
    block.sync();
  }

  /// What the layer gives the new rows of that pass, where it stands in slices, goes to y; of the
  /// last layer it takes the place of the first slice.  Does not sync.
  template <class Block>
  GRADRACE_HD void add_up_slices(const Block& block, std::uint32_t l, const LayerPass& pass,
                                 float* state) const {
    const InPlaceLayer layer = layers[l];
    if (!in_slices(layer, pass)) return;
    const float* const b = weights(block, layer, state) + layer.panels();
    float* const parts = block.template scratch<float>();
    const std::uint32_t columns = pass.y != nullptr ? layer.stride() : layer.outputs;
    each(block, row_threads * pass.new_rows, [&](std::uint32_t i) {
      const std::uint32_t row = i / row_threads;
      for (std::uint32_t o = i % row_threads; o < columns; o += row_threads) {
        const float* const first = parts + row * layer.outputs + o;
        float sum = 0;
        for (std::uint32_t slice = 0; slice < layer.slices && o < layer.outputs; ++slice)
          sum += first[slice * together * layer.outputs];
        (pass.y != nullptr ? pass.y : parts)[row * columns + o] =
            activated(layer.f, fused(pass.scale, sum, b[o]));
      }
    });
  }

  /// Layer l's b moved by the sums of delta [n, stride] of the uses, use(u); one thread's part of
  /// so many.
  template <class Block, class Use, class Moved>
  GRADRACE_HD void move_bias(const Block& block, std::uint32_t l, std::uint32_t uses,
                             const Use& use, float* state, const Moved& moved, std::uint32_t thread,
                             std::uint32_t of_threads) const {
    const InPlaceLayer layer = layers[l];
    float* const b = weights(block, layer, state) + layer.panels();
    for (std::uint32_t o = thread; o < layer.outputs; o += of_threads) {
      float change = 0;
      for (std::uint32_t u = 0; u < uses; ++u) {
        const auto of_use = use(u);
        const float* const dz = delta(l, of_use.factors, of_use.n) + o;
        GRADRACE_UNROLL_BY_16
        for (std::uint32_t i = 0; i < of_use.n; ++i) change += dz[i * layer.stride()];
      }
      b[o] = moved(layer.at + layer.panels() + o, b[o], change);
    }
  }

  /// delta [n, stride] of the last layer, of n rows that have gone over it, of `all` of a
  /// minibatch; times the gradient's weight.  Does not sync at its end.
  template <class Block>
  GRADRACE_HD void differentiate_rows(const Block& block, const std::uint32_t* rows,
                                      std::uint32_t n, std::uint32_t all, float weight,
                                      float* to) const {
    const InPlaceLayer& layer = layers[of.depth - 1];
    const std::uint32_t outputs = layer.outputs, stride = layer.stride();
    const Labels labels = of.labels_of(of.train, rows);
    const float* const scores = block.template scratch<float>();
    float* const exponentials = block.template scratch<float>() + together * outputs;
    if (of.loss == LossKind::cross_entropy) {
      each(block, row_threads * n, [&](std::uint32_t i) {
        const std::uint32_t first = i / row_threads * outputs;
        const float top = greatest(scores + first, outputs);
        for (std::uint32_t o = i % row_threads; o < outputs; o += row_threads)
          exponentials[first + o] = std::exp(scores[first + o] - top);
      });
      block.sync();
    }
    each(block, row_threads * n, [&](std::uint32_t i) {
      const std::uint32_t row = i / row_threads, first = row * outputs;
      const RowDerivative<float> of_row(labels, row, all, scores + first, exponentials + first);
      for (std::uint32_t o = i % row_threads; o < stride; o += row_threads)
        to[row * stride + o] = o < outputs ? of_row(o) * weight : 0;
    });
  }

  /// The other factors of n rows, whose outputs stand in the work memory.
  template <class Block>
  GRADRACE_HD void propagate(const Block& block, std::uint32_t n, float* state,
                             const float* outputs, float* factors) const {
    for (std::uint32_t l = of.depth - 1; l > 0; --l)
      propagate(block, l, n, state, outputs, factors);
  }

 private:
  template <class Block>
  using Tile = MatrixTile<crew_threads<Block>>;

  /// Rows of those numbers of data, of the first n where there are none.  A crew copies four rows.
  template <class X, class Block>
  GRADRACE_HD void fetch(const Block& block, std::uint32_t l, const std::uint32_t* rows,
                         const void* data, std::uint32_t n, std::uint32_t to) const {
    constexpr std::uint32_t crew = crew_threads<Block>;
    const std::uint32_t of_row = layers[l].wide * X::pieces;
    auto* const begin = block.template scratch<Four<float>>() + to / 4;
    each_crew(block, (n + 7) / 8 * 2, [&](std::uint32_t four) {
      const Four<float>* from[4];
      GRADRACE_UNROLL
      for (std::uint32_t k = 0; k < 4; ++k) {
        const std::uint32_t i = 4 * four + k < n ? 4 * four + k : n - 1;
        from[k] = static_cast<const Four<float>*>(data) +
                  std::uint64_t{rows != nullptr ? rows[i] : i} * of_row + crew_lane(block);
      }
      GRADRACE_ROLLED
      for (std::uint32_t at = crew_lane(block); at < of_row; at += crew) {
        auto* const place = begin + (at / X::pieces * together + 4 * four) * X::pieces;
        GRADRACE_UNROLL
        for (std::uint32_t k = 0; k < 4; ++k) {
          block.copy(place + k * X::pieces + X::piece(four, k, at % X::pieces), from[k]);
          from[k] += crew;
        }
      }
    });
  }

  /// f(layer, i, number) for each place i of each layer, and the number that stands there.
  template <class Block, class Function>
  GRADRACE_HD void each_place(const Block& block, const Function& f) const {
    for (std::uint32_t l = 0; l < of.depth; ++l) {
      const InPlaceLayer layer = layers[l];
      each(block, layer.numbers(), [&](std::uint32_t i) { f(layer, i, layer.number(i)); });
    }
    block.sync();
  }

  /// The row of eight that is the k-th of a factor: four lanes read four neighbours.
  GRADRACE_HD static constexpr std::uint32_t row_of(std::uint32_t k) { return k / 2 + k % 2 * 4; }

  /// Begins to copy a panel of a strip to a crew's ring; each lane copies what it will read.
  template <class Block>
  GRADRACE_HD static void stream(const Block& block, const float* panels, std::uint32_t panel,
                                 std::uint32_t end, float* ring_of_crew) {
    if (panel < end) {
      constexpr std::uint32_t crew = crew_threads<Block>;
      const auto* const from =
          Panel::fours<crew>(panels + panel * Panel::numbers, crew_lane(block));
      auto* const to =
          Panel::fours<crew>(ring_of_crew + panel % 2 * Panel::numbers, crew_lane(block));
      GRADRACE_UNROLL
      for (std::uint32_t i = 0; i < Tile<Block>::held; ++i)
        block.copy(to + Panel::four_of<crew>(i), from + Panel::four_of<crew>(i));
    }
    block.end_copies();
  }

  static constexpr std::uint32_t eights = most_together / 8;  // of rows
  static constexpr std::uint32_t row_threads = 8;             // that share a row's outputs

  /// Some panels of a strip, which a crew goes over.
  struct Item {
    std::uint32_t strip, slice;
    std::uint32_t first, end;  // panels of the strip
    std::uint32_t at;          // where the strip begins among the layer's

    GRADRACE_HD Item(const InPlaceLayer& layer, std::uint32_t number)
        : strip(number / layer.slices), slice(number % layer.slices) {
      first = slice * layer.wide / layer.slices;
      end = (slice + 1) * layer.wide / layer.slices;
      at = strip * layer.wide * Panel::numbers;
    }
  };

  template <class X, bool all, class Block, class Moved>
  GRADRACE_HD void go_over(const Block& block, std::uint32_t l, const LayerPass& pass, float* state,
                           const Moved& moved) const {
    constexpr std::uint32_t crew = crew_threads<Block>;
    const std::uint32_t lane = crew_lane(block);
    const InPlaceLayer layer = layers[l];
    const std::uint32_t items = layer.high * layer.slices;
    each_crew(block, items, [&](std::uint32_t number) {
      const Item item(layer, number);
      float* const shared_memory = block.template scratch<float>();
      float* const resident = shared_memory + layer.shared + item.at;
      float* const streamed = state + layer.at + item.at;
      float* const ring_of_crew = shared_memory + ring + block.thread() / crew * 2 * Panel::numbers;
      if (layer.streams)
        for (std::uint32_t panel = item.first; panel < item.first + 2; ++panel)
          stream(block, streamed, panel, item.end, ring_of_crew);
      Tile<Block> dz[eights], z[eights];
      if (pass.updates) load_delta<all>(lane, layer, item.strip, pass, dz);
      GRADRACE_ROLLED
      for (std::uint32_t panel = item.first; panel < item.end; ++panel) {
        const auto* const words = reinterpret_cast<const std::uint32_t*>(shared_memory) +
                                  panel * together * X::pieces * 4;
        Tile<Block> w[Panel::tiles];
        if (layer.streams) block.wait_for_older_copies();
        read(lane,
             layer.streams ? ring_of_crew + panel % 2 * Panel::numbers
                           : resident + panel * Panel::numbers,
             w);
        if (pass.updates) {
          Tile<Block> sums[Panel::tiles];
          multiply_old<all>(lane, X{words + old_rows}, pass.old_rows, dz, sums);
          if constexpr (std::same_as<Moved, Subtracted>)
            subtract(sums, pass.scale, w);
          else
            apply(lane, layer.at + item.at + panel * Panel::numbers, pass, sums, w, moved);
          if (layer.streams)
            write(lane, w, streamed + panel * Panel::numbers);
          else
            write(lane, w, resident + panel * Panel::numbers);
        }
        if (layer.streams) stream(block, streamed, panel + 2, item.end, ring_of_crew);
        if constexpr (!std::same_as<Moved, Subtracted>)
          prefetch_parts(block, pass, layer.at + item.at + (panel + 2) * Panel::numbers);
        if (pass.new_rows > 0) multiply_new<all>(lane, X{words + new_rows}, pass.new_rows, w, z);
      }
      if (pass.new_rows > 0) give<all>(block, layer, item, pass, state, z);
    });
  }

  /// dz: the delta of a strip's outputs, a tile for each eight rows.
  template <bool all, class Tile>
  GRADRACE_HD static void load_delta(std::uint32_t lane, const InPlaceLayer& layer,
                                     std::uint32_t strip, const LayerPass& pass,
                                     Tile (&dz)[eights]) {
    const float* of_eight = pass.delta + 16 * strip;
    GRADRACE_UNROLL
    for (std::uint32_t r = 0; r < eights; ++r) {
      dz[r].each(lane, [&](std::uint32_t o, std::uint32_t i, float& number) {
        if (all || 8 * r + row_of(i) < pass.old_rows)
          number = of_eight[row_of(i) * layer.stride() + o];
      });
      of_eight += 8 * layer.stride();
    }
  }

  /// sums += dz x, of a panel.
  template <bool all, class X, std::uint32_t crew>
  GRADRACE_HD static void multiply_old(std::uint32_t lane, const X& old_x, std::uint32_t rows,
                                       const MatrixTile<crew> (&dz)[eights],
                                       MatrixTile<crew> (&sums)[Panel::tiles]) {
    using Factor = RightFactor<crew, X::parts>;
    GRADRACE_UNROLL
    for (std::uint32_t r = 0; r < eights; ++r) {
      if (!all && 8 * r >= rows) continue;
      Factor x[Panel::tiles];
      GRADRACE_UNROLL
      for (std::uint32_t i = 0; i < Factor::held; ++i) {
        const MatrixPlace at = Factor::place(lane, i);
        const auto piece = old_x(r, row_of(at.row), Panel::four(at.column));
        GRADRACE_UNROLL
        for (std::uint32_t n = 0; n < Panel::tiles; ++n) x[n].set(i, piece.at(n));
      }
      MatrixTile<crew> of_rows = dz[r];
      of_rows.make_anew();
      LeftFactor<crew, 2> d;
      d.load(of_rows);
      multiply_add(sums, d, x);
    }
  }

  /// z += W x, of a panel; a tile for each eight rows.
  template <bool all, class X, std::uint32_t crew>
  GRADRACE_HD static void multiply_new(std::uint32_t lane, const X& new_x, std::uint32_t rows,
                                       const MatrixTile<crew> (&w)[Panel::tiles],
                                       MatrixTile<crew> (&z)[eights]) {
    using Factor = RightFactor<crew, X::parts>;
    constexpr std::uint32_t beside = 2;  // eights, whose sums do not wait for each other; of one
                                         // that there is not, the first stands for the second
    LeftFactor<crew, 2> left[Panel::tiles];
    GRADRACE_UNROLL
    for (std::uint32_t n = 0; n < Panel::tiles; ++n) left[n].load(w[n]);
    GRADRACE_UNROLL
    for (std::uint32_t first = 0; first < eights; first += beside) {
      if (!all && 8 * first >= rows) continue;
      typename X::Piece pieces[beside][Factor::held];
      GRADRACE_UNROLL
      for (std::uint32_t r = 0; r < beside; ++r) {
        const std::uint32_t eight = all || 8 * (first + r) < rows ? first + r : first;
        GRADRACE_UNROLL
        for (std::uint32_t i = 0; i < Factor::held; ++i) {
          const MatrixPlace at = Factor::place(lane, i);
          pieces[r][i] = new_x(eight, at.column, Panel::four(at.row));
        }
      }
      MatrixTile<crew> of_panel[beside];
      GRADRACE_UNROLL
      for (std::uint32_t n = 0; n < Panel::tiles; ++n) {
        Factor x[beside];
        GRADRACE_UNROLL
        for (std::uint32_t r = 0; r < beside; ++r) {
          GRADRACE_UNROLL
          for (std::uint32_t i = 0; i < Factor::held; ++i) x[r].set(i, pieces[r][i].at(n));
        }
        multiply_add(of_panel, left[n], x);
      }
      GRADRACE_UNROLL
      for (std::uint32_t r = 0; r < beside; ++r) {
        GRADRACE_UNROLL
        for (std::uint32_t i = 0; i < MatrixTile<crew>::held; ++i)
          z[first + r].number[i] += of_panel[r].number[i];
      }
    }
  }

  /// What the new rows get of an item: outputs, or sums of a slice.
  template <bool all, class Block>
  GRADRACE_HD void give(const Block& block, const InPlaceLayer& layer, const Item& item,
                        const LayerPass& pass, float* state, Tile<Block> (&z)[eights]) const {
    const std::uint32_t strip = 16 * item.strip;
    const auto each_sum = [&](const auto& f) {
      GRADRACE_UNROLL
      for (std::uint32_t r = 0; r < eights; ++r)
        z[r].each(crew_lane(block), [&](std::uint32_t o, std::uint32_t i, float sum) {
          if (all || 8 * r + i < pass.new_rows) f(8 * r + i, strip + o, sum);
        });
    };
    if (in_slices(layer, pass)) {
      float* const parts = block.template scratch<float>() + item.slice * together * layer.outputs;
      each_sum([&](std::uint32_t row, std::uint32_t o, float sum) {
        if (o < layer.outputs) parts[row * layer.outputs + o] = sum;
      });
      return;
    }
    const float* const b = weights(block, layer, state) + layer.panels();
    each_sum([&](std::uint32_t row, std::uint32_t o, float sum) {
      pass.y[row * layer.stride() + o] = activated(layer.f, fused(pass.scale, sum, b[o]));
    });
  }

  /// Whether outputs are made while W is gone over; else another crew may move b meanwhile.
  GRADRACE_HD static bool b_before_outputs(const InPlaceLayer& layer, const LayerPass& pass) {
    return pass.new_rows > 0 && !in_slices(layer, pass);
  }

  /// Whether sums stand in shared memory, slice by slice.
  GRADRACE_HD static bool in_slices(const InPlaceLayer& layer, const LayerPass& pass) {
    return layer.slices > 1 || pass.y == nullptr;
  }

  template <std::uint32_t crew>
  GRADRACE_HD static void read(std::uint32_t lane, const float* from,
                               MatrixTile<crew> (&tiles)[4]) {
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < MatrixTile<crew>::held; ++i) {
      const Four<float> four = Panel::fours<crew>(from, lane)[Panel::four_of<crew>(i)];
      GRADRACE_UNROLL
      for (std::uint32_t n = 0; n < 4; ++n) tiles[n].number[i] = four.at[n];
    }
  }

  template <std::uint32_t crew>
  GRADRACE_HD static void write(std::uint32_t lane, const MatrixTile<crew> (&tiles)[4], float* to) {
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < MatrixTile<crew>::held; ++i)
      Panel::fours<crew>(to, lane)[Panel::four_of<crew>(i)] = {
          {tiles[0].number[i], tiles[1].number[i], tiles[2].number[i], tiles[3].number[i]}};
  }

  template <class Tile>
  GRADRACE_HD static void subtract(const Tile (&sums)[4], float scale, Tile (&w)[4]) {
    GRADRACE_UNROLL
    for (std::uint32_t n = 0; n < 4; ++n) {
      GRADRACE_UNROLL
      for (std::uint32_t i = 0; i < Tile::held; ++i)
        w[n].number[i] = fused(-scale, sums[n].number[i], w[n].number[i]);
    }
  }

  /// Of the panel that begins there.
  template <class Block>
  GRADRACE_HD void prefetch_parts(const Block& block, const LayerPass& pass,
                                  std::uint32_t begin) const {
    constexpr std::uint32_t line = 32;
    const std::uint32_t lane = crew_lane(block);
    if (begin + Panel::numbers > numbers || lane >= Panel::numbers / line) return;
    for (std::uint32_t part = 1; part <= pass.parts; ++part)
      block.prefetch(pass.sums + std::uint64_t{part} * numbers + begin + lane * line);
  }

  /// The sums of products of the panel that begins there applied to its W, as the pass says.
  /// Padding is moved as well, from zero to zero.
  template <std::uint32_t crew, class Moved>
  GRADRACE_HD static void apply(std::uint32_t lane, std::uint32_t begin, const LayerPass& pass,
                                MatrixTile<crew> (&sums)[Panel::tiles],
                                MatrixTile<crew> (&w)[Panel::tiles], const Moved& moved) {
    GRADRACE_UNROLL
    for (std::uint32_t n = 0; n < 4; ++n) {
      GRADRACE_UNROLL
      for (float& sum : sums[n].number) sum *= pass.scale;
    }
    if (pass.applied.adds) {
      MatrixTile<crew> kept[Panel::tiles];
      read(lane, pass.sums + begin, kept);
      GRADRACE_UNROLL
      for (std::uint32_t n = 0; n < 4; ++n) {
        GRADRACE_UNROLL
        for (std::uint32_t i = 0; i < MatrixTile<crew>::held; ++i)
          sums[n].number[i] += kept[n].number[i];
      }
    }
    if (!pass.applied.moves) return write(lane, sums, pass.sums + begin);
    moved.with_step([&](const auto& step) {
      const auto fours = [&](float* numbers) {
        return numbers != nullptr ? Panel::fours<crew>(numbers + begin, lane) : nullptr;
      };
      const PartMove<float> average = moved.average();
      Four<float>* const parts[] = {fours(step.part(0).to), fours(step.part(1).to),
                                    fours(average.to)};
      GRADRACE_ROLLED
      for (std::uint32_t i = 0; i < MatrixTile<crew>::held; ++i) {  // always the first numbers
        Four<float> kept[3] = {};
        GRADRACE_UNROLL
        for (std::uint32_t part = 0; part < 3; ++part)
          if (parts[part] != nullptr) kept[part] = parts[part][Panel::four_of<crew>(i)];
        GRADRACE_UNROLL
        for (std::uint32_t n = 0; n < Panel::tiles; ++n) {
          float of_number[number_parts] = {kept[0].at[n], kept[1].at[n]};
          float& number = w[n].number[0];
          number = step(number, sums[n].number[0], of_number);
          kept[0].at[n] = of_number[0], kept[1].at[n] = of_number[1];
          kept[2].at[n] = moved.follow()(kept[2].at[n], number);
          turn(w[n]), turn(sums[n]);
        }
        GRADRACE_UNROLL
        for (std::uint32_t part = 0; part < 3; ++part)
          if (parts[part] != nullptr) parts[part][Panel::four_of<crew>(i)] = kept[part];
      }
      if (begin == 0 && lane == 0) once(step);
    });
  }

  /// The first number becomes the last.
  template <std::uint32_t crew>
  GRADRACE_HD static void turn(MatrixTile<crew>& tile) {
    const float first = tile.number[0];
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i + 1 < MatrixTile<crew>::held; ++i)
      tile.number[i] = tile.number[i + 1];
    tile.number[MatrixTile<crew>::held - 1] = first;
  }

  /// What layer l looks at and the delta of the one before, among the factors.
  template <class Block>
  GRADRACE_HD void propagate(const Block& block, std::uint32_t l, std::uint32_t n, float* state,
                             const float* outputs, float* factors) const {
    constexpr std::uint32_t crew = crew_threads<Block>;
    const std::uint32_t lane = crew_lane(block);
    const InPlaceLayer layer = layers[l], below = layers[l - 1];
    const float* const W = weights(block, layer, state);
    const float* const dz = delta(l, factors, n);
    const float* const given = outputs + std::uint64_t{below.y} * n;
    float* const seen = x(l, factors, n);
    float* const to = delta(l - 1, factors, n);
    const std::uint32_t blocks = layer.input_stride() / 16;
    each_crew(block, blocks * ((n + most_together - 1) / most_together), [&](std::uint32_t item) {
      const std::uint32_t top = item / blocks * most_together, left = item % blocks * 16;
      Tile<Block> sums[eights];
      for (std::uint32_t first = 0; first < layer.stride(); first += 8) {
        LeftFactor<crew, 2> w;
        w.load(lane, [&](std::uint32_t k, std::uint32_t o) {
          return W[layer.place(first + o, left + k)];
        });
        GRADRACE_UNROLL
        for (std::uint32_t r = 0; r < eights; ++r) {
          if (top + 8 * r >= n) continue;
          RightFactor<crew, 2> d;
          d.load(lane, [&](std::uint32_t o, std::uint32_t i) {
            const std::uint32_t row = top + 8 * r + i;
            return row < n ? dz[row * layer.stride() + first + o] : 0.0f;
          });
          multiply_add(sums[r], w, d);
        }
      }
      Tile<Block> kept[eights];  // all are read first: a compiler cannot tell that they stay
      const auto each_number = [&](Tile<Block>(&tiles)[eights], const auto& f) {
        GRADRACE_UNROLL
        for (std::uint32_t r = 0; r < eights; ++r)
          tiles[r].each(lane, [&](std::uint32_t k, std::uint32_t i, float& number) {
            const std::uint32_t row = top + 8 * r + i;
            if (row < n) f(row * layer.input_stride() + left + k, number);
          });
      };
      each_number(kept, [&](std::uint32_t at, float& y) { y = given[at]; });
      each_number(kept, [&](std::uint32_t at, float y) { seen[at] = y; });
      GRADRACE_UNROLL
      for (std::uint32_t r = 0; r < eights; ++r) {
        GRADRACE_UNROLL
        for (std::uint32_t i = 0; i < Tile<Block>::held; ++i)
          sums[r].number[i] *= slope(below.f, kept[r].number[i]);
      }
      each_number(sums, [&](std::uint32_t at, float by_z) { to[at] = by_z; });
    });
    block.sync();
  }
};

}  // namespace gradrace::kernels
