#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "sim/large_pages.h"

namespace gradrace {

/// The pending ends of slots, at most one each, ordered by (time, rank), most of which are moved or
/// removed before they come: a heap of four children a node that knows where each slot's end is.
class SlotHeap {
 public:
  struct End {
    double time;
    std::uint32_t rank, slot;

    friend bool operator<(const End& a, const End& b) {
      return a.time < b.time || (a.time == b.time && a.rank < b.rank);
    }
  };

  explicit SlotHeap(std::uint32_t slots) : places_(slots) {}

  /// The earliest; its time is infinite where there is none.
  End first() const {
    return heap_.empty() ? End{std::numeric_limits<double>::infinity(), 0, 0} : heap_.front();
  }

  /// In place of the slot's end, if it has one.
  void set(const End& end) {
    if (places_[end.slot] == 0) {
      heap_.push_back(end);
      places_[end.slot] = static_cast<std::uint32_t>(heap_.size());
    }
    settle(places_[end.slot] - std::size_t{1}, end);
  }

  /// The slot has an end.
  void remove(std::uint32_t slot) {
    const std::size_t at = std::exchange(places_[slot], 0) - std::size_t{1};
    const End last = heap_.back();
    heap_.pop_back();
    if (at < heap_.size()) settle(at, last);
  }

 private:
  static constexpr std::size_t children = 4;

  /// Puts it where it belongs, from a place that is free on.
  void settle(std::size_t at, const End& end) {
    for (; at > 0 && end < heap_[(at - 1) / children]; at = (at - 1) / children)
      put(at, heap_[(at - 1) / children]);
    for (std::size_t child; (child = children * at + 1) < heap_.size(); at = child) {
      const auto begin = heap_.begin() + static_cast<std::ptrdiff_t>(child);
      const auto count = std::min(children, heap_.size() - child);
      child += static_cast<std::size_t>(
          std::min_element(begin, begin + static_cast<std::ptrdiff_t>(count)) - begin);
      if (!(heap_[child] < end)) break;
      put(at, heap_[child]);
    }
    put(at, end);
  }
  void put(std::size_t at, const End& end) {
    heap_[at] = end;
    places_[end.slot] = static_cast<std::uint32_t>(at + 1);
  }

  LargeVector<End> heap_;
  LargeVector<std::uint32_t> places_;  // [slot]: 1 + that of its end in the heap; 0: it has none
};

}  // namespace gradrace
