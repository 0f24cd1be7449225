#pragma once

#include "models/gpu/kernels/in_place_network.h"
#include "models/gpu/kernels/replay.h"

namespace gradrace::kernels {

/// Does a stretch of each run, a block for each run.
///
/// Where a gradient is computed at what an update gives, both go over a layer's weights at once:
/// the update by the old gradient's rows, then the product with the new one's.
///
/// Cost of such an update with one gradient of up to 32 rows, of d parameters and m rows: 4 m d
/// multiplications with additions, each of two products of TF32 where the factors are bytes, else
/// of three.  Weights that do not fit into shared memory are read and written once, 8 d bytes, and
/// so is each part of a state beside them; of 32 rows more they are read and written once more.
/// Rows are read twice.
///
/// plain: of runs whose every state is w alone, which each gradient is subtracted from.
template <bool plain>
struct InPlaceReplayKernel {
  using Real = float;
  using Network = InPlaceNetwork;

  Network network;
  Cohort<float> cohort;
  const Stretch* stretches;
  const FactoredUse* uses;
  const InPlaceChange* changes;
  // Of each worker: the state at hand in panels, where it is not plain with sums of its size; then
  // of the newest gradient what each layer gives and rows, as it may go to the place of an old one,
  // and of the next one rows.
  float* work;
  std::uint64_t work_stride;
  // Of each place of a run: a gradient's rows and factors.
  std::uint32_t* rows;
  float* factors;
  std::uint32_t places, minibatch;  // at most

  static constexpr std::uint32_t threads = Network::threads, at_once = Network::at_once;
  std::size_t shared_numbers() const { return network.shared_numbers(); }

  static std::uint64_t stride_of_work(const Network& network, std::uint32_t minibatch) {
    return std::uint64_t{network.numbers} * (plain ? 1 : most_parts + 3) +
           std::uint64_t{minibatch} * network.work_per_row + 2 * in_fours(minibatch);
  }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number,
                              std::uint32_t worker) const {
    At& at = reinterpret_cast<At&>(block.template scratch<float>()[network.run]);
    if (block.thread() == 0) {
      const Stretch stretch = stretches[number];
      at = {stretch.run, static_cast<std::uint32_t>(stretch.count), stretch.first_use,
            changes + stretch.first, work + worker * work_stride};
    }
    block.sync();
    bring(block, at, 0), bring(block, at, 1);
    block.wait_for_copies();
    block.sync();
    draw(block, at, 0);
    block.sync();
    begin(block, at, 0);
    std::uint32_t at_hand = ~std::uint32_t{0};  // the slot whose value the state is
    for (std::uint32_t i = 0; i < at.count; ++i) {
      bring(block, at, i + 2);
      const std::uint32_t base = change(block, i).base;
      if (at_hand != base) load(block, at, base);
      compute(block, at, i);
      const InPlaceChange& done = change(block, i);
      at_hand = done.updates ? done.out : done.base;
      if (done.updates && done.stored) store(block, at, done.out);
    }
  }

 private:
  /// A stretch of a run, in shared memory: registers are for products.
  struct At {
    std::uint32_t run, count;  // number of the run; of changes
    std::uint64_t first_use;
    const InPlaceChange* changes;  // [count]
    float* state;                  // at hand, and what else a worker has
  };
  static_assert(sizeof(At) <= Network::run_numbers * sizeof(float));

  GRADRACE_HD const RunAt& run(const At& at) const { return cohort.runs[at.run]; }

  /// Begins to bring the i-th change to shared memory, if there is one.
  template <class Block>
  GRADRACE_HD void bring(const Block& block, const At& at, std::uint32_t i) const {
    if (i >= at.count) return;
    constexpr std::uint32_t fours = sizeof(InPlaceChange) / sizeof(Four<float>);
    auto* const to = block.template scratch<Four<float>>() + network.changes / 4;
    const auto* const from = reinterpret_cast<const Four<float>*>(at.changes + i);
    each(block, fours, [&](std::uint32_t k) {
      block.copy(to + i % Network::kept_changes * fours + k, from + k);
    });
  }
  template <class Block>
  GRADRACE_HD const InPlaceChange& change(const Block& block, std::uint32_t i) const {
    return reinterpret_cast<const InPlaceChange*>(block.template scratch<float>() +
                                                  network.changes)[i % Network::kept_changes];
  }

