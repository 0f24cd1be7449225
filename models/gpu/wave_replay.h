#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "models/gpu/batched_product.h"
#include "models/gpu/in_place.h"
#include "models/gpu/kernels/wave_replay.h"
#include "models/gpu/staged.h"

namespace gradrace {

/// The updates of runs of dense layers whose weights do not fit into a block's shared memory: all
/// runs go side by side, in rounds, and the products of a round are made together.
///
/// In a round each run loads a state, computes gradients at it, makes an update and stores it, or
/// leaves some of that out.  Gradients of equal minibatches are computed together, and so are the
/// uses that are the u-th of their updates.
///
/// Products are made `together` at a time, and the last call is filled up with nobody's: a library
/// may choose its algorithm by how many there are.  Then all that a call depends on is the network
/// and the run's own minibatch, and a run's bits depend neither on its cohort nor on where segments
/// end.
///
/// What an update with one gradient must do, of d parameters and m rows of f features: 3 m d
/// multiplications with additions, but for the first layer 2, whose inputs need no derivative.  In
/// numbers of Real: w is read for the scores, for the derivatives but of the first layer, and read
/// and written by the update, 4 d at the most; where a state has more than w, 4 d more for the step
/// and 2 d for each other part.  Rows are read as they are kept, written down, and read twice,
/// 3 m f.  An mlp 784-128-10 of float32 with m = 32: 6.6 million multiplications, 1.6 MB.  What a
/// last call is filled up with costs as many multiplications, and hardly memory: all of it is one.
template <class Real, class Launcher>
class WaveReplay {
 public:
  using Network = kernels::InPlaceNetwork<Real>;

  static constexpr std::uint32_t together = 64;

  /// Bytes of one gradient that waits for its update, and of what products look up.
  static std::uint64_t place_bytes(const Network& network, std::uint32_t minibatch) {
    return minibatch *
               (kernels::Wave<Real>::per_row(network) * sizeof(Real) + sizeof(std::uint32_t)) +
           3 * network.of.depth * sizeof(Real*);
  }

  /// Numbers of a run's state at hand and its step.
  static std::uint64_t run_numbers(std::uint64_t parameters) { return 5 * (parameters + 3); }

  /// layers: the network's, on the host; numbers: of a state, w and `beside`.
  void start(Launcher& launcher, std::span<const kernels::InPlaceLayer> layers, std::size_t runs,
             std::size_t parameters, std::size_t beside, std::uint32_t minibatch) {
    layers_ = layers;
    runs_.assign(runs, {});
    minibatch_ = minibatch;
    state_stride_ = kernels::in_fours(parameters) + beside;
    step_stride_ = kernels::in_fours(parameters);
    const std::size_t steps = beside > 0 ? (runs + 1) * step_stride_ : 0;
    reserve(launcher, states_, (runs + 1) * state_stride_);
    reserve(launcher, steps_, steps);
    gradrace::clear(launcher, states_.data(), state_stride_);
    gradrace::clear(launcher, steps_.data(), steps);
  }

  void clear() {
    loads_.clear(), stores_.clear(), factors_.clear(), uses_.clear(), moves_.clear();
    for (auto& stage : rounds_) stage.clear();
    rounds_made_ = factor_lists_ = use_lists_ = 0;
  }

  /// run: number `number` of the cohort; recipes: its own.
  void add(std::uint32_t number, const kernels::RunAt& run,
           std::span<const kernels::KernelRecipe> recipes, const Program& program,
           const Lowering& lowering) {
    const InPlaceProgram& in_place = runs_[number].lower(program, lowering);
    places_ = std::max(places_, runs_[number].places());
    for (std::size_t stage = 0; stage < in_place.stages.size(); ++stage) {
      const std::size_t last = stage + 1 < in_place.stages.size() ? in_place.stages[stage + 1]
                                                                  : in_place.instructions.size();
      std::size_t round = 0;
      for (std::size_t i = in_place.stages[stage]; i < last; ++i) {
        const Instruction& what = in_place.instructions[i];
        if (i > in_place.stages[stage]) round += begins_round(in_place.instructions[i - 1], what);
        add(number, run, recipes, program, in_place, what, round_of(stage, round));
      }
    }
  }

