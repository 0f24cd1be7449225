#include "models/cpu_device.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/optimiser.h"
#include "sim/check.h"
#include "sim/hash.h"

namespace gradrace {

namespace {

/// Of the numbers' bits.
template <class Real>
std::uint64_t hash_of(const std::vector<Real>& w) {
  Hash hash;
  for (const Real x : w) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof x);
    hash.add(bits);
  }
  return hash.value();
}

/// Mean of the factors noted since the last take; 1 of none.
class RunningMean {
 public:
  void note(double x) { sum_ += x, ++count_; }
  double take() {
    const double mean = count_ > 0 ? sum_ / count_ : 1;
    sum_ = count_ = 0;
    return mean;
  }

 private:
  double sum_ = 0, count_ = 0;
};

bool has_distance(const Tape& tape) {
  return std::ranges::any_of(tape.rules, [](const Rule& rule) { return rule.distance > 0; });
}

/// What is kept of one run between its segments: the values that may still be named, and the
/// gradients that are open.
template <class Real>
struct Replay {
  struct Value {
    ValueId id;
    std::uint32_t references = 0;  // gradients and operations that still need it
    std::unique_ptr<State<Real>> state;
  };
  struct Open {
    GradientId id;
    Gradient gradient;
    bool done;
  };
  Tape tape;
  std::vector<Value> values;     // by id
  std::vector<Open> open;        // by id
  std::vector<ValueId> held{0};  // kept for the next segment's sake
  RunningMean rate_factor;       // of the gradients used since the last evaluation
};

template <class Real>
class CpuDevice final : public Device {
 public:
  explicit CpuDevice(std::unique_ptr<Model<Real>> model)
      : model_(std::move(model)), gradient_(model_->parameters()), step_(model_->parameters()) {}

  std::size_t cohort() const override { return 1; }

  void start(std::span<const Tape> tapes) override {
    for (auto& run : runs_) {
      for (auto& value : run.values) recycle(value);
    }
    runs_.clear();
    for (const auto& tape : tapes) {
      auto state = fresh_state();
      model_->initialise(tape.seed, tape.replica, state->w);
      Replay<Real> run;
      run.tape = tape;
      complete<Real>(*state, tape.rules, model_->statistics());
      run.values.push_back({0, 1, std::move(state)});
      runs_.push_back(std::move(run));
    }
  }

  void replay(std::span<const Segment* const> wave, std::span<Results> results) override {
    GRADRACE_CHECK(wave.size() == runs_.size() && results.size() == runs_.size(),
                   "a wave has one segment for each run of the cohort");
    for (std::size_t i = 0; i < wave.size(); ++i) {
      if (wave[i]) replay(runs_[i], *wave[i], results[i]);
    }
  }

 private:
  using Value = typename Replay<Real>::Value;

  void replay(Replay<Real>& run, const Segment& segment, Results& results) {
    results = {};
    carried_ = run.values.size();
    add_values(run, segment);
    count_references(run, segment);
    for (const GradientId id : segment.dead) release(run, take_open(run, id).at);
    for (const Op& op : segment.ops) {
      if (op.kind == Op::Kind::update) {
        update(run, segment, op, results);
      } else {
        pending_.push_back(op.out);
        if (has_distance(run.tape)) results.rate_factors.push_back(run.rate_factor.take());
        if (pending_.size() == most_pending) evaluate_pending(run, results);
      }
    }
    evaluate_pending(run, results);
    if (segment.end != End::limit) results.hash = hash_of(run.values.back().state->w);
    carry_over(run, segment);
  }

  /// A place for every value that the segment writes.
  void add_values(Replay<Real>& run, const Segment& segment) {
    for (const Op& op : segment.ops) {
      if (op.kind != Op::Kind::update) continue;
      GRADRACE_CHECK(op.out == run.values.back().id + 1, "values are written in order");
      run.values.push_back({op.out, 0, nullptr});
    }
  }

  void count_references(Replay<Real>& run, const Segment& segment) {
    for (const auto& gradient : segment.gradients) {
      if (gradient.fate != Fate::dead) ++find(run, gradient.at).references;
    }
    for (const Op& op : segment.ops) ++find(run, op.base).references;
    for (const ValueId id : segment.live) ++find(run, id).references;
    // What was live for this segment's sake is named by now.
    for (const ValueId id : run.held) release(run, id);
  }

