#include "models/cpu/cpu_device.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/optimiser/optimiser.h"
#include "models/replay/lowering.h"
#include "models/replay/replay_results.h"
#include "sim/check.h"

namespace gradrace {

namespace {

/// What is kept of one run between its segments.
template <class Real>
struct Replay {
  Tape tape;
  Lowering lowering;
  RateFactors rate_factors;
  std::vector<State<Real>> values;  // [slot]
};

template <class Real>
class CpuDevice final : public Device {
 public:
  explicit CpuDevice(std::unique_ptr<Model<Real>> model)
      : model_(std::move(model)), gradient_(model_->parameters()), step_(model_->parameters()) {}

  std::string name() const override { return "cpu"; }
  std::size_t cohort() const override { return 1; }

  void start(std::span<const Tape> tapes) override {
    runs_.resize(tapes.size());
    for (std::size_t i = 0; i < tapes.size(); ++i) {
      Replay<Real>& run = runs_[i];
      run.tape = tapes[i];
      run.lowering = {};
      run.rate_factors = RateFactors(run.tape);
      if (run.values.empty()) run.values.resize(1);
      State<Real>& initial = run.values.front();
      initial.w.resize(model_->parameters());
      model_->initialise(run.tape.seed, run.tape.replica, initial.w);
      complete<Real>(initial, run.tape.rules, model_->statistics());
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
    const auto& w = runs_[run].values[runs_[run].lowering.last()].w;
    return {w.begin(), w.end()};
  }

 private:
  void replay(Replay<Real>& run, const Segment& segment, Results& results) {
    results = {};
    const Program& program = run.lowering.lower(segment);
    if (run.values.size() < run.lowering.slots()) run.values.resize(run.lowering.slots());
    factors_.assign(run.rate_factors.wanted() ? program.uses.size() : 0, 1);
    for (const Step& step : program.steps) {
      if (step.kind == Step::Kind::update)
        update(run, program, step);
      else
        evaluate(run, program, step, results);
    }
    results.gradients_computed = program.uses.size();
    run.rate_factors.add(program, factors_, results);
    if (segment.end != End::limit) results.hash = hash_of<Real>(run.values[run.lowering.last()].w);
  }

  void update(Replay<Real>& run, const Program& program, const Step& step) {
    const Rule& rule = run.tape.rules[step.rule];
    const Statistics statistics = model_->statistics();
    const State<Real>& base = run.values[step.base];
    std::fill(step_.begin(), step_.end(), Real(0));
    double rate = 0;
    for (std::uint32_t i = step.first; i < step.first + step.count; ++i) {
      const SlotUse& use = program.uses[i];
      const Recipe& recipe = run.tape.recipes[use.recipe];
      const State<Real>& at = run.values[use.at];
      model_->gradient(at.w,
                       {run.tape.seed, run.tape.replica, use.learner, use.draw, recipe.minibatch},
                       gradient_);
      double weight = use.weight;
      if (rule.distance > 0) {
        factors_[i] = distance_factor<Real>(rule.distance, learnt<const Real>(base.w, statistics),
                                            learnt<const Real>(at.w, statistics));
        weight *= factors_[i];
      }
      rate += weight;
      const auto g = learnt<const Real>(gradient_, statistics);
      const double clipped = recipe.clip > 0 ? weight * clip_factor<Real>(recipe.clip, g) : weight;
      add(clipped, g, learnt<Real>(step_, statistics));
      add(weight, carried<const Real>(gradient_, statistics), carried<Real>(step_, statistics));
    }
    apply_rule<Real>(base, rule, statistics, rate, step_, run.values[step.out]);
  }

  static void add(double weight, std::span<const Real> g, std::span<Real> sum) {
    const Real factor = static_cast<Real>(weight);
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += factor * g[j];
  }

  void evaluate(Replay<Real>& run, const Program& program, const Step& step, Results& results) {
    std::vector<const Real*> values;
    for (std::uint32_t i = step.first; i < step.first + step.count; ++i)
      values.push_back(run.values[program.evaluated[i].at].evaluated().data());
    results.evaluations.resize(step.first + step.count);
    model_->evaluate(values, std::span(results.evaluations).subspan(step.first));
  }

  std::unique_ptr<Model<Real>> model_;
  std::vector<Replay<Real>> runs_;
  std::vector<Real> gradient_, step_;  // [d]
  std::vector<double> factors_;        // of the segment's uses, where a rule has a distance
};

}  // namespace

template <class Real>
std::unique_ptr<Device> make_cpu_device(std::unique_ptr<Model<Real>> model) {
  return std::make_unique<CpuDevice<Real>>(std::move(model));
}

template std::unique_ptr<Device> make_cpu_device<float>(std::unique_ptr<Model<float>>);
template std::unique_ptr<Device> make_cpu_device<double>(std::unique_ptr<Model<double>>);

}  // namespace gradrace
