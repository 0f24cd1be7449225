#include <doctest/doctest.h>

#include "tests/compression/kinds.h"
#include "tests/support/race_text.h"

namespace gradrace::encoding_test {

namespace {

/// A run of 1024 numbers, which signs make 132 bytes of.
RunRecord timed(const std::string& protocol, const std::string& compression,
                const std::string& cluster, const std::string& stop) {
  return run_training(point_from(
      R"({"model": {"kind": "quadratic", "dimensions": 1024},
          "learning_rate": {"kind": "constant", "eta": 0.01}, "cluster": {)" +
      cluster + R"(}, "protocol": )" + protocol + R"(, "stop": )" + stop + R"(, "compression": )" +
      compression + "}"));
}
constexpr double numbers = 1024, of_signs = 132;
const std::string slow = R"("network": {"bandwidth": 1024, "model_bytes": 4096})";
const std::string mesh =
    R"("network": {"topology": "mesh", "latency": 0.25, "bandwidth": 1024, "model_bytes": 4096})";
const std::string exponential = R"("runtime": {"distribution": "exponential", "mean": 1})";
const std::string one = R"("runtime": {"distribution": "deterministic", "value": 1})";

std::string learners(std::uint32_t count, const std::string& runtime,
                     const std::string& more = slow) {
  return R"("learners": )" + std::to_string(count) + ", " + runtime + ", " + more;
}

void check_clock(const RunRecord& record) {
  for (const LearnerTotals& learner : record.learners) {
    const ExchangeTotals& its = learner.exchanged;
    CHECK(learner.busy + its.communicating + its.waiting + its.down + its.encoding ==
          doctest::Approx(record.totals.time).epsilon(1e-9));
    CHECK(its.encoding > 0);
  }
}

}  // namespace

TEST_CASE("encoding: a learner of a server makes gradients and reads updates, worked by hand") {
  const RunRecord record = timed(
      R"({"kind": "sync"})", R"({"kind": "sign", "down": "same", "encode": 1e-3, "decode": 5e-4})",
      learners(1, one), R"({"updates": 10})");
  const double making = 1e-3 * numbers, reading = 5e-4 * numbers, link = of_signs / 1024;
  const LearnerTotals& learner = record.learners[0];
  CHECK(learner.busy == 10);
  // The model comes first, then nine updates.
  CHECK(learner.exchanged.encoding == doctest::Approx(10 * making + 9 * reading).epsilon(1e-13));
  CHECK(learner.exchanged.communicating == doctest::Approx(4 + 19 * link).epsilon(1e-13));
  // For the server, which reads gradients and makes updates; that of the last is not waited for.
  CHECK(learner.exchanged.waiting == doctest::Approx(10 * reading + 9 * making).epsilon(1e-12));
  check_clock(record);
}

TEST_CASE("encoding: a gradient that is cancelled while its message is made was computed") {
  const RunRecord record =
      timed(R"({"kind": "k-sync", "k": 1})", R"({"kind": "sign", "encode": 1e-3})",
            R"("learners": 2, "runtimes": [{"distribution": "deterministic", "value": 1},
               {"distribution": "deterministic", "value": 1.5}],
               "network": {"push": {"distribution": "deterministic", "value": 0.125}})",
            R"({"updates": 10})");
  const double making = 1e-3 * numbers;
  CHECK(record.totals.time == doctest::Approx(10 * (1 + making + 0.125)).epsilon(1e-13));
  const LearnerTotals& late = record.learners[1];
  CHECK(late.busy == doctest::Approx(10 * 1.5).epsilon(1e-13));
  CHECK(late.wasted == late.busy);
  CHECK(late.exchanged.encoding == doctest::Approx(10 * (making - 0.375)).epsilon(1e-13));
  CHECK(record.learners[0].exchanged.encoding == doctest::Approx(10 * making).epsilon(1e-13));
  CHECK(record.learners[0].exchanged.communicating == doctest::Approx(10 * 0.125).epsilon(1e-13));
  check_clock(record);
}

TEST_CASE("encoding: learners that never wait compute, send, receive and make messages") {
  const RunRecord record = timed(R"({"kind": "async"})", R"({"kind": "sign", "encode": 1e-3})",
                                 learners(6, exponential), R"({"updates": 500})");
  check_clock(record);
  for (const LearnerTotals& learner : record.learners)
    CHECK(learner.exchanged.waiting <= 1e-9 * record.totals.time);
}

TEST_CASE("encoding: what learners do adds up to the clock, by every protocol with a server") {
  const std::string failures = R"(, "server": {"per_gradient": 0.1}, "failures": {"up": )"
                               R"({"distribution": "exponential", "mean": 9},
                                   "down": {"distribution": "uniform", "low": 0, "high": 4}})";
  for (const std::string& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    for (const std::string& more : {std::string(), failures})
      check_clock(timed(protocol,
                        R"({"kind": "sign", "down": "same", "encode": 1e-4, "decode": 2e-4})",
                        learners(6, exponential, slow + more), R"({"updates": 300})"));
  }
}

TEST_CASE("encoding: without a network a learner of a server makes messages all the same") {
  const std::string no_network = R"("slow": {"learners": [1], "factor": 2})";
  for (const std::string protocol : {R"({"kind": "sync"})", R"({"kind": "async"})"}) {
    const RunRecord record = timed(protocol, R"({"kind": "sign", "encode": 1e-3})",
                                   learners(2, one, no_network), R"({"updates": 50})");
    check_clock(record);
    CHECK(record.learners[0].exchanged.communicating == 0);
    CHECK(record.learners[0].exchanged.encoding ==
          doctest::Approx(record.learners[0].busy).epsilon(0.05));
  }
}

TEST_CASE("encoding: of a collective, making comes first and reading for each that is gathered") {
  const auto record = [&](const std::string& kind, const std::string& protocol) {
    return timed(protocol, kind, learners(4, one, mesh), R"({"updates": 8})");
  };
  const std::string all_reduce = R"({"kind": "all-reduce"})";
  const double making = 1e-3 * numbers, reading = 5e-4 * numbers;
  const std::string times = R"(, "encode": 1e-3, "decode": 5e-4})";
  RunRecord found = record(R"({"kind": "sign")" + times, all_reduce);
  for (const LearnerTotals& learner : found.learners) {
    CHECK(learner.exchanged.encoding == doctest::Approx(8 * (making + 3 * reading)));
    CHECK(learner.exchanged.communicating == doctest::Approx(8 * 3 * (0.25 + of_signs / 1024)));
  }
  check_clock(found);
  found = record(R"({"kind": "random-k", "k": 100, "shared_seed": true)" + times, all_reduce);
  CHECK(found.learners[2].exchanged.encoding == doctest::Approx(8 * (making + reading)));
  check_clock(found);
  check_clock(record(R"({"kind": "sign")" + times, R"({"kind": "local-sgd", "tau": 2})"));
  // The first of two buckets is exchanged, and its messages are made, while the rest is computed.
  found = record(R"({"kind": "sign")" + times,
                 R"({"kind": "all-reduce", "buckets": 2, "backward": 0.5})");
  for (const LearnerTotals& learner : found.learners) {
    CHECK(learner.exchanged.hidden > 0);
    CHECK(learner.exchanged.encoding < 8 * (making + 3 * reading));
  }
  check_clock(found);
}

}  // namespace gradrace::encoding_test
