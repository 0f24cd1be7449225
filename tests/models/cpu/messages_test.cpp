#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "models/cpu/cpu_device.h"
#include "models/make_device.h"
#include "models/quadratic.h"
#include "tests/support/compressors.h"
#include "tests/support/race_text.h"
#include "tests/support/subjects.h"

namespace gradrace::messages_test {

namespace {

const std::string constant = R"({"kind": "constant", "eta": 0.02})";
/// Falls in a stretch of the runs below in which gradients are under way.
const std::string falling = R"({"kind": "step", "eta": 0.05, "factor": 0.2, "at": [40, 90],
                                "unit": "gradients"})";
/// Messages get lost with learners, and gradients are late.
const std::string roads =
    R"(, "network": {"push": {"distribution": "exponential", "mean": 0.2}, "bandwidth": 40,
        "model_bytes": 3}, "failures": {"up": {"distribution": "exponential", "mean": 9},
        "down": {"distribution": "uniform", "low": 0, "high": 4}})";

/// Likewise, and they are cancelled under way.
const std::string slow_roads =
    R"(, "network": {"push": {"distribution": "exponential", "mean": 0.2}, "bandwidth": 25,
        "model_bytes": 12}, "failures": {"up": {"distribution": "exponential", "mean": 9},
        "down": {"distribution": "uniform", "low": 0, "high": 4}})";

QuadraticConfig quadratic_model() {
  QuadraticConfig model;
  model.dimensions = 3;
  model.curvatures = {1, 0.3, 2};
  model.noise = 0.5;
  model.minibatch = 4;
  return model;
}

Point point_of(const std::string& protocol, const std::string& rate = constant,
               const std::string& optimiser = "{}", const std::string& cluster = "",
               const std::string& stop = R"({"updates": 150})") {
  return point_from(
      R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1})" +
      cluster + R"(}, "protocol": )" + protocol +
      R"(, "model": {"kind": "quadratic", "dimensions": 3, "curvatures": [1, 0.3, 2], "noise": 0.5,
                     "minibatch": 4, "precision": "float64"},
          "record": {"every_updates": 50}, "learning_rate": )" +
      rate + R"(, "optimiser": )" + optimiser + R"(, "stop": )" + stop + "}");
}

/// Applies pairs of gradients while their learners go on, and drops every third that arrives: a
/// learner's may be waiting for an update when its next one is dropped.
class DropsThird final : public ServerProtocol {
 public:
  void on_gradient(Server& server, const GradientFacts& arrival) override {
    if (++arrived_ % 3 == 0)
      server.drop(arrival);
    else
      server.accept(arrival);
    server.dispatch(arrival.learner);
    if (server.accepted() == 2) server.update();
  }
  std::uint32_t k() const override { return 2; }

 private:
  std::uint64_t arrived_ = 0;
};

const char* const drops_third = "drops third";

Race race_by(const std::string& protocol, const std::string& rate = constant,
             const std::string& optimiser = "{}", const std::string& cluster = "",
             const std::string& stop = R"({"updates": 150})") {
  const bool own = protocol == drops_third;
  Race race =
      point_of(own ? R"({"kind": "async"})" : protocol, rate, optimiser, cluster, stop).race();
  if (own) race.make_protocol = [] { return std::make_unique<DropsThird>(); };
  return race;
}

std::vector<std::string> with_gradients_sent() {
  std::vector<std::string> protocols = every_server_protocol();
  protocols.push_back(R"({"kind": "backup", "backups": 3, "late": "wait"})");
  protocols.push_back(R"({"kind": "backup", "backups": 3, "tokens": "shared"})");
  protocols.push_back(R"({"kind": "all-reduce"})");
  protocols.push_back(drops_third);
  return protocols;
}

std::unique_ptr<Device> exact_device() {
  return make_cpu_device(make_quadratic<double>(quadratic_model()));
}

