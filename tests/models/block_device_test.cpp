#include "models/block_device.h"

#include <doctest/doctest.h>

#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <functional>

#include "models/cnn.h"
#include "models/cpu_device.h"
#include "models/cuda_device.h"
#include "models/least_squares.h"
#include "models/logistic.h"
#include "models/mlp.h"
#include "models/quadratic.h"
#include "models/resnet.h"
#include "models/softmax.h"
#include "tests/models/checks.h"
#include "tests/models/emulated_blocks.h"
#include "tests/race_text.h"
#include "tests/skip.h"

namespace gradrace {

namespace {

/// Where numbers are computed, and how near they must be to the CPU's in float64.
struct Place {
  std::string name;
  bool float64;
  std::function<std::unique_ptr<Device>(std::unique_ptr<Model<float>>)> make_float32;
  std::function<std::unique_ptr<Device>(std::unique_ptr<Model<double>>)> make_float64;

  double tolerance() const { return float64 ? 1e-12 : 1e-5; }
};

Place cpu() { return {"cpu", false, make_cpu_device<float>, make_cpu_device<double>}; }

Place emulated(std::uint32_t threads, bool float64 = false,
               std::size_t shared_memory = EmulatedBlocks::most_shared_memory,
               Products products = Products::float32) {
  const auto make = [=](auto model) {
    DeviceOptions options;
    options.products = products;
    return make_block_device(std::move(model), EmulatedBlocks(threads, shared_memory), options);
  };
  return {"emulated, " + std::to_string(threads) + " threads", float64, make, make};
}

/// Where weights do not fit into a block's memory: dense layers are multiplied in waves.
Place in_waves(bool float64 = false, std::uint32_t threads = 1) {
  return emulated(threads, float64, 0);
}

Place cuda(bool float64 = false) {
  const auto make = [](auto model) { return make_cuda_device(std::move(model), {}); };
  return {"cuda", float64, make, make};
}

/// The model, but for where its runs start.
template <class Real>
class StartedAt final : public Model<Real> {
 public:
  StartedAt(std::unique_ptr<Model<Real>> model, Vector start)
      : model_(std::move(model)), start_(std::move(start)) {}

  std::size_t parameters() const override { return model_->parameters(); }
  Statistics statistics() const override { return model_->statistics(); }
  void initialise(std::uint64_t, std::uint32_t replica, std::span<Real> w) override {
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = static_cast<Real>(start_[i] * (1 + 0.1 * replica));
  }
  void gradient(std::span<const Real> w, const MinibatchName& name, std::span<Real> g) override {
    model_->gradient(w, name, g);
  }
  void evaluate(std::span<const Real* const> values, std::span<Evaluation> results) override {
    model_->evaluate(values, results);
  }
  Blueprint blueprint() const override { return model_->blueprint(); }

 private:
  std::unique_ptr<Model<Real>> model_;
  Vector start_;
};

/// A model on some data.
struct Subject {
  std::string name;
  std::function<std::unique_ptr<Model<float>>()> fast;
  std::function<std::unique_ptr<Model<double>>()> exact;

