#pragma once

#include <atomic>
#include <memory>
#include <mutex>

namespace gradrace {

/// What is made of a data set when it is first asked for, once for all threads.  A copy of the data
/// set makes its own.
template <class Made>
class MadeOnce {
 public:
  MadeOnce() = default;
  MadeOnce(const MadeOnce&) {}
  MadeOnce& operator=(const MadeOnce&) = delete;

  /// What make() gave: a unique_ptr, which may be null.
  template <class Make>
  const Made* get(const Make& make) const {
    std::call_once(once_, [&] {
      begun_ = true;
      made_ = make();
    });
    return made_.get();
  }

  /// Whether a thread is at it, or has done it.
  bool begun() const { return begun_; }

 private:
  mutable std::once_flag once_;
  mutable std::atomic<bool> begun_ = false;
  mutable std::unique_ptr<const Made> made_;
};

}  // namespace gradrace
