#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <string>

#include "models/make_device.h"
#include "tests/compression/kinds.h"
#include "tests/support/race_text.h"

namespace gradrace::elias_test {

namespace {

/// Elias's omega code of n >= 1, bit by bit.
std::string omega(std::uint64_t n) {
  std::string code = "0";
  while (n > 1) {
    std::string digits;
    for (std::uint64_t rest = n; rest > 0; rest /= 2) digits.insert(0, rest % 2 ? "1" : "0");
    code.insert(0, digits);
    n = digits.size() - 1;
  }
  return code;
}

/// Bytes of the message `sent` of v, written out.
template <class Real>
double bytes_of(const std::vector<Real>& v, const std::vector<Real>& sent, double s,
                std::size_t bucket) {
  std::string code;
  for (std::size_t begin = 0; begin < v.size(); begin += bucket) {
    const std::size_t end = std::min(begin + bucket, v.size());
    double squares = 0;
    for (std::size_t j = begin; j < end; ++j) squares += double{v[j]} * v[j];
    std::string sparse, dense;
    std::uint64_t last = begin;
    for (std::size_t j = begin; j < end; ++j) {
      const double size = std::abs(double{sent[j]});
      const auto level =
          static_cast<std::uint64_t>(size > 0 ? std::llround(size * s / std::sqrt(squares)) : 0);
      const std::string sign = std::signbit(sent[j]) ? "1" : "0";
      dense += sign + omega(level + 1);
      if (level == 0) continue;
      sparse += omega(j + 1 - last) + sign + omega(level);
      last = j + 1;
    }
    code += std::string(32, 'n') + (sparse.size() < dense.size() ? sparse : dense);
  }
  return std::ceil(static_cast<double>(code.size()) / 8);
}

template <class Real>
void check_bytes(const std::vector<Real>& v, int s, std::size_t bucket) {
  const Message message =
      message_from(R"({"kind": "qsgd", "code": "elias", "levels": )" + std::to_string(s) +
                   R"(, "bucket": )" + std::to_string(bucket) + "}");
  for (std::uint32_t draw = 0; draw < 5; ++draw) {
    std::vector<Real> sent = v;
    const double bytes = message.compressor->pass(sent, words_of(draw));
    CHECK(bytes == bytes_of(v, sent, s, bucket));
  }
}

constexpr std::uint32_t steps = 12;
constexpr double eta = 0.05, s = 3;
constexpr std::size_t bucket = 64;

/// A slow link; 200 numbers of float64, whose network has `share` times as many.
Point point_of(const std::string& protocol, std::uint32_t learners, const std::string& network,
               const std::string& memory = "", int share = 1, const std::string& more = "") {
  return point_from(
      R"({"cluster": {"learners": )" + std::to_string(learners) +
      R"(, "runtime": {"distribution": "deterministic", "value": 1}, "network": {)" + network +
      R"("bandwidth": 100, "model_bytes": )" + std::to_string(800 * share) + R"(}}, "protocol": )" +
      protocol +
      R"(, "model": {"kind": "quadratic", "dimensions": 200, "noise": 3, "minibatch": 2,
            "curvatures": [1, 0.3, 2, 0.01], "precision": "float64"},
          "compression": {"kind": "qsgd", "levels": 3, "bucket": 64, "code": "elias")" +
      memory + R"(}, "learning_rate": {"kind": "constant", "eta": 0.05}, "stop": {"updates": 12},
          "record": {"every_updates": 12})" +
      more + "}");
}

/// Learners that send gradients, or steps of models, all at once, written out.
struct DirectLoop {
  explicit DirectLoop(const Point& of, std::uint32_t count)
      : point(of), model(of.model->make_float64()), w(200), memory(count, w), learners(count) {
    model->initialise(point.seed, 0, w);
  }