  std::unique_ptr<Device> on(const Place& place, const Vector& start) const {
    if (place.float64)
      return place.make_float64(std::make_unique<StartedAt<double>>(exact(), start));
    return place.make_float32(std::make_unique<StartedAt<float>>(fast(), start));
  }
};

template <class Config>
Subject subject(std::string name, std::shared_ptr<const Dataset> data, Config config,
                MakeModel<float, Config> make_float32, MakeModel<double, Config> make_float64,
                const std::string& sampling = "iid", double l2 = 0.01) {
  config.dataset = [data] { return data; };
  config.sampling = sampling;
  config.l2 = l2;
  return {std::move(name), [=] { return make_float32(config, {.train = 31, .test = 23}); },
          [=] { return make_float64(config, {.train = 31, .test = 23}); }};
}

/// The data set as bytes, with every seventh row all zero.
std::shared_ptr<const Dataset> as_bytes(const Dataset& from) {
  auto data = std::make_shared<Dataset>(from);
  data->byte_scale = 1.0f / 255;
  for (Rows* rows : {&data->train, &data->test}) {
    for (std::size_t i = 0; i < rows->floats.size(); ++i) {
      const bool zero = i / data->features % 7 == 0;
      rows->bytes.push_back(zero ? 0 : static_cast<std::uint8_t>(128 + 50 * std::sin(i)));
    }
    rows->floats.clear();
  }
  return data;
}

MlpConfig mlp(std::vector<std::uint64_t> widths, const std::string& activation) {
  MlpConfig config;
  config.widths = std::move(widths);
  config.activation = activation;
  return config;
}

CnnConfig cnn(std::vector<std::uint64_t> channels, std::uint32_t kernel,
              std::vector<std::uint64_t> dense, const std::string& activation) {
  CnnConfig config;
  config.channels = std::move(channels);
  config.kernel = kernel;
  config.dense = std::move(dense);
  config.activation = activation;
  return config;
}

CnnConfig augmented(CnnConfig config) {
  config.augment = true;
  return config;
}

CnnConfig cifar10_full() {
  CnnConfig config;
  config.net = "cifar10-full";
  return config;
}

ResnetConfig resnet(std::uint32_t width, bool augment) {
  ResnetConfig config;
  config.depth = 8;
  config.width = width;
  config.statistics_decay = 0.6;
  config.augment = augment;
  return config;
}

Subject quadratic(std::uint64_t dimensions, double noise) {
  QuadraticConfig config;
  config.dimensions = dimensions;
  config.curvatures = {1, 0.3, 2};
  config.noise = noise;
  return {"quadratic", [=] { return make_quadratic<float>(config); },
          [=] { return make_quadratic<double>(config); }};
}

/// Every model; no size is a multiple of a tile.
std::vector<Subject> subjects() {
  const auto classes = synthetic(R"("rows": 75, "test_rows": 41, "features": 13, "classes": 5)");
  const auto wide = synthetic(R"("rows": 75, "test_rows": 67, "features": 333, "classes": 10)");
  const auto two = synthetic(R"("rows": 75, "test_rows": 41, "features": 13, "classes": 2)");
  const auto targets =
      made(R"({"kind": "synthetic-regression", "rows": 75, "test_rows": 41, "features": 13})");
  const auto images = synthetic(
      R"("rows": 75, "test_rows": 41, "features": 198, "height": 9, "width": 11, "classes": 5)");
  const auto odd = synthetic(
      R"("rows": 19, "test_rows": 7, "features": 63, "height": 9, "width": 7, "classes": 5)");
  const auto few = synthetic(
      R"("rows": 9, "test_rows": 3, "features": 99, "height": 11, "width": 9, "classes": 5)");
  const auto square = synthetic(
      R"("rows": 40, "test_rows": 9, "features": 192, "height": 8, "width": 8, "classes": 3)");
  const auto relu = mlp({7}, "relu"), tanh = mlp({70, 6}, "tanh");
  const auto small = cnn({3}, 4, {}, "relu"), deep = cnn({3, 4}, 2, {6}, "tanh");
  return {
      quadratic(10, 0.5),
      subject("least-squares", targets, LeastSquaresConfig{}, make_least_squares<float>,
              make_least_squares<double>),
      subject("logistic", two, LogisticConfig{}, make_logistic<float>, make_logistic<double>,
              "epoch"),
      subject("softmax", classes, SoftmaxConfig{}, make_softmax<float>, make_softmax<double>),
      subject("softmax, bytes", as_bytes(*wide), SoftmaxConfig{}, make_softmax<float>,
              make_softmax<double>, "epoch", 0),
      subject("softmax, no regulariser", classes, SoftmaxConfig{}, make_softmax<float>,
              make_softmax<double>, "iid", 0),
      subject("logistic, no regulariser", two, LogisticConfig{}, make_logistic<float>,
              make_logistic<double>, "iid", 0),
      subject("least-squares, no regulariser", targets, LeastSquaresConfig{},
              make_least_squares<float>, make_least_squares<double>, "epoch", 0),
      subject("mlp, relu, no regulariser", classes, mlp({60, 3}, "relu"), make_mlp<float>,
              make_mlp<double>, "iid", 0),
      subject("mlp, tanh, bytes, no regulariser", as_bytes(*wide), mlp({9, 12, 5}, "tanh"),
              make_mlp<float>, make_mlp<double>, "epoch", 0),
      subject("mlp, relu", classes, relu, make_mlp<float>, make_mlp<double>),
      subject("mlp, tanh, bytes", as_bytes(*wide), tanh, make_mlp<float>, make_mlp<double>,
              "epoch"),
      subject("mlp, too large for a block", as_bytes(*wide), mlp({190}, "relu"), make_mlp<float>,
              make_mlp<double>, "iid", 0),
      subject("cnn, relu", images, small, make_cnn<float>, make_cnn<double>, "epoch"),
      subject("cnn, tanh, bytes", as_bytes(*images), deep, make_cnn<float>, make_cnn<double>),
      subject("cnn, relu, augmented", images, augmented(small), make_cnn<float>, make_cnn<double>,
              "epoch"),
      subject("cnn, tanh, bytes, augmented", as_bytes(*images), augmented(deep), make_cnn<float>,
              make_cnn<double>),
      subject("cnn, cifar10-full, odd", few, cifar10_full(), make_cnn<float>, make_cnn<double>),
      subject("resnet, odd, bytes, augmented", as_bytes(*odd), resnet(3, true), make_resnet<float>,
              make_resnet<double>),
      subject("resnet", square, resnet(4, false), make_resnet<float>, make_resnet<double>, "epoch"),
  };
}

/// The net of CIFAR-10 on images of its size, of which a device that is emulated does few.
Subject full_size() {
  const auto images = synthetic(
      R"("rows": 9, "test_rows": 2, "features": 3072, "height": 32, "width": 32, "classes": 10)");
  return subject("cnn, cifar10-full", as_bytes(*images), cifar10_full(), make_cnn<float>,
                 make_cnn<double>);
}

/// One gradient of the device: an update of so great a weight that where it starts is nothing; of
/// statistics it leaves statistics.decay.
Vector gradient_on(const Subject& subject, const Place& place, const Vector& at,
                   std::uint32_t learner, std::uint32_t draw, std::uint32_t minibatch) {
  const double weight = std::ldexp(1.0, place.float64 ? 40 : 20);
  const auto device = subject.on(place, at);
  const Tape tape{7, 0, {{minibatch, 0}}, {{}}};
  device->start({&tape, 1});
  Segment segment;
  segment.gradients = {{0, learner, draw, 0, Fate::used}};
  segment.uses = {{0, 0, weight}};
  segment.ops = {{Op::Kind::update, 0, 1, 0, 0, 1}};
  segment.live = {1};
  const Segment* const wave = &segment;
  Results results;
  device->replay({&wave, 1}, {&results, 1});
  Vector g = device->parameters(0);
  const auto [count, decay] = subject.exact()->statistics();
  const std::size_t learnt = g.size() - count;
  for (std::size_t i = 0; i < learnt; ++i) g[i] = (at[i] - g[i]) / weight;
  for (std::size_t i = learnt; i < g.size(); ++i) g[i] = (g[i] - decay * at[i]) / (1 - decay);
  return g;
}

void check_gradient(const Place& place, const Subject& subject, double scale,
                    std::uint32_t minibatch) {
  CAPTURE(subject.name);
  CAPTURE(scale);
  CAPTURE(minibatch);
  const auto exact = subject.exact();
  Vector w = some_point(exact->parameters(), scale);
  for (double& s : carried(std::span(w), exact->statistics())) s = 1;
  for (double& x : w) x = static_cast<double>(static_cast<float>(x));  // as float32 has them
  const Vector wanted = gradient(*exact, w, {7, 0, 3, 2, minibatch});
  const Vector found = gradient_on(subject, place, w, 3, 2, minibatch);
  // Logits exceed 50 with the greatest scale.
  const double tolerance = scale > 1 ? 10 * place.tolerance() : place.tolerance();
  // Apart: statistics can be a million times as large.  Those of float32 are found to its rounding
  // beside the ones that were carried.
  const auto learns = static_cast<std::ptrdiff_t>(w.size() - exact->statistics().count);
  const auto check = [&](auto first, auto last, double beside) {
    const Vector part(wanted.begin() + first, wanted.begin() + last);
    const Vector of_found(found.begin() + first, found.begin() + last);
    CHECK(distance(part, of_found) <= tolerance * (norm(part) + beside));
  };
  check(std::ptrdiff_t{0}, learns, 0);
  check(learns, static_cast<std::ptrdiff_t>(w.size()), norm({w.begin() + learns, w.end()}));
}

void check_gradients(const Place& place) {
  CAPTURE(place.name);
  for (const Subject& subject : subjects())
    for (const double scale : {0.0, 0.3, 30.0})
      for (const std::uint32_t minibatch : {1u, 5u, 33u})
        check_gradient(place, subject, scale, minibatch);
  for (const Subject& subject : subjects())
    if (subject.name == "mlp, relu, no regulariser") check_gradient(place, subject, 0.3, 131);
  check_gradient(place, full_size(), 0.3, 2);
}

const Rule rules[] = {
    {},
    {.momentum = 0.9},
    {.momentum = 0.9, .nesterov = true},
    {.momentum = 0.9, .nesterov = true, .from_rest = true},
    {.momentum = 0.9, .of_gradients = true},
    {.momentum = 0.9, .nesterov = true, .of_gradients = true, .distance = 1e-3},
    {.rmsprop = RmsProp{}},
    {.ema = 0.9},
    {.distance = 1e-3},
    {.momentum = 0.8,
     .nesterov = true,
     .rmsprop = RmsProp{.decay = 0.8, .epsilon = 0.01},
     .ema = 0.7,
     .distance = 1e-3},
};

/// Some updates, one of three gradients, one of none, some stale, one by another rule and with
/// another recipe, and evaluations; in two segments.
std::vector<Segment> some_updates() {
  Segment first, second;
  first.gradients = {{0, 0, 0, 0, Fate::used}, {0, 1, 0, 0, Fate::used}, {0, 2, 0, 0, Fate::open},
                     {1, 0, 1, 0, Fate::used}, {1, 1, 1, 0, Fate::dead}, {1, 3, 0, 0, Fate::used}};
  first.uses = {{0, 0, 0.01}, {1, 1, 0.02}, {3, 0, 0.03}, {5, 0, 0.01}};
  first.ops = {{Op::Kind::evaluate, 0, 0, 0, 0, 0},
               {Op::Kind::update, 0, 1, 0, 0, 1},
               {Op::Kind::update, 1, 2, 1, 1, 3},
               {Op::Kind::evaluate, 0, 2, 2, 0, 0},
               {Op::Kind::update, 0, 3, 2, 4, 0}};  // of no gradient
  first.live = {3};
  second.first_gradient = 6;
  second.gradients = {{3, 0, 2, 0, Fate::used}, {3, 1, 2, 1, Fate::used}};
  second.uses = {{2, 2, 0.02}, {6, 0, 0.01}, {7, 0, 0.03}};
  second.ops = {{Op::Kind::update, 0, 4, 3, 0, 2},
                {Op::Kind::update, 0, 5, 4, 2, 1},
                {Op::Kind::evaluate, 0, 5, 5, 0, 0}};
  second.live = {5};
  second.end = End::finished;
  return {first, second};
}

struct Replayed {
  Vector w;
  std::vector<Results> results;
};

Replayed replay_updates(Device& device, const Rule& rule, double clip) {
  const Tape tape{7, 0, {{5, clip}, {3, 0}}, {rule, {}}};
  device.start({&tape, 1});
  Replayed replayed;
  for (const Segment& segment : some_updates()) {
    const Segment* const wave = &segment;
    replayed.results.emplace_back();
    device.replay({&wave, 1}, {&replayed.results.back(), 1});
  }
  replayed.w = device.parameters(0);
  return replayed;
}

bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::abs(b) || (std::isnan(a) && std::isnan(b));
}

void check_updates(const Place& place) {
  CAPTURE(place.name);
  Place reference = cpu();
  reference.float64 = true;
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.name);
    Vector start = some_value(*subject.exact());
    for (double& x : start) x = static_cast<double>(static_cast<float>(x));
    const auto tested = subject.on(place, start), exact = subject.on(reference, start);
    for (std::size_t rule = 0; rule < std::size(rules); ++rule) {
      for (const double clip : {0.0, 0.1}) {
        CAPTURE(rule);
        CAPTURE(clip);
        const Replayed wanted = replay_updates(*exact, rules[rule], clip);
        const Replayed found = replay_updates(*tested, rules[rule], clip);
        Vector moved = start;
        for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= wanted.w[i];
        CHECK(distance(wanted.w, found.w) <=
              place.tolerance() * std::max(norm(start), norm(moved)));
        for (std::size_t s = 0; s < 2; ++s) {
          const Results &a = found.results[s], &b = wanted.results[s];
          CHECK(a.gradients_computed == b.gradients_computed);
          REQUIRE(a.evaluations.size() == b.evaluations.size());
          REQUIRE(a.rate_factors.size() == b.rate_factors.size());
          const double tolerance = 10 * place.tolerance();
          for (std::size_t i = 0; i < a.evaluations.size(); ++i) {
            CHECK(near(a.evaluations[i].loss, b.evaluations[i].loss, tolerance));
            CHECK(near(a.evaluations[i].test_loss, b.evaluations[i].test_loss, tolerance));
            CHECK(near(a.evaluations[i].test_error, b.evaluations[i].test_error, 0));
          }
          for (std::size_t i = 0; i < a.rate_factors.size(); ++i)
            CHECK(near(a.rate_factors[i], b.rate_factors[i], 1e-3));
        }
      }
    }
  }
}

