#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "tests/compression/kinds.h"

namespace gradrace::compression_bytes_test {

namespace {

double bytes(const std::string& kind, double numbers, std::size_t tensors = 1) {
  const auto compressor = message_from(kind).compressor;
  return compressor->of_tensors(std::vector<Tensor>(tensors, {1}))->bytes(numbers);
}

}  // namespace

TEST_CASE("compression: a message has the bytes of its code") {
  // d (1 + ceil(log2(s + 1))) bits, and 32 for each bucket of 512.
  CHECK(bytes(R"({"kind": "qsgd", "bits": 4})", 1024) == 1024 * 4 / 8 + 2 * 4);
  CHECK(bytes(R"({"kind": "qsgd", "bits": 4})", 1025) == 513 + 3 * 4);
  CHECK(bytes(R"({"kind": "qsgd", "levels": 1, "bucket": "tensor"})", 7850, 2) == 1963 + 2 * 4);
  CHECK(bytes(R"({"kind": "qsgd", "levels": 4, "bucket": 100})", 1000) == 1000 * 4 / 8 + 10 * 4);
  CHECK(bytes(R"({"kind": "qsgd", "bits": 32})", 1000, 5) == 4000);
  CHECK(bytes(R"({"kind": "terngrad"})", 7850, 2) == 1963 + 2 * 4);
  CHECK(bytes(R"({"kind": "sign"})", 7850, 2) == 982 + 2 * 4);
  CHECK(bytes(R"({"kind": "uniform", "bits": 8, "block": 256})", 7850) == 7850 + 31 * 4);
  CHECK(bytes(R"({"kind": "uniform", "bits": 32})", 7850) == 4 * 7850);
  // k numbers, and k ceil(log2 d) bits.
  for (const std::string kind : {"top-k", "random-k"}) {
    CHECK(bytes(R"({"kind": ")" + kind + R"(", "k": 79})", 7850) == 4 * 79 + 129);
    CHECK(bytes(R"({"kind": ")" + kind + R"(", "share": 0.01})", 7850) == 4 * 79 + 129);
    CHECK(bytes(R"({"kind": ")" + kind + R"(", "k": 9000})", 7850) == 4 * 7850);
    CHECK(bytes(R"({"kind": ")" + kind + R"(", "share": 1e-9})", 7850) == 4 + 2);
  }
  CHECK(bytes(R"({"kind": "random-k", "k": 79, "shared_seed": true})", 7850) == 4 * 79);
  // k (log2 chunk + value_bits) bits a chunk, and a table of 2^value_bits numbers a tensor.
  const std::string chunked = R"({"kind": "chunked-top-k", "chunk": 4096, "k": 64)";
  CHECK(message_from(chunked + "}").compressor->bytes(40960) == 40960 * 0.21875 / 8 + 4 * 4);
  CHECK(message_from(chunked + R"(, "value_bits": 32})").compressor->bytes(5000) ==
        2 * 64 * (12 + 32) / 8);
  CHECK(bytes(R"({"kind": "sign", "majority": true})", 7850, 2) == 982);
  // In proportion, where a network says that the model is larger than that which is trained.
  for (const std::string& kind : {chunked + "}", std::string(R"({"kind": "qsgd", "levels": 3,
      "bucket": "tensor", "code": "elias"})")}) {
    const auto compressor = message_from(kind).compressor->of_tensors({{4096}, {8192}});
    CHECK(compressor->bytes(122880) == 10 * compressor->bytes(12288));
  }
}

// Elias's omega code of n >= 1: the binary digits of n, of the number of these less one, and so on.
static double omega_bits(std::uint64_t n) {
  double bits = 1;
  for (; n > 1; n = std::bit_width(n) - 1) bits += static_cast<double>(std::bit_width(n));
  return bits;
}

TEST_CASE("compression: Elias's code of a bucket has fewer bits in the mean than are counted") {
  CHECK(omega_bits(1) == 1);
  CHECK(omega_bits(2) == 3);
  CHECK(omega_bits(16) == 11);
  for (const int s : {1, 7, 15}) {
    const Message message =
        message_from(R"({"kind": "qsgd", "code": "elias", "levels": )" + std::to_string(s) + "}");
    double bits = 0;
    constexpr std::uint32_t draws = 200;
    for (std::uint32_t draw = 0; draw < draws; ++draw) {
      const auto v = normal_numbers<double>(512, draw);
      const double unit = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0)) / s;
      bits += 32;
      std::uint64_t gap = 0;
      for (const double x : passed(message, v, draw)) {
        ++gap;
        if (x == 0) continue;
        const auto level = static_cast<std::uint64_t>(std::llround(std::abs(x) / unit));
        bits += omega_bits(std::exchange(gap, 0)) + 1 + omega_bits(level);
      }
    }
    CAPTURE(s);
    CHECK(bits / draws < 8 * message.compressor->bytes(512));
    CHECK(bits / draws > 0.6 * 8 * message.compressor->bytes(512));
  }
}