  void send(Launcher& launcher, const Network& network) {
    loads_.send(launcher), stores_.send(launcher), factors_.send(launcher);
    uses_.send(launcher), moves_.send(launcher);
    const std::size_t gradients = runs_.size() * places_;
    const std::size_t place = minibatch_ * kernels::Wave<Real>::per_row(network);
    reserve(launcher, rows_, gradients * minibatch_);
    reserve(launcher, numbers_, (gradients + 1) * place);
    reserve(launcher, pointers_, 3 * layers_.size() * jobs_);
    gradrace::clear(launcher, numbers_.data(), place);
    reserve(launcher, loads_at_hand_, loads_.most());
    reserve(launcher, stores_at_hand_, stores_.most());
    reserve(launcher, moves_at_hand_, moves_.most());
    reserve(launcher, factors_at_hand_, most(factors_, &Round::factors));
    reserve(launcher, uses_at_hand_, most(uses_, &Round::uses));
  }

  void launch(Launcher& launcher, std::size_t stage, const Network& network,
              const kernels::Cohort<Real>& cohort) {
    if (stage >= rounds_.size()) return;
    const kernels::Wave<Real> wave{network,       cohort,       states_.data(),   steps_.data(),
                                   state_stride_, step_stride_, rows_.data(),     numbers_.data(),
                                   places_,       minibatch_,   pointers_.data(), jobs_};
    for (const Round& round : rounds_[stage]) {
      const AtHand lists = take(launcher, round);
      launcher.repeat(lists.key, [&] { launch(launcher, wave, lists); });
    }
  }

 private:
  template <class T>
  using Memory = typename Launcher::template Memory<T>;
  template <class Job>
  using Jobs = Staged<Job, Launcher>;

  struct Round {
    std::size_t number;                                 // in loads, moves and stores
    std::map<std::uint32_t, std::size_t> factors = {};  // minibatch: its list
    std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> uses = {};  // position, minibatch
  };

  /// Some jobs at hand.
  template <class Job>
  struct List {
    const Job* jobs;
    std::uint32_t count;
    std::uint32_t minibatch = 0;
  };

  /// The lists of a round, where those of every round are; key: their lengths and what else the
  /// launches of a round depend on.
  struct AtHand {
    List<kernels::CopyJob> loads, stores;
    std::vector<List<kernels::FactorJob>> factors;
    std::vector<List<kernels::UseJob>> uses;
    List<kernels::MoveJob> moves;
    std::vector<std::uint32_t> key;
  };

  /// Jobs of a round, in those lists of it, at the most.
  template <class Job, class Lists>
  std::size_t most(const Jobs<Job>& jobs, Lists Round::*lists) const {
    std::size_t most = 0;
    for (const auto& stage : rounds_) {
      for (const Round& round : stage) {
        std::size_t of_round = 0;
        for (const auto& [of, list] : round.*lists) of_round += jobs.count(list);
        most = std::max(most, of_round);
      }
    }
    return most;
  }

  /// Brings the lists of a round to where they are at hand.
  AtHand take(Launcher& launcher, const Round& round) {
    AtHand at_hand;
    at_hand.loads = take(launcher, loads_, round.number, loads_at_hand_, 0);
    at_hand.stores = take(launcher, stores_, round.number, stores_at_hand_, 0);
    at_hand.moves = take(launcher, moves_, round.number, moves_at_hand_, 0);
    at_hand.key = {repeated_round,
                   places_,
                   jobs_,
                   at_hand.loads.count,
                   at_hand.stores.count,
                   at_hand.moves.count,
                   static_cast<std::uint32_t>(round.factors.size())};
    const auto take_all = [&](const auto& lists, const auto& jobs, auto& memory, auto& to,
                              const auto& minibatch_of) {
      std::size_t taken = 0;
      for (const auto& [of, list] : lists) {
        to.push_back(take(launcher, jobs, list, memory, taken));
        to.back().minibatch = minibatch_of(of);
        taken += to.back().count;
        at_hand.key.insert(at_hand.key.end(), {to.back().minibatch, to.back().count});
      }
    };
    take_all(round.factors, factors_, factors_at_hand_, at_hand.factors,
             [](std::uint32_t minibatch) { return minibatch; });
    take_all(round.uses, uses_, uses_at_hand_, at_hand.uses,
             [](const auto& use) { return use.second; });
    return at_hand;
  }