/// A scenario of the example of that protocol.
Point point_of(const std::string& protocol, const std::string& model, const std::string& rest) {
  return point_from(
      R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
          "record": {"every_time": 1.5}, "protocol": )" +
      protocol + R"(, "model": )" + model + ", " + rest + "}");
}

const char* const softmax = R"({"kind": "softmax", "minibatch": 30, "l2": 0.01, "init_sd": 0.01,
  "dataset": {"kind": "synthetic", "rows": 300, "test_rows": 100}})";
// Weights stay in the blocks.
const char* const in_place = R"({"kind": "mlp", "widths": [6], "activation": "tanh",
  "minibatch": 30, "dataset": {"kind": "synthetic", "rows": 300, "test_rows": 100}})";
const char* const in_place_minibatch = R"({"kind": "mlp", "widths": [6], "activation": "tanh",
  "minibatch": 7, "dataset": {"kind": "synthetic", "rows": 300, "test_rows": 100}})";
// Nor do they fit into the memory of a block of any GPU.
const char* const in_waves_anywhere = R"({"kind": "mlp", "widths": [200], "minibatch": 30,
  "dataset": {"kind": "synthetic", "features": 300, "rows": 300, "test_rows": 100}})";
const char* const small_minibatch = R"({"kind": "softmax", "minibatch": 7, "l2": 0.01,
  "init_sd": 0.01, "dataset": {"kind": "synthetic", "rows": 300, "test_rows": 100}})";
