#include "models/cpu/crew.h"

#include <utility>

namespace gradrace {

Crew::Crew(std::size_t threads) {
  try {
    for (std::size_t thread = 1; thread < threads; ++thread)
      others_.emplace_back([this, thread] { wait_for_parts(thread); });
  } catch (...) {
    end();
    throw;
  }
}

Crew::~Crew() { end(); }

void Crew::end() {
  over_ = true;
  ++calls_;
  calls_.notify_all();
}

void Crew::share(std::size_t parts, const Part& part) {
  part_ = &part;
  parts_ = parts;
  next_ = 0;
  at_work_ = others_.size();
  ++calls_;
  calls_.notify_all();
  work(0);
  while (const std::size_t left = at_work_) at_work_.wait(left);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Crew::wait_for_parts(std::size_t thread) {
  for (std::size_t seen = 0;;) {
    calls_.wait(seen);
    ++seen;  // the next call comes when this one is done
    if (over_) return;
    work(thread);
    if (--at_work_ == 0) at_work_.notify_all();
  }
}

void Crew::work(std::size_t thread) {
  for (std::size_t number = next_++; number < parts_; number = next_++) {
    try {
      (*part_)(thread, number);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
}

}  // namespace gradrace
