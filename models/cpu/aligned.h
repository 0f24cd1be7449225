#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace gradrace {

/// From the beginning of a cache line.
template <class T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  CacheLineAllocator() = default;
  template <class Other>
  CacheLineAllocator(const CacheLineAllocator<Other>&) {}

  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, line); }
  friend bool operator==(CacheLineAllocator, CacheLineAllocator) { return true; }
};

template <class T>
using Aligned = std::vector<T, CacheLineAllocator<T>>;

}  // namespace gradrace