const char* const plain = R"("learning_rate": {"kind": "constant", "eta": 0.05})";
const char* const everything = R"("learning_rate": {"kind": "distance", "c": 1e-3, "eta_max": 0.05},
  "optimiser": {"momentum": 0.9, "clip": 0.5, "ema": 0.9, "rmsprop": {}})";
const char* const carrying = R"("learning_rate": {"kind": "constant", "eta": 0.02},
  "optimiser": {"momentum": 0.9, "nesterov": true, "ema": 0.9, "rmsprop": {}})";

std::unique_ptr<Device> device_on(const Place& place, const ModelSpec& model) {
  if (place.float64) return place.make_float64(model.make_float64({}));
  return place.make_float32(model.make_float32({}));
}

std::vector<RunRecord> records_of(std::vector<Run> runs, Device& device) {
  drive(runs, &device, [] { return true; });
  std::vector<RunRecord> records;
  for (auto& run : runs) records.push_back(run.record());
  return records;
}

std::vector<RunRecord> run_cohort(const Point& point, Device& device, std::uint32_t first,
                                  std::uint32_t count, std::uint32_t limit) {
  const Race race = point.race();
  std::vector<Run> runs;
  for (std::uint32_t r = first; r < first + count; ++r)
    runs.emplace_back(race, r, true, nullptr, limit);
  return records_of(std::move(runs), device);
}

