#include "models/cpu/cpu_device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/cpu/aligned.h"
#include "models/cpu/message_maker.h"
#include "models/cpu/state_sum.h"
#include "models/model/hinge_dual.h"
#include "models/optimiser/optimiser.h"
#include "models/replay/lowering.h"
#include "models/replay/ready_uses.h"
#include "models/replay/replay_results.h"
#include "sim/check.h"
#include "sim/lane_sum.h"

namespace gradrace {

namespace {

/// What is kept of one run between its segments.
template <class Real>
struct ReplayedRun {
  Tape tape;
  Lowering lowering;
  RateFactors rate_factors;
  MeanSinceEvaluation compression_error;
  std::vector<std::uint64_t> remembered;  // [slot]: the sum of a memory's bits
  std::uint64_t remembered_back = 0;      // likewise, of the messages back
  std::size_t kept = 0;                   // numbers of a state that are kept of them
  bool joint = false;                     // learners make them together
  double dual_sum = 0;                    // of all dual variables
  std::uint32_t updates = 0;
  StateLayout layout;
  std::vector<NumberRun> whole;                // a value
  std::vector<std::vector<NumberRun>> ranges;  // Tape::ranges; none: values move whole
  std::vector<Aligned<Real>> values;           // [slot][numbers of a state]
  std::vector<Aligned<Real>> gradients;        // [place][numbers of a value]

  /// A learner's memory; null: it has none there.
  Real* memory(Slot slot) { return slot == no_slot ? nullptr : values[slot].data(); }
  StateAt<Real> at(Slot slot) { return layout.at(values[slot].data()); }
  Real* mean_square(Slot slot) { return values[slot].data() + layout.mean_square; }
  std::span<const Real> w(Slot slot) { return {values[slot].data(), layout.parameters}; }
  std::span<Real> kept_back(Slot slot) { return std::span(values[slot]).last(kept); }
  std::span<const Real> learnt(Slot slot) { return {values[slot].data(), layout.learnt}; }

  /// That an update moves.
  std::span<const NumberRun> numbers(const Step& step) const {
    return step.range == no_range ? whole : ranges[step.range];
  }
  /// Of which all parameters are there.
  std::vector<Slot> live() const {
    std::vector<Slot> slots = lowering.live();
    if (!ranges.empty()) slots.resize(1);
    return slots;
  }
};

template <class Real>
class CpuDevice final : public Device {
 public:
  CpuDevice(std::unique_ptr<Model<Real>> model, Order order, CrewedModel<Real> crewed = {})
      : model_(std::move(model)),
        crewed_(std::move(crewed)),
        others_(crewed_.crew ? crewed_.crew->members() : 0),
        packing_(model_->packing()),
        statistics_(model_->statistics()),
        messages_(packing_, statistics_),
        order_(order),
        step_(packing_.numbers()),
        unpacked_(packing_.parameters()) {}

  std::string name() const override { return "cpu"; }
  std::size_t cohort() const override { return 1; }
  std::optional<double> evaluation_seconds() const override { return evaluation_seconds_; }

  void prepare() override { model_->prepare(); }

  void start(std::span<const Tape> tapes) override {
    runs_.resize(tapes.size());
    for (auto& other : others_) other.reset();
    for (std::size_t i = 0; i < tapes.size(); ++i) {
      ReplayedRun<Real>& run = runs_[i];
      run.tape = tapes[i];
      refuse_steps(run.tape);
      run.rate_factors = RateFactors(run.tape);
      run.compression_error = {};
      run.remembered.clear();
      run.remembered_back = 0;
      run.updates = 0;
      run.lowering = Lowering(order_, run.rate_factors.wanted() || compensates(run.tape));
      run.layout = layout_of(run.tape.rules, packing_.numbers(), statistics_);
      run.kept = kept_back(run.tape.rules, packing_.numbers());
      run.joint = std::ranges::any_of(run.tape.rules, is_joint);
      run.dual_sum = 0;
      run.layout.numbers += kept_of_models(run.tape.rules, run.tape.messages);
      if (run.tape.dual)
        run.layout.numbers = std::max(run.layout.numbers, model_->dual()->variables());
      run.whole = {{0, run.layout.parameters}};
      run.ranges = packing_.ranges(run.tape.ranges);
      run.values.resize(std::max<std::size_t>(1, run.values.size()));
      for (auto& value : run.values) value.resize(run.layout.numbers);
      model_->initialise(run.tape.seed, run.tape.replica, unpacked_);
      packing_.pack(unpacked_.data(), run.values.front().data());
      complete(run.tape.rules, run.layout, std::span<Real>(run.values.front()));
    }
  }

