#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "models/make_device.h"
#include "tests/compression/kinds.h"
#include "tests/support/race_text.h"

namespace gradrace::compression_keys_test {

namespace {

/// One learner that takes 1 for a minibatch, and 8192 numbers.
Point timed(const std::string& compression, const std::string& cluster = "",
            const std::string& protocol = R"({"kind": "sync"})") {
  return point_from(
      R"({"cluster": {"learners": 1, "runtime": {"distribution": "deterministic", "value": 1},
          "network": {"bandwidth": 65536, "model_bytes": 32768})" +
      cluster + R"(}, "protocol": )" + protocol + R"(, "stop": {"updates": 64}, "compression": )" +
      compression + "}");
}

constexpr std::size_t d = 4;
using Row = std::array<double, d>;
constexpr Row curvatures{1, 0.5, 0.25, 0.125};
constexpr double eta = 0.5;
constexpr int updates = 12;

Row gradient(const Row& w) {
  Row g;
  for (std::size_t i = 0; i < d; ++i) g[i] = curvatures[i] * w[i];
  return g;
}

/// The first of the largest, else 0.
Row largest_alone(const Row& v) {
  const auto less = [](double a, double b) { return std::abs(a) < std::abs(b); };
  const auto largest = std::ranges::max_element(v, less) - v.begin();
  Row sent{};
  sent[static_cast<std::size_t>(largest)] = v[static_cast<std::size_t>(largest)];
  return sent;
}

/// Of a quadratic without noise, of one learner.
double loss_of(const std::string& compression,
               const std::string& rate = R"({"kind": "constant", "eta": 0.5})") {
  const Point point = point_from(
      R"({"cluster": {"learners": 1, "runtime": {"distribution": "deterministic", "value": 1}},
          "protocol": {"kind": "async"}, "model": {"kind": "quadratic", "dimensions": 4, "noise": 0,
              "curvatures": [1, 0.5, 0.25, 0.125], "precision": "float64"},
          "learning_rate": )" +
      rate + R"(, "stop": {"updates": 12, "gradients": 12}, "compression": )" + compression + "}");
  return run_training(point).curve.back().evaluation.loss;
}

/// w moves by step(gradient, number), written out.
double loss_by(const std::function<Row(const Row& g, int n)>& step) {
  Row w;
  w.fill(1);
  for (int n = 0; n < updates; ++n) {
    const Row change = step(gradient(w), n);
    for (std::size_t i = 0; i < d; ++i) w[i] -= change[i];
  }
  double loss = 0;
  for (std::size_t i = 0; i < d; ++i) loss += curvatures[i] * w[i] * w[i] / 2;
  return loss;
}

Row sum(const Row& a, double factor, const Row& b) {
  Row result;
  for (std::size_t i = 0; i < d; ++i) result[i] = a[i] + factor * b[i];
  return result;
}

}  // namespace

TEST_CASE("compression: gradients are whole before the update `from`") {
  const auto check = [](const std::string& kind, const std::string& learners, double sent) {
    const Point point = timed(kind + R"(, "from": 20})", learners);
    const RaceRecord record = run_timing(point.race());
    CHECK(record.learners[0].exchanged.sent == 20 * 32768 + 44 * sent);
    CHECK(record.totals.time == 20 * 2.0 + 44 * (1.5 + sent / 65536));
  };
  check(R"({"kind": "qsgd", "bits": 4)", "", 4096 + 4 * 16);
  check(R"({"kind": "sign")", "", 1024 + 4);
  const std::string top_k = R"({"kind": "top-k", "k": 1)";
  const double half = loss_by([](const Row& g, int n) {
    const Row sent = n < 5 ? g : largest_alone(g);
    return sum(Row{}, eta, sent);
  });
  CHECK(loss_of(top_k + R"(, "from": 5})") == doctest::Approx(half).epsilon(1e-14));
  CHECK(loss_of(top_k + R"(, "from": 99})") == loss_of(R"({"kind": "qsgd", "bits": 32})"));
  CHECK(loss_of(top_k + R"(, "from": 0})") == loss_of(top_k + "}"));
}

