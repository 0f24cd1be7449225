#include "compression/catalog.h"
#include "compression/levels.h"
#include "compression/parts.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "uniform",
    .definition =
        R"(Each number of a block v is rounded to the nearest of s levels of either sign:

    C(v)_i = sign(v_i) m l / s,  l the whole number nearest to s |v_i| / m,  m = max |v_i|,

s = 2^(bits - 1) - 1.  A message of d numbers has ceil(d bits / 8) bytes and 4 for each block's m.  With bits
32 numbers are sent as they are.)",
    .source = "linear quantisation; blocks: Dettmers, Lewis, Shleifer, Zettlemoyer, ICLR 2022",
    .example = R"({"kind": "uniform", "bits": 8})"};

struct Uniform final : CoderOfParts<Uniform> {
  std::uint64_t bits = 8;

  double bytes(double numbers) const override {
    return packed_bytes(numbers, static_cast<double>(bits), parts.count(numbers));
  }
  std::optional<double> most_error(double numbers) const override {
    return parts.longest(numbers) / (4 * std::pow(levels_of(bits), 2));
  }
  std::optional<BlockCode> block_code(std::size_t) const override {
    return BlockCode{.kind = BlockCode::Kind::levels,
                     .at_random = false,
                     .levels = levels_of(bits),
                     .bucket = parts.bucket.value_or(0)};
  }
};

Message read(Fields& fields) {
  Uniform uniform;
  visit_bits(fields, "bits", uniform.bits, Need::defaulted,
             "of a number, its sign among them: 2 to 24, or 32");
  uniform.parts.visit(fields, "block");
  const auto memory = read_memory(fields);
  check_whole(fields, uniform.bits == whole_bits, {"block", "memory"});
  if (uniform.bits == whole_bits) return message_by(fields, Whole(), memory);
  return message_by(fields, uniform, memory);
}

}  // namespace

extern const CompressionEntry uniform_compressor_entry{page, read};

}  // namespace gradrace
