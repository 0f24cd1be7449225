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

struct Sign final : CoderOfParts<Sign> {
  bool of_norm = false, majority = false;

  bool votes() const override { return majority; }
  double bytes(double numbers) const override {
    return packed_bytes(numbers, 1, majority ? 0 : parts.count(numbers));
  }
  /// Where one number alone is not 0.
  std::optional<double> most_error(double numbers) const override {
    if (majority) return {};
    const double n = parts.longest(numbers);
    return of_norm ? 2 - 2 / std::sqrt(n) : 1 - 1 / n;
  }
  std::optional<BlockCode> block_code(std::size_t) const override {
    return BlockCode{.kind = BlockCode::Kind::signs,
                     .scale = majority  ? BlockCode::Scale::one
                              : of_norm ? BlockCode::Scale::root_mean_square
                                        : BlockCode::Scale::mean};
  }
};

Message read(Fields& fields) {
  Sign sign;
  sign.of_norm =
      fields.second_of("scale", "mean", "norm",
                       "of a tensor: the mean of its |v_i|, or the root of that of their squares");
  fields.flag("majority", sign.majority, Need::defaulted,
              "signs are +-1, and the server sends back that of their sum, which the step has");
  const auto memory = read_memory(fields);
  fields.idle("scale", sign.majority && sign.of_norm, "says nothing of votes, which are +-1");
  if (sign.majority && memory)
    fields.complain("memory", "needs messages of the gradient's size, and votes are +-1",
                    "without it, or without majority");
  return message_by(fields, sign, memory);
}

}  // namespace

extern const CompressionEntry sign_entry{page, read};

}  // namespace gradrace