TEST_CASE("compression: making and reading messages take time, which theory knows") {
  const std::string sign = R"({"kind": "sign", "encode": 0.0001, "decode": 0.00001, "from": 4})";
  const RaceRecord record = run_timing(timed(sign).race());
  const double reading = 8192e-5, making = 8192e-4, link = 0.5 + 1028 / 65536.0;
  CHECK(record.totals.time ==
        doctest::Approx(4 * 2 + 60 * (1 + link + making + reading)).epsilon(1e-13));
  CHECK(record.learners[0].busy == doctest::Approx(64).epsilon(1e-13));
  CHECK(record.learners[0].exchanged.encoding == doctest::Approx(60 * making).epsilon(1e-13));

  const Point sync = point_from(
      R"({"cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
          "protocol": {"kind": "sync"}, "model": {"kind": "quadratic", "dimensions": 100},
          "learning_rate": {"kind": "constant", "eta": 0.1}, "stop": {"updates": 4000},
          "compression": {"kind": "sign", "encode": 0.01}})");
  const double expected = 1 + 25 / 12.0;
  CHECK(sync.theory().iteration_time->value == doctest::Approx(expected).epsilon(1e-9));
  const double measured = run_timing(sync.race()).totals.time / 4000;
  CHECK(std::abs(measured - expected) < 4 * 1.193 / std::sqrt(4000));  // sd of the largest of 4

  const auto exchange = [](const std::string& kind) {
    const Point point = point_from(
        R"({"cluster": {"learners": 4, "runtime": {"distribution": "deterministic", "value": 1},
             "network": {"topology": "mesh", "bandwidth": 65536, "model_bytes": 32768}},
            "protocol": {"kind": "all-reduce", "buckets": 2, "backward": 0},
            "stop": {"updates": 64}, "compression": )" +
        kind + "}");
    const double time = run_timing(point.race()).totals.time / 64;
    CHECK(point.theory().iteration_time->value == doctest::Approx(time).epsilon(1e-13));
    return time - 1;
  };
  const double sign_bytes = 1028, places = 400;
  CHECK(exchange(R"({"kind": "sign", "decode": 0.0001})") ==
        doctest::Approx(3 * (sign_bytes / 65536 + 0.8192)).epsilon(1e-12));
  CHECK(exchange(R"({"kind": "random-k", "k": 100, "shared_seed": true, "decode": 0.0001})") ==
        doctest::Approx(1.5 * places / 65536 + 0.8192).epsilon(1e-12));
}

TEST_CASE("compression: updates come back as messages, or the model where that is less") {
  const auto received = [](const std::string& kind) {
    return run_timing(timed(kind).race()).learners[0].exchanged.received;
  };
  const double first = 32768;
  CHECK(received(R"({"kind": "sign", "down": "full"})") == 65 * first);
  CHECK(received(R"({"kind": "sign", "down": "same"})") == first + 64 * 1028);
  CHECK(received(R"({"kind": "sign", "down": {"kind": "terngrad"}})") == first + 64 * 2052);
  CHECK(received(R"({"kind": "sign", "down": "same", "from": 10})") == 11 * first + 54 * 1028);

  // By turns learners 0 and 1 update: of two updates each lacks both.
  const Point two = point_from(
      R"({"cluster": {"learners": 2, "runtimes": [{"distribution": "deterministic", "value": 1},
           {"distribution": "deterministic", "value": 8}],
           "network": {"bandwidth": 1e12, "model_bytes": 32768}},
          "protocol": {"kind": "async"}, "stop": {"time": 32.5},
          "compression": {"kind": "sign", "down": {"kind": "qsgd", "bits": 8}}})");
  const RaceRecord record = run_timing(two.race());
  const double back = 8192 + 4 * 16;  // 3 of them are less than a model, 4 are not
  CHECK(record.learners[0].exchanged.received == first + (32 + 4) * back);
  CHECK(record.learners[1].exchanged.received == 5 * first);
}

