#include "sim/engine/transit.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tests/support/compressors.h"
#include "tests/support/iteration_time.h"
#include "tests/support/race_text.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::transit_test {

namespace {

const std::string one = R"({"distribution": "deterministic", "value": 1})";
const std::string exponential = R"({"distribution": "exponential", "mean": 1})";

std::string always(const std::string& value) {
  return R"({"distribution": "deterministic", "value": )" + value + "}";
}

Race race_on(std::uint32_t learners, const std::string& runtime, const std::string& cluster,
             const std::string& protocol, const std::string& stop) {
  return point_from(R"({"cluster": {"learners": )" + std::to_string(learners) + ", " + runtime +
                    ", " + cluster + R"(}, "model": {"kind": "quadratic", "dimensions": 8},
                    "learning_rate": {"kind": "constant", "eta": 0.1}, "protocol": )" +
                    protocol + R"(, "stop": )" + stop + "}")
      .race();
}

/// Time between departures in a closed network of one station without queues and of stations whose
/// customers share them (any laws with these means), by mean value analysis (Reiser and Lavenberg,
/// J. ACM 1980).
double mean_value_analysis(int customers, double think, const std::vector<double>& services) {
  std::vector<double> queue(services.size());
  double between = 0;
  for (int n = 1; n <= customers; ++n) {
    double round = think;
    for (std::size_t i = 0; i < services.size(); ++i) round += services[i] * (1 + queue[i]);
    between = round / n;
    for (std::size_t i = 0; i < services.size(); ++i) {
      queue[i] = services[i] * (1 + queue[i]) / between;
    }
  }
  return between;
}

const std::string everything =
    R"("network": {"pull": {"distribution": "gamma", "shape": 2, "scale": 0.02},
                   "push": {"distribution": "exponential", "mean": 0.05},
                   "bandwidth": 100, "model_bytes": 3},
       "server": {"per_gradient": 0.01, "per_update": 0.02},
       "failures": {"up": {"distribution": "exponential", "mean": 20},
                    "down": {"distribution": "uniform", "low": 0, "high": 4}})";

class Losses : public Observer {
 public:
  void on_end(const GradientFacts& gradient, double begin, double time, Ending ending) override {
    REQUIRE(time >= begin);
    if (ending == Ending::lost) lost.insert(gradient.gradient);
  }
  void on_update(const UpdateFacts& update) override {
    for (const auto& gradient : update.gradients) {
      REQUIRE_FALSE(lost.contains(gradient.gradient));
    }
  }
  std::set<GradientId> lost;
};

/// Whose gradients made the updates.
class Origins : public Observer {
 public:
  void on_update(const UpdateFacts& update) override {
    for (const auto& gradient : update.gradients) learners.push_back(gradient.learner);
  }
  std::vector<std::uint32_t> learners;
};

/// When the gradients of two learners arrive.
class Arrivals : public Observer {
 public:
  void on_end(const GradientFacts& gradient, double, double time, Ending ending) override {
    if (ending == Ending::accepted) times[gradient.learner].push_back(time);
  }
  std::vector<double> times[4];
};

/// Cancels learner 1's minibatch when the first gradient of learner 0 is in; what becomes of them.
class CancelsOne : public ServerProtocol {
 public:
  void on_gradient(Server& server, const GradientFacts& arrival) override {
    server.accept(arrival);
    server.update();
    if (server.version() == 1) {
      REQUIRE(server.computing(1));
      server.cancel(*server.computing(1));
      REQUIRE_FALSE(server.computing(1));
    }
  }
  std::uint32_t k() const override { return 1; }
};

/// Has a timer at a time; when it goes off the gradients that are in make an update.
class OneTimer : public ServerProtocol {
 public:
  OneTimer(double time, std::vector<double>* rang) : time_(time), rang_(rang) {}
  void start(Server& server) override {
    server.dispatch_waiting();
    server.timer(time_);
  }
  void on_gradient(Server& server, const GradientFacts& arrival) override {
    server.accept(arrival);
    server.dispatch(arrival.learner);
  }
  void on_timer(Server& server) override {
    rang_->insert(rang_->end(), {server.time(), server.accepted() + 0.0});
    server.update();
  }
  std::uint32_t k() const override { return 1; }

 private:
  double time_;
  std::vector<double>* rang_;
};

}  // namespace

TEST_CASE("transit: a synchronous step, worked by hand") {
  const std::string network = R"("network": {"pull": )" + always("0.25") + R"(, "push": )" +
                              always("0.5") + R"(, "bandwidth": 4, "model_bytes": 2},
      "server": {"per_gradient": 0.125, "per_update": 3})";
  const RunRecord record = run_timing(
      race_on(4, R"("runtime": )" + one, network, R"({"kind": "sync"})", R"({"updates": 50})"));
  // Four transfers of 2 bytes at once take 4 * 2 / 4, each way; the gradients then queue.
  const double step = 2 + 0.25 + 1 + 0.5 + 2 + 4 * 0.125;
  CHECK(record.totals.time == step + 49 * (3 + step));
  for (const auto& learner : record.learners) CHECK(learner.busy == 50);
}