  /// The u-th use of its update.
  GRADRACE_HD FactoredUse old(const At& at, const InPlaceChange& change, std::uint32_t u) const {
    return u == 0 ? change.old : uses[at.first_use + change.first + u];
  }

  /// A gradient's rows and factors.
  struct Factored {
    std::uint32_t* rows;  // [n]
    float* factors;
    std::uint32_t n;
  };

  GRADRACE_HD Factored factored(const At& at, const FactoredUse& use) const {
    const std::uint64_t place = std::uint64_t{at.run} * places + use.place;
    return {rows + place * minibatch, factors + place * minibatch * network.per_row, use.n};
  }

  GRADRACE_HD float* sums(float* state) const { return state + network.numbers; }
  /// Of the gradient of the i-th change; the next one's are elsewhere.
  template <class Block>
  GRADRACE_HD std::uint32_t* new_rows(const Block& block, const At& at, std::uint32_t i) const {
    const std::uint32_t odd = i % 2;
    if (minibatch <= Network::most_together)
      return block.template scratch<std::uint32_t>() + network.drawn + odd * Network::most_together;
    return reinterpret_cast<std::uint32_t*>(at.state + work_stride -
                                            (odd + 1) * in_fours(minibatch));
  }
  GRADRACE_HD float* outputs(float* state) const {
    return state + work_stride - 2 * in_fours(minibatch) -
           std::uint64_t{network.work_per_row} * minibatch;
  }

  /// The state at hand, whose w is elsewhere.
  GRADRACE_HD StateAt<float> beside(const RunAt& run, float* state) const {
    float* next = sums(state) + network.numbers;  // behind the sums
    StateAt<float> result{nullptr, {}, nullptr};
    const auto take = [&](std::uint64_t at) {
      float* const taken = at > 0 ? next : nullptr;
      if (at > 0) next += network.numbers;
      return taken;
    };
    for (std::size_t part = 0; part < most_parts; ++part)
      result.parts[part] = take(run.layout.parts[part]);
    result.average = take(run.layout.average);
    return result;
  }

  /// How many those are.
  GRADRACE_HD static std::uint32_t parts(const RunAt& run) {
    std::uint32_t count = run.layout.average > 0;
    for (std::size_t part = 0; part < most_parts; ++part) count += run.layout.parts[part] > 0;
    return count;
  }

  /// f(part in a slot's layout, in panels, its numbers), for each that is kept beside w.
  template <class Function>
  GRADRACE_HD void each_part(const RunAt& run, const StateAt<float>& in_slot, float* state,
                             const Function& f) const {
    if constexpr (plain) return;
    const StateAt<float> in_panels = beside(run, state);
    const auto numbers = [&](std::uint64_t begin) {
      std::uint64_t end = run.layout.numbers;
      for (std::size_t part = 0; part <= most_parts; ++part) {
        const std::uint64_t next = part < most_parts ? run.layout.parts[part] : run.layout.average;
        if (next > begin && next < end) end = next;
      }
      return static_cast<std::uint32_t>(
          end - begin < network.of.parameters ? end - begin : network.of.parameters);
    };
    for (std::size_t part = 0; part < most_parts; ++part)
      if (in_slot.parts[part] != nullptr)
        f(in_slot.parts[part], in_panels.parts[part], numbers(run.layout.parts[part]));
    if (in_slot.average != nullptr)
      f(in_slot.average, in_panels.average, numbers(run.layout.average));
  }

  /// The state at hand becomes the value of that slot.
  template <class Block>
  GRADRACE_HD void load(const Block& block, const At& at, std::uint32_t slot) const {
    const StateAt<float> from = cohort.values.at(run(at), at.run, slot);
    network.load(block, from.w, at.state);
    each_part(run(at), from, at.state,
              [&](const float* in_slot, float* in_panels, std::uint32_t count) {
                network.each_beside(block, count, [&](std::uint32_t i, std::uint32_t j) {
                  in_panels[i] = j != InPlaceLayer::none ? in_slot[j] : 0;
                });
              });
  }