TEST_CASE("compression: a server remembers what its messages left out of steps") {
  const std::string up = R"({"kind": "top-k", "share": 1, "down": )";
  CHECK(loss_of(up + R"({"kind": "top-k", "share": 1, "memory": {}}})") ==
        loss_of(R"({"kind": "qsgd", "bits": 32})"));
  for (const double decay : {1.0, 0.5}) {
    Row memory{};
    const double expected = loss_by([&](const Row& g, int) {
      const Row put_in = sum(sum(Row{}, eta, g), decay, memory), sent = largest_alone(put_in);
      memory = sum(put_in, -1, sent);
      return sent;
    });
    CHECK(loss_of(up + R"({"kind": "top-k", "k": 1, "memory": {"decay": )" + std::to_string(decay) +
                  "}}}") == doctest::Approx(expected).epsilon(1e-13));
  }
}

TEST_CASE("compression: what a server remembers is of its own run, also before `from`") {
  const Point point = point_from(
      R"({"cluster": {"learners": 2, "runtime": {"distribution": "exponential", "mean": 1}},
          "protocol": {"kind": "async"}, "model": {"kind": "quadratic", "dimensions": 40},
          "learning_rate": {"kind": "constant", "eta": 0.1}, "stop": {"updates": 30},
          "compression": {"kind": "top-k", "k": 4, "from": 5,
                          "down": {"kind": "top-k", "k": 4, "memory": {}}}})");
  const Race race = point.race();
  const auto device = make_device(*point.model, {});
  for (std::uint32_t replica = 0; replica < 3; ++replica) {
    const auto fresh = make_device(*point.model, {});
    CHECK(run_race({race, replica}, device.get()).hash ==
          run_race({race, replica}, fresh.get()).hash);
  }
}

TEST_CASE("compression: EF21 and EF-BV follow each learner's gradient") {
  const auto check = [](const std::string& memory, double lambda, double nu) {
    Row h{};
    const double expected = loss_by([&](const Row& g, int) {
      const Row sent = largest_alone(sum(g, -1, h));
      const Row taken = sum(h, nu, sent);
      h = sum(h, lambda, sent);
      return sum(Row{}, eta, taken);
    });
    CHECK(loss_of(R"({"kind": "top-k", "k": 1, "memory": )" + memory + "}") ==
          doctest::Approx(expected).epsilon(1e-13));
  };
  check(R"("ef21")", 1, 1);
  check(R"({"lambda": 1, "nu": 1})", 1, 1);
  check(R"({"lambda": 0.5, "nu": 0.75})", 0.5, 0.75);
}

TEST_CASE("compression: a memory of steps has the rate of each dispatch in it") {
  const std::string rate = R"({"kind": "step", "eta": 0.5, "factor": 0.1, "at": [0.5],
      "unit": "fraction"})";
  const auto remembered = [&](bool of_steps) {
    Row memory{};
    return loss_by([&, of_steps](const Row& g, int n) {
      const double now = n < updates / 2 ? eta : eta / 10, weight = of_steps ? now : 1;
      const Row put_in = sum(memory, weight, g), sent = largest_alone(put_in);
      memory = sum(put_in, -1, sent);
      return sum(Row{}, of_steps ? 1 : now, sent);
    });
  };
  const auto loss = [&](const std::string& of) {
    return loss_of(R"({"kind": "top-k", "k": 1, "memory": {"of": ")" + of + R"("}})", rate);
  };
  CHECK(loss("step") == doctest::Approx(remembered(true)).epsilon(1e-13));
  CHECK(loss("gradient") == doctest::Approx(remembered(false)).epsilon(1e-13));
  CHECK(loss("step") != doctest::Approx(loss("gradient")).epsilon(1e-3));
}

