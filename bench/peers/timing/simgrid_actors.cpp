// Learners as actors of SimGrid's S4U: async ones sleep; those of k-sync wait for the update with a
// time-out, which is when their own minibatch is done.
//
//     g++ -std=c++20 -O3 bench/peers/timing/simgrid_actors.cpp -lsimgrid -o simgrid_actors
//     ./simgrid_actors async|k-sync P K
//
// A million actors need small stacks, and a page of memory protection each is more than Linux
// grants.

#include <random>
#include <simgrid/s4u.hpp>

#include "commands.h"

// After s4u.hpp, whose macros it uses.
#include <simgrid/version.h>

namespace sg4 = simgrid::s4u;

struct World {
  Commands& commands;
  bool is_async;
  std::uint64_t learners, k;
  std::mt19937_64 engine{1};
  std::exponential_distribution<double> runtime{1};
  std::uint64_t arrived = 0, version = 0, staleness = 0, begin = 0, end = 0;
  sg4::MutexPtr mutex = sg4::Mutex::create();
  sg4::ConditionVariablePtr updated = sg4::ConditionVariable::create();

  double draw() { return runtime(engine); }
  std::uint64_t per_update() const { return is_async ? 1 : learners; }

  /// Waits for the next order once the last one is done.
  void update() {
    if (++version < end) return;
    order();
  }
  void order() {
    const std::uint64_t done = (version - begin) * per_update();
    const std::uint64_t wanted = commands.next(done, version, sg4::Engine::get_clock());
    begin = version;
    end = begin + (wanted + per_update() - 1) / per_update();
  }
};

static void async_learner(World* world) {
  for (;;) {
    const std::uint64_t read = world->version;
    sg4::this_actor::sleep_for(world->draw());
    world->staleness += world->version - read;
    world->update();
  }
}

static void k_sync_learner(World* world) {
  std::unique_lock lock(*world->mutex);
  for (;;) {
    const auto status = world->updated->wait_for(lock, world->draw());
    if (status == std::cv_status::no_timeout) continue;
    if (++world->arrived < world->k) {
      world->updated->wait(lock);
      continue;
    }
    world->arrived = 0;
    world->update();
    world->updated->notify_all();
  }
}

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  if (argc != 4) return 2;
  const bool is_async = std::string(argv[1]) == "async";
  engine.set_config("contexts/stack-size:8");
  engine.set_config("contexts/guard-size:0");
  auto* zone = sg4::create_full_zone("world");
  auto* host = zone->create_host("cluster", 1e9)->seal();
  zone->seal();
  Commands commands(std::to_string(SIMGRID_VERSION_MAJOR) + "." +
                    std::to_string(SIMGRID_VERSION_MINOR));
  World world{commands, is_async, std::stoull(argv[2]), std::stoull(argv[3])};
  for (std::uint64_t i = 0; i < world.learners; ++i)
    sg4::Actor::create("learner", host, is_async ? async_learner : k_sync_learner, &world);
  world.order();
  engine.run();
}
