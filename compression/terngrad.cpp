#include "compression/catalog.h"
#include "compression/levels.h"
#include "compression/parts.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "terngrad",
    .definition =
        R"(Each number of a tensor v becomes -m, 0 or m, at random, of which m is the largest:

    Q(v)_i = m sign(v_i) with probability |v_i| / m, else 0,  m = max |v_i|,

after v has been cut off at +-c sigma, sigma its standard deviation and c = `clip`, unless sigma is 0.  Without a clip, null,
that is qsgd with one level, norm max and bucket tensor; with one, the mean of a number that was cut off is too
small.  A message of d numbers has ceil(2 d / 8) bytes and 4 for each tensor's m.)",
    .source = "Wen, Xu, Yan, Wu, Wang, Chen, Li, NIPS 2017",
    .example = R"({"kind": "terngrad"})"};

struct TernGrad final : CoderOfParts<TernGrad> {
  std::optional<double> clip = 2.5;

  double bytes(double numbers) const override {
    return packed_bytes(numbers, 2, parts.count(numbers));
  }
  /// m ||v||_1 / ||v||^2 - 1 is greatest where all but one are equal.  With a clip a number a errs
  /// by m a - a^2 up to m, (a - m)^2 beyond: by no more than a^2 + m^2 / 8, m by min(c^2, n) of
  /// their mean square.
  std::optional<double> most_error(double numbers) const override {
    const double n = parts.longest(numbers);
    return clip ? 1 + std::min(*clip * *clip, n) / 8 : (std::sqrt(n) - 1) / 2;
  }
  std::optional<BlockCode> block_code(std::size_t) const override {
    return BlockCode{.kind = BlockCode::Kind::levels, .clip = clip.value_or(0)};
  }
};

Message read(Fields& fields) {
  TernGrad terngrad;
  fields.real("clip", terngrad.clip, "null", positive(),
              "c: numbers beyond c sigma of their tensor are cut off; null: none are");
  const auto memory = read_memory(fields, true);
  return message_by(fields, terngrad, memory);
}

}  // namespace

extern const CompressionEntry terngrad_entry{page, read};

}  // namespace gradrace
