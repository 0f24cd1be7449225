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

  /// What make() gave: a unique_ptr, which may be null.  What make() throws is thrown, and the next
  /// call makes it again.
  template <class Make>
  const Made* get(const Make& make) const {
    if (!done_.load(std::memory_order_acquire)) make_once(make);
    return made_.get();
  }

  /// Whether a thread is at it, or has done it.
  bool begun() const { return begun_; }

 private:
  // Not std::call_once, which aborts at an exception where libgcc is linked statically.
  template <class Make>
  void make_once(const Make& make) const {
    const std::scoped_lock lock(making_);
    if (done_) return;
    begun_ = true;
    made_ = make();
    done_.store(true, std::memory_order_release);
  }

  mutable std::mutex making_;
  mutable std::atomic<bool> begun_ = false, done_ = false;
  mutable std::unique_ptr<const Made> made_;
};

}  // namespace gradrace
