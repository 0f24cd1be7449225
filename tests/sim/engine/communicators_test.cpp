#include "sim/engine/communicators.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <list>
#include <random>
#include <vector>

namespace gradrace::communicators_test {

using Members = std::vector<std::uint32_t>;

TEST_CASE("communicators: a member set that is not among the last used is set up") {
  PeerNetwork network;
  network.communicator_setup = 0.5;
  network.communicators = 2;
  Communicators communicators(network);
  CHECK(communicators.use(Members{0, 1}) == 0.5);
  CHECK(communicators.use(Members{0, 2}) == 0.5);
  CHECK(communicators.use(Members{0, 1}) == 0);
  CHECK(communicators.use(Members{1, 2}) == 0.5);  // {0, 2} goes out
  CHECK(communicators.use(Members{0, 1}) == 0);
  CHECK(communicators.use(Members{0, 2}) == 0.5);  // {1, 2} goes out
  CHECK(communicators.use(Members{0, 1}) == 0);
  CHECK(communicators.use(Members{0}) == 0);  // needs none
  CHECK(communicators.use(Members{0, 1, 2}) == 0.5);
  CHECK(communicators.use(Members{0, 1}) == 0);
  CHECK(communicators.use(Members{0, 2}) == 0.5);
}

TEST_CASE("communicators: without a time to set up nothing costs") {
  Communicators communicators(PeerNetwork{});
  CHECK(communicators.use(Members{0, 1}) == 0);
}

TEST_CASE("communicators: random sets agree with a list in order of use") {
  PeerNetwork network;
  network.communicator_setup = 1;
  network.communicators = 7;
  Communicators communicators(network);
  std::list<Members> oracle;
  std::mt19937 words(5);
  for (int use = 0; use < 20'000; ++use) {
    Members members;
    for (std::uint32_t learner = 0; learner < 4; ++learner) {
      if (words() % 2) members.push_back(learner);
    }
    if (members.size() < 2) continue;
    const bool missing = std::find(oracle.begin(), oracle.end(), members) == oracle.end();
    oracle.remove(members);
    oracle.push_front(members);
    if (oracle.size() > 7) oracle.pop_back();
    REQUIRE(communicators.use(members) == (missing ? 1 : 0));
  }
}

}  // namespace gradrace::communicators_test
