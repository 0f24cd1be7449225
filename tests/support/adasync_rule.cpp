#include "tests/support/adasync_rule.h"

#include <cmath>

#include "tests/support/race_text.h"

namespace gradrace {

MakeProtocol adasync(const std::string& keys, std::uint32_t learners, const std::string& runtime) {
  return race_of(learners, R"({"kind": "adasync", "interval": 5, )" + keys + "}",
                 R"({"updates": 1})", runtime)
      .make_protocol;
}

std::uint32_t k_at(const MakeProtocol& make, double r) {
  Idle server;
  const auto protocol = std::get<std::unique_ptr<ServerProtocol>>(make());
  protocol->start(server);
  protocol->on_evaluation(server, {.loss = 1});
  protocol->on_evaluation(server, {.loss = 1 / r});
  protocol->on_gradient(server, {});
  return protocol->k();
}

double threshold(const MakeProtocol& make, std::uint32_t k) {
  double low = 1, high = 1e6;
  for (int i = 0; i < 100; ++i) {
    const double middle = std::sqrt(low * high);
    (k_at(make, middle) <= k ? low : high) = middle;
  }
  return low;
}

}  // namespace gradrace