  /// Bytes of the learners' messages of that step.
  std::vector<double> step(std::uint32_t n) {
    std::vector<double> all, sum(200), g(200);
    come = w;
    for (std::uint32_t l = 0; l < learners; ++l) {
      model->gradient(w, {point.seed, 0, l, n, 2}, g);
      std::vector<double> p(200);
      for (std::size_t j = 0; j < 200; ++j) p[j] = of_models ? -eta * g[j] : g[j] - memory[l][j];
      std::vector<double> sent = p;
      point.compressor()->pass(sent, stream({point.seed, 0, Purpose::compression, l, n}));
      all.push_back(bytes_of(p, sent, s, bucket));
      for (std::size_t j = 0; j < 200; ++j) {
        const double said = of_models ? sent[j] : memory[l][j] + nu * sent[j];
        sum[j] += said / learners, come[j] += p[j] / learners;
        memory[l][j] += of_models ? 0 : lambda * sent[j];
      }
    }
    for (double& x : sum) x *= of_models ? 1 : eta;
    if (sends_back) {
      const std::vector<double> p = sum;
      point.compressor()->pass(sum, stream({point.seed, 0, Purpose::compression, ~0u, n}));
      bytes_back = bytes_of(p, sum, s, bucket);
    }
    for (std::size_t j = 0; j < 200; ++j) w[j] += of_models ? sum[j] : -sum[j];
    return all;
  }
  /// By models before the last exchange, at which a run ends.
  double loss() const {
    const double* const value = of_models ? come.data() : w.data();
    Evaluation found;
    model->evaluate({&value, 1}, {&found, 1});
    return found.loss;
  }

  const Point& point;
  std::unique_ptr<Model<double>> model;
  std::vector<double> w, come = {};
  std::vector<std::vector<double>> memory;
  std::uint32_t learners;
  double lambda = 0, nu = 1;
  bool of_models = false, sends_back = false;
  double bytes_back = 800;  // of what is pulled next: a model at first
};

const std::string mesh = R"("topology": "mesh", "latency": 0.25, )";

}  // namespace

TEST_CASE("elias: a message has the bytes of its code, written out bit by bit") {
  CHECK(omega(1) == "0");
  CHECK(omega(2) == "100");
  CHECK(omega(17) == "10100100010");
  for (std::uint32_t n = 1; n < 3000; ++n) REQUIRE(elias_bits(n) == omega(n).size());
  for (const int levels : {1, 3, 7, 127, 8388607})
    for (const std::size_t length : {std::size_t{1}, std::size_t{64}, std::size_t{1000}}) {
      check_bytes(normal_numbers<double>(300), levels, length);
      check_bytes(normal_numbers<float>(300), levels, length);
    }
  std::vector<double> few(300);
  few[100] = 2, few[101] = -1e-3;
  check_bytes(few, 15, 64);
}

// A server, and a learner for which all is told at once: model, minibatch, message.
TEST_CASE("elias: the clock has each message's own bytes, of a slow link") {
  for (const auto& [keys, lambda, nu] :
       {std::tuple(std::string(), 0.0, 1.0),
        {std::string(R"(, "memory": {"lambda": 0.5, "nu": 0.7})"), 0.5, 0.7},
        {std::string(R"(, "down": "same")"), 0.0, 1.0}})
    for (const int share : {1, 10}) {
      const Point point = point_of(R"({"kind": "sync"})", 1, "", keys, share);
      DirectLoop loop(point, 1);
      loop.lambda = lambda, loop.nu = nu;
      loop.sends_back = keys.find("down") != std::string::npos;
      double time = 0, pushed = 0, pulled = 0;
      for (std::uint32_t n = 0; n < steps; ++n) {
        const double down = share * loop.bytes_back, bytes = share * loop.step(n)[0];
        time += down / 100;
        pulled += down;
        time += 1;
        time += bytes / 100;
        pushed += bytes;
      }
      const RaceRecord record = run_training(point);
      CHECK(record.totals.time == doctest::Approx(time).epsilon(1e-15));
      CHECK(record.learners[0].exchanged.sent == pushed);
      if (!loop.sends_back) pulled += share * 800;  // which begins as the run ends
      CHECK(record.learners[0].exchanged.received == pulled);
      CHECK(record.curve.back().evaluation.loss == doctest::Approx(loop.loss()).epsilon(1e-12));
      CHECK(pushed < 0.9 * steps * point.compressor()->bytes(200.0 * share));
    }
}

