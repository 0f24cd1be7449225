#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/claims/claim.h"
#include "tests/support/schedule.h"

namespace gradrace::ssp_claims {

namespace {

const char* const paper = "Ho et al., NIPS 2013";

constexpr std::uint32_t learners = 32;

std::string ssp(std::uint32_t bound) {
  return R"({"kind": "ssp", "bound": )" + std::to_string(bound) + "}";
}

/// Lines of `events` without versions and updates.
std::vector<std::string> starts_and_ends(const std::string& protocol, std::uint64_t updates) {
  std::vector<std::string> lines;
  for (const auto& line : events(protocol, learners, updates)) {
    if (line.find("update") == std::string::npos) lines.push_back(line.substr(0, line.find('@')));
  }
  return lines;
}

double differences(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  REQUIRE(a.size() == b.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] == b[i] ? 0u : 1u;
  return static_cast<double>(count);
}

}  // namespace

TEST_CASE("ssp: s = 0 is bulk synchronous, a large s asynchronous") {
  claim({"ssp-2.bsp", paper, "s = 0: starts and ends of 100 clocks that differ from sync's",
         exactly(0),
         differences(starts_and_ends(ssp(0), 100 * learners),
                     starts_and_ends(R"({"kind": "sync"})", 100))});
  claim({"ssp-2.async", paper, "s = 2^32 - 1: events of 20,000 updates that differ from async's",
         exactly(0),
         differences(events(ssp(std::numeric_limits<std::uint32_t>::max()), learners, 20000),
                     events(R"({"kind": "async"})", learners, 20000))});
}

}  // namespace gradrace::ssp_claims
