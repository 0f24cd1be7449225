#include "sim/engine/communicators.h"

#include <algorithm>

namespace gradrace {

static std::uint64_t hash_of(std::span<const std::uint32_t> members) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, a member at a time
  for (const std::uint32_t member : members) hash = (hash ^ member) * 0x100000001b3;
  return hash;
}

double Communicators::use(std::span<const std::uint32_t> members) {
  if (setup_ == 0 || members.size() < 2) return 0;
  const std::uint64_t hash = hash_of(members);
  ++uses_;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (hashes_[i] != hash || !std::ranges::equal(kept_[i].members, members)) continue;
    kept_[i].last_use = uses_;
    return 0;
  }
  std::size_t place = kept_.size();
  if (place < most_) {
    hashes_.push_back(0);
    kept_.emplace_back();
  } else {
    const auto oldest = std::ranges::min_element(kept_, {}, &Communicator::last_use);
    place = static_cast<std::size_t>(oldest - kept_.begin());
  }
  hashes_[place] = hash;
  kept_[place].last_use = uses_;
  kept_[place].members.assign(members.begin(), members.end());
  return setup_;
}

}  // namespace gradrace