  /// The other way.
  template <class Block>
  GRADRACE_HD void store(const Block& block, const At& at, std::uint32_t slot) const {
    const StateAt<float> to = cohort.values.at(run(at), at.run, slot);
    network.store(block, at.state, to.w);
    each_part(run(at), to, at.state,
              [&](float* in_slot, const float* in_panels, std::uint32_t count) {
                network.each_beside(block, count, [&](std::uint32_t i, std::uint32_t j) {
                  if (j != InPlaceLayer::none) in_slot[j] = in_panels[i];
                });
              });
  }

  template <class Block>
  GRADRACE_HD void compute(const Block& block, const At& at, std::uint32_t i) const {
    if constexpr (plain) {
      compute_by(block, at, i, Subtracted{});
    } else {
      const RunAt& run = this->run(at);
      const KernelRule& rule = cohort.rules[run.first_rule + change(block, i).rule];
      StateLayout layout = run.layout;
      layout.learnt = network.numbers;
      const StateAt<float> parts = beside(run, at.state);
      const Move<float> move(rule.optimiser, rule.ema, layout, 0,
                             {parts, parts, change(block, i).rate});
      compute_by(block, at, i, move);
    }
  }

  template <class Block, class Moved>
  GRADRACE_HD void compute_by(const Block& block, const At& at, std::uint32_t i,
                              const Moved& moved) const {
    for (std::uint32_t l = 0; l < network.of.depth; ++l) go_over(block, at, i, l, moved);
    if (change(block, i).fresh.n == 0 || network.of.depth == 1) return;
    const Factored fresh = factored(at, change(block, i).fresh);
    block.sync();
    network.propagate(block, fresh.n, at.state, outputs(at.state), fresh.factors);
  }

  /// How far a change has come over a layer, in rows.
  struct Progress {
    std::uint32_t use, of_use, fresh;
  };

  /// The next pass over layer l, of some rows; the first of the new gradient's go with the last of
  /// the old ones'.  Of no rows at all: an update of no gradient, or the end.
  GRADRACE_HD LayerPass pass_at(const At& at, const InPlaceChange& change, std::uint32_t l,
                                Progress& done) const {
    const InPlaceLayer& layer = network.layers[l];
    LayerPass pass{};
    pass.scale = l == 0 && network.of.train.bytes != nullptr ? network.of.train.byte_scale : 1;
    if constexpr (!plain) pass.sums = sums(at.state), pass.parts = parts(run(at));
    pass.applied.adds = done.use + done.of_use > 0;
    pass.updates = change.updates && done.fresh == 0;
    if (done.use < change.count) {
      const Factored from = factored(at, old(at, change, done.use));
      pass.old_rows = some(from.n - done.of_use);
      pass.delta = network.delta(l, from.factors, from.n) + done.of_use * layer.stride();
      done.of_use += pass.old_rows;
      if (done.of_use == from.n) ++done.use, done.of_use = 0;
    }
    pass.applied.moves = done.use == change.count;
    if (!pass.applied.moves || change.fresh.n == 0) return pass;
    pass.new_rows = some(change.fresh.n - done.fresh);
    if (l + 1 < network.of.depth)
      pass.y = network.y(l, outputs(at.state), change.fresh.n) + done.fresh * layer.stride();
    done.fresh += pass.new_rows;
    return pass;
  }

  GRADRACE_HD static bool is_over(const InPlaceChange& change, const Progress& done) {
    return done.use == change.count && done.fresh == change.fresh.n;
  }

  GRADRACE_HD std::uint32_t some(std::uint32_t left) const {
    return left < network.together ? left : network.together;
  }

