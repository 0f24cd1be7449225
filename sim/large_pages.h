#pragma once

#include <cstddef>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace gradrace {

/// Memory in large pages where there is much of it and the system has them: random accesses miss
/// the TLB less often.
template <class T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <class Other>
  LargePages(const LargePages<Other>&) {}

  T* allocate(std::size_t count) {
    void* const memory = ::operator new(count * sizeof(T), alignment(count));
#if defined(__linux__)
    if (is_large(count)) madvise(memory, count * sizeof(T), MADV_HUGEPAGE);
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) { ::operator delete(memory, alignment(count)); }

  friend bool operator==(const LargePages&, const LargePages&) { return true; }

 private:
  static constexpr std::size_t page = std::size_t{1} << 21;

  static bool is_large(std::size_t count) { return count * sizeof(T) >= page; }
  static std::align_val_t alignment(std::size_t count) {
    return std::align_val_t{is_large(count) ? page : alignof(T)};
  }
};

/// The same, whose new numbers are whatever the memory holds until they are set.
template <class T>
struct UnsetLargePages : LargePages<T> {
  UnsetLargePages() = default;
  template <class Other>
  UnsetLargePages(const UnsetLargePages<Other>&) {}

  template <class Number>
  void construct(Number* place) {
    ::new (static_cast<void*>(place)) Number;
  }
};

/// A vector in such memory.
template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

}  // namespace gradrace