  void replay(std::span<const Segment* const> wave, std::span<Results> results) override {
    GRADRACE_CHECK(wave.size() == runs_.size() && results.size() == runs_.size(),
                   "a wave has one segment for each run of the cohort");
    for (std::size_t i = 0; i < wave.size(); ++i) {
      if (wave[i]) replay(runs_[i], *wave[i], results[i]);
    }
  }

  std::vector<double> parameters(std::size_t run) override {
    std::vector<double> result;
    for (const Slot slot : runs_[run].live()) {
      packing_.unpack(runs_[run].values[slot].data(), unpacked_.data());
      result.insert(result.end(), unpacked_.begin(), unpacked_.end());
    }
    return result;
  }

 private:
  static bool is_joint(const Rule& rule) { return rule.back && rule.back->compressor->joint(); }

  static bool compensates(const Tape& tape) {
    return std::ranges::any_of(tape.rules, [](const Rule& rule) { return rule.delay != nullptr; });
  }

  static void refuse_steps(const Tape& tape) {
    if (std::ranges::none_of(tape.messages, &Message::of_steps) && !remembers_steps(tape.rules))
      return;
    for (const Rule& rule : tape.rules)
      if (divides_by_rate(optimiser_of(rule)))
        throw std::runtime_error(
            "a memory of steps has the rate of each dispatch in it, and this optimiser needs it "
            "apart; sgd with momentum of steps goes with it, or a memory of gradients");
  }

  void replay(ReplayedRun<Real>& run, const Segment& segment, Results& results) {
    results = {};
    const Program& program = run.lowering.lower(segment);
    while (run.values.size() < run.lowering.slots()) run.values.emplace_back(run.layout.numbers);
    if (run.gradients.size() < run.lowering.places()) run.gradients.resize(run.lowering.places());
    factors_.assign(run.rate_factors.wanted() ? program.uses.size() : 0, 1);
    errors_.assign(run.joint ? program.uses.size() : 0, std::numeric_limits<double>::quiet_NaN());
    bytes_.clear();
    dual_sums_.assign(1, run.dual_sum);
    run.remembered.resize(run.values.size());
    disagreements_.assign(program.evaluated.size(), std::numeric_limits<double>::quiet_NaN());
    ahead_ = {};
    for (std::size_t number = 0; number < program.steps.size(); ++number) {
      const Step& step = program.steps[number];
      switch (step.kind) {
        case Step::Kind::compute:
          compute(run, program, step.first, step.base);
          break;
        case Step::Kind::update:
          update(run, program, number);
          if (run.tape.wants_norms) results.norms.push_back(norm_);
          if (run.tape.wants_bytes_back)
            results.bytes_back.push_back(std::exchange(bytes_back_, 0));
          break;
        case Step::Kind::send:
          send(run, program, step);
          break;
        case Step::Kind::send_model:
          send_model(run, program, step);
          break;
        case Step::Kind::average:
          average(run, program, step);
          break;
        case Step::Kind::measure:
          measure(run, program, step);
          break;
        case Step::Kind::evaluate:
          evaluate(run, program, step, results);
      }
    }
    run.dual_sum = dual_sums_.back();
    results.gradients_computed = program.computed;
    if (run.tape.wants_bytes) results.bytes = bytes_;
    run.rate_factors.add(program, factors_, results);
    run.compression_error.add(
        program, errors_, run.joint ? &SlotEvaluation::uses : &SlotEvaluation::sent,
        [&](std::size_t i, double mean) { results.evaluations[i].compression_error = mean; });
    if (segment.end == End::limit) return;
    Hash hash;
    for (const Slot slot : run.live()) {
      packing_.unpack(run.values[slot].data(), unpacked_.data());
      add_bits(hash, std::span<const Real>(unpacked_));
    }
    results.hash = hash.value();
  }

  MinibatchName name_of(const ReplayedRun<Real>& run, const SlotUse& use) const {
    return {run.tape.seed, run.tape.replica, use.learner, use.draw,
            run.tape.recipes[use.recipe].minibatch};
  }

