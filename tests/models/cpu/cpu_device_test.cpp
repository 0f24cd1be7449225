#include "models/cpu/cpu_device.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "models/make_device.h"
#include "models/optimiser/optimiser.h"
#include "models/quadratic.h"
#include "tests/support/race_text.h"

namespace gradrace::cpu_device_test {

namespace {

const char* const softmax = R"({"kind": "softmax", "minibatch": 30, "l2": 0.01, "init_sd": 0.01,
  "dataset": {"kind": "synthetic", "rows": 300, "test_rows": 100}})";

std::string scenario(const std::string& protocol, const std::string& model, const std::string& rest,
                     const std::string& eta = "0.05", unsigned learners = 8) {
  return R"({"cluster": {"learners": )" + std::to_string(learners) +
         R"(, "runtime": {"distribution": "exponential", "mean": 1}}, "protocol": )" + protocol +
         R"(, "model": )" + model + R"(, "learning_rate": {"kind": "constant", "eta": )" + eta +
         "}, " + rest + "}";
}

std::vector<RaceRecord> run_cohort(const Point& point, std::uint32_t replicas, std::uint32_t cohort,
                                   std::uint32_t limit) {
  const Race race = point.race();
  const auto device = make_device(*point.model, {});
  std::vector<RaceRecord> records;
  for (std::uint32_t first = 0; first < replicas; first += cohort) {
    std::vector<Starter> starters;
    for (std::uint32_t r = first; r < std::min(first + cohort, replicas); ++r)
      starters.push_back({race, r, limit});
    for (auto& record : run_races(starters, device.get())) records.push_back(std::move(record));
  }
  return records;
}

RaceRecord run_one(const Point& point, std::uint32_t limit = TimingPlane::default_limit) {
  return std::move(run_cohort(point, 1, 1, limit).front());
}

/// What the loop below knows of a gradient that it applies, and the learning rate of that.
struct Applied {
  std::uint64_t applied;  // gradients, before this update
  std::uint32_t staleness;
  double squared_distance;  // between the parameters moved and those it was computed at
};
using Rate = double (*)(const Applied& use);

/// The loop that users write by hand: computes every gradient at its dispatch, at the parameters of
/// that moment, keeps it, and applies it with its rate.
class DirectLoop : public Observer {
 public:
  DirectLoop(const Race& race, const QuadraticConfig& model, Rate rate)
      : race_(race),
        rate_(rate),
        model_(make_quadratic<double>(model)),
        w_(model.dimensions, model.start),
        first_(w_.size(), 0.0),
        second_(w_.size(), std::holds_alternative<Sgd>(kind()) ? 1.0 : 0.0),
        average_(w_),
        mean_square_(w_.size(), 0.0) {}

  void on_dispatch(const GradientFacts& gradient, double) override {
    std::vector<double> g(w_.size());
    model_->gradient(w_, {race_.seed, 0, gradient.learner, gradient.draw, rows_of(gradient)}, g);
    const double norm = std::sqrt(std::inner_product(g.begin(), g.end(), g.begin(), 0.0));
    const double clip = race_.plans[0].clip;
    if (clip > 0 && norm > clip) {
      for (double& x : g) x *= clip / norm;
    }
    gradients_[gradient.gradient] = {std::move(g), w_, updates_};
  }
  void on_update(const UpdateFacts& update) override {
    double rows = 0;
    for (const auto& facts : update.gradients) rows += rows_of(facts);
    std::vector<double> step(w_.size(), 0.0);
    double mean_rate = 0;
    for (const auto& facts : update.gradients) {
      const auto& [g, at, version] = gradients_.at(facts.gradient);
      double squared_distance = 0;
      for (std::size_t i = 0; i < w_.size(); ++i)
        squared_distance += (w_[i] - at[i]) * (w_[i] - at[i]);
      const double rate = rate_({applied_, updates_ - version, squared_distance});
      const double share = rows_of(facts) / rows;
      rate_sum_ += rate;
      mean_rate += share * rate;
      for (std::size_t i = 0; i < w_.size(); ++i)
        step[i] += share * rate * compensated(i, g[i], w_[i] - at[i]);
    }
    for (std::size_t i = 0; i < w_.size(); ++i)
      move(w_[i], first_[i], second_[i], step[i], mean_rate);
    const double ema = race_.plans[0].rule.ema;
    for (std::size_t i = 0; i < w_.size(); ++i) average_[i] = ema * average_[i] + (1 - ema) * w_[i];
    applied_ += update.gradients.size();
    ++updates_;
  }
  double loss() {
    Evaluation result;
    const double* value = average_.data();  // w itself without ema
    model_->evaluate({&value, 1}, {&result, 1});
    return result.loss;
  }
  double mean_rate() const { return rate_sum_ / static_cast<double>(applied_); }