/// The loop that users write by hand, of which every learner has an error memory: gradients are
/// computed at their dispatch, compressed when the server takes them, or drops them.
class DirectLoop : public Observer {
 public:
  DirectLoop(const Race& race, const Memory& memory)
      : race_(race),
        memory_(memory),
        model_(make_quadratic<double>(quadratic_model())),
        w_(model_->parameters(), quadratic_model().start),
        velocity_(w_.size()),
        remembered_(race.learners, Vector(w_.size())),
        put_in_(w_.size()),
        sent_(w_.size()),
        lost_(w_.size()) {
    const auto* const sgd = std::get_if<Sgd>(&optimiser_of(race.plans[0].rule));
    momentum_ = sgd->momentum;
  }

  void on_dispatch(const GradientFacts& gradient, double) override {
    Vector g(w_.size());
    const Plan& plan = race_.plans[0];
    model_->gradient(
        w_, {race_.seed, 0, gradient.learner, gradient.draw, plan.minibatch[gradient.learner]}, g);
    const double norm = std::sqrt(std::inner_product(g.begin(), g.end(), g.begin(), 0.0));
    const double clip = plan.clip > 0 && norm > plan.clip ? plan.clip / norm : 1;
    const double rate = memory_.of_steps ? eta(k_) : 1;
    for (double& x : g) x *= clip * rate;
    gradients_[gradient.gradient] = std::move(g);
  }
  void on_end(const GradientFacts& gradient, double, double, Ending ending) override {
    const bool lost = ending == Ending::dropped;
    if (!lost && ending != Ending::accepted) return;
    endings.push_back(lost);
    Vector& message = gradients_.at(gradient.gradient);
    Vector& remembered = remembered_[gradient.learner];
    for (std::size_t i = 0; i < w_.size(); ++i) {
      put_in_[i] += message[i];
      const double all = message[i] + memory_.decay * remembered[i];
      message[i] = all / 2;
      remembered[i] = lost && memory_.takes_back ? all : all / 2;
      (lost ? lost_ : sent_)[i] += lost && memory_.takes_back ? 0 : message[i];
    }
    put_in.push_back(put_in_);
  }
  void on_update(const UpdateFacts& update) override {
    const auto count = static_cast<std::uint32_t>(update.gradients.size());
    Vector step(w_.size());
    for (const GradientFacts& gradient : update.gradients)
      for (std::size_t i = 0; i < w_.size(); ++i)
        step[i] +=
            (memory_.of_steps ? 1 : eta(count)) / count * gradients_.at(gradient.gradient)[i];
    for (std::size_t i = 0; i < w_.size(); ++i) {
      velocity_[i] = momentum_ * velocity_[i] + step[i];
      w_[i] -= velocity_[i];
    }
    work_.gradients += count;
  }

  double loss() {
    Evaluation result;
    const double* value = w_.data();
    model_->evaluate({&value, 1}, {&result, 1});
    return result.loss;
  }
  const Vector& sent() const { return sent_; }
  const Vector& lost() const { return lost_; }

  std::vector<bool> endings;   // of gradients that were sent: whether they were dropped
  std::vector<Vector> put_in;  // by then
  void expect(std::uint32_t k) { k_ = k; }

 private:
  double eta(std::uint32_t count) const {
    return race_.plans[0].learning_rate->eta(work_, 0, count);
  }

  const Race& race_;
  const Memory memory_;
  std::unique_ptr<Model<double>> model_;
  double momentum_ = 0;
  std::uint32_t k_ = 1;
  Vector w_, velocity_;
  std::vector<Vector> remembered_;  // [learner]
  Vector put_in_, sent_, lost_;
  Work work_;
  std::map<GradientId, Vector> gradients_;
};

void check_equals_loop(const Race& plain, const Memory& memory) {
  const Race race = with_messages(plain, Halving(), memory);
  const auto device = exact_device();
  for (const std::uint32_t limit : {1u, 4096u}) {
    DirectLoop direct(race, memory);
    direct.expect(race.make_protocol()->k());
    const RaceRecord record = run_race({race, 0, limit, &direct}, device.get());
    REQUIRE(record.status == Status::finished);
    const double loss = record.curve.back().evaluation.loss;
    CHECK(std::abs(loss - direct.loss()) <= 1e-11 * direct.loss());
  }
}

/// What messages say, before they are halved and after, in the order of sending.
struct Recorded final : CompressorOf<Recorded> {
  std::vector<Vector>* messages;