const char* const small_resnet = R"({"kind": "resnet", "depth": 8, "width": 2, "minibatch": 6,
  "l2": 0.001, "augment": true, "statistics_decay": 0.8,
  "dataset": {"kind": "synthetic", "rows": 60, "test_rows": 20, "classes": 3, "separation": 8,
              "features": 70, "height": 7, "width": 5}})";
const std::vector<std::string> some_protocols = {
    R"({"kind": "async"})", R"({"kind": "k-sync", "k": 3})", R"({"kind": "k-async", "k": 3})"};

/// Equal to the CPU's run: the schedule is, and losses to the tolerance.
void check_runs(const Place& place, const char* model, const std::vector<std::string>& protocols,
                const std::string& rest, double tolerance) {
  Place reference = cpu();
  reference.float64 = true;
  for (const auto& protocol : protocols) {
    CAPTURE(protocol);
    const Point point = point_of(protocol, model, rest + R"(, "stop": {"updates": 60})");
    const auto exact = device_on(reference, *point.model), tested = device_on(place, *point.model);
    const RunRecord wanted = run_cohort(point, *exact, 0, 1, 4096).front();
    const RunRecord found = run_cohort(point, *tested, 0, 1, 4096).front();
    CHECK(found.status == wanted.status);
    CHECK(found.totals.time == wanted.totals.time);
    CHECK(found.totals.applied == wanted.totals.applied);
    CHECK(found.staleness_counts == wanted.staleness_counts);
    CHECK(found.gradients_computed == wanted.gradients_computed);
    REQUIRE(found.curve.size() == wanted.curve.size());
    for (std::size_t i = 0; i < found.curve.size(); ++i) {
      CHECK(found.curve[i].point.update == wanted.curve[i].point.update);
      CHECK(near(found.curve[i].evaluation.loss, wanted.curve[i].evaluation.loss, tolerance));
      CHECK(near(found.curve[i].evaluation.test_loss, wanted.curve[i].evaluation.test_loss,
                 tolerance));
    }
  }
}