 private:
  struct Dispatched {
    std::vector<double> g, at;
    std::uint32_t version;
  };
  const OptimiserKind& kind() const { return optimiser_of(race_.plans[0].rule); }

  double compensated(std::size_t i, double g, double moved) {
    const auto& rule = race_.plans[0].rule.delay;
    if (!rule) return g;
    double lambda = rule->lambda;
    if (rule->adaptive) {
      mean_square_[i] = rule->mean_square * mean_square_[i] + (1 - rule->mean_square) * g * g;
      lambda /= std::sqrt(mean_square_[i] + 1e-7);
    }
    return g + lambda * g * g * moved;
  }

  /// One parameter, its velocity and mean square or its two moments.
  std::uint32_t rows_of(const GradientFacts& gradient) const {
    return race_.plans[0].minibatch[gradient.learner];
  }

  void move(double& w, double& first, double& second, double step, double rate) {
    if (const Sgd* const sgd = std::get_if<Sgd>(&kind())) {
      if (sgd->rmsprop) {
        const auto [decay, epsilon] = *sgd->rmsprop;
        const double g = step / rate;
        second = decay * second + (1 - decay) * g * g;
        step = rate * g / std::sqrt(second + epsilon);
      }
      const double of = sgd->of_gradients ? rate : 1;
      first = sgd->momentum * first + step / of;
      w -= of * (sgd->nesterov ? sgd->momentum * first + step / of : first);
      return;
    }
    const AdamW* const adamw = std::get_if<AdamW>(&kind());
    const Adam& adam = adamw ? adamw->adam : std::get<Adam>(kind());
    const double g = step / rate, made = updates_ + 1;
    first = adam.beta1 * first + (1 - adam.beta1) * g;
    second = adam.beta2 * second + (1 - adam.beta2) * g * g;
    const double m = first / (1 - std::pow(adam.beta1, made));
    const double v = second / (1 - std::pow(adam.beta2, made));
    w -= rate * (m / (std::sqrt(v) + adam.epsilon) + (adamw ? adamw->weight_decay * w : 0));
  }

  const Race& race_;
  const Rate rate_;
  std::unique_ptr<Model<double>> model_;
  std::vector<double> w_, first_, second_, average_, mean_square_;
  std::uint64_t applied_ = 0;
  std::uint32_t updates_ = 0;
  double rate_sum_ = 0;
  std::map<GradientId, Dispatched> gradients_;
};

/// A scenario's learning rate, and the same by hand.
struct RateCase {
  const char* json;
  Rate rate;
};
const RateCase rate_cases[] = {
    {R"({"kind": "step", "eta": 0.02, "factor": 0.1, "at": [200], "unit": "gradients"})",
     [](const Applied& use) { return use.applied < 200 ? 0.02 : 0.002; }},
    {R"({"kind": "staleness", "eta": 0.02})",
     [](const Applied& use) { return use.staleness == 0 ? 0.02 : 0.02 / use.staleness; }},
    {R"({"kind": "staleness-exponential", "eta": 0.02, "rho": 0.8})",
     [](const Applied& use) { return 0.02 * std::pow(0.8, use.staleness); }},
    {R"({"kind": "distance", "c": 2e-5, "eta_max": 0.02})",
     [](const Applied& use) { return std::fmin(2e-5 / use.squared_distance, 0.02); }},
    {R"({"kind": "staleness", "schedule": {"kind": "distance", "c": 2e-5, "eta_max": 0.02}})",
     [](const Applied& use) {
       return std::fmin(2e-5 / use.squared_distance, 0.02) / std::fmax(1, use.staleness);
     }},
};

