#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gradrace {

/// Threads that compute the independent parts of one call.
class Crew {
 public:
  using Part = std::function<void(std::size_t thread, std::size_t part)>;

  /// threads: the caller's, which has number 0, included.  std::system_error where one cannot
  /// start.
  explicit Crew(std::size_t threads);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  std::size_t threads() const { return others_.size() + 1; }

  /// Calls `part` for every number below `parts`, each once, and comes back when all are done.
  /// Throws what one of them has thrown.
  void share(std::size_t parts, const Part& part);

 private:
  void end();
  void wait_for_parts(std::size_t thread);
  void work(std::size_t thread);

  const Part* part_ = nullptr;
  std::size_t parts_ = 0;
  std::atomic<std::size_t> next_ = 0;  // part that nobody has taken
  std::atomic<std::size_t> calls_ = 0;
  std::atomic<std::size_t> at_work_ = 0;  // others
  std::atomic<bool> over_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::vector<std::jthread> others_;
};

}  // namespace gradrace
