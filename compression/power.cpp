#include "compression/catalog.h"
#include "compression/factors.h"
#include "compression/parts.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "power",
    .definition =
        R"(All learners make one message together, of the mean M of what they have to send: gradients, or by local-sgd how far
their models have come.  A matrix of n x m numbers with r (n + m) < n m is sent as two factors of r columns, from Q [m x r]:

    P = M Q, its columns made orthonormal,  Q' = M^T P,  C(M) = P Q'^T.

Q' is Q of the next message.  At first, and where it has become 0, a column of Q is drawn from N(0, 1), and every one each
time without `warm_start`.  Other matrices and vectors are sent whole.

M Q and M^T P are sums over learners, which two collectives add: 4 r (n + m) bytes, and 4 for each number that is sent
whole; where all are, one collective does.  With `memory` a learner adds to what it has to send what its last message left
out, by its own factor M_l - P (M_l^T P)^T, or by that of the mean M_l - P Q'^T (`memory_of`).  The mean of either is M - C(M),
and messages are of means, so that both make the same steps; that mean alone is kept.)",
    .source = "Vogels, Karimireddy, Jaggi, NeurIPS 2019 (PowerSGD), and its lemma 3",
    .example = R"({"kind": "power", "rank": 2, "memory": {}})"};

struct Power final : CompressorOf<Power> {
  std::uint64_t rank = 1;
  bool warm_start = true;
  Parts parts = {};

  std::uint32_t rounds() const override { return carried() > 0 ? 2 : 1; }
  bool adds(double) const override { return true; }
  std::optional<double> most_error(double) const override { return 1; }
  double bytes(double numbers) const override {
    double all = 0, sent = 0;
    for (const Tensor& tensor : parts.tensors)
      all += tensor.numbers(), sent += std::min<double>(of_factors(tensor), tensor.numbers());
    return sizeof(float) * (all > 0 ? sent * (numbers / all) : numbers);
  }
  double of_factors(const Tensor& tensor) const {
    return static_cast<double>(rank * (std::uint64_t{tensor.rows} + tensor.columns));
  }
  /// 0 of what is sent whole.
  std::uint64_t of_Q(const Tensor& tensor) const {
    return of_factors(tensor) < tensor.numbers() ? rank * tensor.columns : 0;
  }
  /// Q of each matrix, column by column.
  std::size_t carried() const override {
    std::size_t numbers = 0;
    for (const Tensor& tensor : parts.tensors) numbers += of_Q(tensor);
    return numbers;
  }
  std::optional<BlockCode> block_code(std::size_t) const override {
    std::uint64_t work = 0;
    for (const Tensor& tensor : parts.tensors)
      if (of_Q(tensor) > 0) work = std::max(work, rank * tensor.rows);
    return BlockCode{
        .kind = BlockCode::Kind::factors, .rank = rank, .goes_on = warm_start, .work = work};
  }
  template <class Real>
  void make(std::span<Real> row, Stream& words, std::span<Real> carried) const {
    for (const Tensor& tensor : parts.tensors) {
      const std::span<Real> M = row.first(tensor.numbers()), Q = carried.first(of_Q(tensor));
      row = row.subspan(M.size()), carried = carried.subspan(Q.size());
      draw_columns(Q, tensor.columns, warm_start, words);
      if (!Q.empty()) multiply_factors(M, Q, tensor);
    }
  }
};

Message read(Fields& fields) {
  Power power;
  fields.integer("rank", power.rank, Need::defaulted, between(1, 1 << 20),
                 "r: columns of each factor of a matrix");
  fields.flag("warm_start", power.warm_start, Need::defaulted,
              "Q goes on from message to message; else it is drawn anew");
  std::optional<Memory> memory;
  if (fields.open("memory", Need::none,
                  "what a message leaves out is added to the next one: error feedback")) {
    memory.emplace();
    fields.real("decay", memory->decay, Need::defaulted, between(0, 1),
                "of what is remembered, from message to message");
    fields.close();
  }
  const bool of_mean = fields.second_of(
      "memory_of", "own", "mean",
      "by whose Q' a learner's memory takes off what was sent; steps are the same by either");
  fields.idle("memory_of", !memory && of_mean, "says nothing without a memory", "memory beside it");
  return message_by(fields, power, memory);
}

}  // namespace

extern const CompressionEntry power_entry{page, read};

}  // namespace gradrace
