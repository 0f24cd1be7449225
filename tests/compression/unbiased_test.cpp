#include <doctest/doctest.h>

#include <numeric>

#include "tests/compression/kinds.h"

namespace gradrace::compression_unbiased_test {

namespace {

constexpr std::uint32_t draws = 100000;
/// Of the largest of 64 numbers over 10^5 draws of that seed; beyond it 1 in 10^5 of such tests
/// would be.
constexpr double most_z = 5;

struct Moments {
  std::vector<double> mean, variance;  // [number], the variance around `about`
};

Moments moments_of(const Message& message, const std::vector<float>& row,
                   const std::vector<float>& about) {
  Moments found{std::vector<double>(row.size()), std::vector<double>(row.size())};
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    const auto sent = passed(message, row, draw);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double error = double{sent[i]} - double{about[i]};
      found.mean[i] += error / draws, found.variance[i] += error * error / draws;
    }
  }
  return found;
}

double norm_of(const std::vector<float>& row, bool largest) {
  double square = 0, most = 0;
  for (const float x : row)
    square += double{x} * double{x}, most = std::max(most, std::abs(double{x}));
  return largest ? most : std::sqrt(square);
}

/// One of two levels, the upper one with probability f: the mean of a number's error, and of that
/// squared.
void check_levels(const std::string& kind, bool of_largest, double s) {
  const auto row = normal_numbers<float>(64);
  const Moments found = moments_of(message_from(kind), row, row);
  const double unit = norm_of(row, of_largest) / s;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double place = std::abs(double{row[i]}) / unit, f = place - std::floor(place);
    const double variance = unit * unit * f * (1 - f);
    const double fourth = std::pow(unit, 4) * f * (1 - f) * (1 - 3 * f * (1 - f));
    CHECK(std::abs(found.mean[i]) <= most_z * std::sqrt(variance / draws) + 1e-6 * unit);
    CHECK(std::abs(found.variance[i] - variance) <=
          most_z * std::sqrt((fourth - variance * variance) / draws) + 1e-6 * unit * unit);
  }
}

}  // namespace

TEST_CASE("compression: qsgd and terngrad are right in the mean, with their exact variance") {
  for (const int levels : {1, 3, 7, 127}) {
    CAPTURE(levels);
    const std::string qsgd = R"({"kind": "qsgd", "levels": )" + std::to_string(levels);
    check_levels(qsgd + "}", false, levels);
    check_levels(qsgd + R"(, "norm": "max"})", true, levels);
  }
  check_levels(R"({"kind": "terngrad", "clip": null})", true, 1);
}

TEST_CASE(
    "compression: qsgd's error of a bucket is ||v||_1 / (s ||v||_2) - 1 on its two lowest levels") {
  const auto row = normal_numbers<float>(512);
  double sum = 0, square = 0;
  for (const float x : row) sum += std::abs(double{x}), square += double{x} * double{x};
  const double exact = sum / std::sqrt(square) - 1;
  CHECK(exact == doctest::Approx(std::sqrt(2 * 512 / M_PI) - 1).epsilon(0.05));
  CHECK(exact <= std::sqrt(512.0));  // min(b / s^2, sqrt(b) / s), the paper's bound
  const Message message = message_from(R"({"kind": "qsgd", "levels": 1})");
  double mean = 0, variance = 0;
  constexpr std::uint32_t messages = 20000;
  std::vector<double> errors;
  for (std::uint32_t draw = 0; draw < messages; ++draw) {
    const auto sent = passed(message, row, draw);
    double error = 0;
    for (std::size_t i = 0; i < row.size(); ++i)
      error += std::pow(double{sent[i]} - double{row[i]}, 2) / square;
    errors.push_back(error);
    mean += error / messages;
  }
  for (const double error : errors) variance += std::pow(error - mean, 2) / messages;
  CHECK(std::abs(mean - exact) <= 4 * std::sqrt(variance / messages));
}

TEST_CASE("compression: random-k is right in the mean, with variance (d / k - 1) v^2, or sends v") {
  const auto row = normal_numbers<float>(64);
  const Moments scaled = moments_of(message_from(R"({"kind": "random-k", "k": 16})"), row, row);
  std::vector<float> quarter = row;
  for (float& x : quarter) x /= 4;
  const Moments plain =
      moments_of(message_from(R"({"kind": "random-k", "k": 16, "scaled": false})"), row, quarter);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double square = double{row[i]} * double{row[i]};
    CHECK(std::abs(scaled.mean[i]) <= most_z * std::sqrt(3 * square / draws));
    CHECK(scaled.variance[i] == doctest::Approx(3 * square).epsilon(most_z * 0.005));
    CHECK(std::abs(plain.mean[i]) <= most_z * std::sqrt(square * 3 / 16 / draws));
  }
  for (std::uint32_t draw = 0; draw < 100; ++draw) {
    const auto sent = passed(message_from(R"({"kind": "random-k", "k": 16})"), row, draw);
    CHECK(std::ranges::count_if(sent, [](float x) { return x != 0; }) == 16);
  }
}

TEST_CASE("compression: uniform rounds to the nearest level") {
  const auto row = normal_numbers<double>(1024);
  const auto sent = passed(message_from(R"({"kind": "uniform", "bits": 4, "block": 512})"), row);
  for (const std::size_t first : {0u, 512u}) {
    double most = 0;
    for (std::size_t i = first; i < first + 512; ++i) most = std::max(most, std::abs(row[i]));
    for (std::size_t i = first; i < first + 512; ++i) {
      CHECK(std::abs(sent[i] - row[i]) <= most / 7 / 2 * (1 + 1e-6));
      CHECK(std::abs(sent[i] * 7 / most - std::round(sent[i] * 7 / most)) < 1e-12);
    }
  }
}

}  // namespace gradrace::compression_unbiased_test