TEST_CASE("compression: chunked-top-k keeps the largest of each chunk, as means of their bins") {
  const auto v = normal_numbers<double>(1000);
  const std::string kind = R"({"kind": "chunked-top-k", "chunk": 64, "k": 5, "value_bits": )";
  const auto kept = passed(message_from(kind + "32}"), v);
  for (std::size_t begin = 0; begin < v.size(); begin += 64) {
    const std::size_t end = std::min(begin + 64, v.size());
    std::vector<double> sizes;
    for (std::size_t i = begin; i < end; ++i) sizes.push_back(std::abs(v[i]));
    std::ranges::sort(sizes, std::greater());
    for (std::size_t i = begin; i < end; ++i)
      CHECK(kept[i] == (std::abs(v[i]) >= sizes[4] ? v[i] : 0));
  }
  double count = 0, sum = 0, squares = 0;
  for (const double x : kept) count += x != 0, sum += x, squares += x * x;
  const double mean = sum / count, width = 6 * std::sqrt(squares / count - mean * mean) / 4;
  const auto bin = [&](double x) {
    return std::clamp(std::floor((x - mean) / width + 2), 0.0, 3.0);
  };
  const auto rounded = passed(message_from(kind + "2}"), v);
  for (std::size_t i = 0; i < v.size(); ++i) {
    double in_bin = 0, of_bin = 0;
    for (const double x : kept)
      if (x != 0 && bin(x) == bin(kept[i])) ++in_bin, of_bin += x;
    CHECK(rounded[i] == doctest::Approx(kept[i] == 0 ? 0 : of_bin / in_bin).epsilon(1e-12));
  }
}

TEST_CASE("compression: bits are those of the levels, s = 2^(bits - 1) - 1") {
  const auto row = normal_numbers<float>(2000);
  for (const int bits : {2, 3, 4, 8, 16, 24}) {
    const std::string levels = std::to_string((1 << (bits - 1)) - 1);
    const Message by_bits =
        message_from(R"({"kind": "qsgd", "bits": )" + std::to_string(bits) + "}");
    const Message by_levels = message_from(R"({"kind": "qsgd", "levels": )" + levels + "}");
    CHECK(by_bits.compressor->bytes(2000) == by_levels.compressor->bytes(2000));
    CHECK(passed(by_bits, row) == passed(by_levels, row));
  }
}

TEST_CASE("compression: what leaves nothing out passes numbers bit for bit") {
  for (const std::string kind :
       {R"({"kind": "qsgd", "bits": 32})", R"({"kind": "uniform", "bits": 32})",
        R"({"kind": "top-k", "share": 1})", R"({"kind": "top-k", "k": 5000})",
        R"({"kind": "random-k", "share": 1})", R"({"kind": "random-k", "k": 2000})",
        R"({"kind": "chunked-top-k", "chunk": 100, "k": 100, "value_bits": 32})"}) {
    CAPTURE(kind);
    const Message message = message_from(kind);
    CHECK(passed(message, normal_numbers<float>(2000)) == normal_numbers<float>(2000));
    CHECK(passed(message, normal_numbers<double>(2000)) == normal_numbers<double>(2000));
  }
}

TEST_CASE("compression: terngrad without a clip is qsgd of one level, max norm and tensors") {
  const Message qsgd =
      message_from(R"({"kind": "qsgd", "levels": 1, "norm": "max", "bucket": "tensor"})");
  const Message unclipped = message_from(R"({"kind": "terngrad", "clip": null})");
  const Message wide = message_from(R"({"kind": "terngrad", "clip": 1e9})");
  const Message usual = message_from(R"({"kind": "terngrad"})");
  const std::vector<Tensor> tensors{{50, 30}, {40}, {3000}, {1}};
  for (const std::uint32_t draw : {0u, 1u, 2u}) {
    const auto row = normal_numbers<float>(4541, draw);
    const auto sent = passed(qsgd, row, draw, tensors);
    CHECK(passed(unclipped, row, draw, tensors) == sent);
    CHECK(passed(wide, row, draw, tensors) == sent);
    CHECK(passed(usual, row, draw, tensors) != sent);
  }
  CHECK(qsgd.compressor->of_tensors(tensors)->bytes(4541) ==
        unclipped.compressor->of_tensors(tensors)->bytes(4541));
}