void check_equal(const RunRecord& a, const RunRecord& b) {
  REQUIRE(a.hash != 0);
  REQUIRE(a.hash == b.hash);
  REQUIRE(a.curve.size() == b.curve.size());
  for (std::size_t i = 0; i < a.curve.size(); ++i) {
    REQUIRE(a.curve[i].evaluation.loss == b.curve[i].evaluation.loss);
    REQUIRE(a.curve[i].evaluation.test_loss == b.curve[i].evaluation.test_loss);
    const double rates[] = {a.curve[i].point.learning_rate, b.curve[i].point.learning_rate};
    REQUIRE((rates[0] == rates[1] || (std::isnan(rates[0]) && std::isnan(rates[1]))));
  }
}

/// A run's numbers depend neither on its cohort nor on where its segments end.
void check_equal_bits(const Place& place, const char* model,
                      const std::vector<std::string>& protocols, const std::string& rest) {
  for (const auto& protocol : protocols) {
    CAPTURE(protocol);
    const Point point = point_of(protocol, model, rest + R"(, "stop": {"updates": 60})");
    const auto device = device_on(place, *point.model);
    std::vector<RunRecord> alone;
    for (std::uint32_t r = 0; r < 5; ++r)
      alone.push_back(run_cohort(point, *device, r, 1, 1'000'000).front());
    CHECK(alone[0].hash != alone[1].hash);
    for (const std::uint32_t limit : {1u, 64u, 4096u}) {
      const auto together = run_cohort(point, *device, 0, 5, limit);
      for (std::size_t r = 0; r < 5; ++r) check_equal(together[r], alone[r]);
    }
  }
}

/// Nor on the points of the others: protocols, minibatches and rules differ.
void check_mixed_points(const Place& place, const char* one, const char* other) {
  std::vector<Race> races;
  ModelProduct model;
  for (const char* const rest : {plain, everything, carrying}) {
    for (const auto& protocol : every_protocol()) {
      const Point point = point_of(protocol, races.size() % 3 == 0 ? one : other,
                                   std::string(rest) + R"(, "stop": {"updates": 60})");
      races.push_back(point.race());
      model = point.model;
    }
  }
  const auto device = device_on(place, *model);
  std::vector<Run> runs;
  for (const Race& race : races) runs.emplace_back(race, 1, true, nullptr, 64);
  const auto together = records_of(std::move(runs), *device);
  for (std::size_t i = 0; i < races.size(); ++i) {
    CAPTURE(i);
    std::vector<Run> alone;
    alone.emplace_back(races[i], 1, true, nullptr, 4096);
    check_equal(together[i], records_of(std::move(alone), *device).front());
  }
}

/// Two places that differ by nothing but how many threads their blocks have.
void check_threads(const Place& some, const Place& others) {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.name);
    const Vector start = some_value(*subject.exact());
    const auto one = subject.on(some, start), three = subject.on(others, start);
    for (const Rule& rule : {rules[0], rules[std::size(rules) - 1]}) {
      const Replayed a = replay_updates(*one, rule, 0.1), b = replay_updates(*three, rule, 0.1);
      REQUIRE(a.w == b.w);
      for (std::size_t s = 0; s < 2; ++s) {
        REQUIRE(a.results[s].hash == b.results[s].hash);
        REQUIRE(a.results[s].rate_factors == b.results[s].rate_factors);
        for (std::size_t i = 0; i < a.results[s].evaluations.size(); ++i)
          REQUIRE(a.results[s].evaluations[i].loss == b.results[s].evaluations[i].loss);
      }
    }
  }
}

}  // namespace

TEST_CASE("blocks: the CPU in float32 conforms to float64") {
  check_gradients(cpu());
  check_updates(cpu());
}

TEST_CASE("blocks: gradients conform, with one thread") {
  check_gradients(emulated(1));
  check_gradients(emulated(1, true));
  check_gradients(in_waves());
  check_gradients(in_waves(true));
}

TEST_CASE("blocks: updates by every rule conform, with one thread") {
  check_updates(emulated(1));
  check_updates(emulated(1, true));
  check_updates(in_waves());
  check_updates(in_waves(true));
}

