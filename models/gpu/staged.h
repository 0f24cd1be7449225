#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/gpu/mirror.h"

namespace gradrace {

/// A list for each stage of a wave (models/gpu/stages.h).
template <class T, class Launcher>
class Staged {
 public:
  void clear() {
    for (auto& list : lists_) list.clear();
  }

  /// Returns the item's number in its stage.
  std::size_t add(std::size_t stage, const T& item) {
    if (lists_.size() <= stage) lists_.resize(stage + 1);
    lists_[stage].push_back(item);
    return lists_[stage].size() - 1;
  }

  void send(Launcher& launcher) {
    all_.host.clear(), begins_.clear();
    for (const auto& list : lists_) {
      begins_.push_back(all_.host.size());
      all_.host.insert(all_.host.end(), list.begin(), list.end());
    }
    all_.send(launcher);
  }

  std::size_t size() const { return all_.host.size(); }
  std::uint32_t count(std::size_t stage) const {
    return stage < lists_.size() ? static_cast<std::uint32_t>(lists_[stage].size()) : 0;
  }
  /// Where a stage's items begin among all.
  std::size_t begin(std::size_t stage) const { return begins_[stage]; }
  const T* data(std::size_t stage) const { return all_.data() + begins_[stage]; }

 private:
  std::vector<std::vector<T>> lists_;
  std::vector<std::size_t> begins_;
  Mirror<T, Launcher> all_;
};

}  // namespace gradrace