TEST_CASE("transit: what learners, links and the server did with their time, worked by hand") {
  const std::string network = R"("network": {"pull": )" + always("0.25") + R"(, "push": )" +
                              always("0.5") + R"(, "bandwidth": 4, "model_bytes": 2},
      "server": {"per_gradient": 0.125, "per_update": 3})";
  const RunRecord record = run_timing(
      race_on(4, R"("runtime": )" + one, network, R"({"kind": "sync"})", R"({"updates": 2})"));
  // Of each step 2 + 0.25 are the pull, 1 the computation and 0.5 + 2 the push; then gradients
  // queue for half a unit.  The server is busy for 3 more before the second step.
  REQUIRE(record.totals.time == 2 * 6.25 + 3);
  for (const LearnerTotals& learner : record.learners) {
    CHECK(learner.busy == 2);
    CHECK(learner.exchanged.communicating == 2 * (2.25 + 2.5));
    CHECK(learner.exchanged.waiting == 2 * 0.5 + 3);
    CHECK(learner.exchanged.down == 0);
    CHECK(learner.exchanged.hidden == 0);
    CHECK(learner.exchanged.sent == 2 * 2);
    CHECK(learner.exchanged.received == 2 * 2);
  }
  CHECK(record.utilisation.link == 2 * 2 / record.totals.time);
  CHECK(record.utilisation.server == (2 * 4 * 0.125 + 3) / record.totals.time);
}

// Learner 0's second model leaves at 1.4, learner 1's at 1.8.
TEST_CASE("transit: who waits for a model that has not left does not communicate") {
  for (const double end : {1.2, 1.5, 2.0}) {
    const RunRecord record =
        run_timing(race_on(2, R"("runtimes": [{"distribution": "deterministic", "value": 1},
                                   {"distribution": "deterministic", "value": 1.25}])",
                           R"("server": {"per_update": 0.4})", R"({"kind": "async"})",
                           R"({"time": )" + std::to_string(end) + "}"));
    const double left[] = {1.4, 1.8};
    for (std::uint32_t i = 0; i < 2; ++i) {
      const LearnerTotals& learner = record.learners[i];
      const double computed = 1 + 0.25 * i, again = std::fmax(0, end - left[i]);
      CAPTURE(end);
      CAPTURE(i);
      CHECK(learner.exchanged.communicating == 0);
      CHECK(learner.busy == doctest::Approx(std::fmin(computed, end) + again));
      CHECK(learner.exchanged.waiting == doctest::Approx(end - learner.busy));
    }
  }
}

TEST_CASE("transit: messages have bytes of their own, up and down apart, worked by hand") {
  const std::string network = R"("network": {"pull": )" + always("0.25") + R"(, "push": )" +
                              always("0.5") + R"(, "bandwidth": 4, "model_bytes": 2},
      "server": {"per_gradient": 0.125, "per_update": 3})";
  const Race full =
      race_on(4, R"("runtime": )" + one, network, R"({"kind": "sync"})", R"({"updates": 50})");
  // Four models of 2 bytes at once take 4 * 2 / 4, four messages half of that.
  const double step = 2 + 0.25 + 1 + 0.5 + 1 + 4 * 0.125;
  const RunRecord record = run_timing(with_messages(full, Halving(), {}));
  CHECK(record.totals.time == step + 49 * (3 + step));
  for (const LearnerTotals& learner : record.learners) {
    CHECK(learner.exchanged.received == 50 * 2);
    CHECK(learner.exchanged.sent == 50 * 1);
    CHECK(learner.exchanged.communicating == 50 * (2.25 + 1.5));
  }
  const RunRecord same = run_timing(with_messages(full, Identity(), {}));
  CHECK(same.totals.time == run_timing(full).totals.time);
}

/// Goes over to its second plan after the first update.
class Follows final : public ServerProtocol {
 public:
  void on_gradient(Server& server, const GradientFacts& arrival) override {
    server.accept(arrival);
    server.update();
    server.follow(1);
    server.dispatch(arrival.learner);
  }
  std::uint32_t k() const override { return 1; }
};

TEST_CASE("transit: a message is of the plan under which its minibatch was dispatched") {
  Race race = race_on(2, R"("runtimes": [)" + one + ", " + always("1.5") + "]",
                      R"("network": {"bandwidth": 1, "model_bytes": 1})", R"({"kind": "async"})",
                      R"({"updates": 4})");
  race.make_protocol = [] { return std::make_unique<Follows>(); };
  race.plans.push_back(race.plans[0]);
  race.plans[1].message.compressor = std::make_shared<Halving>();
  // Models come at 2.  Learner 0 computes until 3, learner 1 until 3.5; their bytes are there at
  // 4.5 and 5.  The next models come at 6 and 6.5, and messages of half a byte at 7.5 and 8.5.
  const RunRecord record = run_timing(race);
  CHECK(record.totals.time == 8.5);
  CHECK(record.learners[0].exchanged.sent + record.learners[1].exchanged.sent == 1 + 1 + 0.5 + 0.5);
}

TEST_CASE("transit: an interrupted transfer counts as far as it got, worked by hand") {
  // As below: in each round of 4.5 models take 2, learner 0 computes 1 and pushes 1.5, learner 1
  // computes 1.5 and pushes until it is cancelled.
  const RunRecord record =
      run_timing(race_on(2, R"("runtimes": [)" + one + ", " + always("1.5") + "]",
                         R"("network": {"bandwidth": 1, "model_bytes": 1})",
                         R"({"kind": "k-sync", "k": 1})", R"({"updates": 10})"));
  REQUIRE(record.totals.time == 45);
  CHECK(record.learners[0].exchanged.communicating == 10 * (2 + 1.5));
  CHECK(record.learners[1].exchanged.communicating == 10 * (2 + 1));
  for (const LearnerTotals& learner : record.learners) {
    CHECK(learner.exchanged.waiting == 0);
    CHECK(learner.exchanged.sent == 10);
  }
  CHECK(record.utilisation.link == 20.0 / 45);  // outgoing; incoming 15
}

