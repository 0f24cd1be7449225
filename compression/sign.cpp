#include "compression/catalog.h"
#include "compression/levels.h"
#include "compression/parts.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "sign",
    .definition =
        R"(Of each number of a tensor v of n numbers its sign is sent, and one scale:

    C(v)_i = sign(v_i) ||v||_1 / n,

or sign(v_i) ||v||_2 / sqrt(n).  The sign of 0 is its sign bit.  A message of d numbers has ceil(d / 8) bytes
and 4 for each tensor.  It is not v in the mean: without `memory` a run may converge to a point that is no
minimum, or to none.

With `majority` signs alone are sent, and the step of a parameter is the learning rate times the sign of
their sum, which is what the server sends back.)",
    .source =
        "Bernstein, Wang, Azizzadenesheli, Anandkumar, ICML 2018; with memory Karimireddy, "
        "Rebjock, Stich, Jaggi, ICML 2019",
    .example = R"({"kind": "sign", "memory": {}})"};

struct Sign {
  bool of_norm = false, majority = false;
  Parts parts = {};

  bool votes() const { return majority; }
  double bytes(double numbers) const {
    return packed_bytes(numbers, 1, majority ? 0 : parts.count(numbers));
  }
  /// Where one number alone is not 0.
  std::optional<double> most_error(double numbers) const {
    if (majority) return {};
    const double n = parts.longest(numbers);
    return of_norm ? 2 - 2 / std::sqrt(n) : 1 - 1 / n;
  }
  BlockCode block_code(std::size_t) const {
    return {.kind = BlockCode::Kind::signs,
            .scale = majority  ? BlockCode::Scale::one
                     : of_norm ? BlockCode::Scale::root_mean_square
                               : BlockCode::Scale::mean};
  }
  template <class Real>
  void pass(std::span<Real> row, Stream&) const {
    parts.each(row, [&](std::span<Real> v) {
      const Real scale = static_cast<Real>(scale_of<Real>(v));
      for (Real& x : v) x = std::copysign(scale, x);
    });
  }
  template <class Real>
  double scale_of(std::span<const Real> v) const {
    if (majority) return 1;
    const auto n = static_cast<double>(v.size());
    if (of_norm) return norm(v) / std::sqrt(n);
    return lane_sum(v.size(), [&](std::size_t j) { return std::abs(v[j]); }) / n;
  }
};

Message read(Fields& fields) {
  constexpr std::string_view scales[] = {"mean", "norm"};
  std::string scale(scales[0]);
  fields.choice("scale", scale, scales, Need::defaulted,
                "of a tensor: the mean of its |v_i|, or the root of that of their squares");
  bool majority = false;
  fields.flag("majority", majority, Need::defaulted,
              "signs are +-1, and the server sends back that of their sum, which the step has");
  const auto memory = read_memory(fields);
  if (!fields.good()) return {};
  fields.idle("scale", majority && scale != scales[0], "says nothing of votes, which are +-1");
  if (majority && memory)
    fields.complain("memory", "needs messages of the gradient's size, and votes are +-1",
                    "without it, or without majority");
  if (!fields.good()) return {};
  return message_by(Sign{.of_norm = scale == "norm", .majority = majority}, memory);
}

}  // namespace

extern const CompressionEntry sign_entry{page, read};

}  // namespace gradrace
