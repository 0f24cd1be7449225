#include "protocols/catalog.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "models/make_device.h"
#include "tests/support/race_text.h"

namespace gradrace::catalog_test {

TEST_CASE("catalog: no two protocols or learning rates have the same name") {
  std::set<std::string_view> protocols, learning_rates;
  for (const auto* entry : protocol_catalog().entries) protocols.insert(entry->page.name);
  for (const auto* entry : learning_rate_catalog().entries) learning_rates.insert(entry->page.name);
  CHECK(protocols.size() == protocol_catalog().entries.size());
  CHECK(learning_rates.size() == learning_rate_catalog().entries.size());
}

TEST_CASE("catalog: protocols are asked what they are, and each answers by its example") {
  std::string all;
  for (const auto* entry : protocol_catalog().entries)
    all += (all.empty() ? "" : ", ") + std::string(entry->page.name);
  CHECK(protocols_with([](const AnyProtocol&) { return true; }) == all);
  CHECK(protocols_with([](const AnyProtocol& protocol) {
          return protocol->traits().exchange == Traits::Exchange::of_pairs;
        }) == "noloco, ad-psgd");
  CHECK(protocols_with([](const AnyProtocol& protocol) {
          return protocol->traits().may_be_phase;
        }) == "all-reduce, local-sgd, ripples, d-psgd");
}

// Where every step of one of eight learners is an update, eight times as many.
TEST_CASE("catalog: every protocol runs 50 updates of a quadratic as its page's example has it") {
  for (const auto* entry : protocol_catalog().entries) {
    if (entry->page.name == "cocoa") continue;  // of svm alone
    const std::string example(entry->page.example);
    CAPTURE(example);
    const auto protocol = race_of(8, example, R"({"updates": 1})").make_protocol();
    if (protocol->traits().in_python) continue;
    const unsigned updates = protocol.has_server() || protocol->traits().together ? 50 : 400;
    const Point point = point_from(
        R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
      "model": {"kind": "quadratic", "noise": 0}, "learning_rate": {"kind": "constant", "eta": 0.05},
      "stop": {"updates": )" +
        std::to_string(updates) + R"(}, "protocol": )" + example + "}");
    const Race race = point.race();
    const auto device = make_device(*point.model, {});
    const RaceRecord record = run_race({race}, device.get());
    CHECK(record.totals.updates == updates);
    CHECK(record.gradients_computed == record.totals.applied);
    CHECK(record.curve.back().evaluation.loss < 0.1);
    CHECK_FALSE(entry->page.definition.empty());
    CHECK_FALSE(entry->page.source.empty());
  }
}

TEST_CASE("catalog: every learning rate is positive as its page's example has it") {
  for (const auto* entry : learning_rate_catalog().entries) {
    const Point point = point_from(
        R"({"cluster": {"learners": 2, "runtime": {"distribution": "exponential", "mean": 1}},
      "model": {"kind": "quadratic"}, "stop": {"gradients": 5000}, "protocol": {"kind": "async"}, "learning_rate": )" +
        std::string(entry->page.example) + "}");
    for (const std::uint64_t gradients : {0u, 1000u, 5000u})
      CHECK(point.learning_rate->eta({gradients, 0, 0}, 3, 1) > 0);
  }
}

}  // namespace gradrace::catalog_test
