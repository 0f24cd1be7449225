#include "models/minibatch.h"

#include <algorithm>
#include <limits>

#include "models/permutation.h"
#include "sim/check.h"
#include "sim/random.h"

namespace gradrace {

static void draw_iid(const MinibatchName& name, std::uint32_t n, std::span<std::uint32_t> rows) {
  const StreamName stream{name.seed, name.replica, Purpose::minibatch, name.learner, name.draw};
  for (std::uint32_t i = 0; i < name.size; i += 4) {
    const auto words = philox_block(stream, i / 4);
    for (std::uint32_t j = i; j < std::min(i + 4, name.size); ++j)
      rows[j] = static_cast<std::uint32_t>((std::uint64_t{words[j - i]} * n) >> 32);
  }
}

static void draw_epoch(const MinibatchName& name, std::uint32_t n, std::span<std::uint32_t> rows) {
  std::uint64_t position = std::uint64_t{name.draw} * name.size;
  for (std::uint32_t i = 0; i < name.size;) {
    const std::uint64_t epoch = position / n;
    GRADRACE_CHECK(epoch <= std::numeric_limits<std::uint32_t>::max(), "epochs end at 2^32");
    const Permutation order({name.seed, name.replica, Purpose::permutation, name.learner,
                             static_cast<std::uint32_t>(epoch)},
                            n);
    for (auto place = static_cast<std::uint32_t>(position % n); place < n && i < name.size; ++place)
      rows[i++] = order(place), ++position;
  }
}

void minibatch_rows(Sampling sampling, const MinibatchName& name, std::uint32_t n,
                    std::span<std::uint32_t> rows) {
  GRADRACE_CHECK(n > 0 && rows.size() == name.size, "a minibatch of m rows from none or not m");
  sampling == Sampling::iid ? draw_iid(name, n, rows) : draw_epoch(name, n, rows);
}

}  // namespace gradrace