  void update(Replay<Real>& run, const Segment& segment, const Op& op, Results& results) {
    const Rule& rule = run.tape.rules[op.rule];
    const Statistics statistics = model_->statistics();
    const State<Real>& base = *find(run, op.base).state;
    std::fill(step_.begin(), step_.end(), Real(0));
    double rate = 0;
    for (std::uint32_t i = op.first; i < op.first + op.count; ++i) {
      const Use& use = segment.uses[i];
      const Gradient gradient = use.gradient >= segment.first_gradient
                                    ? segment.gradients[use.gradient - segment.first_gradient]
                                    : take_open(run, use.gradient);
      const Recipe& recipe = run.tape.recipes[gradient.recipe];
      const MinibatchName name{run.tape.seed, run.tape.replica, gradient.learner, gradient.draw,
                               recipe.minibatch};
      const State<Real>& at = *find(run, gradient.at).state;
      model_->gradient(at.w, name, gradient_);
      ++results.gradients_computed;
      const double factor =
          rule.distance > 0
              ? distance_factor<Real>(rule.distance, learnt<const Real>(base.w, statistics),
                                      learnt<const Real>(at.w, statistics))
              : 1;
      run.rate_factor.note(factor);
      const double weight = factor * use.weight;
      rate += weight;
      const auto g = learnt<const Real>(gradient_, statistics);
      const double clipped = recipe.clip > 0 ? weight * clip_factor<Real>(recipe.clip, g) : weight;
      add(clipped, g, learnt<Real>(step_, statistics));
      add(weight, carried<const Real>(gradient_, statistics), carried<Real>(step_, statistics));
      release(run, gradient.at);
    }
    auto out = fresh_state();
    apply_rule<Real>(base, rule, statistics, rate, step_, *out);
    find(run, op.out).state = std::move(out);
    release(run, op.base);
  }

  static void add(double weight, std::span<const Real> g, std::span<Real> sum) {
    const Real factor = static_cast<Real>(weight);
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += factor * g[j];
  }

  void evaluate_pending(Replay<Real>& run, Results& results) {
    if (pending_.empty()) return;
    std::vector<const Real*> values;
    for (const ValueId id : pending_) values.push_back(find(run, id).state->evaluated().data());
    const std::size_t first = results.evaluations.size();
    results.evaluations.resize(first + pending_.size());
    model_->evaluate(values, std::span(results.evaluations).subspan(first));
    for (const ValueId id : pending_) release(run, id);
    pending_.clear();
  }

  /// Keeps what later segments may name.
  void carry_over(Replay<Real>& run, const Segment& segment) {
    std::erase_if(run.open, [](const auto& open) { return open.done; });
    for (std::size_t i = 0; i < segment.gradients.size(); ++i) {
      if (segment.gradients[i].fate != Fate::open) continue;
      run.open.push_back(
          {segment.first_gradient + static_cast<GradientId>(i), segment.gradients[i], false});
    }
    run.held = segment.live;
    std::erase_if(run.values, [](const Value& value) { return value.references == 0; });
  }

  Gradient take_open(Replay<Real>& run, GradientId id) {
    const auto found =
        std::lower_bound(run.open.begin(), run.open.end(), id,
                         [](const auto& open, GradientId wanted) { return open.id < wanted; });
    GRADRACE_CHECK(found != run.open.end() && found->id == id && !found->done,
                   "a gradient is used or dies once");
    found->done = true;
    return found->gradient;
  }

  Value& find(Replay<Real>& run, ValueId id) {
    auto found = run.values.begin();
    if (carried_ < run.values.size() && id >= run.values[carried_].id) {
      found += static_cast<std::ptrdiff_t>(carried_ + id - run.values[carried_].id);
    } else {
      found =
          std::lower_bound(found, found + static_cast<std::ptrdiff_t>(carried_), id,
                           [](const Value& value, ValueId wanted) { return value.id < wanted; });
    }
    GRADRACE_CHECK(found < run.values.end() && found->id == id, "a value that is named is alive");
    return *found;
  }

  void release(Replay<Real>& run, ValueId id) {
    Value& value = find(run, id);
    GRADRACE_CHECK(value.references > 0, "a value is released once for each use");
    if (--value.references == 0) recycle(value);
  }

  void recycle(Value& value) {
    if (value.state) spare_.push_back(std::move(value.state));
  }

  std::unique_ptr<State<Real>> fresh_state() {
    if (spare_.empty()) {
      auto state = std::make_unique<State<Real>>();
      state->w.resize(model_->parameters());
      return state;
    }
    auto state = std::move(spare_.back());
    spare_.pop_back();
    return state;
  }

  static constexpr std::size_t most_pending = 16;

  std::unique_ptr<Model<Real>> model_;
  std::vector<Replay<Real>> runs_;
  std::vector<std::unique_ptr<State<Real>>> spare_;
  std::vector<Real> gradient_, step_;  // [d]
  std::vector<ValueId> pending_;       // evaluations of this segment not made yet
  std::size_t carried_ = 0;            // values from earlier segments
};

}  // namespace

template <class Real>
std::unique_ptr<Device> make_cpu_device(std::unique_ptr<Model<Real>> model) {
  return std::make_unique<CpuDevice<Real>>(std::move(model));
}

template std::unique_ptr<Device> make_cpu_device<float>(std::unique_ptr<Model<float>>);
template std::unique_ptr<Device> make_cpu_device<double>(std::unique_ptr<Model<double>>);

void require_cpu(const std::string& device) {
  if (device == "auto" || device == "cpu") return;
  throw std::runtime_error(device + ": this version of gradrace has no " + device +
                           " device yet; use --device cpu");
}

}  // namespace gradrace