  void compute(ReplayedRun<Real>& run, const Program& program, std::uint32_t use, Slot at) {
    Aligned<Real>& place = run.gradients[program.uses[use].place];
    place.resize(packing_.numbers());
    compute(run, program, use, at, {1, nullptr, nullptr, place.data()});
  }

  void compute(ReplayedRun<Real>& run, const Program& program, std::uint32_t use, Slot at,
               const Fold<Real>& into) {
    expect_after(run, program, use);
    model_->gradient_of_packed(run.values[at].data(), name_of(run, program.uses[use]), into);
  }

  /// In the late order gradients are computed in that of their uses.
  void expect_after(const ReplayedRun<Real>& run, const Program& program, std::uint32_t use) {
    if (order_ != Order::late) return;
    const auto next = std::find_if(program.uses.begin() + use + 1, program.uses.end(),
                                   [](const SlotUse& later) { return !later.computed; });
    if (next != program.uses.end()) model_->expect(name_of(run, *next));
  }

  /// Of a use that was not computed before, and of others that are ready, side by side.
  void compute_ahead(ReplayedRun<Real>& run, const Program& program, std::size_t step,
                     std::uint32_t use) {
    const std::uint32_t minibatch = run.tape.recipes[program.uses[use].recipe].minibatch;
    const std::size_t numbers = packing_.numbers();
    const std::size_t most = gradients_ahead(numbers * sizeof(Real), numbers, minibatch, helpers());
    if (most == 0 || ahead_.has(use)) return;
    ahead_ = ready_uses(program, step, use, static_cast<std::uint32_t>(most));
    const std::size_t count = ahead_.last - ahead_.first;
    if (count < 2) return void(ahead_ = {});
    if (gradients_ahead_.size() < count) gradients_ahead_.resize(count);
    share(count, [&](Model<Real>& model, std::size_t part) {
      const SlotUse& ready = program.uses[ahead_.first + part];
      gradients_ahead_[part].resize(packing_.numbers());
      model.gradient_of_packed(run.values[ready.at].data(), name_of(run, ready),
                               {1, nullptr, nullptr, gradients_ahead_[part].data()});
    });
  }

  std::size_t helpers() const { return crewed_.crew ? crewed_.crew->helpers() : 0; }

  /// part(model, number) of every part; a model is its member's, and made when he first helps.
  template <class Part>
  void share(std::size_t parts, const Part& part) {
    crewed_.crew->share(crewed_.member, parts, [&](std::size_t member, std::size_t number) {
      auto& other = others_[member];
      if (member != crewed_.member && !other) other = crewed_.make();
      part(member == crewed_.member ? *model_ : *other, number);
    });
  }

  void update(ReplayedRun<Real>& run, const Program& program, std::size_t number) {
    const Step& step = program.steps[number];
    const Rule& rule = run.tape.rules[step.rule];
    const bool plain = is_plain(optimiser_of(rule), run.layout) && statistics_.count == 0 &&
                       !rule.back && !rule.delay && !run.tape.wants_norms;
    if (run.layout.mean_square > 0)
      std::copy_n(run.mean_square(step.base), run.layout.learnt, run.mean_square(step.out));
    double rate = 0;
    bool moved = false;
    for (std::uint32_t i = step.first; i < step.first + step.count; ++i) {
      const SlotUse& use = program.uses[i];
      double weight = use.weight;
      if (rule.distance > 0) {
        factors_[i] = distance_factor(rule.distance, run.learnt(step.base), run.learnt(use.at));
        weight *= factors_[i];
      }
      rate += weight;
      if (is_joint(rule)) weight = weight_in_mean(program, step, use);
      const Real* const sum = i > step.first ? step_.data() : nullptr;
      compute_ahead(run, program, number, i);
      if (ahead_.has(i)) {
        add(run, step, use, gradients_ahead_[i - ahead_.first], weight, sum);
        continue;
      }
      if (use.computed || use.again || run.tape.recipes[use.recipe].clip > 0 || rule.delay ||
          step.range != no_range) {
        if (!use.computed) compute(run, program, i, use.at);
        add(run, step, use, run.gradients[use.place], weight, sum);
        continue;
      }
      moved = plain && i + 1 == step.first + step.count;
      compute(run, program, i, use.at,
              {static_cast<Real>(weight), sum, moved ? run.values[step.base].data() : nullptr,
               moved ? run.values[step.out].data() : step_.data()});
    }
    if (moved) return;
    if (step.count == 0) std::ranges::fill(step_, Real(0));
    if (run.tape.wants_norms) norm_ = norm_of_mean(rate);
    if (rule.back)
      send_back(run, step, rate);
    else
      std::ranges::copy(run.kept_back(step.base), run.kept_back(step.out).begin());
    apply_rule<Real>(rule, run.layout, statistics_.decay,
                     {run.at(step.base), run.at(step.out), rate}, step_, run.numbers(step));
  }

