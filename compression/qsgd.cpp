#include "compression/qsgd.h"

#include "compression/catalog.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "qsgd",
    .definition =
        R"(Each number of a bucket v becomes one of s levels of either sign, at random and so that it
is right in the mean:

    Q(v)_i = sign(v_i) ||v|| l / s,  l = floor(x) + 1 with probability x - floor(x), else floor(x),
    x = s |v_i| / ||v||.

A message of d numbers has ceil(d bits / 8) bytes and 4 for each bucket's norm, where bits are 1 +
ceil(log2(s + 1)): s = 2^(bits - 1) - 1 of `bits`.  The variance of a number is (||v|| / s)^2 f (1 - f)
with f = x - floor(x), and of a bucket of b numbers min(b / s^2, sqrt(b) / s) ||v||^2 at most.  With
bits 32 numbers are sent as they are.

By Elias's code a bucket has 32 bits and the fewer of two codes of its levels, in his omega code:

    of each l that is not 0: how many places it comes after the one before, a bit for its sign, l
    of each l: a bit for its sign, l + 1

and a message these of its buckets, in whole bytes, in proportion where the network's model is larger.  Its
gradient is computed when it leaves, if it is cancelled on the way in vain.  Where nothing is trained a message counts
the bits that a bucket of d numbers has in the mean at most: 32 and the less of

    m (3 + 3/2 log2(2 (s^2 + d) / m)),  m = s (s + sqrt(d)) numbers that are not 0
    d (log2(1 + (s^2 + min(d, s sqrt(d))) / d) / 2 + 2).)",
    .source = "Alistarh, Grubic, Li, Tomioka, Vojnovic, NIPS 2017",
    .example = R"({"kind": "qsgd", "bits": 4})"};

Message read(Fields& fields) {
  std::uint64_t bits = 0, levels = 0;
  visit_bits(fields, "bits", bits, Need::none, "of a number, its sign among them: 2 to 24, or 32");
  fields.integer("levels", levels, Need::none, between(1, (1 << 23) - 1), "s, in place of bits");
  fields.need_one("bits", "levels");
  Qsgd qsgd;
  qsgd.parts.visit(fields, "bucket");
  qsgd.of_largest = fields.second_of(
      "norm", "2", "max", "of a bucket: the root of the sum of its v_i^2, or the largest |v_i|");
  qsgd.elias =
      fields.second_of("code", "fixed", "elias",
                       "of levels: each in as many bits, or Elias's, which have fewer for 0");
  const auto memory = read_memory(fields, true);
  check_whole(fields, bits == whole_bits, {"bucket", "norm", "code", "memory"});
  if (bits == whole_bits) return message_by(fields, Whole());
  qsgd.levels = bits > 0 ? levels_of(bits) : static_cast<double>(levels);
  if (qsgd.elias && qsgd.of_largest)
    fields.complain("code", "has a bound of its bytes for norm 2 alone", "fixed, or norm: 2");
  return message_by(fields, qsgd, memory);
}

}  // namespace

extern const CompressionEntry qsgd_entry{page, read};

}  // namespace gradrace