const char* const optimisers[] = {
    R"({"momentum": 0})",
    R"({"momentum": 0.9})",
    R"({"momentum": 0.9, "nesterov": true})",
    R"({"momentum": 0.9, "momentum_of": "gradients"})",
    R"({"momentum": 0.9, "momentum_of": "gradients", "nesterov": true})",
    R"({"clip": 0.3})",
    R"({"ema": 0.95})",
    R"({"rmsprop": {}})",
    R"({"momentum": 0.9, "nesterov": true, "clip": 0.3, "ema": 0.9,
        "rmsprop": {"decay": 0.8, "epsilon": 0.01}})",
    R"({"delay_compensation": {"lambda": 3}})",
    R"({"momentum": 0.9, "clip": 0.3, "ema": 0.9,
        "delay_compensation": {"lambda": 0.7, "adaptive": true, "mean_square": 0.8}})",
    R"({"kind": "adam"})",
    R"({"kind": "adam", "beta1": 0.5, "beta2": 0.7, "epsilon": 0.01, "clip": 0.3, "ema": 0.9})",
    R"({"kind": "adamw", "weight_decay": 0.3})",
};

bool is_never_late(const std::string& protocol) {
  const Race race = race_of(8, protocol, R"({"updates": 1})");
  const auto made = race.make_protocol();
  return std::get<std::unique_ptr<ServerProtocol>>(made)->staleness(8).mean == 0.0;
}

}  // namespace

static void compare_with_direct_loop(const std::string& protocol, const RateCase& rate_case,
                                     const std::string& optimiser, const std::string& minibatch) {
  CAPTURE(protocol);
  CAPTURE(std::string(rate_case.json));
  CAPTURE(optimiser);
  QuadraticConfig model;
  model.dimensions = 3;
  model.curvatures = {1, 0.3, 2};
  model.noise = 0.5;
  const Point point = point_from(
      R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}}, "protocol": )" +
      protocol +
      R"(, "model": {"kind": "quadratic", "dimensions": 3, "curvatures": [1, 0.3, 2], "noise": 0.5, "minibatch": )" +
      minibatch + R"(, "precision": "float64"}, "learning_rate": )" + rate_case.json +
      R"(, "stop": {"updates": 300}, "optimiser": )" + optimiser + "}");
  const Race race = point.race();
  const auto device = make_device(*point.model, {});
  for (const std::uint32_t limit : {1u, 4096u}) {
    DirectLoop direct(race, model, rate_case.rate);
    const double loss =
        run_race({race, 0, limit, &direct}, device.get()).curve.back().evaluation.loss;
    CHECK(std::abs(loss - direct.loss()) <= 1e-11 * direct.loss());
  }
}

TEST_CASE(
    "cpu_device: the replay of every protocol equals a direct loop that computes gradients at "
    "dispatch") {
  auto protocols = every_server_protocol();
  protocols.push_back(R"({"kind": "k-async", "k": 2})");
  protocols.push_back(R"({"kind": "k-batch-async", "k": 2})");
  for (const auto& protocol : protocols) {
    for (const RateCase& rate_case : rate_cases) {
      for (const std::string optimiser : optimisers) {
        if (optimiser.find("delay_compensation") != optimiser.npos && is_never_late(protocol))
          continue;  // where it says nothing, and is refused
        compare_with_direct_loop(protocol, rate_case, optimiser, "4");
      }
    }
  }
}

TEST_CASE("cpu_device: a mean of gradients of unlike minibatches is by rows, by every protocol") {
  const std::string minibatch = "[4, 1, 9, 4, 2, 30, 4, 7]";
  for (const std::string optimiser : {R"({"momentum": 0.9, "clip": 0.3})", R"({"kind": "adam"})"}) {
    for (const auto& protocol : every_server_protocol())
      for (const RateCase& rate_case : rate_cases)
        compare_with_direct_loop(protocol, rate_case, optimiser, minibatch);
    for (const std::string protocol :
         {R"({"kind": "all-reduce"})", R"({"kind": "all-reduce", "accumulate": 3})"})
      compare_with_direct_loop(protocol, rate_cases[0], optimiser, minibatch);
  }
}