  /// A crew draws the rows of the i-th change's gradient, if any; does not sync.
  template <class Block>
  GRADRACE_HD void draw(const Block& block, const At& at, std::uint32_t i) const {
    constexpr std::uint32_t crew = crew_threads<Block>;
    if (block.thread() / crew + 1 != block.threads() / crew || i >= at.count) return;
    const InPlaceChange& drawn = change(block, i);
    const MinibatchName name{run(at).seed, run(at).replica, drawn.learner, drawn.draw,
                             drawn.fresh.n};
    if (name.size > 0) network.of.draw(name, new_rows(block, at, i), crew_lane(block), crew);
  }

  /// Begins to bring what the first pass of the i-th change looks at, if there is one.
  template <class Block>
  GRADRACE_HD void begin(const Block& block, const At& at, std::uint32_t i) const {
    if (i >= at.count) return;
    Progress done{};
    const LayerPass pass = pass_at(at, change(block, i), 0, done);
    fetch(block, at, i, 0, Progress{}, pass);
  }

  /// What a pass looks at.
  template <class Block>
  GRADRACE_HD void fetch(const Block& block, const At& at, std::uint32_t i, std::uint32_t l,
                         const Progress& done, const LayerPass& pass) const {
    const std::uint64_t stride = network.layers[l].input_stride();
    const InPlaceChange& of = change(block, i);
    if (pass.old_rows > 0) {
      const Factored old = factored(at, this->old(at, of, done.use));
      const float* const x = network.x(l, old.factors, old.n) + done.of_use * stride;
      network.fetch(block, l, old.rows + done.of_use, x, pass.old_rows, network.old_rows);
    }
    if (pass.new_rows > 0) {
      const float* const x =
          l > 0 ? network.y(l - 1, outputs(at.state), of.fresh.n) + done.fresh * stride : nullptr;
      network.fetch(block, l, new_rows(block, at, i) + done.fresh, x, pass.new_rows,
                    network.new_rows);
    }
  }

  /// All passes over layer l; after the last one over the last layer the next change begins, whose
  /// rows are drawn beside the first one.
  template <class Block, class Moved>
  GRADRACE_HD void go_over(const Block& block, const At& at, std::uint32_t i, std::uint32_t l,
                           const Moved& moved) const {
    const bool last = l + 1 == network.of.depth;
    const InPlaceChange& of = change(block, i);
    Progress done{};
    do {
      const Progress before = done;
      const LayerPass pass = pass_at(at, of, l, done);
      const bool first = before.use + before.of_use + before.fresh == 0;
      if (l > 0 || !first) fetch(block, at, i, l, before, pass);
      block.wait_for_copies();
      block.sync();
      if (l == 0 && first) draw(block, at, i + 1);
      network.pass_over(
          block, l, pass, at.state, moved, [&](std::uint32_t thread, std::uint32_t n) {
            if (first && pass.updates)
              network.move_bias(
                  block, l, of.count, [&](std::uint32_t u) { return factored(at, old(at, of, u)); },
                  at.state, moved, thread, n);
          });
      const bool ends = last && is_over(of, done);
      if (ends) keep_rows(block, at, i);
      if (pass.new_rows > 0) network.add_up_slices(block, l, pass, at.state);
      block.sync();
      if (ends) begin(block, at, i + 1);
      if (!last || pass.new_rows == 0) continue;
      const Factored fresh = factored(at, of.fresh);
      network.differentiate_rows(
          block, new_rows(block, at, i) + before.fresh, pass.new_rows, fresh.n, of.weight,
          network.delta(l, fresh.factors, fresh.n) + before.fresh * network.layers[l].stride());
    } while (!is_over(of, done));
  }

  /// The rows of the new gradient go to their place, where a later change may look for them; does
  /// not sync.
  template <class Block>
  GRADRACE_HD void keep_rows(const Block& block, const At& at, std::uint32_t i) const {
    const Factored fresh = factored(at, change(block, i).fresh);
    const std::uint32_t* const drawn = new_rows(block, at, i);
    each(block, fresh.n, [&](std::uint32_t row) { fresh.rows[row] = drawn[row]; });
  }
};

}  // namespace gradrace::kernels
