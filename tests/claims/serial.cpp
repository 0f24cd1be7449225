#include "tests/claims/serial.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/linear.h"
#include "models/sampling/minibatch.h"
#include "tests/support/race_text.h"
#include "tests/support/reading.h"

namespace gradrace {

namespace {

constexpr std::uint32_t learners = 8, minibatch = 5, updates = 100;
constexpr double eta = 0.3;
const char* const dataset = R"({"kind": "synthetic", "rows": 400, "test_rows": 10})";

using Data = std::shared_ptr<const Dataset>;
using Softmax = std::unique_ptr<Model<double>>;

double loss_of(Model<double>& model, const std::vector<double>& w) {
  const double* value = w.data();
  Evaluation result;
  model.evaluate({&value, 1}, {&result, 1});
  return result.loss;
}

Softmax softmax_on(Data data) {
  SoftmaxConfig config;
  config.dataset = [data] { return data; };
  config.sampling = "epoch";  // a minibatch of all rows is every row once
  return make_softmax(config)->make_float64();
}

/// What all learners draw for their draw-th minibatch, as a data set.
Data batch_of(const Dataset& data, std::uint64_t seed, std::uint32_t draw) {
  Dataset batch = data;
  batch.train = {};
  std::vector<std::uint32_t> rows(minibatch);
  for (std::uint32_t learner = 0; learner < learners; ++learner) {
    minibatch_rows(Sampling::iid, {seed, 0, learner, draw, minibatch},
                   static_cast<std::uint32_t>(data.train.count), rows);
    for (const std::size_t row : rows) {
      const float* x = data.train.floats.data() + row * data.features;
      batch.train.floats.insert(batch.train.floats.end(), x, x + data.features);
      batch.train.classes.push_back(data.train.classes[row]);
      ++batch.train.count;
    }
  }
  return std::make_shared<const Dataset>(std::move(batch));
}

/// The loss after each update.
std::vector<double> serial_losses(std::uint64_t seed) {
  DataShelf shelf(".", {});
  const Data data = read_dataset(dataset, shelf).product();
  const Softmax whole = softmax_on(data);
  std::vector<double> w(whole->parameters()), g(w.size()), losses;
  whole->initialise(seed, 0, w);
  for (std::uint32_t update = 0; update < updates; ++update) {
    softmax_on(batch_of(*data, seed, update))->gradient(w, {1, 0, 0, 0, learners * minibatch}, g);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= eta * g[i];
    losses.push_back(loss_of(*whole, w));
  }
  return losses;
}

}  // namespace

double difference_from_serial(const std::string& protocol) {
  const Point point = point_from(
      R"({"cluster": {"learners": )" + std::to_string(learners) +
      R"(, "runtime": {"distribution": "exponential", "mean": 1}}, "protocol": )" + protocol +
      R"(, "model": {"kind": "softmax", "precision": "float64", "minibatch": )" +
      std::to_string(minibatch) + R"(, "dataset": )" + dataset +
      R"(}, "learning_rate": {"kind": "constant", "eta": )" + std::to_string(eta) +
      R"(}, "record": {"every_updates": 1}, "stop": {"updates": )" + std::to_string(updates) +
      "}}");
  const auto curve = run_training(point).curve;
  const auto serial = serial_losses(point.seed);
  double most = 0;
  for (std::size_t i = 0; i < updates; ++i)
    most = std::max(most, std::abs(curve.at(i + 1).evaluation.loss / serial[i] - 1));
  return most;
}

}  // namespace gradrace