TEST_CASE("compression: votes make steps of the learning rate by the sign of their sum") {
  const double expected = loss_by([](const Row& g, int) {
    Row step;
    for (std::size_t i = 0; i < d; ++i) step[i] = std::copysign(0.125, g[i]);
    return step;
  });
  const std::string eighth = R"({"kind": "constant", "eta": 0.125})";
  CHECK(loss_of(R"({"kind": "sign", "majority": true})", eighth) ==
        doctest::Approx(expected).epsilon(1e-13));

  // Of three votes a step by the mean would be a third of the learning rate where they differ.
  const auto loss = [](const std::string& protocol) {
    const Point point = point_from(
        R"({"cluster": {"learners": 3, "runtime": {"distribution": "exponential", "mean": 1}},
            "protocol": {"kind": )" +
        protocol + R"(}, "model": {"kind": "quadratic", "dimensions": 500, "noise": 40},
            "learning_rate": {"kind": "constant", "eta": 0.5}, "stop": {"updates": 1},
            "compression": {"kind": "sign", "majority": true}})");
    return run_training(point).curve.back().evaluation.loss;
  };
  const double better = (500 * 2.25 - 2 * loss(R"("sync")")) / 2;  // went to 0.5, the others to 1.5
  CHECK(std::abs(better - std::round(better)) < 1e-3);
  CHECK(loss(R"("all-reduce")") == loss(R"("sync")"));
  const auto from_late = [](const std::string& compression) {
    const Point point = point_from(
        R"({"cluster": {"learners": 3, "runtime": {"distribution": "exponential", "mean": 1}},
            "protocol": {"kind": "all-reduce"}, "model": {"kind": "quadratic", "dimensions": 500},
            "learning_rate": {"kind": "constant", "eta": 0.5}, "stop": {"updates": 9})" +
        compression + "}");
    return run_training(point).hash;
  };
  CHECK(from_late(R"(, "compression": {"kind": "sign", "majority": true, "from": 99})") ==
        from_late(""));
  const RunRecord record = run_timing(timed(R"({"kind": "sign", "majority": true})").race());
  CHECK(record.learners[0].exchanged.sent == 64 * 1024);
  CHECK(record.learners[0].exchanged.received == 32768 + 64 * 1024);
}

TEST_CASE("compression: local-sgd sends how far each value has come") {
  const auto loss = [](const std::string& more, const std::string& outer = "") {
    const Point point = point_from(
        R"({"cluster": {"learners": 2, "runtime": {"distribution": "exponential", "mean": 1},
             "network": {"topology": "mesh", "bandwidth": 100, "model_bytes": 16}},
            "protocol": {"kind": "local-sgd", "tau": 3)" +
        outer + R"(}, "model": {"kind": "quadratic", "dimensions": 4, "noise": 0,
              "curvatures": [1, 0.5, 0.25, 0.125], "precision": "float64"},
            "learning_rate": {"kind": "constant", "eta": 0.5}, "stop": {"updates": 12})" +
        more + "}");
    return run_training(point).curve.back().evaluation.loss;
  };
  const std::string slowmo = R"(, "outer": {"eta": 0.5, "momentum": 0.5})";
  for (const std::string& outer : {std::string(), slowmo})
    for (const std::string whole :
         {R"({"kind": "qsgd", "bits": 32})", R"({"kind": "top-k", "share": 1})"})
      CHECK(loss(R"(, "compression": )" + whole, outer) == loss("", outer));

  for (const bool remembers : {false, true}) {
    Row x, memory{};  // both learners do the same, without noise
    x.fill(1);
    for (int round = 0; round < updates / 3; ++round) {
      Row w = x;
      for (int step = 0; step < 3; ++step) w = sum(w, -eta, gradient(w));
      const Row put_in = sum(sum(w, -1, x), remembers, memory), sent = largest_alone(put_in);
      memory = sum(put_in, -1, sent);
      if (round + 1 == updates / 3)
        x = w;  // an evaluation comes before the average
      else
        x = sum(x, 1, sent);
    }
    double expected = 0;
    for (std::size_t i = 0; i < d; ++i) expected += curvatures[i] * x[i] * x[i] / 2;
    const std::string kind = R"(, "compression": {"kind": "top-k", "k": 1)";
    CHECK(loss(kind + (remembers ? R"(, "memory": {}})" : "}")) ==
          doctest::Approx(expected).epsilon(1e-13));
  }
}

}  // namespace gradrace::compression_keys_test