TEST_CASE("cpu_device: a list of equal minibatches has the bits of their number") {
  for (const std::string protocol : {R"({"kind": "k-async", "k": 3})", R"({"kind": "all-reduce"})",
                                     R"({"kind": "local-sgd", "tau": 2})"}) {
    CAPTURE(protocol);
    const auto hash_by = [&](const std::string& minibatch) {
      std::string model = softmax;
      model.replace(model.find("30"), 2, minibatch);
      return run_one(point_from(scenario(protocol, model, R"("stop": {"updates": 50})"))).hash;
    };
    CHECK(hash_by("[30, 30, 30, 30, 30, 30, 30, 30]") == hash_by("30"));
    CHECK(hash_by("[30, 30, 30, 30, 30, 30, 30, 29]") != hash_by("30"));
  }
}

TEST_CASE("cpu_device: compensated, a late gradient of a parabola is that of now") {
  // g = h at, and lambda g^2 = h: g + h (w - at) = h w.
  const double h = 0.3, at = 1.7, w = -0.4, g[] = {h * at};
  double sum = 0;
  add_compensated<double>({.lambda = h / (g[0] * g[0])}, {1, 1}, g, &w, &at, nullptr, &sum);
  CHECK(std::abs(sum - h * w) <= 1e-16);
}

TEST_CASE("cpu_device: gradients that are not late are not compensated, to the bit") {
  Point point =
      point_from(scenario(R"({"kind": "k-sync", "k": 3})", softmax, R"("stop": {"updates": 50})"));
  const std::uint64_t hash = run_one(point).hash;
  point.first_plan.rule.delay = std::make_shared<DelayCompensation>(DelayCompensation{.lambda = 2});
  CHECK(run_one(point).hash == hash);
}

TEST_CASE("cpu_device: with `distance` the learning rate of an evaluation is the mean applied") {
  QuadraticConfig model;
  model.dimensions = 3;
  for (const std::string protocol : {R"({"kind": "async"})", R"({"kind": "k-async", "k": 2})",
                                     R"({"kind": "k-sync", "k": 2})"}) {
    CAPTURE(protocol);
    const Point point = point_from(
        R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}}, "protocol": )" +
        protocol + R"(, "model": {"kind": "quadratic", "dimensions": 3, "precision": "float64"},
         "learning_rate": {"kind": "distance", "c": 2e-5, "eta_max": 0.02}, "stop": {"updates": 300}, "record": {"every_updates": 100}})");
    const Race race = point.race();
    DirectLoop direct(race, model, [](const Applied& use) {
      return std::fmin(2e-5 / use.squared_distance, 0.02);
    });
    run_timing(race, 0, &direct);
    for (const std::uint32_t limit : {1u, 4096u}) {
      const auto curve = run_one(point, limit).curve;
      CHECK(curve.front().point.learning_rate == 0.02);  // nothing was applied yet
      REQUIRE(curve.size() == 4);
      double measured = 0;  // as many gradients between any two
      for (std::size_t i = 1; i < 4; ++i) measured += curve[i].point.learning_rate / 3;
      CHECK(std::abs(measured - direct.mean_rate()) <= 1e-12 * direct.mean_rate());
      if (protocol.find("async") == std::string::npos) {
        CHECK(curve.back().point.learning_rate == 0.02);
      } else {
        CHECK(measured > 0.002);
        CHECK(measured < 0.018);
      }
    }
  }
}

static void check_equal_bits(const std::string& learning_rate, const std::string& optimiser) {
  for (const auto& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    const Point point = point_from(
        R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
            "stop": {"updates": 120}, "record": {"every_time": 3}, "protocol": )" +
        protocol + R"(, "model": )" + softmax + R"(, "learning_rate": )" + learning_rate +
        R"(, "optimiser": )" + optimiser + "}");
    const auto reference = run_cohort(point, 3, 1, 1'000'000);
    CHECK(reference[0].hash != reference[1].hash);
    for (const auto& [cohort, limit] :
         {std::pair{1u, 1u}, {1u, 17u}, {3u, 1u}, {2u, 64u}, {3u, 4096u}}) {
      const auto records = run_cohort(point, 3, cohort, limit);
      for (std::size_t r = 0; r < 3; ++r) {
        REQUIRE(records[r].hash == reference[r].hash);
        REQUIRE(records[r].curve.size() == reference[r].curve.size());
        for (std::size_t i = 0; i < records[r].curve.size(); ++i) {
          REQUIRE(records[r].curve[i].evaluation.loss == reference[r].curve[i].evaluation.loss);
          REQUIRE(records[r].curve[i].evaluation.test_loss ==
                  reference[r].curve[i].evaluation.test_loss);
          const double rates[] = {records[r].curve[i].point.learning_rate,
                                  reference[r].curve[i].point.learning_rate};
          REQUIRE((rates[0] == rates[1] || (std::isnan(rates[0]) && std::isnan(rates[1]))));
        }
      }
    }
  }
}