TEST_CASE("blocks: runs of every protocol conform, with one thread") {
  check_runs(emulated(1), softmax, every_protocol(), plain, 1e-4);
  check_runs(emulated(1, true), softmax, every_protocol(), plain, 1e-11);
  check_runs(emulated(1, true), softmax, every_protocol(), everything, 1e-9);
  check_runs(emulated(1), in_place, every_protocol(), plain, 1e-4);
  check_runs(emulated(1, true), in_place, every_protocol(), plain, 1e-11);
  check_runs(emulated(1, true), in_place, every_protocol(), carrying, 1e-9);
  check_runs(in_waves(), in_place, every_protocol(), plain, 1e-4);
  check_runs(in_waves(true), in_place, every_protocol(), plain, 1e-11);
  check_runs(in_waves(true), in_place, every_protocol(), carrying, 1e-9);
}

TEST_CASE("blocks: runs with statistics and augmented images conform, with one thread") {
  check_runs(emulated(1), small_resnet, some_protocols, plain, 1e-4);
  check_runs(emulated(1, true), small_resnet, some_protocols, plain, 1e-11);
  check_runs(emulated(1, true), small_resnet, some_protocols, everything, 1e-9);
}

TEST_CASE("blocks: equal bits for any cohort and any segment limit") {
  check_equal_bits(emulated(1), softmax, every_protocol(), plain);
  check_equal_bits(emulated(1), softmax, every_protocol(), everything);
  check_equal_bits(emulated(1), in_place, every_protocol(), plain);
  check_equal_bits(emulated(1), in_place, every_protocol(), carrying);
  check_equal_bits(emulated(1), small_resnet, {some_protocols.back()}, everything);
  check_equal_bits(in_waves(), in_place, every_protocol(), plain);
  check_equal_bits(in_waves(), in_place, every_protocol(), carrying);
  check_mixed_points(emulated(1), softmax, small_minibatch);
  check_mixed_points(emulated(1), in_place, in_place_minibatch);
  check_mixed_points(in_waves(), in_place, in_place_minibatch);
}

TEST_CASE("blocks: gradients conform, with three threads") {
  check_gradients(emulated(3));
  check_gradients(in_waves(false, 3));
}

TEST_CASE("blocks: equal bits for any number of threads") {
  check_threads(emulated(1), emulated(3));
  check_threads(in_waves(), in_waves(false, 3));
}

TEST_CASE("blocks: a run that is lost is recorded up to the evaluation that shows it") {
  const Point point =
      point_of(R"({"kind": "k-sync", "k": 3})", R"({"kind": "quadratic", "noise": 0})",
               R"("learning_rate": {"kind": "constant", "eta": 5},
                                  "stop": {"updates": 5000})");
  const auto device = device_on(emulated(1), *point.model);
  const auto exact = device_on(cpu(), *point.model);
  const RunRecord found = run_cohort(point, *device, 0, 1, 100).front();
  const RunRecord wanted = run_cohort(point, *exact, 0, 1, 100).front();
  CHECK(found.status == Status::diverged);
  CHECK(found.totals.updates == wanted.totals.updates);
}

TEST_CASE("blocks: the noise is what Boost draws from the same words") {
  const StreamName name{3, 1, Purpose::gradient_noise, 4, 5};
  Stream words = stream(name);
  boost::random::normal_distribution<double> wanted;
  const ResidentQuadratic<double, EmulatedBlocks> resident({1, {1.0}, 1.0});
  kernels::Normal normal(*resident.kernel().ziggurat, name);
  std::uint64_t tails = 0;  // beyond 3.4426, where the last layer begins
  for (int i = 0; i < 1'000'000; ++i) {
    const double x = normal.next();
    REQUIRE(x == wanted(words));
    tails += std::abs(x) > 3.4426198558966523;
  }
  CHECK(tails > 400);  // 576 are expected
  CHECK(tails < 800);
}

TEST_CASE("blocks: threads draw the rows of a minibatch together") {
  for (const Sampling sampling : {Sampling::iid, Sampling::epoch}) {
    for (const std::uint32_t n : {1u, 7u, 100u}) {
      for (const std::uint32_t threads : {1u, 3u, 64u}) {
        const MinibatchName name{9, 2, 1, 3, 37};
        std::vector<std::uint32_t> wanted(name.size), found(name.size, n);
        minibatch_rows(sampling, name, n, wanted);
        for (std::uint32_t thread = 0; thread < threads; ++thread) {
          if (sampling == Sampling::iid)
            draw_iid(name, n, found.data(), thread, threads);
          else
            draw_epoch(name, n, found.data(), thread, threads);
        }
        CHECK(found == wanted);
      }
    }
  }
}

