#include "sim/cli/commands/model_cost.h"

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "models/cpu/aligned.h"
#include "models/quadratic.h"
#include "sim/cli/commands/process_usage.h"

namespace gradrace {

namespace {

constexpr std::uint32_t step = 4;     // from a number of rows to the next
constexpr double long_enough = 0.02;  // seconds, to be timed well

/// Seconds of one call, the mean of several of a short one.
template <class Call>
double timed(Call call) {
  const double begin = thread_seconds();
  double calls = 0;
  do {
    call();
    ++calls;
  } while (thread_seconds() - begin < long_enough);
  return (thread_seconds() - begin) / calls;
}

template <class Real>
class ModelTimer {
 public:
  ModelTimer(std::unique_ptr<Model<Real>> model, const Point& point, double patience)
      : model_(std::move(model)),
        point_(point),
        patience_(patience),
        w_(model_->packing().numbers()),
        g_(w_.size()) {
    std::vector<Real> parameters(model_->parameters());
    model_->initialise(point.seed, 0, parameters);
    model_->packing().pack(parameters.data(), w_.data());
  }

  void time_gradient(ModelCost& cost) {
    const std::uint32_t minibatch = point_.model->minibatch().greatest();
    const auto of_rows = [&](std::uint32_t rows) {
      return timed([&] {
        model_->gradient_of_packed(w_.data(), {point_.seed, 0, 0, draw_++, rows},
                                   {1, nullptr, nullptr, g_.data()});
      });
    };
    const bool grows = point_.model->has_dataset();
    cost.rows = grows ? 1 : minibatch;
    cost.gradient_of_rows = of_rows(grows ? 1 : minibatch);
    if (!grows) return;
    for (std::uint32_t before = 1; before < minibatch;) {
      const std::uint32_t rows = before > minibatch / step ? minibatch : before * step;
      const double seconds = of_rows(rows);
      constexpr double least_part = 0.25;  // of a row's mean time, for another one
      cost.of_row = std::max((seconds - cost.gradient_of_rows) / (rows - before),
                             least_part * seconds / rows);
      cost.rows = before = rows;
      cost.gradient_of_rows = seconds;
      if (step * seconds > patience_) return;
    }
  }

  void time_evaluation(ModelCost& cost) {
    model_->look_at(point_.rows);
    const double all = rows_looked_at();
    for (std::uint64_t rows = 16;; rows *= step) {
      model_->look_at({rows, rows});
      const double looked_at = rows_looked_at();
      const Real* const value = w_.data();
      Evaluation found;
      cost.evaluation = timed([&] { model_->evaluate_packed({&value, 1}, {&found, 1}); });
      const bool is_all = looked_at == 0 || looked_at >= all || rows > most_rows;
      if (is_all || step * cost.evaluation > patience_) {
        if (!is_all) cost.evaluation *= all / looked_at;
        cost.evaluation *= rows_to_look_at() / std::max(1.0, all);
        cost.found = long_words(found);
        return;
      }
    }
  }

 private:
  /// Numbers of all digits, and an error of the rows looked at, for what the model has.
  Evaluation long_words(const Evaluation& found) const {
    constexpr double all_digits = 1e5 / 3;
    const Blueprint blueprint = model_->blueprint();
    const auto* const network = std::get_if<NetworkBlueprint>(&blueprint);
    const auto rows = network ? static_cast<double>(network->test_rows.size()) : all_digits;
    const auto of = [](double known, double value) { return std::isnan(known) ? known : value; };
    return {of(found.loss, all_digits), of(found.test_loss, all_digits),
            of(found.test_error, 1 - 1 / rows), all_digits, all_digits};
  }

  static constexpr std::uint64_t most_rows = std::uint64_t{1} << 32;

  /// Of both splits; 0 where it is not known.
  double rows_looked_at() const {
    const Blueprint blueprint = model_->blueprint();
    const auto* const network = std::get_if<NetworkBlueprint>(&blueprint);
    return network ? static_cast<double>(network->train_rows.size() + network->test_rows.size())
                   : 0;
  }

  /// In a run, of the rows of which a part was made.
  double rows_to_look_at() const {
    model_->look_at(point_.rows);
    const Blueprint blueprint = model_->blueprint();
    const auto* const network = std::get_if<NetworkBlueprint>(&blueprint);
    const double parts = point_.model->data_parts();
    if (!network || parts == 1) return std::max(1.0, rows_looked_at());
    const auto of_split = [&](std::size_t made, std::optional<std::uint64_t> most) {
      const double all = parts * static_cast<double>(made);
      return most ? std::min(all, static_cast<double>(*most)) : all;
    };
    return of_split(network->train_rows.size(), point_.rows.train) +
           of_split(network->test_rows.size(), point_.rows.test);
  }

  std::unique_ptr<Model<Real>> model_;
  const Point& point_;
  const double patience_;
  Aligned<Real> w_, g_;
  std::uint32_t draw_ = 0;
};

template <class Real>
ModelCost timed_model(std::unique_ptr<Model<Real>> model, const Point& point, double patience) {
  ModelCost cost;
  const MemoryGrowth of_all_runs;
  model->prepare();
  cost.shared = of_all_runs.bytes();
  ModelTimer<Real> timer(std::move(model), point,
                         patience);  // whose two values are not the model's
  const MemoryGrowth growth;
  timer.time_gradient(cost);
  timer.time_evaluation(cost);
  cost.scratch = growth.bytes();
  return cost;
}

template <class Real>
ModelCost timed_quadratic(QuadraticConfig config, const Point& point, double patience) {
  constexpr std::uint64_t enough = 1 << 21;
  const auto all = static_cast<double>(config.dimensions);
  config.dimensions = std::min(config.dimensions, enough);
  const double times = all / static_cast<double>(config.dimensions);
  ModelCost cost = timed_model(make_quadratic<Real>(config), point, patience);
  cost.gradient_of_rows *= times;
  cost.evaluation *= times;
  cost.scratch *= times;
  return cost;
}

}  // namespace

ModelCost cost_of_model(const Point& point, const ModelMemory& memory, double patience) {
  const ModelSpec& spec = *point.model;
  const bool is_double = spec.precision() == "float64";
  if (const QuadraticConfig* const config = spec.quadratic())
    return is_double ? timed_quadratic<double>(*config, point, patience)
                     : timed_quadratic<float>(*config, point, patience);
  ModelCost cost = is_double ? timed_model(spec.make_float64(), point, patience)
                             : timed_model(spec.make_float32(), point, patience);
  cost.bytes_of_row = 2 * memory.row;  // its maps and their derivatives
  const double parts = spec.data_parts();
  cost.shared = cost.shared * parts + spec.data_bytes() * (1 - 1 / parts);
  return cost;
}

}  // namespace gradrace
