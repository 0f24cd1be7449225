#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <tuple>
#include <vector>

#include "sim/cli/results/theory_files.h"
#include "tests/compression/kinds.h"
#include "tests/support/race_text.h"

namespace gradrace::compression_theory_test {

namespace {

constexpr std::size_t d = 256;

/// Of a gather in a mesh of that many learners, or a server's learner.
TheoryRow row_of(const std::string& kind, const std::string& more,
                 const std::string& protocol = R"({"kind": "all-reduce"})") {
  static std::deque<Point> points;  // which rows look at
  points.push_back(point_from(
      R"({"cluster": {"learners": 4, "runtime": {"distribution": "deterministic", "value": 1},
          "network": {"bandwidth": 1000, )" +
      more + R"(}}, "protocol": )" + protocol +
      R"(, "model": {"kind": "quadratic", "dimensions": 256},
          "learning_rate": {"kind": "constant", "eta": 0.1}, "stop": {"updates": 500},
          "compression": )" +
      kind + "}"));
  return {0, points.back()};
}
const std::string mesh = R"("topology": "mesh", "model_bytes": 1024)";
const std::string server = R"("model_bytes": 1024)";

/// Rows whose messages may err much, the same for all numbers of tensors and buckets.
std::vector<std::vector<double>> hard_rows() {
  std::vector<std::vector<double>> rows{normal_numbers<double>(d)};
  std::vector<double> row(d, 0.0);
  row[3] = 1;
  rows.push_back(row);
  for (const double others : {1.0, 1 / (1 + std::sqrt(double(d))), 0.5, 0.1, 0.03}) {
    for (std::size_t i = 0; i < d; ++i) row[i] = i % 2 ? others : -others;
    row[3] = 1;
    rows.push_back(row);
  }
  for (std::size_t i = 0; i < d; ++i) row[i] = std::pow(0.9, i);
  rows.push_back(row);
  // Where a clip costs most: a few are far off, the others a quarter of where it cuts.
  for (std::size_t i = 0; i < d; ++i) row[i] = (i % 2 ? 1 : -1) * (i < 2 ? 9.0 : 0.625);
  rows.push_back(row);
  return rows;
}

/// ||C(v) - v||^2 / ||v||^2 in the mean.
double error_of(const Message& message, const std::vector<double>& v) {
  constexpr std::uint32_t draws = 400;
  double sum = 0, square = 0;
  for (const double x : v) square += x * x;
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    const auto sent = passed(message, v, draw);
    for (std::size_t i = 0; i < d; ++i) sum += (sent[i] - v[i]) * (sent[i] - v[i]);
  }
  return sum / draws / square;
}

}  // namespace

TEST_CASE("theory: no message errs by more than is told, and some by nearly as much") {
  const double root = std::sqrt(double(d));
  // The kind, the bound by its formula, and the share of it that some row reaches.
  const std::vector<std::tuple<std::string, double, double>> kinds{
      {R"({"kind": "qsgd", "levels": 1, "bucket": "tensor"})", root, 0.93},
      {R"({"kind": "qsgd", "levels": 7, "bucket": "tensor"})", root / 7, 0.5},
      {R"({"kind": "qsgd", "bits": 4, "bucket": 64})", 8.0 / 7, 0.1},
      {R"({"kind": "qsgd", "levels": 3, "bucket": 256, "norm": "max"})", d / 36.0, 0.05},
      {R"({"kind": "qsgd", "bits": 32})", 0, 0},
      {R"({"kind": "terngrad", "clip": null})", (root - 1) / 2, 0.95},
      {R"({"kind": "terngrad"})", 1 + 2.5 * 2.5 / 8, 0.8},
      {R"({"kind": "terngrad", "clip": 100})", 1 + d / 8.0, 0.2},
      {R"({"kind": "sign"})", 1 - 1.0 / d, 1},
      {R"({"kind": "sign", "scale": "norm"})", 2 - 2 / root, 1},
      {R"({"kind": "top-k", "k": 8, "memory": {}})", 1 - 8.0 / d, 0.99},
      {R"({"kind": "random-k", "k": 64})", d / 64.0 - 1, 0.9},
      {R"({"kind": "random-k", "k": 64, "scaled": false})", 1 - 64.0 / d, 0.9},
      {R"({"kind": "chunked-top-k", "chunk": 32, "k": 4, "value_bits": 32})", 1 - 4.0 / 32, 0.7},
      {R"({"kind": "chunked-top-k", "chunk": 32, "k": 4})", 1, 0.7},
      {R"({"kind": "uniform", "bits": 4, "block": 256})", d / (4 * 49.0), 0.2}};
  for (const auto& [kind, bound, reached] : kinds) {
    CAPTURE(kind);
    const auto told = row_of(kind, mesh).message_error;
    REQUIRE(told.has_value());
    CHECK(*told == doctest::Approx(bound).epsilon(1e-12));
    double most = 0;
    for (const auto& v : hard_rows()) most = std::max(most, error_of(message_from(kind), v));
    CHECK(most <= bound * 1.1 + 1e-12);  // rounding at random: within 10 % in 400 draws
    CHECK(most >= reached * bound * (1 - 1e-12));
  }
  CHECK(!row_of(R"({"kind": "sign", "majority": true, "down": "same"})", mesh).message_error);
}

