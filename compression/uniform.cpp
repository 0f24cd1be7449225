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

struct Uniform {
  std::uint64_t bits = 8;
  Parts parts{512};

  double bytes(double numbers) const {
    return packed_bytes(numbers, static_cast<double>(bits), parts.count(numbers));
  }
  double most_error(double numbers) const {
    return parts.longest(numbers) / (4 * std::pow(levels_of(bits), 2));
  }
  BlockCode block_code(std::size_t) const {
    return {.kind = BlockCode::Kind::levels,
            .at_random = false,
            .levels = levels_of(bits),
            .bucket = parts.bucket.value_or(0)};
  }
  template <class Real>
  void pass(std::span<Real> row, Stream&) const {
    const auto s = static_cast<Real>(levels_of(bits));
    parts.each(row, [&](std::span<Real> v) {
      Halves halves;
      round_to_levels(v, largest<Real>(v), s, halves);
    });
  }
};

Message read(Fields& fields) {
  std::uint64_t bits = 8;
  fields.integer("bits", bits, Need::defaulted, bits_allowed(),
                 "of a number, its sign among them: 2 to 24, or 32");
  Uniform uniform;
  uniform.parts.visit(fields, "block");
  const auto memory = read_memory(fields);
  if (fields.good()) check_bits(fields, bits);
  if (!fields.good()) return {};
  check_whole(fields, bits == whole_bits, {"block", "memory"});
  if (bits == whole_bits) return message_by(Whole(), memory);
  uniform.bits = bits;
  return message_by(uniform, memory);
}

}  // namespace

extern const CompressionEntry uniform_compressor_entry{page, read};

}  // namespace gradrace
