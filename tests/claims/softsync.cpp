#include <doctest/doctest.h>

#include "tests/claims/claim.h"
#include "tests/claims/serial.h"
#include "tests/support/schedule.h"

namespace gradrace::softsync_claims {

TEST_CASE("softsync: hardsync is serial SGD with a minibatch of all") {
  claim({"softsync-1.serial", "Zhang et al., IJCAI 2016, sec. 2.2",
         "hardsync: loss after each of 100 updates, relative difference from serial SGD with batch "
         "mu lambda on the same samples",
         no_more_than(1e-12), difference_from_serial(R"({"kind": "hardsync"})")});
}

TEST_CASE("softsync: with n = lambda it is async, event for event") {
  const auto soft = events(R"({"kind": "softsync", "n": 30})", 30, 20000),
             async = events(R"({"kind": "async"})", 30, 20000);
  REQUIRE(soft.size() == async.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < soft.size(); ++i) different += soft[i] == async[i] ? 0u : 1u;
  claim({"softsync-7.async", "Zhang et al., IJCAI 2016, sec. 4.3 (Downpour)",
         "n = 30: events of 20,000 updates that differ from async's", exactly(0),
         static_cast<double>(different)});
}

}  // namespace gradrace::softsync_claims
