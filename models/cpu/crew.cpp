#include "models/cpu/crew.h"

#include <algorithm>

namespace gradrace {

void Crew::share(std::size_t member, std::size_t parts, const Part& part) {
  Call call{part, parts};
  std::unique_lock lock(mutex_);
  calls_.push_back(&call);
  changed_.notify_all();
  work(call, member, lock);
  std::erase(calls_, &call);
  changed_.wait(lock, [&] { return call.at_work == 0; });
  if (call.failure) std::rethrow_exception(call.failure);
}

void Crew::help(std::size_t member) {
  std::unique_lock lock(mutex_);
  ++helpers_;
  changed_.notify_all();
  while (true) {
    Call* call = nullptr;
    changed_.wait(lock, [&] {
      call = call_with_parts();
      return call != nullptr || helpers_ == members_;
    });
    if (call == nullptr) return;
    work(*call, member, lock);
  }
}

void Crew::lack(std::size_t members) {
  const std::lock_guard lock(mutex_);
  members_ -= members;
  changed_.notify_all();
}

/// Until no part is left.
void Crew::work(Call& call, std::size_t member, std::unique_lock<std::mutex>& lock) {
  ++call.at_work;
  while (call.next < call.parts) {
    const std::size_t number = call.next++;
    lock.unlock();
    std::exception_ptr failure;
    try {
      call.part(member, number);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !call.failure) call.failure = failure;
  }
  if (--call.at_work == 0) changed_.notify_all();
}

Crew::Call* Crew::call_with_parts() const {
  const auto found =
      std::ranges::find_if(calls_, [](const Call* call) { return call->next < call->parts; });
  return found == calls_.end() ? nullptr : *found;
}

}  // namespace gradrace