  static double weight_in_mean(const Program& program, const Step& step, const SlotUse& use) {
    GRADRACE_CHECK(use.weight == program.uses[step.first].weight,
                   "gradients of which learners make one message weigh alike");
    return 1.0 / step.count;
  }

  /// Of the gradients whose sum, with weights that add to the rate, is the step.
  double norm_of_mean(double rate) {
    const auto g = learnt(std::span<const Real>(step_), statistics_);
    return std::sqrt(lane_sum(g.size(), [&](std::size_t j) { return double{g[j]} * g[j]; })) / rate;
  }

  /// The gradient is computed, and its learner's message made of it.
  void send(ReplayedRun<Real>& run, const Program& program, const Step& step) {
    const SlotUse& sent = program.sent[step.first];
    Aligned<Real>& row = run.gradients[sent.place];
    row.resize(packing_.numbers());
    const MinibatchName name = name_of(run, sent);
    if (run.tape.dual)
      return ascend(run, name, run.memory(step.base), run.values[step.out], sent.at, row);
    model_->gradient_of_packed(run.values[sent.at].data(), name, {1, nullptr, nullptr, row.data()});
    const double clip = run.tape.recipes[sent.recipe].clip;
    const auto g = learnt(std::span<const Real>(row), statistics_);
    const double clipped = clip > 0 ? sent.weight * clip_factor<Real>(clip, g) : sent.weight;
    make(run, sent.code, name.learner, name.draw, clipped, !sent.again, {row.data(), row.size()},
         step.base, step.out);
  }

  /// The learner's message and its memory, from that before and the value.
  void ascend(ReplayedRun<Real>& run, const MinibatchName& name, const Real* before,
              std::span<Real> after, Slot at, std::span<Real> row) {
    HingeDual<Real>& dual = *model_->dual();
    const double grown =
        dual.ascend(*run.tape.dual, name, run.values[at].data(), before, after.data(), row.data());
    std::ranges::fill(after.subspan(dual.variables()), Real{0});
    dual_sums_.push_back(dual_sums_.back() + grown);
    errors_.push_back(std::numeric_limits<double>::quiet_NaN());
  }

  void send_model(ReplayedRun<Real>& run, const Program& program, const Step& step) {
    const SlotModel& sent = program.models[step.first];
    const Real* const value = run.values[sent.at].data();
    const Real* const base = run.values[step.base].data();
    difference_.assign(packing_.numbers(), Real{0});
    for (std::size_t j = 0; j < run.layout.learnt; ++j) difference_[j] = value[j] - base[j];
    const Message& message = run.tape.messages[sent.message];
    std::span<Real> carried;
    if (const std::size_t count = message.compressor->carried(); count > 0) {
      carried = std::span(run.values[sent.after]).last(count);
      if (sent.before == no_slot)
        std::ranges::fill(carried, Real{0});
      else
        std::ranges::copy(std::span(run.values[sent.before]).last(count), carried.begin());
      if (!message.memory) std::fill_n(run.memory(sent.after), packing_.numbers(), Real{0});
    }
    make(run, sent.message, sent.learner, sent.number, 1, false, difference_,
         message.memory ? sent.before : no_slot, message.memory ? sent.after : no_slot, carried);
    Aligned<Real>& out = run.values[step.out];
    std::ranges::copy(run.values[sent.at], out.begin());
    for (std::size_t j = 0; j < run.layout.learnt; ++j)
      if (difference_[j] != value[j] - base[j]) out[j] = base[j] + difference_[j];
  }

  /// The row becomes the learner's message of that number.
  void make(ReplayedRun<Real>& run, std::uint16_t code, std::uint32_t learner, std::uint32_t number,
            double factor, bool lost, std::span<Real> row, Slot before, Slot after,
            std::span<Real> carried = {}) {
    const Message& message = run.tape.messages[code];
    MemoryRows<Real> memory{run.memory(before), run.memory(after)};
    if (memory.after) memory.bits = &run.remembered[after];
    if (memory.before) memory.bits_before = &run.remembered[before];
    const MadeMessage made =
        messages_.make(message, factor, lost,
                       stream({run.tape.seed, run.tape.replica, Purpose::compression,
                               message.compressor->shares_words() ? 0 : learner, number}),
                       row, memory, carried);
    errors_.push_back(made.error), bytes_.push_back(made.bytes);
  }