  explicit Recorded(std::vector<Vector>& all) : messages(&all) {}
  double bytes(double numbers) const override { return 2 * numbers; }
  template <class Real>
  void make(std::span<Real> row, Stream&) const {
    for (Real& x : row) x /= 2;
    messages->emplace_back(row.begin(), row.end());
  }
};

std::vector<double> losses_of(const RaceRecord& record) {
  std::vector<double> losses;
  for (const CurvePoint& at : record.curve) losses.push_back(at.evaluation.loss);
  return losses;
}

Memory memory_of(double decay, bool takes_back = false, bool of_steps = false) {
  return {.decay = decay, .of_steps = of_steps, .takes_back = takes_back};
}

}  // namespace

TEST_CASE("messages: halved ones with a memory equal a direct loop, whoever drops gradients") {
  for (const std::string& protocol : with_gradients_sent()) {
    CAPTURE(protocol);
    const bool peers = protocol.find("all-reduce") != std::string::npos;
    for (const std::string& cluster : {std::string(), roads}) {
      if (peers && !cluster.empty()) continue;
      for (const std::string optimiser : {"{}", R"({"momentum": 0.9, "clip": 0.3})"}) {
        const Race race = race_by(protocol, falling, optimiser, cluster);
        for (const bool takes_back : {false, true}) {
          check_equals_loop(race, memory_of(1, takes_back));
          check_equals_loop(race, memory_of(0.7, takes_back));
        }
      }
    }
  }
}

TEST_CASE("messages: of steps they have the rate of their dispatch") {
  for (const std::string& protocol : with_gradients_sent()) {
    if (protocol.find("adasync") != std::string::npos) continue;  // its K is not the first one
    if (protocol.find("switch") != std::string::npos) continue;   // likewise
    CAPTURE(protocol);
    const bool peers = protocol.find("all-reduce") != std::string::npos;
    for (const std::string& rate :
         {falling, R"({"kind": "constant", "eta": 0.02, "scale": "linear"})" + std::string()}) {
      const Race race =
          race_by(protocol, rate, R"({"momentum": 0.9, "clip": 0.3})", peers ? "" : roads);
      check_equals_loop(race, memory_of(0.9, false, true));
      check_equals_loop(race, memory_of(1, true, true));
    }
  }
}

TEST_CASE("messages: what was sent, remembered and lost is what was put in, at every step") {
  for (const std::string& protocol :
       {std::string(drops_third), std::string(R"({"kind": "backup", "backups": 3})"),
        std::string(R"({"kind": "k-batch-async", "k": 4})")}) {
    CAPTURE(protocol);
    for (const bool takes_back : {false, true}) {
      const Memory memory = memory_of(1, takes_back);
      std::vector<Vector> messages;
      const Race race =
          with_messages(race_by(protocol, constant, "{}", roads), Recorded(messages), memory);
      DirectLoop direct(race, memory);
      Run run(race, 0, true, &direct, nullptr, 1);
      const auto device = exact_device();
      const std::vector<Tape> tapes{
          {race.seed, 0, Recipes(race.plans).all(), {race.plans[0].rule}, {race.plans[0].message}}};
      device->start(tapes);
      std::uint64_t checked = 0, remembering = 0;
      while (const Segment* segment = run.advance()) {
        Results results;
        device->replay({&segment, 1}, {&results, 1});
        run.take(results);
        if (direct.endings.empty()) continue;
        const Vector values = device->parameters(0);  // the model, and memories
        Vector out(3), put_in = direct.put_in.back();
        for (std::size_t i = 3; i < values.size(); ++i) out[i % 3] += values[i];
        for (const Vector& message : messages)  // sent or lost
          for (std::size_t i = 0; i < 3; ++i) out[i] += message[i];
        CHECK(distance(out, put_in) <= 1e-12 * (1 + norm(put_in)));
        remembering = std::max<std::uint64_t>(remembering, values.size() / 3 - 1);
        ++checked;
      }
      CHECK(checked > 150);
      CHECK(remembering == 8);
      const auto dropped =
          static_cast<std::size_t>(std::count(direct.endings.begin(), direct.endings.end(), true));
      if (protocol.find("async") == std::string::npos) CHECK(dropped > 10);
      CHECK(messages.size() == direct.endings.size() - (takes_back ? dropped : 0));
      const Vector split(direct.sent());
      Vector of_device(3);
      for (const Vector& message : messages)
        for (std::size_t i = 0; i < 3; ++i) of_device[i] += message[i];
      for (std::size_t i = 0; i < 3; ++i) of_device[i] -= direct.lost()[i];
      CHECK(distance(split, of_device) <= 1e-12 * (1 + norm(split)));
    }
  }
}

