#pragma once

#include <concepts>
#include <type_traits>

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
  std::uint32_t ring, old_rows, new_rows, shared;

  static constexpr std::uint32_t threads = 256, at_once = 2;
  static constexpr std::uint32_t crews = threads / 32;  // at most
  static constexpr std::uint32_t most_together = 32;
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
    each_place(block, false, [&](const InPlaceLayer& layer, std::uint32_t i, std::uint32_t number) {
      weights(block, layer, state)[i] = number != InPlaceLayer::none ? w[layer.first + number] : 0;
    });
  }

  /// The other way.
  template <class Block>
  GRADRACE_HD void store(const Block& block, float* state, float* w) const {
    each_place(block, false, [&](const InPlaceLayer& layer, std::uint32_t i, std::uint32_t number) {
      if (number != InPlaceLayer::none) w[layer.first + number] = weights(block, layer, state)[i];
    });
  }

  /// f(i, j) for the number j < count of a part that is kept beside w, which is number i of panels.
  template <class Block, class Function>
  GRADRACE_HD void each_beside(const Block& block, std::uint32_t count, const Function& f) const {
    each_place(block, true, [&](const InPlaceLayer& layer, std::uint32_t i, std::uint32_t number) {
      if (number != InPlaceLayer::none && layer.first + number < count)
        f(layer.at + i, layer.first + number);
    });
  }

  /// Rows that layer l looks at, to shared memory: of the data set where rows is not null, else of
  /// x.  Up to a multiple of eight the last one is repeated.
  template <class Block>
  GRADRACE_HD void fetch(const Block& block, std::uint32_t l, const std::uint32_t* rows,
                         const float* x, std::uint32_t n, std::uint32_t to) const {
    const auto copy = [&](const auto& rows_in_place, const void* data, bool numbered) {
      using X = std::decay_t<decltype(rows_in_place)>;
      constexpr std::uint32_t pieces = X::pieces, crew = crew_threads<Block>;
      constexpr std::uint32_t beside = crew < pieces ? crew : pieces;  // lanes of a row of a panel
      const std::uint32_t first = crew_lane(block) / beside, wide = layers[l].wide;
      const auto* const from = static_cast<const Four<float>*>(data);
      auto* const begin = block.template scratch<Four<float>>() + to / 4;
      const auto copy_row = [&](std::uint32_t i, std::uint32_t row) {
        const auto* const of_row = from + std::uint64_t{row} * wide * pieces;
        for (std::uint32_t piece = crew_lane(block) % beside; piece < pieces; piece += beside) {
          const auto* source = of_row + first * pieces + piece;
          auto* place = begin + (first * together + i) * pieces + X::piece(i, piece);
          for (std::uint32_t panel = first; panel < wide; panel += crew / beside) {
            block.copy(place, source);
            source += crew / beside * pieces, place += crew / beside * together * pieces;
          }
        }
      };
      const std::uint32_t count = (n + 7) / 8 * 8, crews_here = block.threads() / crew;
      for (std::uint32_t i = block.thread() / crew; i < count; i += 4 * crews_here) {
        std::uint32_t row[4];  // numbers first: one wait for all of them
        GRADRACE_UNROLL
        for (std::uint32_t k = 0; k < 4; ++k) {
          row[k] = i + k * crews_here < n ? i + k * crews_here : n - 1;
          if (numbered) row[k] = rows[row[k]];
        }
        GRADRACE_UNROLL
        for (std::uint32_t k = 0; k < 4; ++k)
          if (i + k * crews_here < count) copy_row(i + k * crews_here, row[k]);
      }
    };
    if (l > 0)
      copy(FloatsInPlace{}, x, false);
    else if (of.train.bytes != nullptr)
      copy(BytesInPlace{}, of.train.bytes, true);
    else
      copy(FloatsInPlace{}, of.train.floats, true);
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
    if (l == 0 && of.train.bytes != nullptr)
      go_over<BytesInPlace>(block, l, pass, state, moved, move_b);
    else
      go_over<FloatsInPlace>(block, l, pass, state, moved, move_b);
    block.sync();
    if (pass.new_rows > 0 && in_slices(layers[l], pass)) add_up_slices(block, l, pass, state);
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
  /// minibatch; times the gradient's weight.
  template <class Block>
  GRADRACE_HD void differentiate_rows(const Block& block, const std::uint32_t* rows,
                                      std::uint32_t n, std::uint32_t all, float weight,
                                      float* to) const {
    const InPlaceLayer layer = layers[of.depth - 1];
    const Labels labels = of.labels_of(of.train, rows);
    float* const scores = block.template scratch<float>();
    each(block, n,
         [&](std::uint32_t i) { differentiate(labels, i, all, scores + i * layer.outputs); });
    block.sync();
    each(block, n * layer.stride(), [&](std::uint32_t i) {
      const std::uint32_t row = i / layer.stride(), o = i % layer.stride();
      to[i] = o < layer.outputs ? scores[row * layer.outputs + o] * weight : 0;
    });
    block.sync();
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

  /// f(layer, i, number) for each place i of each layer, and the number that stands there.
  template <class Block, class Function>
  GRADRACE_HD void each_place(const Block& block, bool is_beside, const Function& f) const {
    for (std::uint32_t l = 0; l < of.depth; ++l) {
      const InPlaceLayer layer = layers[l];
      each(block, layer.numbers(),
           [&](std::uint32_t i) { f(layer, i, layer.number(i, is_beside)); });
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
      const float* const from = panels + panel * Panel::numbers;
      float* const to = ring_of_crew + panel % 2 * Panel::numbers;
      GRADRACE_UNROLL
      for (std::uint32_t i = 0; i < Tile<Block>::held; ++i) {
        const std::uint32_t at = Panel::at(Tile<Block>::place(crew_lane(block), i));
        block.copy(reinterpret_cast<Four<float>*>(to + at),
                   reinterpret_cast<const Four<float>*>(from + at));
      }
    }
    block.end_copies();
  }

  static constexpr std::uint32_t eights = most_together / 8;  // of rows

  /// Some panels of a strip, which a crew goes over.
  struct Item {
    std::uint32_t strip, slice;
    std::uint32_t first, end;  // panels of the strip
    std::uint32_t at;          // where the strip begins among the layer's

    GRADRACE_HD Item(const InPlaceLayer& layer, std::uint32_t number)
        : strip(number / layer.slices), slice(number % layer.slices) {
      const std::uint32_t each = (layer.wide + layer.slices - 1) / layer.slices;
      first = slice * each;
      end = first + each < layer.wide ? first + each : layer.wide;
      at = strip * layer.wide * Panel::numbers;
    }
  };

  template <class X, class Block, class Moved, class MoveB>
  GRADRACE_HD void go_over(const Block& block, std::uint32_t l, const LayerPass& pass, float* state,
                           const Moved& moved, const MoveB& move_b) const {
    constexpr std::uint32_t crew = crew_threads<Block>;
    const std::uint32_t lane = crew_lane(block);
    const InPlaceLayer layer = layers[l];
    const std::uint32_t items = layer.high * layer.slices;
    each_crew(block, items + !b_before_outputs(layer, pass), [&](std::uint32_t number) {
      if (number == items) return move_b(lane, crew);
      const Item item(layer, number);
      float* const shared_memory = block.template scratch<float>();
      float* const resident = shared_memory + layer.shared + item.at;
      float* const streamed = state + layer.at + item.at;
      float* const ring_of_crew = shared_memory + ring + block.thread() / crew * 2 * Panel::numbers;
      float* const to = layer.streams ? streamed : resident;
      const std::uint32_t end_streamed = layer.streams ? item.end : 0;
      for (std::uint32_t panel = item.first; panel < item.first + 2; ++panel)
        stream(block, streamed, panel, end_streamed, ring_of_crew);
      Tile<Block> dz[eights], z[eights];
      load_delta(lane, layer, item.strip, pass, dz);
      GRADRACE_ROLLED
      for (std::uint32_t panel = item.first; panel < item.end; ++panel) {
        const auto* const words = reinterpret_cast<const std::uint32_t*>(shared_memory) +
                                  panel * together * X::pieces * 4;
        Tile<Block> w[Panel::tiles];
        block.wait_for_older_copies();
        read(lane,
             layer.streams ? ring_of_crew + panel % 2 * Panel::numbers
                           : resident + panel * Panel::numbers,
             w);
        if (pass.updates) {
          Tile<Block> sums[Panel::tiles];
          multiply_old(lane, X{words + old_rows}, pass.old_rows, dz, sums);
          if constexpr (std::same_as<Moved, Subtracted>)
            subtract(sums, pass.scale, w);
          else
            apply(lane, layer, item.strip * layer.wide + panel, pass, sums, w, moved);
          write(lane, w, to + panel * Panel::numbers);
        }
        stream(block, streamed, panel + 2, end_streamed, ring_of_crew);
        if constexpr (!std::same_as<Moved, Subtracted>)
          prefetch_parts(block, pass, layer.at + item.at + (panel + 2) * Panel::numbers);
        if (pass.new_rows > 0) multiply_new(lane, X{words + new_rows}, pass.new_rows, w, z);
      }
      give(block, layer, item, pass, state, z);
    });
  }

  /// dz: the delta of a strip's outputs, a tile for each eight rows.
  template <class Tile>
  GRADRACE_HD static void load_delta(std::uint32_t lane, const InPlaceLayer& layer,
                                     std::uint32_t strip, const LayerPass& pass,
                                     Tile (&dz)[eights]) {
    GRADRACE_UNROLL
    for (std::uint32_t r = 0; r < eights; ++r)
      dz[r].each(lane, [&](std::uint32_t o, std::uint32_t i, float& number) {
        const std::uint32_t row = 8 * r + row_of(i);
        if (row < pass.old_rows) number = pass.delta[row * layer.stride() + 16 * strip + o];
      });
  }

  /// sums += dz x, of a panel.
  template <class X, std::uint32_t crew>
  GRADRACE_HD static void multiply_old(std::uint32_t lane, const X& old_x, std::uint32_t rows,
                                       const MatrixTile<crew> (&dz)[eights],
                                       MatrixTile<crew> (&sums)[Panel::tiles]) {
    GRADRACE_UNROLL
    for (std::uint32_t r = 0; r < eights; ++r) {
      if (8 * r >= rows) continue;
      RightFactor<crew, X::parts> x[Panel::tiles];
      load(lane, x,
           [&](std::uint32_t i, std::uint32_t c) { return old_x(r, row_of(i), Panel::four(c)); });
      LeftFactor<crew, 2> d;
      d.load(dz[r]);
      multiply_add(sums, d, x);
    }
  }

  /// z += W x, of a panel; a tile for each eight rows.
  template <class X, std::uint32_t crew>
  GRADRACE_HD static void multiply_new(std::uint32_t lane, const X& new_x, std::uint32_t rows,
                                       const MatrixTile<crew> (&w)[Panel::tiles],
                                       MatrixTile<crew> (&z)[eights]) {
    LeftFactor<crew, 2> left[Panel::tiles];
    GRADRACE_UNROLL
    for (std::uint32_t n = 0; n < Panel::tiles; ++n) left[n].load(w[n]);
    GRADRACE_UNROLL
    for (std::uint32_t r = 0; r < eights; ++r) {
      if (8 * r >= rows) continue;
      RightFactor<crew, X::parts> x[Panel::tiles];
      load(lane, x, [&](std::uint32_t c, std::uint32_t i) { return new_x(r, i, Panel::four(c)); });
      MatrixTile<crew> of_panel;
      GRADRACE_UNROLL
      for (std::uint32_t n = 0; n < Panel::tiles; ++n) multiply_add(of_panel, left[n], x[n]);
      GRADRACE_UNROLL
      for (std::uint32_t i = 0; i < MatrixTile<crew>::held; ++i)
        z[r].number[i] += of_panel.number[i];
    }
  }

  /// What the new rows get of an item: outputs, or sums of a slice.
  template <class Block>
  GRADRACE_HD void give(const Block& block, const InPlaceLayer& layer, const Item& item,
                        const LayerPass& pass, float* state, Tile<Block> (&z)[eights]) const {
    const float* const b = weights(block, layer, state) + layer.panels();
    float* const parts = block.template scratch<float>() + item.slice * together * layer.outputs;
    GRADRACE_UNROLL
    for (std::uint32_t r = 0; r < eights; ++r)
      z[r].each(crew_lane(block), [&](std::uint32_t in_strip, std::uint32_t i, float sum) {
        const std::uint32_t row = 8 * r + i, o = 16 * item.strip + in_strip;
        if (row >= pass.new_rows) return;
        if (!in_slices(layer, pass))
          pass.y[row * layer.stride() + o] = activated(layer.f, fused(pass.scale, sum, b[o]));
        else if (o < layer.outputs)
          parts[row * layer.outputs + o] = sum;
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

  /// What the layer gives goes to y; of the last one it takes the place of the first slice.
  template <class Block>
  GRADRACE_HD void add_up_slices(const Block& block, std::uint32_t l, const LayerPass& pass,
                                 float* state) const {
    const InPlaceLayer layer = layers[l];
    const float* const b = weights(block, layer, state) + layer.panels();
    float* const parts = block.template scratch<float>();
    const std::uint32_t columns = pass.y != nullptr ? layer.stride() : layer.outputs;
    each(block, pass.new_rows * columns, [&](std::uint32_t i) {
      const std::uint32_t row = i / columns, o = i % columns;
      float sum = 0;
      for (std::uint32_t slice = 0; slice < layer.slices && o < layer.outputs; ++slice)
        sum += parts[(slice * together + row) * layer.outputs + o];
      (pass.y != nullptr ? pass.y : parts)[i] = activated(layer.f, fused(pass.scale, sum, b[o]));
    });
    block.sync();
  }

  template <class Tile>
  GRADRACE_HD static void read(std::uint32_t lane, const float* from, Tile (&tiles)[4]) {
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < Tile::held; ++i) {
      const auto four =
          *reinterpret_cast<const Four<float>*>(from + Panel::at(Tile::place(lane, i)));
      GRADRACE_UNROLL
      for (std::uint32_t n = 0; n < 4; ++n) tiles[n].number[i] = four.at[n];
    }
  }

  template <class Tile>
  GRADRACE_HD static void write(std::uint32_t lane, const Tile (&tiles)[4], float* to) {
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < Tile::held; ++i)
      *reinterpret_cast<Four<float>*>(to + Panel::at(Tile::place(lane, i))) = {
          {tiles[0].number[i], tiles[1].number[i], tiles[2].number[i], tiles[3].number[i]}};
  }

  /// Right factors of a panel's tiles: four(k, column) has a number of each.
  template <class Factor, class Function>
  GRADRACE_HD static void load(std::uint32_t lane, Factor (&factors)[4], const Function& four) {
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < Factor::held; ++i) {
      const MatrixPlace at = Factor::place(lane, i);
      const Four<float> numbers_of_tiles = four(at.row, at.column);
      GRADRACE_UNROLL
      for (std::uint32_t n = 0; n < 4; ++n) factors[n].set(i, numbers_of_tiles.at[n]);
    }
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

  /// A panel's sums of products applied to its W, as the pass says.
  template <class Tile, class Moved>
  GRADRACE_HD static void apply(std::uint32_t lane, const InPlaceLayer& layer, std::uint32_t panel,
                                const LayerPass& pass, Tile (&sums)[4], Tile (&w)[4],
                                const Moved& moved) {
    const std::uint32_t begin = layer.at + panel * Panel::numbers;
    GRADRACE_UNROLL
    for (std::uint32_t n = 0; n < 4; ++n) {
      GRADRACE_UNROLL
      for (float& sum : sums[n].number) sum *= pass.scale;
    }
    if (pass.applied.adds) {
      Tile kept[4];
      read(lane, pass.sums + begin, kept);
      GRADRACE_UNROLL
      for (std::uint32_t n = 0; n < 4; ++n) {
        GRADRACE_UNROLL
        for (std::uint32_t i = 0; i < Tile::held; ++i) sums[n].number[i] += kept[n].number[i];
      }
    }
    if (!pass.applied.moves) return write(lane, sums, pass.sums + begin);
    const std::uint32_t top = panel / layer.wide * 16, left = panel % layer.wide * 32;
    moved.with_kind([&](const auto& one) {
      GRADRACE_UNROLL
      for (std::uint32_t i = 0; i < Tile::held; ++i) {
        const MatrixPlace at = Tile::place(lane, i);
        const std::uint32_t o = top + at.row, k = left + 4 * Panel::four(at.column);
        GRADRACE_UNROLL
        for (std::uint32_t n = 0; n < 4; ++n) {
          float& number = w[n].number[i];
          if (o < layer.outputs && k + n < layer.inputs)
            number = one(begin + Panel::beside(at) + 32 * n, number, sums[n].number[i]);
        }
      }
    });
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
      GRADRACE_UNROLL
      for (std::uint32_t r = 0; r < eights; ++r)
        sums[r].each(lane, [&](std::uint32_t k, std::uint32_t i, float sum) {
          const std::uint32_t row = top + 8 * r + i;
          if (row >= n) return;
          const std::uint32_t at = row * layer.input_stride() + left + k;
          seen[at] = given[at];
          to[at] = sum * slope(below.f, given[at]);
        });
    });
    block.sync();
  }
};

}  // namespace gradrace::kernels
