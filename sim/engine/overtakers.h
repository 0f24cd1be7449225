#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace gradrace {

/// Transfers that end before others that began earlier, in the order of their ends, then in that in
/// which they began: a heap.
class Overtakers {
 public:
  struct Transfer {
    double end;
    std::uint32_t number, learner;

    friend bool operator>(const Transfer& a, const Transfer& b) {
      return a.end > b.end || (a.end == b.end && a.number > b.number);
    }
  };

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const Transfer& first() const { return heap_.front(); }

  void push(const Transfer& transfer) {
    heap_.push_back(transfer);
    std::ranges::push_heap(heap_, std::greater{});
  }
  void pop() {
    std::ranges::pop_heap(heap_, std::greater{});
    heap_.pop_back();
  }
  /// Whether there was one, which takes time by their number.
  bool remove(std::uint32_t learner) {
    const auto gone = std::ranges::find(heap_, learner, &Transfer::learner);
    if (gone == heap_.end()) return false;
    heap_.erase(gone);
    std::ranges::make_heap(heap_, std::greater{});
    return true;
  }
  void clear() { heap_.clear(); }

 private:
  std::vector<Transfer> heap_;
};

}  // namespace gradrace
