// Learners as C++20 coroutines on a kernel of the size that people write for themselves: a priority
// queue of (time, order of insertion, coroutine).  A sleep that was cancelled stays in the queue
// and is skipped when its time comes.
//
//     g++ -std=c++20 -O3 -march=native bench/peers/timing/coroutines.cpp -o coroutines
//     ./coroutines async|k-sync P K

#include <coroutine>
#include <exception>
#include <queue>
#include <random>
#include <vector>

#include "commands.h"

struct Process {
  struct promise_type {
    Process get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

/// Cancels the sleeps that name it and wakes all who began one since it last fired.
struct Signal {
  std::uint64_t epoch = 0;
  std::vector<std::coroutine_handle<>> sleepers, woken;

  void fire() {
    ++epoch;
    woken.swap(sleepers);
    sleepers.clear();
    for (const auto process : woken) process.resume();
  }
};

class Simulation {
 public:
  double now() const { return now_; }

  /// co_await: true after `duration`, false if the signal came before; without one always true.
  /// A process that the signal is to wake may end its sleep and suspend itself until then.
  auto sleep(double duration, Signal* signal = nullptr) {
    struct Sleep {
      Simulation& simulation;
      double until;
      Signal* signal;
      std::uint64_t epoch;

      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> process) {
        simulation.queue_.push({until, simulation.inserted_++, process, signal, epoch});
        if (signal != nullptr) signal->sleepers.push_back(process);
      }
      bool await_resume() const { return signal == nullptr || signal->epoch == epoch; }
    };
    return Sleep{*this, now_ + duration, signal, signal != nullptr ? signal->epoch : 0};
  }

  void schedule_now(std::coroutine_handle<> process) {
    queue_.push({now_, inserted_++, process, nullptr, 0});
  }

  void step() {
    const Event event = queue_.top();
    queue_.pop();
    if (event.signal != nullptr && event.signal->epoch != event.epoch) return;
    now_ = event.time;
    event.process.resume();
  }

 private:
  struct Event {
    double time;
    std::uint64_t order;
    std::coroutine_handle<> process;
    Signal* signal;
    std::uint64_t epoch;

    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  double now_ = 0;
  std::uint64_t inserted_ = 0;
  std::priority_queue<Event> queue_;
};

struct World {
  Simulation simulation;
  Signal update;
  std::coroutine_handle<> server;
  std::mt19937_64 engine{1};
  std::exponential_distribution<double> runtime{1};
  std::uint64_t k, arrived = 0, version = 0, staleness = 0;
};

static Process async_learner(World& world) {
  for (;;) {
    const std::uint64_t read = world.version;
    co_await world.simulation.sleep(world.runtime(world.engine));
    world.staleness += world.version - read;
    ++world.version;
  }
}

static Process k_sync_learner(World& world) {
  for (;;) {
    const double runtime = world.runtime(world.engine);
    const bool finished = co_await world.simulation.sleep(runtime, &world.update);
    if (!finished) continue;
    if (++world.arrived == world.k) world.simulation.schedule_now(world.server);
    co_await std::suspend_always{};
  }
}

/// co_await: until somebody schedules the coroutine, whose handle it leaves there.
struct Turn {
  std::coroutine_handle<>* self;

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> process) const { *self = process; }
  void await_resume() const {}
};

/// Makes an update whenever the K-th gradient wakes it.
static Process k_sync_server(World& world) {
  for (;;) {
    co_await Turn{&world.server};
    world.arrived = 0;
    ++world.version;
    world.update.fire();
  }
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const bool is_async = std::string(argv[1]) == "async";
  const std::uint64_t learners = std::stoull(argv[2]);
  World world;
  world.k = std::stoull(argv[3]);
  for (std::uint64_t i = 0; i < learners; ++i)
    is_async ? async_learner(world) : k_sync_learner(world);
  if (!is_async) k_sync_server(world);
  Commands commands("g++ " __VERSION__);
  const std::uint64_t per_update = is_async ? 1 : learners;
  for (std::uint64_t done = 0;;) {
    const std::uint64_t wanted = commands.next(done, world.version, world.simulation.now());
    const std::uint64_t begin = world.version, end = begin + (wanted + per_update - 1) / per_update;
    while (world.version < end) world.simulation.step();
    done = (end - begin) * per_update;
  }
}