TEST_CASE("elias: the longest of unequal messages says when all have them, and each has its way") {
  for (const auto& [protocol, of_models] :
       {std::pair(R"({"kind": "all-reduce"})", false),
        {R"({"kind": "local-sgd", "tau": 1})", true},
        {R"({"kind": "all-reduce", "buckets": 2, "backward": 0})", false}}) {
    CAPTURE(protocol);
    const Point point = point_of(protocol, 3, mesh);
    DirectLoop loop(point, 3);
    loop.of_models = of_models;
    const double parts = point.make_protocol()->traits().parts;
    double time = 0, sent = 0, received = 0;
    for (std::uint32_t n = 0; n < steps; ++n) {
      const std::vector<double> bytes = loop.step(n);
      const double all = bytes[0] + bytes[1] + bytes[2];
      time += 1 + 2 * (0.25 * parts + std::ranges::max(bytes) / 100);
      sent += all - bytes[1], received += all - bytes[0];
      if (of_models && n + 1 == steps) time -= 2 * (0.25 + std::ranges::max(bytes) / 100);
    }
    const RaceRecord record = run_training(point);
    CHECK(record.totals.time == doctest::Approx(time).epsilon(1e-14));
    CHECK(record.curve.back().evaluation.loss == doctest::Approx(loop.loss()).epsilon(1e-12));
    if (of_models) continue;
    CHECK(record.learners[0].exchanged.sent == doctest::Approx(sent).epsilon(1e-14));
    CHECK(record.learners[0].exchanged.received == doctest::Approx(received).epsilon(1e-14));
  }
}

TEST_CASE("elias: runs have equal bits however they are cut, by every protocol") {
  std::vector<std::string> protocols = every_server_protocol();
  protocols.push_back(R"({"kind": "all-reduce", "buckets": 3})");
  protocols.push_back(R"({"kind": "local-sgd", "tau": 3, "outer": {"eta": 0.7}})");
  for (const std::string& protocol : protocols) {
    CAPTURE(protocol);
    const bool peers = protocol.find("all-reduce") < 20 || protocol.find("local-sgd") < 20;
    const std::string down = R"(, "down": {"kind": "qsgd", "levels": 7, "code": "elias"})";
    const Point point = point_of(protocol, 8, peers ? mesh : "",
                                 R"(, "memory": {"lambda": 0.5, "nu": 0.7})" + (peers ? "" : down));
    const Race race = point.race();
    const RaceRecord record = run_training(point);
    CHECK(record.status == Status::finished);
    for (const std::uint32_t limit : {1u, 7u}) {
      const RaceRecord cut = run_race({race, 0, limit}, make_device(*point.model, {}).get());
      CHECK(cut.hash == record.hash);
      CHECK(cut.totals.time == record.totals.time);
    }
    const auto device = make_device(*point.model, {});
    const std::vector<Starter> starters{{race, 1, 9}, {race, 0, 3}};
    CHECK(run_races(starters, device.get())[1].hash == record.hash);
  }
}

TEST_CASE("elias: a run that diverges is told again to the evaluation that shows it") {
  const Point point =
      point_of(R"({"kind": "async"})", 3, "", "", 1, R"(, "optimiser": {"momentum": 0.999})");
  Race race = point.race();
  for (Plan& plan : race.plans)
    plan.learning_rate =
        point_from(
            R"({"cluster": {"learners": 1, "runtime": {"distribution": "deterministic", "value": 1}},
          "protocol": {"kind": "sync"}, "model": {"kind": "quadratic"}, "stop": {"updates": 1},
          "learning_rate": {"kind": "constant", "eta": 1e30}})")
            .race()
            .plans[0]
            .learning_rate;
  race.stop.updates = 400, race.evaluations.every_updates = 5;
  const RaceRecord record = run_race({race}, make_device(*point.model, {}).get());
  CHECK(record.status == Status::diverged);
  CHECK(record.totals.updates % 5 == 0);
  CHECK(record.totals.time == record.curve.back().point.time);
}

TEST_CASE("elias: where nothing is trained the bound counts") {
  const Point point = point_of(R"({"kind": "sync"})", 1, "", "", 1, R"(, "timing_only": true)");
  const RaceRecord record = run_timing(point.race());
  CHECK(record.learners[0].exchanged.sent ==
        doctest::Approx(steps * point.compressor()->bytes(200)).epsilon(1e-14));
}

}  // namespace gradrace::elias_test