TEST_CASE("transit: computing, communicating, waiting and down add up, and links carry bytes") {
  for (const auto& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    const RunRecord record = run_timing(
        race_on(6, R"("runtime": )" + exponential, everything, protocol, R"({"updates": 3000})"));
    double sent = 0, received = 0, down = 0;
    for (const LearnerTotals& learner : record.learners) {
      const ExchangeTotals& other = learner.exchanged;
      CHECK(learner.busy + other.communicating + other.waiting + other.down ==
            doctest::Approx(record.totals.time).epsilon(1e-9));
      sent += other.sent, received += other.received, down += other.down;
    }
    // Up for 20 and down for 2 in the mean.
    CHECK(down / (6 * record.totals.time) == doctest::Approx(2.0 / 22).epsilon(0.15));
    // A link of 100 is busy while it carries; less than what is sent, where a transfer ends early.
    const double most = std::max(sent, received) / 100 / record.totals.time;
    CHECK(record.utilisation.link <= most * (1 + 1e-9));
    CHECK(record.utilisation.link > 0.8 * most);
  }
}

TEST_CASE("transit: a learner's card, each way apart, worked by hand") {
  // Alone a model of 2 bytes takes 2 / 4 on the link and 2 / 1 on the card, and 0.25 more.
  const auto time = [](const std::string& network, std::uint32_t learners) {
    return run_timing(race_on(learners, R"("runtime": )" + one,
                              R"("network": {"model_bytes": 2, )" + network + "}",
                              R"({"kind": "sync"})", R"({"updates": 1})"))
        .totals.time;
  };
  const std::string card = R"("card": {"bandwidth": 1, "latency": 0.25})";
  CHECK(time(R"("bandwidth": 4, )" + card, 1) == 2.25 + 1 + 2.25);
  CHECK(time(R"("bandwidth": 4, )" + card, 4) == 2.25 + 1 + 2.25);
  CHECK(time(R"("bandwidth": 4, )" + card, 8) == 4.25 + 1 + 4.25);
  CHECK(time(card, 8) == 2.25 + 1 + 2.25);
  // 2 bytes down through a card of 4, up through one of 0.5, each way a latency of its own.
  CHECK(time(R"("card": {"down": {"bandwidth": 4, "latency": 0.25}, "up": {"bandwidth": 0.5}})",
             8) == 0.75 + 1 + 4);
  CHECK(time(R"("bandwidth": 4, "card": {"up": {"bandwidth": [0.5, 1], "latency": 0.125}})", 2) ==
        1 + 1 + 4.125);
  CHECK(time(R"("bandwidth": 4, "card": {"down": {"bandwidth": 0.5}})", 1) == 4 + 1 + 0.5);
  // Cards of 1 and 3 of a link of 4: both models are carried as fast as the cards take them.
  CHECK(time(R"("bandwidth": 4, "card": {"bandwidth": [1, 3], "latency": [0, 1]})", 2) == 5);
  // Of a link of 2: 1 each.  Learner 1 computes from 3 on, learner 0 from 2 on; alone it pushes
  // from 3 to 5 through its card, learner 1 from 5 on, as its latency comes first.
  CHECK(time(R"("bandwidth": 2, "card": {"bandwidth": [1, 3], "latency": [0, 1]})", 2) == 6);
}

TEST_CASE("transit: cards carry what they are sent, and the link is as busy as they make it") {
  const RunRecord record = run_timing(race_on(2, R"("runtime": )" + one,
                                              R"("network": {"model_bytes": 2, "bandwidth": 8,
                                        "card": {"bandwidth": 1, "latency": 0.5}})",
                                              R"({"kind": "sync"})", R"({"updates": 3})"));
  REQUIRE(record.totals.time == 3 * (2.5 + 1 + 2.5));
  CHECK(record.utilisation.link == 3 * 2 * 2.0 / 8 / 18);
  for (const LearnerTotals& learner : record.learners) {
    CHECK(learner.exchanged.communicating == 3 * 5);
    CHECK(learner.exchanged.sent == 3 * 2);
    CHECK(learner.exchanged.waiting == 0);
  }
}

TEST_CASE("transit: equal shards of a server, worked by hand") {
  const std::string network = R"("network": {"pull": )" + always("0.25") + R"(, "push": )" +
                              always("0.5") + R"(, "bandwidth": 32, "model_bytes": 16},
      "server": {"per_gradient": 0.125, "per_update": 3, "shards": 4})";
  const RunRecord record = run_timing(
      race_on(4, R"("runtime": )" + one, network, R"({"kind": "sync"})", R"({"updates": 50})"));
  // On each link four parts of 4 bytes, in each queue four of a quarter of the work.
  const double step = 0.5 + 0.25 + 1 + 0.5 + 0.5 + 4 * 0.125 / 4;
  CHECK(record.totals.time == step + 49 * (0.75 + step));
  CHECK(record.utilisation.link == 50 * 0.5 / record.totals.time);
  CHECK(record.utilisation.server == (50 * 0.125 + 49 * 0.75) / record.totals.time);
  for (const LearnerTotals& learner : record.learners) {
    CHECK(learner.exchanged.sent == 50 * 16);
    CHECK(learner.exchanged.received == 50 * 16);
    CHECK(learner.exchanged.communicating == 50 * (0.75 + 1));
  }
}

