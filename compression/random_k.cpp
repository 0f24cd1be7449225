#include "compression/catalog.h"
#include "compression/kept.h"
#include "compression/levels.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "random-k",
    .definition =
        R"(k of the d numbers, any k with the same probability, are sent times d / k with their places, the
others are 0: right in the mean, with the variance (d / k - 1) v_i^2 of a number.  A message has 4 k + ceil(k
ceil(log2 d) / 8) bytes, 4 k with `shared_seed`, and 4 d where k is d.  Without `scaled` they are sent as they are, which is not the
gradient in the mean, and may have a memory.)",
    .source = "Stich, Cordonnier, Jaggi, NeurIPS 2018",
    .example = R"({"kind": "random-k", "share": 0.01})"};

struct RandomK final : CompressorOf<RandomK> {
  Kept kept;
  bool scaled = true;
  bool shared_seed = false;

  bool adds(double numbers) const override { return shared_seed || kept.are_all(numbers); }
  bool shares_words() const override { return shared_seed; }
  std::optional<std::uint64_t> sends() const override { return kept.k; }

  double bytes(double numbers) const override {
    return shared_seed ? 4 * kept.count(numbers) : kept.bytes_with_places(numbers);
  }
  std::optional<double> most_error(double numbers) const override {
    const double k = kept.count(numbers);
    return scaled ? numbers / k - 1 : 1 - k / numbers;
  }
  std::optional<BlockCode> block_code(std::size_t numbers) const override {
    return BlockCode{
        .kind = BlockCode::Kind::drawn, .kept = kept.of(numbers), .factor = factor_of(numbers)};
  }
  /// Number after number, each with the share of those to come that are to be sent.
  template <class Real>
  void make(std::span<Real> row, Stream& words) const {
    std::size_t left = kept.of(row.size()), to_come = row.size();
    if (left == to_come) return;
    const auto factor = static_cast<Real>(factor_of(to_come));
    with_words(row, &words, [&](std::span<Real> x, const std::uint32_t* drawn) {
      for (std::size_t j = 0; j < x.size(); ++j) {
        const bool sent = (to_come-- * drawn[j]) >> 32 < left;
        x[j] *= sent ? factor : Real{0};
        left -= sent;
      }
    });
  }
  double factor_of(std::size_t numbers) const {
    return scaled ? static_cast<double>(numbers) / static_cast<double>(kept.of(numbers)) : 1;
  }
};

Message read(Fields& fields) {
  RandomK random_k;
  random_k.kept.visit(fields);
  fields.flag("scaled", random_k.scaled, Need::defaulted, "what is sent is multiplied by d / k");
  fields.flag("shared_seed", random_k.shared_seed, Need::defaulted,
              "all draw the same places for their n-th gradients, which are not sent then, and a "
              "ring can add");
  const auto memory = read_memory(fields);
  if (memory && random_k.scaled && fields.good() &&
      (!memory->estimate || memory->estimate->lambda == 1))
    fields.complain("memory", "grows without bound where what is sent is scaled",
                    "without it; lambda below 1; or scaled: false beside it");
  return message_by(fields, random_k, memory);
}

}  // namespace

extern const CompressionEntry random_k_entry{page, read};

}  // namespace gradrace
