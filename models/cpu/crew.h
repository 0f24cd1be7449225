#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

namespace gradrace {

/// Threads that have work of their own, and help each other when they have none left: whoever helps
/// computes independent parts of another one's call.
class Crew {
 public:
  using Part = std::function<void(std::size_t member, std::size_t part)>;

  /// Its members are numbered from 0, each a thread.
  explicit Crew(std::size_t members) : members_(members) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  std::size_t members() const { return members_; }
  /// How many have no work of their own.
  std::size_t helpers() const { return helpers_; }

  /// Calls `part` for every number below `parts`, each once, by this member and by those who help,
  /// and comes back when all are done.  Throws what one of them has thrown.
  void share(std::size_t member, std::size_t parts, const Part& part);

  /// The member's last call: it helps until nobody has work of his own.
  void help(std::size_t member);
  /// So many of the last members do not come.
  void lack(std::size_t members);

 private:
  struct Call {
    const Part& part;
    std::size_t parts;
    std::size_t next = 0;     // part that nobody has taken
    std::size_t at_work = 0;  // members
    std::exception_ptr failure = {};
  };

  void work(Call& call, std::size_t member, std::unique_lock<std::mutex>& lock);
  Call* call_with_parts() const;

  std::atomic<std::size_t> members_;
  std::atomic<std::size_t> helpers_ = 0;
  std::mutex mutex_;  // of all that follows, and of calls
  std::condition_variable changed_;
  std::vector<Call*> calls_;
};

}  // namespace gradrace