  template <class Job>
  static List<Job> take(Launcher& launcher, const Jobs<Job>& jobs, std::size_t list,
                        Memory<Job>& memory, std::size_t at) {
    const std::uint32_t count = jobs.count(list);
    if (count == 0) return {nullptr, 0};
    launcher.copy_within(jobs.data(list), count, memory.data() + at);
    return {memory.data() + at, count};
  }

  /// Kinds are numbered in the order that they have in a round.
  static bool begins_round(const Instruction& before, const Instruction& what) {
    using Kind = Instruction::Kind;
    return what.kind < before.kind ||
           (what.kind == before.kind && (what.kind == Kind::load || what.kind == Kind::update));
  }

  Round& round_of(std::size_t stage, std::size_t round) {
    if (rounds_.size() <= stage) rounds_.resize(stage + 1);
    if (rounds_[stage].size() <= round) rounds_[stage].push_back({rounds_made_++});
    return rounds_[stage][round];
  }

  void add(std::uint32_t number, const kernels::RunAt& run,
           std::span<const kernels::KernelRecipe> recipes, const Program& program,
           const InPlaceProgram& in_place, const Instruction& what, Round& round) {
    const auto minibatch_of = [&](std::size_t use) {
      return recipes[program.uses[use].recipe].minibatch;
    };
    switch (what.kind) {
      case Instruction::Kind::load:
        return loads_.add(round.number, {number, what.slot});
      case Instruction::Kind::store:
        return stores_.add(round.number, {number, what.slot});
      case Instruction::Kind::factor: {
        const SlotUse& use = program.uses[what.first];
        add_job(factors_, round.factors, minibatch_of(what.first), factor_lists_,
                {number, in_place.places[what.first], use.learner, use.draw});
        return;
      }
      case Instruction::Kind::update: {
        double rate = 0;
        for (std::size_t u = 0; u < what.count; ++u) {
          const std::size_t use = what.first + u;
          const double weight = program.uses[use].weight;
          add_job(uses_, round.uses, std::pair{u, minibatch_of(use)}, use_lists_,
                  {number, in_place.places[use], weight});
          rate += weight;
        }
        if (!run.only_w()) moves_.add(round.number, {number, what.rule, rate});
      }
    }
  }

  /// To the list of that key, which is made where there is none.
  template <class Job, class Lists>
  void add_job(Jobs<Job>& jobs, Lists& lists, const typename Lists::key_type& key,
               std::size_t& made, const Job& job) {
    const auto [list, fresh] = lists.try_emplace(key, made);
    made += fresh;
    jobs.add(list->second, job);
    jobs_ = std::max(jobs_, filled_up(jobs.count(list->second)));
  }

  static std::uint32_t filled_up(std::uint32_t count) {
    return (count + together - 1) / together * together;
  }

  // ---- what the device does

  void launch(Launcher& launcher, const kernels::Wave<Real>& wave, const AtHand& lists) const {
    copy(launcher, wave, lists.loads, false);
    for (const auto& list : lists.factors) factor(launcher, wave, list);
    for (const auto& list : lists.uses) add_up(launcher, wave, list);
    move(launcher, wave, lists.moves);
    copy(launcher, wave, lists.stores, true);
  }

  void copy(Launcher& launcher, const kernels::Wave<Real>& wave, const List<kernels::CopyJob>& list,
            bool to_slot) const {
    if (list.count == 0) return;
    const std::uint32_t each = kernels::chunks(state_stride_);
    launch_all(launcher, kernels::WaveCopyKernel<Real>{{wave}, list.jobs, each, to_slot},
               list.count * each);
  }

