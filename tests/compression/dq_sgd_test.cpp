#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "compression/rising_bits.h"
#include "models/make_device.h"
#include "sim/reading/problem.h"
#include "tests/compression/kinds.h"
#include "tests/support/race_text.h"

namespace gradrace::dq_sgd_test {

namespace {

Codes codes_of(const std::string& kind, const Training& training) {
  return *message_from(kind).compressor->codes(training);
}

/// E[f (1 - f)], f the fractional part of x |z|, z ~ N(0, 1).
double mean_of_rounding(double x) {
  double sum = 0, weights = 0;
  for (int i = -8000; i <= 8000; ++i) {
    const double z = i / 1000.0, weight = std::exp(-z * z / 2);
    const double f = x * std::abs(z) - std::floor(x * std::abs(z));
    sum += weight * f * (1 - f), weights += weight;
  }
  return sum / weights;
}

/// Of all steps, where update n has gradients of that norm, of normal numbers, and the mean of the
/// messages that of what rounding adds too.
template <class Norm>
std::vector<int> bits_of(const std::string& kind, const Training& training, Norm norm) {
  const Codes codes = codes_of(kind, training);
  const auto chooser = codes.make_chooser();
  std::vector<int> bits;
  double added = 0;  // to the square
  for (std::uint32_t n = 0; n < *training.updates; ++n) {
    const std::uint16_t code =
        n == 0 ? chooser->first() : chooser->next(norm(n) * std::sqrt(1 + added));
    const double bytes = codes.compressors[code]->bytes(8000);
    bits.push_back(static_cast<int>(bytes == 32000 ? 32 : (bytes - 4) / 1000));
    const double x = (std::exp2(bits.back() - 1) - 1) / std::sqrt(8000);
    added = bits.back() == 32 ? 0 : mean_of_rounding(x) / (x * x * training.gradients);
  }
  return bits;
}

/// How far a number is below one before it, at most.
int falls(const std::vector<int>& bits) {
  int highest = bits.front(), result = 0;
  for (const int each : bits) {
    highest = std::max(highest, each);
    result = std::max(result, highest - each);
  }
  return result;
}

double mean(const std::vector<int>& bits) {
  return std::accumulate(bits.begin(), bits.end(), 0.0) / static_cast<double>(bits.size());
}

constexpr double alpha = 0.98;
constexpr Training five_hundred{8000, 0.1, 4, 500};

std::string with_alpha(const std::string& more) {
  return R"({"kind": "dq-sgd", "alpha": 0.98, )" + more + "}";
}

}  // namespace

TEST_CASE("rising bits: so many in the mean, rising alike, cut off where they are not allowed") {
  for (const double growth : {-0.05, -1e-4, 0.0, 0.002, 0.3})
    for (const double wanted : {2.5, 4.0, 12.0, 23.5}) {
      const int steps = 400;
      RisingBits bits{2, 24, growth};
      bits.move(steps, wanted);
      double sum = 0;
      for (int n = 0; n < steps; ++n) {
        sum += bits.at(n);
        CHECK((bits.at(n) >= 2 && bits.at(n) <= 24));
        const double rise = bits.at(n + 1) - bits.at(n);
        const bool cut_off =
            bits.at(n) == 2 || bits.at(n) == 24 || bits.at(n + 1) == 2 || bits.at(n + 1) == 24;
        CHECK((cut_off || rise == doctest::Approx(growth)));
      }
      CHECK(sum / steps == doctest::Approx(wanted).epsilon(0.005));
    }
}

TEST_CASE("dq-sgd: bits grow, stay or shrink with the norm of the gradient") {
  const auto bits = [](const std::string& budget, double ratio) {
    auto found = bits_of(with_alpha(budget), five_hundred,
                         [&](std::uint32_t n) { return std::pow(ratio, n / 2.0); });
    found.erase(found.begin(), found.begin() + 60);  // the trend is known then
    return found;
  };
  for (const std::string budget : {R"("mean_bits": 8)", R"("error": 1e-7, "L": 1)"}) {
    CAPTURE(budget);
    const auto grow = bits(budget, 1), stay = bits(budget, alpha), shrink = bits(budget, 0.96);
    CHECK(falls(grow) <= 1);
    CHECK(grow.back() - grow.front() >= 4);  // log2(1 / alpha) / 2 a step: 6.4 in all
    CHECK(*std::ranges::max_element(stay) - *std::ranges::min_element(stay) <= 1);
    std::vector<int> back(shrink.rbegin(), shrink.rend());
    CHECK(falls(back) <= 1);
    CHECK(shrink.front() - shrink.back() >= 4);
  }
}

TEST_CASE("dq-sgd: mean_bits are the bits of all steps in the mean, whatever the norms") {
  for (const double wanted : {3.0, 4.0, 6.5, 10.0})
    for (const double ratio : {1.0, 0.98, 0.95, 1.01}) {
      const auto norm = [&](std::uint32_t n) { return std::pow(ratio, n / 2.0) * (1 + n % 3); };
      const auto bits =
          bits_of(with_alpha(R"("mean_bits": )" + std::to_string(wanted)), five_hundred, norm);
      CHECK(std::abs(mean(bits) - wanted) < 0.1);
    }
}

// s_n = sqrt(N c_n / e), rounded up to whole bits, so that e is met and not by more than 4 times.
TEST_CASE("dq-sgd: what quantisation may add to the loss is not more than `error`") {
  const double L = 2, eta = 0.1, learners = 4, d = 8000, e = 1e-6;
  const std::uint32_t N = 500;
  const double contraction = 1 - 2 * 0.3 * eta + L * 0.3 * eta * eta;
  const auto norm = [](std::uint32_t n) { return 1 / (1 + 0.01 * n); };
  const auto bits =
      bits_of(R"({"kind": "dq-sgd", "nu": 0.3, "L": 2, "error": 1e-6, "max_bits": 24})",
              five_hundred, norm);
  double error = 0;
  for (std::uint32_t n = 1; n < N; ++n) {
    const double c =
        L * eta * eta * d / (8 * learners) * std::pow(contraction, N - 1.0 - n) * norm(n) * norm(n);
    const double s = std::exp2(bits[n] - 1) - 1;
    if (bits[n] > 2) {
      CHECK(c / (s * s) <= e / N * 1.05);
      CHECK(c / (s * s) >= e / N / 16);
    }
    error += c / (s * s);
  }
  CHECK(error <= e);
  CHECK(error >= e / 10);
}

TEST_CASE("dq-sgd: a run is that of the codes by the norms of its messages, in bytes too") {
  const std::string kind = R"({"kind": "dq-sgd", "mean_bits": 5, "alpha": 0.9})";
  const auto point_of = [&](const std::string& eta, const std::string& protocol) {
    return point_from(
        R"({"cluster": {"learners": 1, "runtime": {"distribution": "deterministic", "value": 1},
             "network": {"bandwidth": 1000, "model_bytes": 320}},
            "protocol": {"kind": )" +
        protocol + R"(}, "model": {"kind": "quadratic", "dimensions": 80, "noise": 0,
               "curvatures": [1, 0.5, 0.3, 0.2], "precision": "float64"},
            "learning_rate": {"kind": "constant", "eta": )" +
        eta + R"(}, "stop": {"updates": 30}, "compression": )" + kind + "}");
  };
  const Point point = point_of("0.5", R"("sync")");
  const Race race = point.race();
  const auto device = make_device(*point.model, {});
  const RunRecord record = run_race({race}, device.get());

  const auto chooser = race.codes->make_chooser();
  const double curvatures[] = {1, 0.5, 0.3, 0.2};
  std::vector<double> w(80, 1.0);
  double sent = 0;
  std::uint16_t code = chooser->first();
  for (std::uint32_t n = 0; n < 30; ++n) {
    std::vector<double> g(80);
    for (std::size_t i = 0; i < 80; ++i) g[i] = curvatures[i % 4] * w[i];
    race.codes->compressors[code]->pass(g, stream({race.seed, 0, Purpose::compression, 0, n}));
    sent += race.codes->compressors[code]->bytes(80);
    double square = 0;
    for (std::size_t i = 0; i < 80; ++i) w[i] -= 0.5 * g[i], square += g[i] * g[i];
    code = chooser->next(std::sqrt(square));
  }
  double loss = 0;
  for (std::size_t i = 0; i < 80; ++i) loss += curvatures[i % 4] * w[i] * w[i] / 2;
  CHECK(record.last.evaluation.loss == doctest::Approx(loss).epsilon(1e-12));
  CHECK(record.learners[0].exchanged.sent == sent);
  CHECK(record.totals.time == doctest::Approx(30 * 1.32 + sent / 1000).epsilon(1e-12));

  for (const std::string protocol : {R"("async")", R"("sync")"}) {
    const Point any = point_of("0.5", protocol);
    const auto of_any = make_device(*any.model, {});
    const RunRecord whole = run_race({any.race()}, of_any.get());
    const Race again = any.race();
    CHECK(run_race({again, 0, 1}, of_any.get()).hash == whole.hash);
  }
  const Point far = point_of("1e200", R"("sync")");
  const auto of_far = make_device(*far.model, {});
  CHECK(run_race({far.race()}, of_far.get()).status == Status::diverged);
}