TEST_CASE("cpu_device: equal bits for any segment limit and any cohort, with minibatches of 30") {
  check_equal_bits(R"({"kind": "constant", "eta": 0.05})", "{}");
}

TEST_CASE(
    "cpu_device: equal bits for any segment limit and any cohort, with all that acts at once") {
  check_equal_bits(R"({"kind": "distance", "c": 1e-3, "eta_max": 0.01})",
                   R"({"momentum": 0.9, "clip": 0.5, "ema": 0.9, "rmsprop": {}})");
}

TEST_CASE(
    "cpu_device: at most 1.01 forward passes for each gradient used, whatever the segment limit") {
  for (const auto& protocol : every_server_protocol()) {
    for (const std::uint32_t limit : {1u, 50u, 4096u}) {
      for (const unsigned learners : {8u, 100u}) {
        CAPTURE(protocol);
        CAPTURE(limit);
        const Point point = point_from(scenario(protocol, R"({"kind": "quadratic"})",
                                                R"("stop": {"updates": 1000})", "0.01", learners));
        const RaceRecord record = run_one(point, limit);
        CHECK(record.totals.applied > 0);
        CHECK(static_cast<double>(record.gradients_computed) <=
              1.01 * static_cast<double>(record.totals.applied));
      }
    }
  }
}

TEST_CASE("cpu_device: a verdict ends the run at its evaluation, whatever the segment limit") {
  const Point point = point_from(
      scenario(R"({"kind": "k-async", "k": 4})", R"({"kind": "quadratic", "noise": 0})",
               R"("stop": {"loss": 0.1, "updates": 100000}, "record": {"every_updates": 7})"));
  for (const std::uint32_t limit : {1u, 64u, 1'000'000u}) {
    const RaceRecord record = run_one(point, limit);
    CHECK(record.status == Status::finished);
    REQUIRE(record.curve.size() > 2);
    CHECK(record.curve.back().evaluation.loss <= 0.1);
    CHECK(record.curve[record.curve.size() - 2].evaluation.loss > 0.1);
    CHECK(record.totals.updates == record.curve.back().point.update);
    CHECK(record.totals.updates % 7 == 0);
    CHECK(record.hash != 0);
  }
}

TEST_CASE(
    "cpu_device: a diverged run is recorded up to the evaluation that shows it, whatever the "
    "segment limit") {
  // |1 - eta c| = 4 at eta = 5: float32 overflows after some 64 updates of fresh gradients.
  const Point point =
      point_from(scenario(R"({"kind": "k-sync", "k": 3})", R"({"kind": "quadratic", "noise": 0})",
                          R"("stop": {"updates": 5000}, "record": {"every_updates": 10})", "5"));
  const RaceRecord reference = run_one(point, 1);
  CHECK(reference.status == Status::diverged);
  CHECK(reference.totals.updates == 70);
  CHECK_FALSE(std::isfinite(reference.curve.back().evaluation.loss));
  for (const std::uint32_t limit : {100u, 1'000'000u}) {
    const RaceRecord record = run_one(point, limit);
    CHECK(record.status == Status::diverged);
    CHECK(record.totals.updates == reference.totals.updates);
    CHECK(record.totals.time == reference.totals.time);
    CHECK(record.totals.cancelled == reference.totals.cancelled);
    CHECK(record.staleness_counts == reference.staleness_counts);
    CHECK(record.curve.size() == reference.curve.size());
  }
}

TEST_CASE("cpu_device: a run that is lost at its start ends there") {
  const Point point =
      point_from(scenario(R"({"kind": "async"})", R"({"kind": "quadratic", "start": 1e39})",
                          R"("stop": {"updates": 50})"));
  const RaceRecord record = run_one(point);
  CHECK(record.status == Status::diverged);
  CHECK(record.curve.size() == 1);
  CHECK(record.totals.time == 0);
  CHECK(record.totals.updates == 0);
}

}  // namespace gradrace::cpu_device_test