/// All that is told of two runs, which may have ended with messages made that have not arrived.
void check_same(const RaceRecord& a, const RaceRecord& b, bool exchange_at_end) {
  CHECK(a.status == b.status);
  CHECK(losses_of(a) == losses_of(b));
  CHECK(a.totals.time == b.totals.time);
  CHECK(a.totals.cancelled == b.totals.cancelled);
  CHECK(a.staleness_counts == b.staleness_counts);
  for (std::size_t i = 0; i < a.learners.size(); ++i) {
    const double at_end = exchange_at_end ? 7 * 6 : 0;  // which the other does not begin
    CHECK(a.learners[i].exchanged.sent + at_end ==
          doctest::Approx(b.learners[i].exchanged.sent).epsilon(1e-13));
    CHECK(a.learners[i].exchanged.communicating == b.learners[i].exchanged.communicating);
    CHECK(a.learners[i].busy == b.learners[i].busy);
  }
}

// On a slow link the server cancels messages that are under way, and learners fail with theirs.
TEST_CASE("messages: whose bytes are asked for as they leave make the runs of those known before") {
  std::uint64_t in_vain = 0;
  std::vector<std::string> protocols = with_gradients_sent();
  protocols.push_back(R"({"kind": "local-sgd", "tau": 3, "outer": {"momentum": 0.5}})");
  for (const std::string& protocol : protocols) {
    CAPTURE(protocol);
    const bool peers = protocol.find("all-reduce") < 20 || protocol.find("local-sgd") < 20;
    const std::string mesh =
        R"(, "network": {"topology": "mesh", "latency": 0.25, "bandwidth": 40, "model_bytes": 12})";
    const std::string shards = R"(, "server": {"shards": 3, "per_gradient": 0.01}, "network":
        {"card": {"bandwidth": 30, "latency": 0.01}, "bandwidth": 25, "model_bytes": 12,
         "overlap": true})";
    for (const std::string& cluster : {peers ? mesh : slow_roads, peers ? mesh : shards}) {
      const Race plain = race_by(protocol, falling, "{}", cluster);
      for (const auto& memory : {std::optional<Memory>(), std::optional(memory_of(0.9)),
                                 std::optional(Memory{.estimate = EstimateSteps{0.5, 0.7}})}) {
        Race known = with_messages(plain, Halving(), memory);
        Race asked = with_messages(plain, HalvingByContent(), memory);
        if (peers)
          for (Race* const race : {&known, &asked})
            race->peers_of_messages = race->peers,
            race->peers_of_messages->collective = Collective::gather;
        asked.coded_numbers = 3;
        if (!memory && !peers)
          for (Race* const race : {&known, &asked})
            for (Plan& plan : race->plans)
              plan.rule.back = std::make_shared<const Message>(plan.message);
        const auto device = exact_device();
        const RaceRecord wanted = run_race({known}, device.get());
        for (const std::uint32_t limit : {1u, 4096u}) {
          const RaceRecord found = run_race({asked, 0, limit}, device.get());
          check_same(found, wanted, protocol.find("local-sgd") < 20);
          if (!memory) CHECK(found.hash == wanted.hash);
          in_vain += found.gradients_computed - wanted.gradients_computed;
        }
      }
    }
  }
  CHECK(in_vain > 100);
}