  /// The step becomes the message that the server makes of it, or the learners of the mean.
  void send_back(ReplayedRun<Real>& run, const Step& step, double rate) {
    constexpr std::uint32_t server = ~std::uint32_t{0};  // no learner's number
    const Message& message = *run.tape.rules[step.rule].back;
    MemoryRows<Real> memory;
    if (message.memory)
      memory = {memory_back(run.layout, run.values[step.base].data()),
                memory_back(run.layout, run.values[step.out].data()), &run.remembered_back};
    const std::span<Real> carried = run.kept_back(step.out).first(message.compressor->carried());
    std::ranges::copy(run.kept_back(step.base).first(carried.size()), carried.begin());
    const MadeMessage made = messages_.make(
        message, 1, false,
        stream({run.tape.seed, run.tape.replica, Purpose::compression, server, run.updates++}),
        step_, memory, carried);
    bytes_back_ = made.bytes;
    if (message.compressor->votes())
      for (Real& x : learnt(std::span<Real>(step_), statistics_)) x *= static_cast<Real>(rate);
    if (!message.compressor->joint()) return;
    std::fill_n(errors_.begin() + step.first, step.count, made.error);
    for (Real& x : step_) x *= static_cast<Real>(rate);
  }

  /// A gradient or message that is there, to the step.
  void add(ReplayedRun<Real>& run, const Step& step, const SlotUse& use,
           std::span<const Real> gradient, double weight, const Real* sum) {
    const double clip = use.message ? 0 : run.tape.recipes[use.recipe].clip;
    const auto g = learnt(gradient, statistics_);
    const double clipped = clip > 0 ? weight * clip_factor<Real>(clip, g) : weight;
    const auto& delay = run.tape.rules[step.rule].delay;
    for (const auto [first, last] : run.numbers(step)) {
      for (std::size_t j = delay ? std::max<std::size_t>(first, g.size()) : first; j < last; ++j) {
        const Real factor = static_cast<Real>(j < g.size() ? clipped : weight);
        step_[j] = (sum ? sum[j] : Real{0}) + factor * gradient[j];
      }
    }
    if (!delay) return;
    if (!sum) std::fill_n(step_.begin(), g.size(), Real{0});
    add_compensated<Real>(*delay, {weight, clip > 0 ? clip_factor<Real>(clip, g) : 1}, g,
                          run.w(step.base).data(), run.w(use.at).data(), run.mean_square(step.out),
                          step_.data());
  }

  void average(ReplayedRun<Real>& run, const Program& program, const Step& step) {
    const auto terms = states_of(run, program, step);
    std::span<Real> out = run.values[step.out];
    if (step.summed == Summed::ranges) return assemble(run, terms, step.out);
    if (step.summed != Summed::whole) {
      std::ranges::copy(run.values[step.base], out.begin());
      out = out.first(step.summed == Summed::learnt ? run.layout.learnt : run.layout.parameters);
    }
    sum_states<Real>(terms, out);
  }

  void assemble(ReplayedRun<Real>& run, std::span<const WeightedState<Real>> terms, Slot slot) {
    Real* const out = run.values[slot].data();
    const std::size_t average = run.layout.average;
    for (std::size_t range = 0; range < terms.size(); ++range) {
      const Real* const from = terms[range].numbers;
      for (const auto [first, last] : run.ranges[range]) {
        std::copy(from + first, from + last, out + first);
        if (average > 0)
          std::copy(from + average + first, from + average + last, out + average + first);
      }
    }
  }

  void measure(ReplayedRun<Real>& run, const Program& program, const Step& step) {
    shares_.resize(packing_.numbers());
    in_order_.resize(packing_.parameters());
    disagreement_shares<Real>(states_of(run, program, step), run.w(step.base), shares_);
    packing_.unpack(shares_.data(), in_order_.data());
    disagreements_[step.first] = std::accumulate(in_order_.begin(), in_order_.end(), 0.0);
  }

