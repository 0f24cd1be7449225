#include "compression/catalog.h"
#include "compression/kept.h"
#include "compression/levels.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "top-k",
    .definition =
        R"(The k numbers that are largest in absolute value are sent with their places, the others are 0;
of equal ones the first.  A message of d numbers has 4 k + ceil(k ceil(log2 d) / 8) bytes, and 4 d where k is d.  It is
not the gradient in the mean: without `memory` what is small is never sent.)",
    .source = "Aji, Heafield, EMNLP 2017; with memory Stich, Cordonnier, Jaggi, NeurIPS 2018",
    .example = R"({"kind": "top-k", "share": 0.01, "memory": {}})"};

struct TopK {
  Kept kept;

  double bytes(double numbers) const { return kept.bytes_with_places(numbers); }
  template <class Real>
  void pass(std::span<Real> row, Stream&) const {
    const std::size_t k = kept.of(row.size());
    if (k == row.size()) return;
    const Least<Real> least = least_of_largest<Real>(row, k);
    const auto at_last = row.begin() + static_cast<std::ptrdiff_t>(least.places);
    for (auto x = row.begin(); x < at_last; ++x)
      *x = magnitude(*x) >= least.magnitude ? *x : Real{0};
    for (auto x = at_last; x < row.end(); ++x) *x = magnitude(*x) > least.magnitude ? *x : Real{0};
  }

 private:
  template <class Real>
  struct Least {
    BitsOf<Real> magnitude;  // of the k-th largest
    std::size_t places;      // before which those that are as large are sent
  };

  /// Digit by digit, from the first on: how many numbers begin as the k-th largest does, and go on
  /// with each digit.
  template <class Real>
  static Least<Real> least_of_largest(std::span<const Real> row, std::size_t k) {
    constexpr int digit = 11;
    BitsOf<Real> found = 0, decided = 0;  // its first bits, and which these are
    for (int shift = 8 * sizeof(Real) - 1; shift > 0;) {
      const int bits = std::min(digit, shift);
      shift -= bits;
      std::uint32_t counts[1 << digit] = {};
      const BitsOf<Real> mask = (BitsOf<Real>{1} << bits) - 1;
      for (const Real x : row) {
        const BitsOf<Real> m = magnitude(x);
        if ((m & decided) == found) ++counts[m >> shift & mask];
      }
      BitsOf<Real> value = mask;
      while (counts[value] < k) k -= counts[value--];
      found |= value << shift, decided |= mask << shift;
    }
    std::size_t places = 0;
    while (k > 0) k -= magnitude(row[places++]) == found;
    return {found, places};
  }
};

Message read(Fields& fields) {
  TopK top_k;
  top_k.kept.visit(fields);
  const auto memory = read_memory(fields);
  if (!fields.good()) return {};
  return message_by(top_k, memory);
}

}  // namespace

extern const CompressionEntry top_k_entry{page, read};

}  // namespace gradrace
