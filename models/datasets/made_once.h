#pragma once

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
  MadeOnce& operator=(const MadeOnce&) { return *this; }

  /// What make() gave: a unique_ptr, which may be null.
  template <class Make>
  const Made* get(const Make& make) const {
    std::call_once(once_, [&] { made_ = make(); });
    return made_.get();
  }

 private:
  mutable std::once_flag once_;
  mutable std::unique_ptr<const Made> made_;
};

}  // namespace gradrace