  /// The gradients' factors at the states at hand, layer by layer, and back again.
  void factor(Launcher& launcher, const kernels::Wave<Real>& wave,
              const List<kernels::FactorJob>& list) const {
    const kernels::FactorJob* const jobs = list.jobs;
    const std::uint32_t count = list.count, all = filled_up(count), n = list.minibatch;
    launch_all(launcher, kernels::WaveDrawKernel<Real>{{wave}, jobs, count, n}, all);
    const auto depth = static_cast<std::uint32_t>(layers_.size());
    for (std::uint32_t l = 0; l < depth; ++l) {
      const kernels::InPlaceLayer& layer = layers_[l];
      Real** const y = l + 1 < depth ? wave.to_inputs(l + 1) : wave.to_deltas(l);
      multiply(launcher, all,
               {.rows = n,
                .columns = layer.outputs,
                .depth = layer.inputs,
                .alpha = 1,
                .a = {wave.to_inputs(l), layer.depth},
                .b = {wave.to_weights(l), layer.inputs, true},
                .beta = 0,
                .c = y,
                .c_stride = layer.stride,
                .count = together,
                .aligned = layer.first % 4 == 0});
      launch_all(launcher, kernels::WaveActivationKernel<Real>{{wave}, jobs, n, l}, count);
    }
    for (std::uint32_t l = depth - 1; l > 0; --l) {
      const kernels::InPlaceLayer& layer = layers_[l];
      multiply(launcher, all,
               {.rows = n,
                .columns = layer.inputs,
                .depth = layer.outputs,
                .alpha = 1,
                .a = {wave.to_deltas(l), layer.stride},
                .b = {wave.to_weights(l), layer.inputs},
                .beta = 0,
                .c = wave.to_deltas(l - 1),
                .c_stride = layer.depth,
                .count = together,
                .aligned = layer.first % 4 == 0});
      launch_all(launcher, kernels::WaveSlopeKernel<Real>{{wave}, jobs, n, l - 1}, count);
    }
  }

  /// w or the step, less weight g.
  void add_up(Launcher& launcher, const kernels::Wave<Real>& wave,
              const List<kernels::UseJob>& list) const {
    const std::uint32_t count = list.count, all = filled_up(count), n = list.minibatch;
    launch_all(launcher, kernels::WaveWeighKernel<Real>{{wave}, list.jobs, count, n}, all);
    for (std::uint32_t l = 0; l < layers_.size(); ++l) {
      const kernels::InPlaceLayer& layer = layers_[l];
      multiply(launcher, all,
               {.rows = layer.outputs,
                .columns = layer.inputs,
                .depth = n,
                .alpha = -1,
                .a = {wave.to_deltas(l), layer.stride, true},
                .b = {wave.to_inputs(l), layer.depth},
                .beta = 1,
                .c = wave.to_weights(l),
                .c_stride = layer.inputs,
                .count = together,
                .aligned = layer.first % 4 == 0});
    }
  }

  void move(Launcher& launcher, const kernels::Wave<Real>& wave,
            const List<kernels::MoveJob>& list) const {
    if (list.count == 0) return;
    const std::uint32_t each = kernels::chunks(step_stride_);
    launch_all(launcher, kernels::WaveMoveKernel<Real>{{wave}, list.jobs, each}, list.count * each);
  }

  /// So many of those products, in calls of equal size.
  static void multiply(Launcher& launcher, std::uint32_t count, BatchedProduct<Real> product) {
    for (std::uint32_t done = 0; done < count; done += together) {
      launcher.multiply(product);
      product.a.at += together, product.b.at += together, product.c += together;
    }
  }

  std::span<const kernels::InPlaceLayer> layers_;
  std::vector<InPlace> runs_;
  std::uint32_t minibatch_ = 1, places_ = 0, jobs_ = 0;
  std::uint64_t state_stride_ = 0, step_stride_ = 0;
  Memory<Real> states_, steps_, numbers_;
  Memory<std::uint32_t> rows_;
  Memory<Real*> pointers_;

  // Of the wave.
  std::vector<std::vector<Round>> rounds_;  // of each stage
  std::size_t rounds_made_ = 0, factor_lists_ = 0, use_lists_ = 0;
  Jobs<kernels::CopyJob> loads_, stores_;  // of each round
  Jobs<kernels::MoveJob> moves_;
  Jobs<kernels::FactorJob> factors_;  // of each list
  Jobs<kernels::UseJob> uses_;

  // Of the round that is launched.
  Memory<kernels::CopyJob> loads_at_hand_, stores_at_hand_;
  Memory<kernels::MoveJob> moves_at_hand_;
  Memory<kernels::FactorJob> factors_at_hand_;
  Memory<kernels::UseJob> uses_at_hand_;
};

}  // namespace gradrace