TEST_CASE("blocks: products of matrix units are as far off as their fractions are short") {
  const auto rows = synthetic(R"("rows": 75, "test_rows": 67, "features": 333, "classes": 10)");
  const Subject large =
      subject("mlp", rows, mlp({190}, "tanh"), make_mlp<float>, make_mlp<double>, "iid", 0);
  const auto exact = large.exact();
  const Vector w = some_point(exact->parameters(), 0.05);
  const Vector wanted = gradient(*exact, w, {7, 0, 3, 2, 33});
  const auto error = [&](Products products) {
    const Place place = emulated(1, false, 0, products);
    return distance(wanted, gradient_on(large, place, w, 3, 2, 33)) / norm(wanted);
  };
  const double tf32 = error(Products::tf32), bf16 = error(Products::bf16);
  MESSAGE("tf32 ", tf32, ", bf16 ", bf16);
  CHECK(error(Products::float32) < 1e-5);
  CHECK(tf32 > 1e-4);  // half a unit of the last of 10 bits is 4.9e-4
  CHECK(tf32 < 1e-3);
  CHECK(bf16 > 1e-3);  // 3.9e-3
  CHECK(bf16 < 1e-2);
  CHECK_THROWS_WITH(large.on(emulated(1, false, 1 << 30, Products::tf32), w),
                    doctest::Contains("too large for a block's memory; use float32"));
}

TEST_CASE("blocks: a model that only the CPU has is refused") {
  class OfTheCpu final : public Model<float> {
   public:
    std::size_t parameters() const override { return 1; }
    void initialise(std::uint64_t, std::uint32_t, std::span<float>) override {}
    void gradient(std::span<const float>, const MinibatchName&, std::span<float>) override {}
    void evaluate(std::span<const float* const>, std::span<Evaluation>) override {}
  };
  CHECK_THROWS_WITH(make_block_device<float>(std::make_unique<OfTheCpu>(), EmulatedBlocks(1), {}),
                    "emulated: only the CPU computes this model; use --device cpu");
}

TEST_CASE("blocks: a device without the memory for one run says so") {
  DeviceOptions options;
  options.learners = 1'000'000;
  const Subject large = quadratic(1000, 0);
  CHECK_THROWS_WITH(make_block_device(large.fast(), EmulatedBlocks(1), options),
                    doctest::Contains("a run with 1000000 learners needs up to"));
  options.learners = 8;
  const auto device = make_block_device(large.fast(), EmulatedBlocks(1), options);
  CHECK(device->cohort() > 100);
}

#define GRADRACE_NEEDS_CUDA() \
  if (!no_cuda_device().empty()) GRADRACE_SKIP(no_cuda_device())

TEST_CASE("cuda: gradients conform") {
  GRADRACE_NEEDS_CUDA();
  check_gradients(cuda());
  check_gradients(cuda(true));
}

TEST_CASE("cuda: updates by every rule conform") {
  GRADRACE_NEEDS_CUDA();
  check_updates(cuda());
  check_updates(cuda(true));
}

TEST_CASE("cuda: runs of every protocol conform") {
  GRADRACE_NEEDS_CUDA();
  check_runs(cuda(), softmax, every_protocol(), plain, 1e-4);
  check_runs(cuda(true), softmax, every_protocol(), plain, 1e-11);
  check_runs(cuda(true), softmax, every_protocol(), everything, 1e-9);
  check_runs(cuda(), in_place, every_protocol(), plain, 1e-4);
  check_runs(cuda(true), in_place, every_protocol(), carrying, 1e-9);
  check_runs(cuda(), in_waves_anywhere, every_protocol(), plain, 1e-4);
  check_runs(cuda(true), in_waves_anywhere, every_protocol(), carrying, 1e-9);
  check_runs(cuda(), small_resnet, some_protocols, plain, 1e-4);
  check_runs(cuda(true), small_resnet, some_protocols, everything, 1e-9);
}

TEST_CASE("cuda: equal bits for any cohort and any segment limit") {
  GRADRACE_NEEDS_CUDA();
  check_equal_bits(cuda(), softmax, every_protocol(), plain);
  check_equal_bits(cuda(), softmax, every_protocol(), everything);
  check_equal_bits(cuda(), in_place, every_protocol(), plain);
  check_equal_bits(cuda(), in_place, every_protocol(), carrying);
  check_equal_bits(cuda(), in_waves_anywhere, every_protocol(), plain);
  check_equal_bits(cuda(), in_waves_anywhere, every_protocol(), carrying);
  check_equal_bits(cuda(), small_resnet, {some_protocols.back()}, everything);
  check_mixed_points(cuda(), softmax, small_minibatch);
  check_mixed_points(cuda(), in_place, in_place_minibatch);
}

}  // namespace gradrace