TEST_CASE("messages: what is sent whole has the bits of today, by every protocol") {
  std::vector<std::string> protocols = with_gradients_sent(), peers = every_peer_protocol();
  protocols.insert(protocols.end(), peers.begin(), peers.end());
  for (const std::string& protocol : protocols) {
    CAPTURE(protocol);
    for (const std::string optimiser :
         {R"({"momentum": 0.9})", R"({"kind": "adam", "ema": 0.9})"}) {
      const Race race = race_by(protocol, falling, optimiser);
      const auto device = exact_device();
      for (const std::uint32_t limit : {1u, 64u}) {
        const RaceRecord today = run_race({race, 0, limit}, device.get());
        const RaceRecord whole =
            run_race({with_messages(race, Identity(), {}), 0, limit}, device.get());
        CHECK(whole.hash == today.hash);
        CHECK(losses_of(whole) == losses_of(today));
        const RaceRecord remembered =
            run_race({with_messages(race, Identity(), memory_of(0.9)), 0, limit}, device.get());
        CHECK(losses_of(remembered) == losses_of(today));
        CHECK(remembered.totals.time == today.totals.time);
      }
    }
  }
}

TEST_CASE("messages: what is sent whole has the bits of today, with every model") {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.name);
    const auto model = subject.exact();
    const Vector start = some_value(*model);
    for (const std::string& protocol : {std::string(R"({"kind": "k-async", "k": 2})"),
                                        std::string(R"({"kind": "all-reduce"})")}) {
      const Race race =
          race_by(protocol, constant, R"({"momentum": 0.9})", "", R"({"updates": 6})");
      const auto device = subject.on(cpu(), start);
      const RaceRecord today = run_race({race}, device.get());
      const RaceRecord whole = run_race({with_messages(race, Identity(), {})}, device.get());
      CHECK(whole.hash == today.hash);
      const RaceRecord remembered =
          run_race({with_messages(race, Identity(), memory_of(1))}, device.get());
      CHECK(losses_of(remembered) == losses_of(today));
    }
  }
}

TEST_CASE("messages: a clipped gradient that is sent whole is rounded once more") {
  const Race race = race_by(R"({"kind": "k-async", "k": 2})", constant, R"({"clip": 0.3})");
  const auto device = exact_device();
  const auto today = losses_of(run_race({race}, device.get()));
  const auto whole = losses_of(run_race({with_messages(race, Identity(), {})}, device.get()));
  REQUIRE(whole.size() == today.size());
  for (std::size_t i = 0; i < whole.size(); ++i) CHECK(near(whole[i], today[i], 1e-13));
}

TEST_CASE("messages: a gradient that is dropped is computed where it leaves a memory, else never") {
  for (const std::string& protocol : with_gradients_sent()) {
    CAPTURE(protocol);
    const bool peers = protocol.find("all-reduce") != std::string::npos;
    const Race race = race_by(protocol, constant, "{}", peers ? "" : roads);
    const std::uint64_t waiting = race.learners;  // accepted when the run ends, at most
    for (const std::uint32_t limit : {1u, 50u, 4096u}) {
      const auto device = exact_device();
      const auto run = [&](std::optional<Memory> memory) {
        return run_race({with_messages(race, Halving(), memory), 0, limit}, device.get());
      };
      const RaceRecord without = run({});
      CHECK(without.gradients_computed >= without.totals.applied);
      CHECK(without.gradients_computed <= without.totals.applied + waiting);
      for (const bool takes_back : {false, true}) {
        const RaceRecord with = run(memory_of(1, takes_back));
        const std::uint64_t sent = with.totals.applied + with.totals.dropped;
        CHECK(with.gradients_computed >= sent);
        CHECK(with.gradients_computed <= sent + waiting);
        CHECK(with.totals.dropped == without.totals.dropped);
      }
    }
  }
}

/// Adds random numbers to what it halves, in the order of the row.
struct Noisy final : CompressorOf<Noisy> {
  double bytes(double numbers) const override { return 2 * numbers; }
  template <class Real>
  void make(std::span<Real> row, Stream& words) const {
    for (Real& x : row) x = x / 2 + static_cast<Real>(words()) * Real(1e-12);
  }
};

