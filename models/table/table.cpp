#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/model/model.h"
#include "models/replay/replay_results.h"
#include "models/table/measured_curves.h"
#include "sim/check.h"
#include "sim/hash.h"
#include "sim/message_text.h"

namespace gradrace {
namespace {

namespace fs = std::filesystem;

constexpr Page page{
    "table",
    R"(A learning curve that was measured, and no parameters: a CSV file with the columns samples and
loss and, as it has them, test_error, staleness and minibatch; others are passed over.  Rows of one
staleness and minibatch are a curve, whose samples rise from 0; all pairs of both are there.  A
minibatch is here the samples of an update, all its gradients together.  Of the curve.csv of a run
samples are gradients times model.minibatch.

A model is its effective samples n, 0 at first: its loss is L0(n) and its test error E0(n), those of
the base curve, of staleness 0 and the smallest minibatch.  In an update of b samples a gradient of
m samples that is t updates late leads from n to n', gradient by gradient:

    L0(n') = L(S + m),  where L(S) = L0(n)

and L is the curve of t and b, so that a run of that staleness and batch has the measured curve.
(n' - n) / m is the efficiency: how many samples the base curve needs for the fall of the loss for
which L needs one.  Between two stalenesses n' is linear in t, between two minibatches in ln b.

Between two rows of a curve levels are linear in ln samples, before the first row above 0 in samples;
a row whose loss is not below all before it says nothing of losses.  What is beyond the table (a
later gradient, another batch, more samples) fails the run, or with extrapolate: hold has the
efficiency of the nearest curve, beyond its end that of its last two rows; the loss stays at the last
row's.  Without the column staleness, or minibatch, curves are of all of them.

No learning rate, optimiser or compression acts on it, and learners have no values of their own.)",
    "an interpolation of what was measured; updates to a target by batch, as in Shallue et al., "
    "JMLR "
    "20(112), 2019",
    R"({"kind": "table", "path": "curve.csv", "minibatch": 32})"};

struct TableConfig {
  std::string file;                                   // as notes and errors name it
  std::shared_ptr<const MeasuredCurves> curves;       // null: the file is not there
  std::string missing;                                // then why
  PerLearner minibatch = 32;                          // m
  bool holds = false;                                 // extrapolate
  std::function<void(const std::string& note)> note;  // from any thread

  const MeasuredCurves& found() const {
    if (!curves) throw MissingData(missing);
    return *curves;
  }
};

/// A value is its effective samples.
class TableDevice final : public Device {
 public:
  explicit TableDevice(const TableConfig& config) : config_(config), curves_(config.found()) {}

  std::string name() const override { return "cpu"; }
  std::size_t cohort() const override { return 1; }

  void start(std::span<const Tape> tapes) override {
    GRADRACE_CHECK(tapes.size() == 1, "a cohort of one run");
    tape_ = tapes.front();
    values_ = {{0, 0.0}};
    minibatches_.clear();
  }

  void replay(std::span<const Segment* const> wave, std::span<Results> results) override {
    if (wave.front()) replay(*wave.front(), results.front());
  }

  std::vector<double> parameters(std::size_t) override { return live_; }

 private:
  void replay(const Segment& segment, Results& results) {
    results = {};
    for (std::size_t i = 0; i < segment.gradients.size(); ++i)
      minibatches_[segment.first_gradient + static_cast<GradientId>(i)] =
          tape_.recipes[segment.gradients[i].recipe].minibatch;
    for (const Op& op : segment.ops) replay(segment, op, results);
    results.gradients_computed = segment.uses.size();
    forget(segment);
    Hash hash;
    add_bits(hash, std::span<const double>(live_));
    results.hash = hash.value();
  }

  void replay(const Segment& segment, const Op& op, Results& results) {
    const std::span uses = std::span(segment.uses);
    const std::span terms = std::span(segment.terms);
    switch (op.kind) {
      case Op::Kind::update:
        values_[op.out] = updated(values_.at(op.base), uses.subspan(op.first, op.count));
        return;
      case Op::Kind::average:
        values_[op.out] = mean(terms.subspan(op.first, op.count));
        return;
      case Op::Kind::evaluate:
        results.evaluations.push_back(evaluated(values_.at(op.base)));
        if (op.count > 0) results.evaluations.back().disagreement = 0;
        return;
      case Op::Kind::send:
      case Op::Kind::send_model:
        GRADRACE_CHECK(false, "what has no parameters is not compressed");
    }
  }

  double updated(double effective, std::span<const Use> uses) const {
    double batch = 0;
    for (const Use& use : uses) batch += minibatches_.at(use.gradient);
    for (const Use& use : uses) {
      const MeasuredStep step{static_cast<double>(minibatches_.at(use.gradient)),
                              static_cast<double>(use.staleness), batch};
      Beyond beyond = Beyond::nothing;
      effective = curves_.advanced(effective, step, beyond);
      if (beyond != Beyond::nothing) leave_table(step, beyond);
    }
    return effective;
  }

  void leave_table(const MeasuredStep& step, Beyond beyond) const {
    const std::string where = curves_.text(beyond);
    if (config_.holds)
      return config_.note(config_.file + ": was not measured, and held at what was: " + where);
    throw std::runtime_error(config_.file + ": was not measured at " + where +
                             ", where the run came (a gradient of " + number_text(step.samples) +
                             " samples, " + number_text(step.staleness) +
                             " updates late, in an update of " + number_text(step.batch) +
                             "); more rows, or model.extrapolate: hold");
  }

  /// Of learners, who all have the same value.
  double mean(std::span<const Term> terms) const {
    double sum = 0;
    for (const Term& term : terms) sum += term.weight * values_.at(term.value);
    return sum;
  }

  Evaluation evaluated(double effective) const {
    return {.loss = curves_.loss(effective), .test_error = curves_.test_error(effective)};
  }

  /// What no later segment names.
  void forget(const Segment& segment) {
    live_.clear();
    std::unordered_map<ValueId, double> values;
    for (const ValueId id : segment.live) live_.push_back(values[id] = values_.at(id));
    values_ = std::move(values);
    std::unordered_map<GradientId, std::uint32_t> open;
    for (const GradientId id : segment.open) open[id] = minibatches_.at(id);
    for (const Use& use : segment.uses) minibatches_.erase(use.gradient);
    for (const GradientId id : segment.dead) minibatches_.erase(id);
    for (std::size_t i = 0; i < segment.gradients.size(); ++i)
      if (segment.gradients[i].fate == Fate::dead)
        minibatches_.erase(segment.first_gradient + static_cast<GradientId>(i));
    minibatches_.merge(open);
  }

  const TableConfig config_;
  const MeasuredCurves& curves_;
  Tape tape_;
  std::unordered_map<ValueId, double> values_;
  std::unordered_map<GradientId, std::uint32_t> minibatches_;  // of those that may be used
  std::vector<double> live_;
};

/// The base curve, as a model of one number, which plain steps of rate 1 move along it: what is
/// asked of every model beside runs.
template <class Real>
class BaseCurve final : public Model<Real> {
 public:
  explicit BaseCurve(std::shared_ptr<const MeasuredCurves> curves) : curves_(std::move(curves)) {}

  std::size_t parameters() const override { return 1; }
  void initialise(std::uint64_t, std::uint32_t, std::span<Real> w) override { w[0] = 0; }
  void gradient(std::span<const Real>, const MinibatchName& name, std::span<Real> g) override {
    g[0] = -static_cast<Real>(name.size);
  }
  void evaluate(std::span<const Real* const> values, std::span<Evaluation> results) override {
    for (std::size_t v = 0; v < values.size(); ++v) {
      const auto effective = static_cast<double>(values[v][0]);
      results[v] = {.loss = curves_->loss(effective), .test_error = curves_->test_error(effective)};
    }
  }
  Blueprint blueprint() const override { return NoBlueprint{"it is looked up in a table"}; }

 private:
  std::shared_ptr<const MeasuredCurves> curves_;
};

class TableSpec final : public ModelSpec {
 public:
  explicit TableSpec(TableConfig config) : config_(std::move(config)) {}

  const PerLearner& minibatch() const override { return config_.minibatch; }
  std::uint64_t training_rows() const override { return 0; }
  bool has_dataset() const override { return false; }
  bool has_test_error() const override {
    return !config_.curves || config_.curves->has_test_error();
  }
  std::string data_hash() const override { return config_.found().hash(); }
  bool has_parameters() const override { return false; }
  std::unique_ptr<Device> make_own_device() const override {
    return std::make_unique<TableDevice>(config_);
  }
  std::unique_ptr<Model<float>> make_float32() const override { return make<float>(); }
  std::unique_ptr<Model<double>> make_float64() const override { return make<double>(); }
  const std::string& precision() const override {
    static const std::string float64 = "float64";
    return float64;
  }

 private:
  template <class Real>
  std::unique_ptr<Model<Real>> make() const {
    config_.found();
    return std::make_unique<BaseCurve<Real>>(config_.curves);
  }

  TableConfig config_;
};

/// Complains of what is wrong with the file.
void read_curves(Fields& fields, const fs::path& file, TableConfig& config, DataShelf& shelf) {
  try {
    config.curves = std::make_shared<MeasuredCurves>(MeasuredCurves::read(file));
  } catch (const std::runtime_error& error) {
    return fields.complain("path", error.what());
  }
  config.file = file.string();
  for (const std::string& note : config.curves->notes()) shelf.note(note);
}

ModelProduct read(Fields& fields, DataShelf& shelf) {
  TableConfig config;
  config.note = [&shelf](const std::string& note) { shelf.note(note); };
  Location location;
  fields.path("path", location, Need::required, "CSV file of the curves");
  fields.per_learner("minibatch", config.minibatch, Need::defaulted, at_least(1),
                     "samples m of one gradient", minibatch_of_learners);
  config.holds = fields.second_of("extrapolate", "refuse", "hold",
                                  "beyond the table: the run fails, or goes on, which is noted");
  if (!fields.good()) return nullptr;
  const MissingPlace missing{"file", location.name, location.looked_at};
  if (fs::is_regular_file(location.found)) {
    read_curves(fields, location.found, config, shelf);
  } else {
    config.missing = missing.text();
    shelf.note_missing(missing);
    if (shelf.data_needed()) fields.lacks("path", missing);
  }
  if (!fields.good()) return nullptr;
  return std::make_shared<TableSpec>(std::move(config));
}

}  // namespace

extern const ModelEntry table_entry{page, read};

}  // namespace gradrace