TEST_CASE("compression: terngrad cuts off at 2.5 sigma of each tensor") {
  std::vector<double> row(1000, 0.0);
  row[3] = 8, row[500] = -8;  // of one tensor sigma^2 = 2 * 64 / 1000
  for (const bool whole : {true, false}) {
    const std::vector<Tensor> tensors(whole ? 1 : 2, {whole ? 1000u : 500});
    const double n = tensors[0].numbers(), of_one = whole ? 0 : 8 / n;
    const double sigma = std::sqrt((whole ? 2 : 1) * 64 / n - of_one * of_one);
    const auto sent = passed(message_from(R"({"kind": "terngrad"})"), row, 0, tensors);
    CHECK(sent[3] == doctest::Approx(2.5 * sigma).epsilon(1e-12));
    CHECK(sent[500] == doctest::Approx(-2.5 * sigma).epsilon(1e-12));
  }
}

TEST_CASE("compression: terngrad sends a tensor of one number, or of equal ones, as it is") {
  const Message message = message_from(R"({"kind": "terngrad"})");
  const std::vector<Tensor> tensors{{1}, {3}, {1}};
  const std::vector<double> row{-0.5, 2, 2, 2, 0};
  CHECK(passed(message, row, 0, tensors) == row);
}

TEST_CASE("compression: with 2^23 - 1 levels a bucket of 64 numbers errs by less than 1e-6") {
  for (const std::string norm : {R"("2")", R"("max")"}) {
    const auto row = normal_numbers<float>(6400);
    const auto sent = passed(
        message_from(R"({"kind": "qsgd", "bits": 24, "bucket": 64, "norm": )" + norm + "}"), row);
    double error = 0, square = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      error += std::pow(double{sent[i]} - double{row[i]}, 2), square += std::pow(row[i], 2);
    }
    CHECK(std::sqrt(error / square) < 1e-6);
    CHECK(error > 0);
  }
}

TEST_CASE("compression: sign sends a scale for each tensor") {
  const std::vector<double> row{3, -1, 0, -4, -2, 2};
  const std::vector<Tensor> tensors{{2, 2}, {2}};
  CHECK(passed(message_from(R"({"kind": "sign"})"), row, 0, tensors) ==
        std::vector<double>{2, -2, 2, -2, -2, 2});
  const double root = std::sqrt(26.0 / 4);
  const auto by_norm =
      passed(message_from(R"({"kind": "sign", "scale": "norm"})"), row, 0, tensors);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(std::abs(by_norm[i]) == doctest::Approx(root).epsilon(1e-15));
  CHECK(by_norm[5] == doctest::Approx(2).epsilon(1e-15));
}

TEST_CASE("compression: top-k sends the largest, of equal ones the first") {
  const std::vector<float> row{1, -3, 2, 3, -2, 0.5, 2, -1};
  const auto sent = [&](int k) {
    return passed(message_from(R"({"kind": "top-k", "k": )" + std::to_string(k) + "}"), row);
  };
  CHECK(sent(1) == std::vector<float>{0, -3, 0, 0, 0, 0, 0, 0});
  CHECK(sent(3) == std::vector<float>{0, -3, 2, 3, 0, 0, 0, 0});
  CHECK(sent(4) == std::vector<float>{0, -3, 2, 3, -2, 0, 0, 0});
  CHECK(sent(7) == std::vector<float>{1, -3, 2, 3, -2, 0, 2, -1});
  const std::vector<double> equal(10, -2.0);
  const auto first = passed(message_from(R"({"kind": "top-k", "k": 4})"), equal);
  CHECK(std::count(first.begin(), first.begin() + 4, -2.0) == 4);
  CHECK(std::count(first.begin(), first.end(), 0.0) == 6);
}

TEST_CASE("compression: top-k finds what sorting finds") {
  const auto check = [](auto row, std::size_t k) {
    const auto sent =
        passed(message_from(R"({"kind": "top-k", "k": )" + std::to_string(k) + "}"), row);
    std::vector<std::size_t> order(row.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::greater(),
                             [&](std::size_t i) { return std::abs(row[i]); });
    for (std::size_t i = k; i < order.size(); ++i) row[order[i]] = 0;
    CHECK(sent == row);
  };
  for (const std::size_t d : {std::size_t{5}, std::size_t{100}, std::size_t{5000}})
    for (std::size_t k = 1; k < d; k += 1 + d / 7)
      check(normal_numbers<float>(d), k), check(normal_numbers<double>(d), k);
}

TEST_CASE("compression: a number that is NaN or infinite is not hidden") {
  for (const std::string kind :
       {R"({"kind": "qsgd", "bits": 4})", R"({"kind": "qsgd", "bits": 4, "norm": "max"})",
        R"({"kind": "terngrad"})", R"({"kind": "uniform"})", R"({"kind": "sign"})",
        R"({"kind": "top-k", "k": 2})"}) {
    CAPTURE(kind);
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      auto row = normal_numbers<float>(100);
      row[40] = bad;
      double sum = 0;
      for (const float x : passed(message_from(kind), row)) sum += std::abs(double{x});
      CHECK_FALSE(std::isfinite(sum));
    }
  }
}

}  // namespace gradrace::compression_bytes_test