TEST_CASE("messages: equal bits for any segment limit and cohort, begun again and alone") {
  for (const std::string& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    const Point point = point_from(
        R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1})" +
        roads +
        R"(}, "model": {"kind": "softmax", "minibatch": 30, "l2": 0.01, "init_sd": 0.01,
            "dataset": {"kind": "synthetic", "rows": 300, "test_rows": 100,
                        "partition": {"kind": "iid"}}},
            "learning_rate": {"kind": "constant", "eta": 0.05},
            "optimiser": {"momentum": 0.9, "clip": 0.5, "ema": 0.9},
            "stop": {"updates": 60}, "record": {"every_time": 3}, "protocol": )" +
        protocol + "}");
    for (const bool takes_back : {false, true}) {
      const Race race = with_messages(point.race(), Noisy(), memory_of(0.9, takes_back));
      const auto device = make_device(*point.model, {.learners = 8});
      const auto run = [&](std::uint32_t first, std::uint32_t count, std::uint32_t limit) {
        std::vector<Starter> starters;
        for (std::uint32_t r = first; r < first + count; ++r) starters.push_back({race, r, limit});
        return run_races(starters, device.get());
      };
      const auto whole = run(0, 3, 1'000'000);
      CHECK(whole[0].hash != whole[1].hash);
      for (const std::uint32_t limit : {1u, 17u, 4096u}) {
        const auto first = run(0, 1, limit), others = run(1, 2, limit);
        CHECK(first[0].hash == whole[0].hash);
        CHECK(losses_of(first[0]) == losses_of(whole[0]));
        for (const std::uint32_t r : {1u, 2u}) {
          CHECK(others[r - 1].hash == whole[r].hash);
          CHECK(losses_of(others[r - 1]) == losses_of(whole[r]));
        }
      }
    }
  }
}

TEST_CASE("messages: a compressor's random numbers are the message's own") {
  struct First final : CompressorOf<First> {
    std::vector<std::uint32_t>* words;
    explicit First(std::vector<std::uint32_t>& all) : words(&all) {}
    double bytes(double numbers) const override { return numbers; }
    void make(std::span<float>, Stream&) const {}
    void make(std::span<double>, Stream& stream) const { words->push_back(stream()); }
  };
  std::vector<std::uint32_t> words, wanted;
  const Race race = race_by(R"({"kind": "async"})", constant, "{}", "", R"({"updates": 20})");
  struct Sends final : Observer {
    std::vector<std::uint32_t>& wanted;
    const Race& race;
    Sends(std::vector<std::uint32_t>& all, const Race& of) : wanted(all), race(of) {}
    void on_end(const GradientFacts& gradient, double, double, Ending) override {
      Stream stream({race.seed, 0, Purpose::compression, gradient.learner, gradient.draw});
      wanted.push_back(stream());
    }
  } sends(wanted, race);
  run_race({with_messages(race, First(words), {}), 0, 7, &sends}, exact_device().get());
  CHECK(words.size() == 20);
  CHECK(words == wanted);
}

TEST_CASE("messages: a memory of steps is refused where the rate is known at the use alone") {
  const std::string async = R"({"kind": "async"})";
  const auto run = [&](const Race& race, bool of_steps) {
    const Race with = with_messages(race, Halving(), memory_of(1, false, of_steps));
    return run_race({with}, exact_device().get());
  };
  for (const std::string rate : {R"({"kind": "staleness", "eta": 0.02})",
                                 R"({"kind": "distance", "c": 1e-3, "eta_max": 0.02})"}) {
    const RaceRecord record = run(race_by(async, rate), true);
    CHECK(record.status == Status::failed);
    CHECK(record.reason.find("a memory of steps has the rate of each dispatch in it") == 0);
    CHECK(run(race_by(async, rate), false).status == Status::finished);
  }
  for (const std::string optimiser :
       {R"({"kind": "adam"})", R"({"kind": "adamw"})", R"({"rmsprop": {}})",
        R"({"momentum": 0.9, "momentum_of": "gradients"})"}) {
    const Race race = race_by(async, constant, optimiser);
    CHECK_THROWS_WITH_AS(run(race, true), doctest::Contains("this optimiser needs it apart"),
                         std::runtime_error);
    CHECK(run(race, false).status == Status::finished);
  }
}

}  // namespace gradrace::messages_test