TEST_CASE("transit: the largest shard is waited for, worked by hand") {
  const std::string network = R"("network": {"bandwidth": 32, "model_bytes": 16},
      "server": {"per_gradient": 0.125, "per_update": 3, "shards": [3, 1]})";
  const RunRecord record = run_timing(
      race_on(4, R"("runtime": )" + one, network, R"({"kind": "sync"})", R"({"updates": 50})"));
  // Shard 1 has its part of the update done after 0.75 and sends its parts of the model, in half a
  // unit; shard 0 after 2.25, in 1.5.
  const double step = 1.5 + 1 + 1.5 + 4 * 0.125 * 0.75;
  CHECK(record.totals.time == step + 49 * (2.25 + step));
  CHECK(record.learners[0].exchanged.communicating == 3 + 49 * (1.5 + 1.5 + 1.5));
}

TEST_CASE("transit: a card is divided among the parts of a message, worked by hand") {
  const auto time = [](const std::string& shards, const std::string& card, int learners) {
    return run_timing(race_on(static_cast<std::uint32_t>(learners), R"("runtime": )" + one,
                              R"("network": {"bandwidth": 32, "model_bytes": 16, "card":
                                 {"bandwidth": )" +
                                  card + R"(}}, "server": {"shards": )" + shards + "}",
                              R"({"kind": "sync"})", R"({"updates": 1})"))
        .totals.time;
  };
  CHECK(time("2", "8", 1) == 2 + 1 + 2);
  // Halves of the card until the small part is there, at 1; then the large one has all of it.
  CHECK(time("[3, 1]", "8", 1) == 2 + 1 + 2);
  // Three learners send 48 bytes through two links of 32.
  CHECK(time("2", "32", 3) == doctest::Approx(0.75 + 1 + 0.75));
  CHECK(time("2", "16", 3) == doctest::Approx(1 + 1 + 1));
}

TEST_CASE("transit: a gradient is taken up when its last part is, worked by hand") {
  // Pushes from 1 and 1.5 on, without links.  Shard 0 works for 3/4 on a gradient and 3/2 on an
  // update, shard 1 for 1/4 and 1/2.  Learner 0's gradient is taken up at 1.75; shard 0 is busy
  // until 3.25, shard 1, which has taken up its part of learner 1's from 1.5 to 1.75, until 2.25.
  // Learner 0 goes on at 3.25, learner 1's last part is taken up from 3.25 to 4.
  const RunRecord record =
      run_timing(race_on(2, R"("runtimes": [)" + one + ", " + always("1.5") + "]",
                         R"("server": {"per_gradient": 1, "per_update": 2, "shards": [3, 1]})",
                         R"({"kind": "async"})", R"({"updates": 3})"));
  // Then shard 0 is busy until 5.5.  Learner 0 is there again at 4.25 and taken up by 6.25.
  CHECK(record.totals.time == 6.25);
  CHECK(record.totals.staleness_sum == 0 + 1 + 1);
}

TEST_CASE("transit: a shard goes on with a gradient that is cancelled meanwhile, worked by hand") {
  // Gradients of three learners are there at 1, 1.25 and 1.5.  Shard 0 (half the work) takes up
  // learner 0's until 1.5, as shard 1 does: the update at 1.5 cancels learner 1's and 2's, and the
  // shards are free for what comes next.
  const RunRecord record = run_timing(
      race_on(3, R"("runtimes": [)" + one + ", " + always("1.25") + ", " + always("1.5") + "]",
              R"("server": {"per_gradient": 1, "shards": 2})", R"({"kind": "k-sync", "k": 1})",
              R"({"updates": 2})"));
  CHECK(record.totals.time == 3);
  // Of unlike shards: shard 1 (a quarter) takes up learner 0's until 1.25, learner 1's until 1.5,
  // learner 2's until 1.75; shard 0 learner 0's until 1.75, when all else is cancelled.
  const RunRecord unlike = run_timing(
      race_on(3, R"("runtimes": [)" + one + ", " + always("1.25") + ", " + always("1.625") + "]",
              R"("server": {"per_gradient": 1, "shards": [3, 1]})", R"({"kind": "k-sync", "k": 1})",
              R"({"updates": 2})"));
  // Learner 2's part is taken up from 1.625 to 1.875 all the same; learner 0 leaves at 1.875, is
  // there at 2.875 and taken up until 3.625.
  CHECK(unlike.totals.time == 3.625);
}

TEST_CASE("transit: messages overlap with computing, worked by hand") {
  const auto run = [](const std::string& card, std::uint32_t learners, int updates) {
    return run_timing(
        race_on(learners, R"("runtime": )" + always("3"),
                R"("network": {"pull": )" + always("0.25") + R"(, "push": )" + always("0.5") +
                    R"(, "bandwidth": 16, "model_bytes": 16, )" + card + R"("overlap": true})",
                R"({"kind": "sync"})", R"({"updates": )" + std::to_string(updates) + "}"));
  };
  // The forward pass takes 1, the backward pass 2.  Alone a transfer takes 1: computing begins at
  // 0.25, the model is there at 1.25 as the pass ends, the gradient leaves from 1.25 on and is
  // there at 3.25 + 0.5.
  const RunRecord alone = run("", 1, 2);
  CHECK(alone.totals.time == 2 * 3.75);
  CHECK(alone.learners[0].busy == 2 * 3);
  CHECK(alone.learners[0].exchanged.communicating == 2 * 0.75);
  CHECK(alone.learners[0].exchanged.hidden == 2 * (1 + 0.25 + 2.5 - 0.75));
  // By a card of 4 it takes 4: the model is there at 4.25, the gradient at 8.25 + 0.5.
  CHECK(run(R"("card": {"bandwidth": 4}, )", 1, 1).totals.time == 8.75);
  CHECK(run(R"("card": {"bandwidth": 4}, )", 1, 1).learners[0].busy == 3);
  // Of three learners who share the link it takes 3: models are there at 3.25, gradients at 6.75.
  CHECK(run("", 3, 1).totals.time == 6.75);
}

