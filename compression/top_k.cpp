#include "compression/catalog.h"
#include "compression/kept.h"
#include "compression/largest.h"

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

struct TopK final : CompressorOf<TopK> {
  Kept kept;

  bool adds(double numbers) const override { return kept.are_all(numbers); }
  std::optional<std::uint64_t> sends() const override { return kept.k; }
  double bytes(double numbers) const override { return kept.bytes_with_places(numbers); }
  std::optional<double> most_error(double numbers) const override {
    return 1 - kept.count(numbers) / numbers;
  }
  std::optional<BlockCode> block_code(std::size_t numbers) const override {
    return BlockCode{.kind = BlockCode::Kind::largest, .kept = kept.of(numbers)};
  }
  template <class Real>
  void make(std::span<Real> row, Stream&) const {
    keep_largest(row, kept.of(row.size()));
  }
};

Message read(Fields& fields) {
  TopK top_k;
  top_k.kept.visit(fields);
  const auto memory = read_memory(fields);
  return message_by(fields, top_k, memory);
}

}  // namespace

extern const CompressionEntry top_k_entry{page, read};

}  // namespace gradrace
