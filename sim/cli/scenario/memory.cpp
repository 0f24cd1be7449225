#include "sim/cli/scenario/memory.h"

#include <unistd.h>

#include <stdexcept>
#include <string>

#include "sim/message_text.h"
#include "sim/peer_protocol.h"

namespace gradrace {

namespace {

constexpr double gibibyte = 1 << 30;

double parameters_bytes(const ModelSpec& model) {
  if (model.precision() == "float64")
    return 8.0 * static_cast<double>(model.make_float64()->parameters());
  return 4.0 * static_cast<double>(model.make_float32()->parameters());
}

}  // namespace

void check_memory(const Point& point, std::size_t threads) {
  if (!point.with_model()) return;
  const auto protocol = point.make_protocol();
  const auto* const peers = dynamic_cast<const PeerProtocol*>(protocol.get());
  if (!peers || peers->has_one_value()) return;
  const double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  const double bytes = point.cluster.learners * parameters_bytes(*point.model);
  if (bytes * static_cast<double>(threads) <= memory) return;
  std::string message = "the values of " + std::to_string(point.cluster.learners) +
                        " learners take " + short_number(bytes / gibibyte, 3) + " GiB in a run";
  if (threads > 1)
    message += ", " + std::to_string(threads) + " of which are under way at once (--jobs)";
  throw std::runtime_error(message + "; this machine has " + short_number(memory / gibibyte, 3) +
                           " GiB of memory");
}

}  // namespace gradrace