// The first gradient makes an update at 4, when half of the slow one's model is there.
TEST_CASE("transit: what has been computed while bytes came counts where it is cancelled") {
  const auto wasted = [](const std::string& slow) {
    return run_timing(race_on(2, R"("runtimes": [)" + always("3") + ", " + always(slow) + "]",
                              R"("network": {"model_bytes": 8, "overlap": true,
                                 "card": {"bandwidth": [4, 1]}})",
                              R"({"kind": "k-sync", "k": 1})", R"({"updates": 1})"))
        .learners[1];
  };
  CHECK(wasted("30").wasted == 4);
  CHECK(wasted("9").wasted == 3);
  CHECK(wasted("9").exchanged.communicating == 1);
  CHECK(wasted("9").exchanged.hidden == 3);
}

TEST_CASE("transit: equal shards are one server with links and hands of them all") {
  for (const auto& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    const auto run = [&](const std::string& rest) {
      return run_timing(
          race_on(6, R"("runtime": )" + exponential, rest, protocol, R"({"updates": 500})"));
    };
    for (
        const std::string whole : {
            R"("network": {"model_bytes": 32, "bandwidth": 512},
                "server": {"per_gradient": 0.03125, "per_update": 0.0625})",
            R"("network": {"model_bytes": 32, "bandwidth": 512, "card": {"bandwidth": [300, 50]}})",
        }) {
      std::string parts = whole;
      const auto change = [&](const std::string& from, const std::string& to) {
        const std::size_t at = parts.find(from);
        if (at != std::string::npos) parts.replace(at, from.size(), to);
      };
      change("512", "128");
      change("0.03125", "0.125");
      change("0.0625}", R"(0.25, "shards": 4})");
      if (parts.find("server") == std::string::npos) parts += R"(, "server": {"shards": 4})";
      const RunRecord one_server = run(whole), four = run(parts);
      CHECK(four.totals.time == one_server.totals.time);
      CHECK(four.totals.staleness_sum == one_server.totals.staleness_sum);
      CHECK(four.totals.cancelled == one_server.totals.cancelled);
      CHECK(four.learners[1].exchanged.received == one_server.learners[1].exchanged.received);
      CHECK(four.utilisation.link == one_server.utilisation.link);
    }
  }
}

// Those that are nearly equal are followed each by itself.  Where the server takes time this is no
// limit: a shard that is ahead of the others, by whatever little, takes the next gradient up before
// it makes an update or sends a model.
TEST_CASE("transit: on links shards that are nearly equal are as equal ones") {
  for (const auto& protocol : every_server_protocol()) {
    for (const std::string more :
         {"", R"(, "card": {"bandwidth": [300, 50]})", R"(, "overlap": true)"}) {
      CAPTURE(protocol);
      CAPTURE(more);
      const auto run = [&](const std::string& shards) {
        return run_timing(race_on(6, R"("runtime": )" + exponential,
                                  R"("network": {"model_bytes": 32, "bandwidth": 128)" + more +
                                      R"(}, "server": {"shards": )" + shards + "}",
                                  protocol, R"({"updates": 20})"));
      };
      const RunRecord equal = run("4"), nearly = run("[1, 1.000000001, 1, 0.999999999]");
      CHECK(nearly.totals.time == doctest::Approx(equal.totals.time).epsilon(1e-6));
      CHECK(nearly.totals.staleness_sum == equal.totals.staleness_sum);
      CHECK(nearly.totals.cancelled == equal.totals.cancelled);
      CHECK(nearly.utilisation.link == doctest::Approx(equal.utilisation.link).epsilon(1e-6));
    }
  }
}

TEST_CASE("transit: a smaller shard beside two equal ones delays no update of async") {
  // Beside the time of an update, what it takes up meanwhile is short.
  const auto run = [&](const std::string& server) {
    return run_timing(race_on(6, R"("runtime": )" + exponential, R"("server": {)" + server + "}",
                              R"({"kind": "async"})", R"({"updates": 500})"));
  };
  const RunRecord one_server = run(R"("per_gradient": 0.125, "per_update": 0.25)");
  const RunRecord three =
      run(R"("per_gradient": 0.3125, "per_update": 0.625, "shards": [2, 2, 1])");
  CHECK(three.totals.time == doctest::Approx(one_server.totals.time).epsilon(1e-9));
  CHECK(three.totals.staleness_sum == one_server.totals.staleness_sum);
}

TEST_CASE("transit: two learners at a serial server, worked by hand") {
  // A push takes a quarter.  Learner 0 has its first gradient taken up from 1.25 to 2.25; the
  // update takes 1, so it leaves at 3.25, and learner 1, there since 1.75, is served from 3.25 on.
  const RunRecord record =
      run_timing(race_on(2, R"("runtimes": [)" + one + ", " + always("1.5") + "]",
                         R"("network": {"push": )" + always("0.25") +
                             R"(}, "server": {"per_gradient": 1, "per_update": 1})",
                         R"({"kind": "async"})", R"({"updates": 3})"));
  // 2.25, 4.25; learner 0 left at 3.25, is back at 4.5 and waits until 5.25.
  CHECK(record.totals.time == 6.25);
  CHECK(record.totals.staleness_sum == 0 + 1 + 1);
}

TEST_CASE("transit: gradients are taken up in the order of their arrival") {
  Origins seen;
  run_timing(
      race_on(3, R"("runtimes": [)" + one + ", " + always("1.5") + ", " + always("1.75") + "]",
              R"("server": {"per_gradient": 1})", R"({"kind": "async"})", R"({"updates": 6})"),
      0, &seen);
  CHECK(seen.learners == std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2});
}

