#include "sim/cli/scenario/memory.h"

#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "models/optimiser/optimiser.h"
#include "sim/message_text.h"
#include "sim/peer_protocol.h"

namespace gradrace {

namespace {

constexpr double gibibyte = 1 << 30;

/// Of a value and of what the optimiser keeps beside it.
double state_bytes(const Race& race, const ValueLayout& value) {
  std::vector<Rule> rules;
  for (const Plan& plan : race.plans) rules.push_back(plan.rule);
  const std::size_t numbers = layout_of(rules, value.numbers, value.statistics).numbers;
  return static_cast<double>(numbers) * static_cast<double>(value.bytes_of_number);
}

}  // namespace

void check_memory(const Point& point, const Race& race, const ValueLayout& value,
                  std::size_t threads) {
  const auto protocol = point.make_protocol();
  const auto* const peers = dynamic_cast<const PeerProtocol*>(protocol.get());
  if (!peers || peers->has_one_value()) return;
  const double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  const double bytes = point.cluster.learners * state_bytes(race, value);
  if (bytes * static_cast<double>(threads) <= memory) return;
  std::string message = "the values of " + std::to_string(point.cluster.learners) +
                        " learners take " + short_number(bytes / gibibyte, 3) + " GiB in a run";
  if (threads > 1)
    message += ", " + std::to_string(threads) + " of which are under way at once (--jobs)";
  throw std::runtime_error(message + "; this machine has " + short_number(memory / gibibyte, 3) +
                           " GiB of memory");
}

}  // namespace gradrace