TEST_CASE("dq-sgd: what it cannot know is refused with the cure") {
  const auto refusal = [](const std::string& kind, const std::string& more) {
    return refusal_of([&] {
      point_from(
          R"({"cluster": {"learners": 2, "runtime": {"distribution": "exponential", "mean": 1},
              "network": {"bandwidth": 100, "model_bytes": 400}},
              "protocol": {"kind": "sync"}, "model": {"kind": "quadratic"}, )" +
          more + R"(, "compression": )" + kind + "}");
    });
  };
  const std::string constant = R"("learning_rate": {"kind": "constant", "eta": 0.1})";
  const std::string steps = R"("learning_rate": {"kind": "step", "eta": 0.1, "factor": 0.5,
      "at": [50], "unit": "gradients"})";
  const std::string updates = R"(, "stop": {"updates": 100})", time = R"(, "stop": {"time": 9})";
  const std::string mean = R"({"kind": "dq-sgd", "mean_bits": 4, "alpha": 0.9})";
  CHECK(refusal(mean, constant + updates) == "");
  CHECK(refusal(mean, steps + updates) == "");
  says(refusal(mean, constant + time), "compression.horizon");
  says(refusal(R"({"kind": "dq-sgd", "mean_bits": 4, "nu": 0.1, "L": 1})", steps + updates),
       "compression.alpha");
  says(refusal(R"({"kind": "dq-sgd", "error": 1, "alpha": 0.1, "L": 1})", steps + updates),
       "compression.mean_bits");
  says(refusal(mean, constant + updates + R"(, "timing_only": true)"), "timing-only");
  says(refusal(R"({"kind": "dq-sgd", "alpha": 0.9})", constant + updates), "error, mean_bits");
  says(refusal(R"({"kind": "dq-sgd", "mean_bits": 4})", constant + updates), "alpha, nu");
  says(refusal(R"({"kind": "dq-sgd", "mean_bits": 4, "nu": 1})", constant + updates),
       "compression.L");
  says(refusal(R"({"kind": "dq-sgd", "error": 1, "alpha": 0.5})", constant + updates),
       "compression.L");
  says(refusal(R"({"kind": "dq-sgd", "mean_bits": 4, "nu": 1, "L": 1})",
               R"("learning_rate": {"kind": "constant", "eta": 3})" + updates),
       "compression.alpha");
  says(refusal(R"({"kind": "sign", "down": )" + mean + "}", constant + updates),
       "compression.down");
  says(refusal(R"({"kind": "dq-sgd", "mean_bits": 4, "alpha": 0.9, "down": "same"})",
               constant + updates),
       "compression.down");
}

}  // namespace gradrace::dq_sgd_test
