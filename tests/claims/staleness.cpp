#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "protocols/catalog.h"
#include "tests/claims/claim.h"
#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::staleness_claims {

namespace {

// An update adds 1 to the staleness of every gradient that is being computed, of no other.
const char* const conservation = "derived: conservation of staleness";

constexpr std::uint32_t learners = 8;
constexpr std::uint64_t updates = 20000;
const char* const laws[] = {exponential_1, shifted_exponential_1_1, pareto_2_1,
                            hyperexponential_mean_1};

/// Follows versions and minibatches by itself.
class Books : public Observer {
 public:
  void on_dispatch(const GradientFacts&, double) override { ++computing_; }
  void on_end(const GradientFacts& gradient, double, double, Ending ending) override {
    --computing_;
    if (ending != Ending::accepted) lost_ += version_ - gradient.version;
  }
  void on_update(const UpdateFacts& update) override {
    for (const GradientFacts& gradient : update.gradients) used_ += version_ - gradient.version;
    gradients_ += update.gradients.size();
    computing_sum_ += computing_;
    ++version_;
  }
  void on_in_flight(const GradientFacts& gradient, double, double) override {
    in_flight_ += version_ - gradient.version;
  }

  /// Of all gradients, less the minibatches being computed at the updates.
  double balance() const {
    return static_cast<double>(used_ + lost_ + in_flight_) - static_cast<double>(computing_sum_);
  }
  /// Minibatches being computed at the updates for each gradient used.
  double open_per_gradient() const {
    return static_cast<double>(computing_sum_) / static_cast<double>(gradients_);
  }
  double mean_staleness() const {
    return static_cast<double>(used_) / static_cast<double>(gradients_);
  }
  /// With what the gradients in flight have so far.
  double mean_staleness_so_far() const {
    return static_cast<double>(used_ + in_flight_) / static_cast<double>(gradients_);
  }

 private:
  std::uint64_t version_ = 0, computing_ = 0, computing_sum_ = 0;
  std::uint64_t used_ = 0, lost_ = 0, in_flight_ = 0;  // sums of staleness
  std::uint64_t gradients_ = 0;
};

/// Of a quadratic, for the protocols that look at its loss.
Books keep_books(const std::string& protocol, const std::string& runtime,
                 const std::string& more_of_cluster = "") {
  Books books;
  run_training(
      point_from(R"({"cluster": {"learners": )" + std::to_string(learners) + R"(, "runtime": )" +
                 runtime + more_of_cluster + R"(}, "protocol": )" + protocol +
                 R"(, "model": {"kind": "quadratic", "start": 10, "noise": 0.1},
                 "learning_rate": {"kind": "constant", "eta": 0.01}, "stop": {"updates": )" +
                 std::to_string(updates) + "}}"),
      0, &books);
  return books;
}

}  // namespace

// Where a server counts versions.
TEST_CASE("staleness: is what minibatches lose by the updates made while they are computed") {
  for (const ProtocolEntry* entry : protocol_catalog().entries) {
    if (entry->page.name == "cocoa") continue;  // without a server, of svm alone
    const std::string example(entry->page.example);
    const auto protocol = race_of(8, example, R"({"updates": 1})").make_protocol();
    if (!protocol.has_server() || protocol->traits().in_python) continue;
    double farthest = 0;
    for (const char* runtime : laws) {
      const double balance = keep_books(example, runtime).balance();
      if (std::abs(balance) > std::abs(farthest)) farthest = balance;
    }
    claim({"staleness-1.balance." + std::string(entry->page.name), conservation,
           "P = 8, " + std::string(entry->page.name) +
               ": staleness of all gradients, used, lost or in flight, less the minibatches being "
               "computed at each of 20,000 updates, the one of four laws that is farthest off",
           exactly(0), farthest});
  }
}

TEST_CASE("staleness: where all gradients are used its mean has a closed form for any law") {
  const double p = learners, late = updates - 20.0;
  const std::string to_async =
      R"({"kind": "switch", "phases": [{"protocol": {"kind": "sync"}, "end": {"updates": 20}}, )"
      R"({"protocol": {"kind": "async"}}]})";
  for (const auto& [protocol, expected] :
       {std::pair{std::string(R"({"kind": "async"})"), p - 1},
        {R"({"kind": "k-async", "k": 4})", (p - 4) / 4},
        {R"({"kind": "k-batch-async", "k": 4})", (p - 1) / 4},
        {R"({"kind": "softsync", "n": 2})", (p - 1) / 4},
        {R"({"kind": "softsync", "n": 2, "pull": "before"})", p / 4},
        {R"({"kind": "ssp", "bound": 0})", (p - 1) / 2},
        {R"({"kind": "ssp", "bound": 1000000})", p - 1},
        {to_async, late * (p - 1) / (20 * p + late)}}) {
    double farthest = expected;
    for (const char* runtime : laws) {
      const double mean = keep_books(protocol, runtime).mean_staleness_so_far();
      if (std::abs(mean - expected) > std::abs(farthest - expected)) farthest = mean;
    }
    claim({"staleness-1.mean." + id_part(protocol), conservation,
           "P = 8, " + protocol +
               ": mean staleness, that of gradients in flight so far included, the one of four "
               "laws that is farthest off",
           exactly(expected), farthest});
  }
}

TEST_CASE("staleness: where late gradients are lost there is none") {
  for (const char* protocol :
       {R"({"kind": "sync"})", R"({"kind": "hardsync"})", R"({"kind": "k-sync", "k": 4})",
        R"({"kind": "k-batch-sync", "k": 4})", R"({"kind": "backup", "backups": 2})",
        R"({"kind": "backup", "backups": 2, "tokens": "shared"})",
        R"({"kind": "adasync", "variant": "k-sync", "interval": 10})",
        R"({"kind": "adasync", "variant": "k-batch-sync", "interval": 10})"}) {
    double most = 0;
    for (const char* runtime : laws)
      most = std::max(most, keep_books(protocol, runtime).mean_staleness());
    claim({"staleness-1.none." + id_part(protocol), conservation,
           std::string("P = 8, ") + protocol + ": mean staleness, the most of four laws",
           exactly(0), most});
  }
}

// A learner is open from the order to send it the model until the server takes its gradient up.
TEST_CASE("staleness: with communication its mean is that of the open learners over c") {
  const char* const communication = R"(, "network": {"bandwidth": 1, "model_bytes": 0.05,
      "pull": {"distribution": "exponential", "mean": 0.3},
      "push": {"distribution": "uniform", "low": 0.1, "high": 0.5}},
    "server": {"per_gradient": 0.05, "per_update": 0.1})";
  for (const char* protocol :
       {R"({"kind": "async"})", R"({"kind": "k-async", "k": 4})",
        R"({"kind": "k-batch-async", "k": 4})", R"({"kind": "softsync", "n": 2})",
        R"({"kind": "softsync", "n": 2, "pull": "before"})", R"({"kind": "ssp", "bound": 2})"}) {
    const auto books = keep_books(protocol, exponential_1, communication);
    claim({"staleness-1.communication." + id_part(protocol), conservation,
           "P = 8, network and serial server, " + std::string(protocol) +
               ": mean staleness, that of gradients in flight so far included; learners that are "
               "open at an update, its trigger excluded, over its gradients",
           exactly(books.open_per_gradient()), books.mean_staleness_so_far()});
  }
}

}  // namespace gradrace::staleness_claims