TEST_CASE("theory: bytes, and from how many learners a ring of whole gradients takes less") {
  const auto check = [](const std::string& kind, double bytes) {
    CAPTURE(kind);
    const TheoryRow row = row_of(kind, mesh);
    CHECK(row.message_bytes == bytes);
    CHECK(row.gather_break_even == doctest::Approx(8 * d / bytes));
    // The times of a ring, 2 (P - 1) / P S / B, and of a gather, (P - 1) s / B, on either side.
    const double S = 4 * d, P = std::floor(*row.gather_break_even);
    CHECK((P - 1) * bytes <= 2 * (P - 1) / P * S);
    CHECK(P * bytes >= 2 * P / (P + 1) * S);
  };
  check(R"({"kind": "qsgd", "bits": 4, "bucket": 64})", d / 2.0 + 4 * 4);
  check(R"({"kind": "terngrad"})", d / 4.0 + 4);
  check(R"({"kind": "sign"})", d / 8.0 + 4);
  check(R"({"kind": "top-k", "k": 8})", 8 * 4 + 8);
  check(R"({"kind": "uniform", "bits": 8, "block": 64})", d + 4 * 4);
  const TheoryRow adds = row_of(R"({"kind": "random-k", "k": 8, "shared_seed": true})", mesh);
  CHECK(adds.message_bytes == 32);
  CHECK(!adds.gather_break_even);
}

TEST_CASE("theory: bits that grow save half the logarithm of the means' ratio") {
  const auto bits_of = [](const std::string& keys) {
    return row_of(R"({"kind": "dq-sgd", )" + keys + "}", server, R"({"kind": "sync"})");
  };
  // alpha = 0.99, N = 500: AM / GM = 2.44, 0.64 bit.
  const TheoryRow many = bits_of(R"("mean_bits": 12, "alpha": 0.99)");
  REQUIRE(many.bits);
  const double N = 500, alpha = 0.99;
  const double arithmetic = (1 - std::pow(alpha, N)) / (N * (1 - alpha));
  const double geometric = std::pow(alpha, (N - 1) / 2);
  CHECK(arithmetic / geometric == doctest::Approx(2.44).epsilon(0.005));
  CHECK(many.bits->saved == doctest::Approx(std::log2(arithmetic / geometric) / 2).epsilon(1e-3));
  const double rise = (N - 1) * -std::log2(alpha) / 2;
  CHECK(many.bits->first == doctest::Approx(12 - rise / 2).epsilon(1e-9));
  CHECK(many.bits->last == doctest::Approx(12 + rise / 2).epsilon(1e-9));
  CHECK(many.bits->mean == doctest::Approx(12).epsilon(1e-9));
  CHECK(*many.message_bytes == doctest::Approx(12.0 * d / 8 + 4).epsilon(1e-9));
  CHECK(many.message_error == std::sqrt(double(d)));  // with two bits, which are allowed

  const TheoryRow cut = bits_of(R"("mean_bits": 5, "alpha": 0.95, "min_bits": 3, "max_bits": 8)");
  REQUIRE(cut.bits);
  CHECK(cut.bits->first == 3);
  CHECK(cut.bits->last == 8);
  CHECK(cut.bits->mean == doctest::Approx(5).epsilon(2e-3));
  // The line that is cut off at 3 and 8, and is 5 in the mean.
  const double growth = -std::log2(0.95) / 2;
  const auto line = [&](double at_0, int n) { return std::clamp(at_0 + growth * n, 3.0, 8.0); };
  const auto sum_of = [&](double at_0) {
    double sum = 0;
    for (int n = 0; n < 500; ++n) sum += line(at_0, n);
    return sum;
  };
  double low = -30, high = 8;
  while (high - low > 1e-9) (sum_of((low + high) / 2) < 5 * 500 ? low : high) = (low + high) / 2;
  double error = 0, of_one = 0;
  for (int n = 0; n < 500; ++n) {
    const double c = std::pow(0.95, 499 - n);
    error += c / std::pow(std::exp2(line(low, n) - 1) - 1, 2), of_one += c;
  }
  const double fixed = std::log2(std::sqrt(of_one / error) + 1) + 1;
  CHECK(cut.bits->saved == doctest::Approx(fixed - 5).epsilon(0.01));

  const TheoryRow level = bits_of(R"("mean_bits": 4, "alpha": 1)");
  CHECK(level.bits->saved == doctest::Approx(0).epsilon(1e-9));
  CHECK(level.bits->first == doctest::Approx(4).epsilon(1e-9));
  CHECK(!bits_of(R"("error": 0.1, "L": 1, "alpha": 0.99)").bits);
}

}  // namespace gradrace::compression_theory_test