TEST_CASE("transit: a minibatch begins when its model is there") {
  // The window is over when the model arrives, at 2.
  const RunRecord record = run_timing(
      race_on(1, R"("runtime": )" + one,
              R"("windows": [{"start": 0, "length": 1, "factor": 10}], "network": {"pull": )" +
                  always("2") + "}",
              R"({"kind": "sync"})", R"({"updates": 1})"));
  CHECK(record.totals.time == 3);
}

TEST_CASE("transit: interrupted transfers free the link") {
  // Models reach both at 2 (2 bytes shared at 1).  Learner 0 pushes from 3 on, alone until 3.5,
  // then shares: it ends at 4.5, and learner 1's transfer is cancelled half way.
  const RunRecord record =
      run_timing(race_on(2, R"("runtimes": [)" + one + ", " + always("1.5") + "]",
                         R"("network": {"bandwidth": 1, "model_bytes": 1})",
                         R"({"kind": "k-sync", "k": 1})", R"({"updates": 10})"));
  CHECK(record.totals.time == 45);
  CHECK(record.totals.cancelled == 10);
  CHECK(record.learners[1].wasted == 15);
}

TEST_CASE("transit: one gradient is cancelled where it is, worked by hand") {
  const auto run = [](const std::string& second, const std::string& third,
                      const std::string& roads) {
    Race race =
        race_on(3, R"("runtimes": [)" + one + ", " + always(second) + ", " + always(third) + "]",
                roads, R"({"kind": "async"})", R"({"updates": 2})");
    race.make_protocol = [] { return std::make_unique<CancelsOne>(); };
    return run_timing(race);
  };
  // On the link: models are there at 3, pushes begin at 4, 4.25 and 4.5.  Learner 0 is in at 6.375,
  // alone, then by halves, then by thirds (0.25 + 0.125 + 1.875 / 3 = 1); learner 2 has had 1.875 /
  // 3 by then and goes on alone.
  const RunRecord on_link = run("1.25", "1.5", R"("network": {"bandwidth": 1, "model_bytes": 1})");
  CHECK(on_link.totals.time == doctest::Approx(6.75));
  CHECK(on_link.totals.cancelled == 1);
  CHECK(on_link.learners[1].wasted == 1.25);
  // In the server's queue: learner 0 is taken up from 1 to 2, learner 1 is not, learner 2 from 2
  // on.
  const RunRecord queued = run("1.25", "1.5", R"("server": {"per_gradient": 1})");
  CHECK(queued.totals.time == 3);
  CHECK(queued.totals.cancelled == 1);
  // Being computed.
  CHECK(run("7", "1.5", R"("network": {"push": )" + always("0.5") + "}").totals.time == 2);
}

TEST_CASE("transit: a timer waits its turn at a busy server, worked by hand") {
  const auto rang = [](double time, const std::string& server) {
    std::vector<double> seen;
    Race race = race_on(3, R"("runtime": )" + one, R"("server": )" + server, R"({"kind": "async"})",
                        R"({"updates": 1})");
    race.make_protocol = [&] { return std::make_unique<OneTimer>(time, &seen); };
    run_timing(race);
    return seen;
  };
  const std::string serial = R"({"per_gradient": 1})";
  // Three gradients are there at 1 and taken up until 4; a timer at 1 or later comes after them.
  CHECK(rang(1, serial) == std::vector<double>{4, 3});
  CHECK(rang(2.5, serial) == std::vector<double>{4, 3});
  // The first learner's next one is there at 3, before the timer.
  CHECK(rang(3, serial) == std::vector<double>{5, 4});
}

TEST_CASE("transit: a lost minibatch begins again at the version of then, worked by hand") {
  // Up for 2.5, down for 1: learner 0 (runtime 1) delivers at 1 and 2, fails at 2.5, is back at
  // 3.5, delivers at 4.5 and 5.5, fails at 6.  Learner 1 (runtime 2) delivers at 2, is lost at 2.5,
  // begins at 3.5 and delivers at 5.5.
  const Race race = race_on(2, R"("runtimes": [)" + one + ", " + always("2") + "]",
                            R"("failures": {"up": )" + always("2.5") + R"(, "down": )" + one + "}",
                            R"({"kind": "async"})", R"({"time": 6.25})");
  Losses seen;
  const RunRecord record = run_timing(race, 0, &seen);
  CHECK(record.totals.updates == 6);
  // The second gradient of learner 0 at the same instant as learner 1's first; then both read w3.
  CHECK(record.totals.staleness_sum == 0 + 0 + 2 + 0 + 1 + 1);
  CHECK(seen.lost.size() == 4);
  CHECK(record.learners[0].busy == 2 + 0.5 + 2 + 0.5);
  CHECK(record.learners[0].wasted == 1);
  for (const LearnerTotals& learner : record.learners) {
    CHECK(learner.exchanged.down == 1 + 0.25);
    CHECK(learner.exchanged.waiting == 0);
  }
}

TEST_CASE("transit: a learner that is down begins when it is back") {
  // sync, up 1.5 and down 1: the second minibatch is lost half way, then the third ...
  const RunRecord record = run_timing(
      race_on(1, R"("runtime": )" + one,
              R"("failures": {"up": )" + always("1.25") + R"(, "down": )" + always("0.75") + "}",
              R"({"kind": "sync"})", R"({"updates": 3})"));
  CHECK(record.totals.time == 5);  // 1, lost at 1.25, from 2 to 3, lost at 3.25, from 4 to 5
  CHECK(record.totals.lost == 2);
}