  std::vector<WeightedState<Real>> states_of(const ReplayedRun<Real>& run, const Program& program,
                                             const Step& step) const {
    std::vector<WeightedState<Real>> states;
    for (const SlotTerm& term : terms_of(program, step))
      states.push_back({run.values[term.at].data(), term.weight});
    return states;
  }

  void evaluate(ReplayedRun<Real>& run, const Program& program, const Step& step,
                Results& results) {
    std::vector<const Real*> values;
    for (std::uint32_t i = step.first; i < step.first + step.count; ++i)
      values.push_back(run.at(program.evaluated[i].at).evaluated());
    results.evaluations.resize(step.first + step.count);
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    evaluate(values, std::span(results.evaluations).subspan(step.first));
    evaluation_seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
    evaluated_ += values.size();
    for (std::uint32_t i = step.first; i < step.first + step.count; ++i) {
      Evaluation& found = results.evaluations[i];
      found.disagreement = disagreements_[i];
      if (run.tape.dual)
        found.duality_gap = model_->dual()->gap(values[i - step.first], found.loss,
                                                dual_sums_[program.evaluated[i].sent]);
    }
  }

  void evaluate(std::span<const Real* const> values, std::span<Evaluation> results) {
    const std::size_t parts = std::min(1 + helpers(), values.size());
    const double seconds = evaluation_seconds_ * static_cast<double>(values.size()) /
                           static_cast<double>(std::max<std::uint64_t>(1, evaluated_));
    if (parts < 2 || seconds < least_seconds) return model_->evaluate_packed(values, results);
    share(parts, [&](Model<Real>& model, std::size_t part) {
      const std::size_t first = values.size() * part / parts;
      const std::size_t count = values.size() * (part + 1) / parts - first;
      model.evaluate_packed(values.subspan(first, count), results.subspan(first, count));
    });
  }

  static constexpr double least_seconds = 1e-3;  // of evaluations

  std::unique_ptr<Model<Real>> model_;
  CrewedModel<Real> crewed_;
  std::vector<std::unique_ptr<Model<Real>>> others_;  // [member]: of those who have helped
  UseRange ahead_;                                    // of the segment's uses: computed already
  std::vector<Aligned<Real>> gradients_ahead_;        // theirs
  Packing packing_;
  Statistics statistics_;
  MessageMaker<Real> messages_;
  Order order_;
  std::vector<ReplayedRun<Real>> runs_;
  Aligned<Real> step_, difference_;        // [numbers of a value]
  std::vector<Real> unpacked_;             // [d]
  std::vector<double> shares_, in_order_;  // of a disagreement
  std::vector<double> factors_;            // of the segment's uses, where a rule has a distance
  std::vector<double> disagreements_;      // of the segment's evaluations
  std::vector<double> errors_, bytes_;     // of the segment's messages
  std::vector<double> dual_sums_;          // at the segment's begin, and after each message
  double bytes_back_ = 0;                  // of the last update's message
  double norm_ = 0;                        // of the last update, where the tape wants it
  double evaluation_seconds_ = 0;
  std::uint64_t evaluated_ = 0;  // values
};

}  // namespace

std::size_t gradients_ahead(std::size_t bytes, std::size_t numbers, std::uint32_t minibatch,
                            std::size_t helpers) {
  constexpr std::size_t least_shared = 1 << 20;  // below, threads wait longer than they work
  constexpr std::size_t most_ahead = 256 << 20;  // bytes of gradients that wait for their updates
  if (helpers == 0 || numbers * minibatch < least_shared) return 0;
  const std::size_t most = std::min(2 + 2 * helpers, most_ahead / bytes);
  return most < 2 ? 0 : most;
}

template <class Real>
std::unique_ptr<Device> make_cpu_device(std::unique_ptr<Model<Real>> model, Order order) {
  return std::make_unique<CpuDevice<Real>>(std::move(model), order);
}

template <class Real>
std::unique_ptr<Device> make_cpu_device(const CrewedModel<Real>& crewed) {
  return std::make_unique<CpuDevice<Real>>(crewed.make(), Order::late, crewed);
}

template std::unique_ptr<Device> make_cpu_device<float>(std::unique_ptr<Model<float>>, Order);
template std::unique_ptr<Device> make_cpu_device<double>(std::unique_ptr<Model<double>>, Order);
template std::unique_ptr<Device> make_cpu_device<float>(const CrewedModel<float>&);
template std::unique_ptr<Device> make_cpu_device<double>(const CrewedModel<double>&);

}  // namespace gradrace
