#pragma once

#include "models/gpu/kernels/in_place_network.h"
#include "models/gpu/kernels/replay.h"

namespace gradrace::kernels {

/// A step of a Program of the early order, whose update moves one state of the run in place: where
/// the state is not the value in base, that is loaded first.
struct InPlaceStep {
  bool computes;       // the factors of use `first` go to its place; else base is moved to out
  bool stored;         // out goes to its slot as well
  std::uint16_t rule;  // index into Tape::rules
  std::uint32_t out, base;
  std::uint32_t first, count;  // of the run's uses
};

/// A use whose gradient's factors are in that place: of each layer what it looks at and the
/// derivative by what it gives.
struct FactoredUse {
  std::uint32_t place;
  std::uint32_t learner, draw, recipe;
  double weight;
};

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
  const InPlaceStep* steps;
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
    const Stretch stretch = stretches[number];
    const RunAt run = cohort.runs[stretch.run];
    float* const state = work + worker * work_stride;
    std::uint32_t at_hand = ~std::uint32_t{0};  // the slot whose value the state is
    Change change = change_at(stretch, run, 0, false), next;
    draw(block, change, state);
    block.sync();
    begin(block, change, state);
    for (; change.steps > 0; change = next) {
      next = change_at(stretch, run, change.first + change.steps, !change.odd);
      const InPlaceStep& step = steps[stretch.first + change.first];
      if (at_hand != step.base)
        load(block, run, cohort.values.at(run, stretch.run, step.base), state);
      compute(block, change, next, state);
      at_hand = step.computes ? step.base : step.out;
      if (!step.computes && step.stored)
        store(block, run, state, cohort.values.at(run, stretch.run, step.out));
    }
  }

 private:
  /// An update of a run, if any, and the gradient computed at what it gives, if any.
  struct Change {
    const RunAt* run;
    std::uint32_t number;       // of the run
    bool odd;                   // among the stretch's
    std::uint32_t steps;        // two where there are both; none at the end
    std::uint64_t first;        // of the stretch's
    const InPlaceStep* update;  // null: none
    const FactoredUse* old;     // [update->count]
    const FactoredUse* fresh;   // null: none
  };

  GRADRACE_HD Change change_at(const Stretch& stretch, const RunAt& run, std::uint64_t i,
                               bool odd) const {
    Change change{&run, stretch.run, odd, 0, i, nullptr, nullptr, nullptr};
    const InPlaceStep* const step = steps + stretch.first + i;
    const FactoredUse* const of_stretch = uses + stretch.first_use;
    if (i < stretch.count && !step->computes) {
      change.update = step, change.old = of_stretch + step->first;
      ++change.steps;
    }
    const InPlaceStep* const then = step + change.steps;
    if (i + change.steps < stretch.count && then->computes &&
        (change.update == nullptr || then->base == step->out)) {
      change.fresh = of_stretch + then->first;
      ++change.steps;
    }
    return change;
  }

  /// A gradient's rows and factors.
  struct Factored {
    std::uint32_t* rows;  // [n]
    float* factors;
    std::uint32_t n;
  };

  GRADRACE_HD Factored factored(const Change& change, const FactoredUse& use) const {
    const std::uint64_t place = std::uint64_t{change.number} * places + use.place;
    return {rows + place * minibatch, factors + place * minibatch * network.per_row,
            cohort.recipes[change.run->first_recipe + use.recipe].minibatch};
  }

  GRADRACE_HD float* sums(float* state) const { return state + network.numbers; }
  /// Of the gradient of a change; the next change's are elsewhere.
  GRADRACE_HD std::uint32_t* new_rows(const Change& change, float* state) const {
    return reinterpret_cast<std::uint32_t*>(state + work_stride -
                                            (change.odd ? 2 : 1) * in_fours(minibatch));
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

  template <class Block>
  GRADRACE_HD void load(const Block& block, const RunAt& run, const StateAt<float>& from,
                        float* state) const {
    network.load(block, from.w, state);
    each_part(run, from, state, [&](const float* in_slot, float* in_panels, std::uint32_t count) {
      network.each_beside(block, count,
                          [&](std::uint32_t i, std::uint32_t j) { in_panels[i] = in_slot[j]; });
    });
  }

  template <class Block>
  GRADRACE_HD void store(const Block& block, const RunAt& run, float* state,
                         const StateAt<float>& to) const {
    network.store(block, state, to.w);
    each_part(run, to, state, [&](float* in_slot, const float* in_panels, std::uint32_t count) {
      network.each_beside(block, count,
                          [&](std::uint32_t i, std::uint32_t j) { in_slot[j] = in_panels[i]; });
    });
  }

  template <class Block>
  GRADRACE_HD void compute(const Block& block, const Change& change, const Change& next,
                           float* state) const {
    if constexpr (plain) {
      compute_by(block, change, next, state, Subtracted{});
    } else {
      double rate = 0;
      for (std::uint32_t u = 0; change.update != nullptr && u < change.update->count; ++u)
        rate += change.old[u].weight;
      const RunAt& run = *change.run;
      const KernelRule& rule =
          cohort.rules[run.first_rule + (change.update != nullptr ? change.update->rule : 0)];
      StateLayout layout = run.layout;
      layout.learnt = network.numbers;
      const StateAt<float> parts = beside(run, state);
      const Move<float> move(rule.optimiser, rule.ema, layout, 0, {parts, parts, rate});
      compute_by(block, change, next, state, move);
    }
  }

  template <class Block, class Moved>
  GRADRACE_HD void compute_by(const Block& block, const Change& change, const Change& next,
                              float* state, const Moved& moved) const {
    for (std::uint32_t l = 0; l < network.of.depth; ++l)
      go_over(block, l, change, next, state, moved);
    if (change.fresh == nullptr || network.of.depth == 1) return;
    const Factored fresh = factored(change, *change.fresh);
    block.sync();
    network.propagate(block, fresh.n, state, outputs(state), fresh.factors);
  }

  /// How far a change has come over a layer, in rows.
  struct Progress {
    std::uint32_t use, of_use, fresh;
  };

  /// The next pass over layer l, of some rows; the first of the new gradient's go with the last of
  /// the old ones'.  Of no rows at all: an update of no gradient, or the end.
  GRADRACE_HD LayerPass pass_at(const Change& change, std::uint32_t l, Progress& done,
                                float* state) const {
    const InPlaceLayer& layer = network.layers[l];
    const std::uint32_t uses_left = change.update != nullptr ? change.update->count : 0;
    LayerPass pass{};
    pass.scale = l == 0 && network.of.train.bytes != nullptr ? network.of.train.byte_scale : 1;
    pass.sums = sums(state);
    pass.parts = parts(*change.run);
    pass.applied.adds = done.use + done.of_use > 0;
    pass.updates = change.update != nullptr && done.fresh == 0;
    if (done.use < uses_left) {
      const Factored old = factored(change, change.old[done.use]);
      pass.old_rows = some(old.n - done.of_use);
      pass.delta = network.delta(l, old.factors, old.n) + done.of_use * layer.stride();
      done.of_use += pass.old_rows;
      if (done.of_use == old.n) ++done.use, done.of_use = 0;
    }
    pass.applied.moves = done.use == uses_left;
    if (!pass.applied.moves || change.fresh == nullptr) return pass;
    const Factored fresh = factored(change, *change.fresh);
    pass.new_rows = some(fresh.n - done.fresh);
    if (l + 1 < network.of.depth)
      pass.y = network.y(l, outputs(state), fresh.n) + done.fresh * layer.stride();
    done.fresh += pass.new_rows;
    return pass;
  }

  GRADRACE_HD bool is_over(const Change& change, const Progress& done) const {
    return (change.update == nullptr || done.use == change.update->count) &&
           (change.fresh == nullptr || done.fresh == factored(change, *change.fresh).n);
  }

  GRADRACE_HD std::uint32_t some(std::uint32_t left) const {
    return left < network.together ? left : network.together;
  }

  /// Draws the new gradient's rows; does not sync.
  template <class Block>
  GRADRACE_HD void draw(const Block& block, const Change& change, float* state) const {
    if (change.fresh == nullptr) return;
    const FactoredUse& use = *change.fresh;
    const RunAt& run = *change.run;
    network.of.draw(block, {run.seed, run.replica, use.learner, use.draw, factored(change, use).n},
                    new_rows(change, state));
  }

  /// Begins to bring what the first pass looks at.
  template <class Block>
  GRADRACE_HD void begin(const Block& block, const Change& change, float* state) const {
    Progress done{};
    const LayerPass pass = pass_at(change, 0, done, state);
    fetch(block, 0, change, Progress{}, pass, state);
  }

  /// What a pass looks at.
  template <class Block>
  GRADRACE_HD void fetch(const Block& block, std::uint32_t l, const Change& change,
                         const Progress& done, const LayerPass& pass, float* state) const {
    const std::uint64_t stride = network.layers[l].input_stride();
    if (pass.old_rows > 0) {
      const Factored old = factored(change, change.old[done.use]);
      const float* const x = network.x(l, old.factors, old.n) + done.of_use * stride;
      network.fetch(block, l, old.rows + done.of_use, x, pass.old_rows, network.old_rows);
    }
    if (pass.new_rows > 0) {
      const Factored fresh = factored(change, *change.fresh);
      const float* const x =
          l > 0 ? network.y(l - 1, outputs(state), fresh.n) + done.fresh * stride : nullptr;
      network.fetch(block, l, new_rows(change, state) + done.fresh, x, pass.new_rows,
                    network.new_rows);
    }
  }

  /// All passes over layer l; after the last one over the last layer the next change begins.
  template <class Block, class Moved>
  GRADRACE_HD void go_over(const Block& block, std::uint32_t l, const Change& change,
                           const Change& next, float* state, const Moved& moved) const {
    const bool last = l + 1 == network.of.depth;
    Progress done{};
    do {
      const Progress before = done;
      const LayerPass pass = pass_at(change, l, done, state);
      const bool first = before.use + before.of_use + before.fresh == 0;
      if (l > 0 || !first) fetch(block, l, change, before, pass, state);
      block.wait_for_copies();
      block.sync();
      network.pass_over(block, l, pass, state, moved, [&](std::uint32_t i, std::uint32_t n) {
        if (first && pass.updates)
          network.move_bias(
              block, l, change.update->count,
              [&](std::uint32_t u) { return factored(change, change.old[u]); }, state, moved, i, n);
      });
      const bool ends = last && is_over(change, done);
      if (ends) keep_rows(block, change, state), draw(block, next, state);
      if (pass.new_rows > 0) network.add_up_slices(block, l, pass, state);
      block.sync();
      if (ends) begin(block, next, state);
      if (!last || pass.new_rows == 0) continue;
      const Factored fresh = factored(change, *change.fresh);
      network.differentiate_rows(
          block, new_rows(change, state) + before.fresh, pass.new_rows, fresh.n,
          static_cast<float>(change.fresh->weight),
          network.delta(l, fresh.factors, fresh.n) + before.fresh * network.layers[l].stride());
    } while (!is_over(change, done));
  }

  /// The rows of the new gradient go to their place, where the next change may look for them; does
  /// not sync.
  template <class Block>
  GRADRACE_HD void keep_rows(const Block& block, const Change& change, float* state) const {
    if (change.fresh == nullptr) return;
    const Factored fresh = factored(change, *change.fresh);
    const std::uint32_t* const drawn = new_rows(change, state);
    each(block, fresh.n, [&](std::uint32_t i) { fresh.rows[i] = drawn[i]; });
  }
};

}  // namespace gradrace::kernels