TEST_CASE("transit: replayed failures and returns take each time in turn") {
  // At 1 and 2, up for 2.5, back at 3.5; at 4.5, up for 1.25, down for 2, back at 6.75; at 7.75 and
  // 8.75, up for 2.5, back at 10.25; at 11.25.
  const TemporaryFolder folder;
  folder.write("times.csv", "up,down\n2.5,1\n1.25,2\n");
  const auto replay = [&](const std::string& column) {
    return R"({"distribution": "empirical", "mode": "replay", "path": ")" +
           (folder.path() / "times.csv").string() + R"(", "column": ")" + column + "\"}";
  };
  const RunRecord record = run_timing(
      race_on(1, R"("runtime": )" + one,
              R"("failures": {"up": )" + replay("up") + R"(, "down": )" + replay("down") + "}",
              R"({"kind": "async"})", R"({"updates": 6})"));
  CHECK(record.totals.time == 11.25);
  CHECK(record.totals.lost == 3);
}

// Learner a is at 0.5 + 1 + 0.25 and 0.25 + 1 + 0.5, then fails at 4 and is back at 5; learner b at
// 2 + 1 + 1 and 1 + 1 + 2, and does not fail until then.
TEST_CASE("transit: each learner has its own series of pulls, pushes, failures and returns") {
  const TemporaryFolder folder;
  folder.write("times.csv",
               "who,pull,push,up,down\na,0.5,0.25,4,1\nb,2,1,90,9\na,0.25,0.5,90,9\nb,1,2,90,9\n");
  const auto replay = [&](const std::string& column) {
    return R"({"distribution": "empirical", "mode": "replay", "learner_column": "who", "path": ")" +
           (folder.path() / "times.csv").string() + R"(", "column": ")" + column + "\"}";
  };
  const Race race = race_on(2, R"("runtime": )" + one,
                            R"("network": {"pull": )" + replay("pull") + R"(, "push": )" +
                                replay("push") + R"(}, "failures": {"up": )" + replay("up") +
                                R"(, "down": )" + replay("down") + "}",
                            R"({"kind": "async"})", R"({"time": 8.25})");
  Arrivals arrivals;
  run_timing(race, 0, &arrivals);
  // The third of a is lost, and begins again at 5 as the fourth: 0.25 + 1 + 0.5.
  CHECK(arrivals.times[0] == std::vector<double>{1.75, 3.5, 6.75});
  CHECK(arrivals.times[1] == std::vector<double>{4, 8});
}

// The server takes learner 1's gradient up from 1 to 2 and makes an update until 3, when two more
// wait.  Learner 0 is back at 2.5: its model leaves at 3, and its gradient is there at 3.5.
TEST_CASE("transit: a model waits for what the server does, and not for gradients that wait") {
  const TemporaryFolder folder;
  folder.write("times.csv", "up,down\n0.25,2.25\n90,9\n");
  const auto replay = [&](const std::string& column) {
    return R"({"distribution": "empirical", "mode": "replay", "path": ")" +
           (folder.path() / "times.csv").string() + R"(", "column": ")" + column + "\"}";
  };
  const Race race = race_on(
      4,
      R"("runtimes": [)" + always("0.5") + "," + one + "," + always("1.1") + "," + always("1.2") +
          "]",
      R"("server": {"per_gradient": 1, "per_update": 1}, "failures": {"learners": [0], "up": )" +
          replay("up") + R"(, "down": )" + replay("down") + "}",
      R"({"kind": "async"})", R"({"updates": 5})");
  Arrivals arrivals;
  CHECK(run_timing(race, 0, &arrivals).totals.time == 10);
  CHECK(arrivals.times[0] == std::vector<double>{8});
  CHECK(arrivals.times[1] == std::vector<double>{2, 10});
  CHECK(arrivals.times[2] == std::vector<double>{4});
  CHECK(arrivals.times[3] == std::vector<double>{6});
}

TEST_CASE("transit: a cluster that never finishes a minibatch says so") {
  const Race race = race_on(2, R"("runtime": )" + one,
                            R"("failures": {"up": )" + always("0.5") + R"(, "down": )" + one + "}",
                            R"({"kind": "sync"})", R"({"updates": 1})");
  const RunRecord record = run_timing(race);
  CHECK(record.status == Status::failed);
  CHECK(record.reason.find("no gradient arrived") != std::string::npos);
}

// Both links are shared and the rest are delays, so the network is of product form.
TEST_CASE("transit: links agree with mean value analysis") {
  for (const double bandwidth : {40.0, 10.0}) {
    CAPTURE(bandwidth);
    const Race race =
        race_on(8, R"("runtime": )" + exponential,
                R"("network": {"pull": {"distribution": "uniform", "low": 0, "high": 0.2},
                               "push": {"distribution": "exponential", "mean": 0.1},
                               "model_bytes": 1, "bandwidth": )" +
                    std::to_string(bandwidth) + "}",
                R"({"kind": "async"})", R"({"updates": 20000})");
    check_iteration_time(race, mean_value_analysis(8, 1.2, {1 / bandwidth, 1 / bandwidth}));
  }
}

