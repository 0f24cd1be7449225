#include "models/sampling/minibatch.h"

#include <limits>

#include "sim/check.h"

namespace gradrace {

void minibatch_rows(Sampling sampling, const MinibatchName& name, std::uint32_t n,
                    std::span<std::uint32_t> rows) {
  GRADRACE_CHECK(n > 0 && rows.size() == name.size, "a minibatch of m rows from none or not m");
  if (sampling == Sampling::iid) return draw_iid(name, n, rows.data(), 0, 1);
  GRADRACE_CHECK(
      (std::uint64_t{name.draw} + 1) * name.size / n <= std::numeric_limits<std::uint32_t>::max(),
      "epochs end at 2^32");
  draw_epoch(name, n, rows.data(), 0, 1);
}

void minibatch_rows(Sampling sampling, const MinibatchName& name,
                    std::span<const std::uint32_t> shard, std::span<std::uint32_t> rows) {
  minibatch_rows(sampling, name, static_cast<std::uint32_t>(shard.size()), rows);
  for (std::uint32_t& row : rows) row = shard[row];
}

}  // namespace gradrace
