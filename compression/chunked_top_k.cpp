#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "compression/catalog.h"
#include "compression/largest.h"
#include "compression/parts.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "chunked-top-k",
    .definition =
        R"(Of each chunk of a tensor the k numbers that are largest in absolute value are sent with their places
in it, of equal ones the first; the others are 0.  The numbers that are sent of a tensor, of mean m and
standard deviation sigma, are rounded to n = 2^value_bits bins,

    bin floor((v - m) / s + n / 2), 0 to n - 1,  s = 6 sigma / n,

and read as the mean of those in their bin.  A tensor has k (ceil(log2 chunk) + value_bits) bits a chunk,
rounded up to bytes, and 4 bytes for each bin; with value_bits 32 numbers are sent as they are.  It is not the
gradient in the mean: without `memory` what is small is never sent.)",
    .source = "Sarfi et al., SparseLoCo, arXiv 2508.15706; Lidin et al., arXiv 2603.08163",
    .example = R"({"kind": "chunked-top-k", "chunk": 4096, "k": 64, "memory": {"decay": 0.95}})"};

/// Those numbers that are not 0, of mean m and standard deviation sigma, become each the mean of
/// those in its bin, of n: floor((v - m) / s + n / 2), 0 to n - 1, s = 6 sigma / n.
template <class Real>
void round_to_bins(std::span<Real> v, double n) {
  struct Bin {
    double sum = 0, count = 0;
  };
  double count = 0, sum = 0, squares = 0;
  for (const double x : v) count += x != 0, sum += x;
  if (count == 0) return;
  const double mean = sum / count;
  for (const double x : v) squares += x != 0 ? (x - mean) * (x - mean) : 0;
  const double width = 6 * std::sqrt(squares / count) / n;
  if (width == 0) return;
  if (!std::isfinite(width))
    return void(std::ranges::fill(v, std::numeric_limits<Real>::quiet_NaN()));
  std::vector<Bin> bins(static_cast<std::size_t>(n));
  const auto bin_of = [&](double x) -> Bin& {
    const double place = std::floor((x - mean) / width + n / 2);
    return bins[static_cast<std::size_t>(std::clamp(place, 0.0, n - 1))];
  };
  for (const double x : v)
    if (x != 0) bin_of(x).sum += x, ++bin_of(x).count;
  for (Real& x : v)
    if (x != 0) x = static_cast<Real>(bin_of(x).sum / bin_of(x).count);
}

struct ChunkedTopK final : CompressorOf<ChunkedTopK> {
  std::uint64_t chunk = 4096, k = 64, value_bits = 2;
  Parts parts = {};

  bool adds(double) const override { return k == chunk && value_bits == whole_bits; }
  double bytes(double numbers) const override {
    return parts.sum(numbers, [this](double length) { return bytes_of_tensor(length); });
  }
  /// Means of bins are nearer to what is sent than 0 is.
  std::optional<double> most_error(double) const override {
    if (value_bits < whole_bits) return 1;
    return 1 - static_cast<double>(k) / static_cast<double>(chunk);
  }
  std::optional<BlockCode> block_code(std::size_t) const override {
    return BlockCode{.kind = BlockCode::Kind::chunks, .kept = k, .chunk = chunk, .bins = bins()};
  }
  double bins() const { return value_bits < whole_bits ? std::exp2(value_bits) : 0; }
  template <class Real>
  void make(std::span<Real> row, Stream&) const {
    parts.each(row, [&](std::span<Real> tensor) {
      for (std::size_t at = 0; at < tensor.size(); at += chunk)
        keep_largest(tensor.subspan(at, std::min<std::size_t>(chunk, tensor.size() - at)), k);
      if (bins() > 0) round_to_bins(tensor, bins());
    });
  }

 private:
  double bytes_of_tensor(double numbers) const {
    const auto n = static_cast<std::uint64_t>(numbers);
    const std::uint64_t kept = n / chunk * std::min(k, chunk) + std::min(k, n % chunk);
    const double place = kept < n ? std::ceil(std::log2(static_cast<double>(chunk))) : 0;
    return std::ceil(static_cast<double>(kept) * (place + static_cast<double>(value_bits)) / 8) +
           4 * bins();
  }
};

Message read(Fields& fields) {
  ChunkedTopK kind;
  fields.integer("chunk", kind.chunk, Need::defaulted, between(1, 1 << 30),
                 "C: numbers of a tensor, one after another, of which k are sent");
  fields.integer("k", kind.k, Need::defaulted, at_least(1), "numbers of a chunk that are sent");
  visit_bits(fields, "value_bits", kind.value_bits, Need::defaulted,
             "of a number that is sent: 1 to 8, or 32", 1, 8);
  if (kind.k > kind.chunk)
    fields.complain("k", "is more than the chunk of " + std::to_string(kind.chunk));
  const auto memory = read_memory(fields);
  return message_by(fields, kind, memory);
}

}  // namespace

extern const CompressionEntry chunked_top_k_entry{page, read};

}  // namespace gradrace