TEST_CASE("transit: theory is exact where links are shared alone, else a bound below") {
  const auto check = [](const std::string& roads, Basis basis, double most_below) {
    CAPTURE(roads);
    for (const std::string protocol : {R"({"kind": "async"})", R"({"kind": "softsync", "n": 2})",
                                       R"({"kind": "k-batch-async", "k": 3})"}) {
      CAPTURE(protocol);
      const Point point =
          point_from(R"({"cluster": {"learners": 8, "runtime": )" + exponential + ", " + roads +
                     R"(}, "protocol": )" + protocol + R"(, "stop": {"updates": 20000}})");
      const auto theory = point.theory().iteration_time;
      REQUIRE(theory);
      CHECK(theory->basis == basis);
      if (basis == Basis::exact) {
        check_iteration_time(point.race(), theory->value);
      } else {
        const double measured = iteration_time(run_timing(point.race()));
        CHECK(theory->value <= measured * 1.01);
        CHECK(theory->value >= measured * most_below);
      }
    }
  };
  const std::string laws =
      R"("pull": {"distribution": "uniform", "low": 0, "high": 0.2}, "push": )";
  for (const std::string bandwidth : {"320", "80"})
    check(R"("network": {"model_bytes": 8, )" + laws + exponential + R"(, "bandwidth": )" +
              bandwidth + "}",
          Basis::exact, 1);
  check(R"("network": {"push": )" + one + "}", Basis::exact, 1);
  // Nothing is short of, the link is, the server is.
  check(R"("server": {"per_gradient": 0.001, "per_update": 0.001})", Basis::lower, 0.98);
  check(R"("network": {"model_bytes": 8, "bandwidth": 16, "card": {"bandwidth": [8, 80]}})",
        Basis::lower, 0.8);
  check(R"("server": {"per_gradient": 1, "per_update": 1, "shards": [1, 1, 2]})", Basis::lower,
        0.95);
  check(R"("network": {"model_bytes": 8, "bandwidth": 80}, "server": {"per_gradient": 0.1})",
        Basis::lower, 0.8);
}

// Two learners, a server that takes D for each gradient: after a service the other waits with
// probability p = 1 - exp(-D), else the next arrival takes half a unit of time.
TEST_CASE("transit: a serial server agrees with its queue's closed form") {
  const Race race = race_on(2, R"("runtime": )" + exponential,
                            R"("server": {"per_gradient": 0.2, "per_update": 0.3})",
                            R"({"kind": "async"})", R"({"updates": 20000})");
  check_iteration_time(race, 0.5 + std::exp(-0.5) / 2);
}

TEST_CASE("transit: a saturated server makes updates at its own pace") {
  const RunRecord record = run_timing(race_on(
      64, R"("runtime": )" + exponential, R"("server": {"per_gradient": 0.05, "per_update": 0.05})",
      R"({"kind": "async"})", R"({"updates": 20000})"));
  CHECK(iteration_time(record) == doctest::Approx(0.1).epsilon(0.001));
}

// A minibatch of length x survives with probability exp(-x / U); after a failure it begins again.
TEST_CASE("transit: failures stretch a minibatch as the formula says") {
  const Race race = race_on(4, R"("runtime": )" + one,
                            R"("failures": {"up": {"distribution": "exponential", "mean": 3},
                              "down": {"distribution": "gamma", "shape": 2, "scale": 0.25}})",
                            R"({"kind": "async"})", R"({"updates": 40000})");
  check_iteration_time(race, (3 + 0.5) * (std::exp(1.0 / 3) - 1) / 4);
}

TEST_CASE("transit: every protocol runs on it, and its books add up") {
  for (const auto& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    const Race race =
        race_on(6, R"("runtime": )" + exponential, everything, protocol, R"({"updates": 3000})");
    Losses seen;
    const RunRecord record = run_timing(race, 0, &seen);
    CHECK(record.totals.updates == 3000);
    CHECK(record.totals.lost == seen.lost.size());
    CHECK(record.totals.lost > 20);
    for (const auto& learner : record.learners) {
      CHECK(6.0 * learner.gradients > 0.8 * static_cast<double>(record.totals.applied));
      CHECK(learner.busy < 0.95 * record.totals.time);
      CHECK(learner.wasted <= learner.busy);
    }
  }
}

TEST_CASE("transit: a run is the same to the last bit wherever its segments end") {
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  for (const auto& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    const Race race =
        race_on(6, R"("runtime": )" + exponential, everything, protocol, R"({"updates": 500})");
    TimingPlane short_ones(race, 3, true, nullptr, 1), long_ones(race, 3, true, nullptr);
    while (short_ones.next_segment().end != End::finished) {
    }
    while (long_ones.next_segment().end != End::finished) {
    }
    CHECK(bits(short_ones.totals().time) == bits(long_ones.totals().time));
    CHECK(short_ones.totals().staleness_sum == long_ones.totals().staleness_sum);
  }
}

TEST_CASE("transit: the synchronous family stays fresh") {
  for (const std::string protocol :
       {R"({"kind": "sync"})", R"({"kind": "k-sync", "k": 4})",
        R"({"kind": "k-batch-sync", "k": 4})", R"({"kind": "backup", "k": 4})"}) {
    CAPTURE(protocol);
    const RunRecord record = run_timing(
        race_on(6, R"("runtime": )" + exponential, everything, protocol, R"({"updates": 3000})"));
    CHECK(record.totals.staleness_sum == 0);
  }
}

TEST_CASE("transit: what costs nothing changes nothing") {
  for (const auto& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    const RunRecord plain = run_timing(race_of(6, protocol, R"({"updates": 500})"));
    const RunRecord record = run_timing(race_on(6, R"("runtime": )" + exponential,
                                                R"("network": {}, "server": {"per_update": 0})",
                                                protocol, R"({"updates": 500})"));
    CHECK(record.totals.time == plain.totals.time);
    CHECK(record.totals.staleness_sum == plain.totals.staleness_sum);
    CHECK(record.learners[0].busy == doctest::Approx(plain.learners[0].busy));
  }
}

}  // namespace gradrace::transit_test
