// A model whose shards have a version each: against one version where all shards are in step, and
// against a loop that follows every part of every message, and every range, where they are not.

#include "sim/engine/sharded_server.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "models/make_device.h"
#include "tests/support/race_text.h"

namespace gradrace::sharded_server_test {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

const std::string quadratic = R"({"kind": "quadratic", "dimensions": 11, "noise": 0.5,
  "curvatures": [1, 0.5, 0.2], "precision": "float64"})";
const std::string softmax = R"({"kind": "softmax", "minibatch": 30, "l2": 0.01, "init_sd": 0.01,
  "dataset": {"kind": "synthetic", "rows": 300, "test_rows": 100}, "precision": "float64"})";

const std::string packed = R"({"kind": "mlp", "widths": [6], "minibatch": 30,
  "dataset": {"kind": "synthetic", "rows": 300, "test_rows": 100}})";

/// What a scenario says beside its cluster.
struct Training {
  std::string protocol, model = quadratic, rate = R"({"kind": "constant", "eta": 0.05})",
                        optimiser = R"({"kind": "sgd"})", stop = R"({"updates": 60})";
};

Point point_of(const Training& training, std::uint32_t learners, const std::string& cluster,
               const std::string& record = R"({"every_updates": 7})") {
  return point_from(R"({"cluster": {"learners": )" + std::to_string(learners) + ", " + cluster +
                    R"(}, "protocol": )" + training.protocol + R"(, "model": )" + training.model +
                    R"(, "learning_rate": )" + training.rate + R"(, "optimiser": )" +
                    training.optimiser + R"(, "record": )" + record + R"(, "stop": )" +
                    training.stop + "}");
}

RaceRecord run_of(const Point& point, std::uint32_t limit = TimingPlane::default_limit) {
  const Race race = point.race();
  const auto device = make_device(*point.model, {point.device, point.rows});
  return run_race({race, 0, limit}, device.get());
}

std::string in_shards(const std::string& shards, const std::string& versions,
                      const std::string& more = "") {
  return R"("server": {"shards": )" + shards + R"(, "versions": ")" + versions + "\"" + more + "}";
}

void check_same(const RaceRecord& a, const RaceRecord& b) {
  REQUIRE(a.status == Status::finished);
  REQUIRE(b.status == Status::finished);
  CHECK(a.hash == b.hash);
  CHECK(a.totals.updates == b.totals.updates);
  CHECK(a.totals.applied == b.totals.applied);
  CHECK(a.totals.dispatched == b.totals.dispatched);
  CHECK(a.totals.last_update_time == b.totals.last_update_time);
  CHECK(a.totals.max_staleness == b.totals.max_staleness);
  REQUIRE(a.curve.size() == b.curve.size());
  for (std::size_t i = 0; i < a.curve.size(); ++i) {
    CAPTURE(i);
    CHECK(a.curve[i].point.time == b.curve[i].point.time);
    CHECK(a.curve[i].point.update == b.curve[i].point.update);
    CHECK(a.curve[i].point.gradients == b.curve[i].point.gradients);
    CHECK(a.curve[i].point.learning_rate == b.curve[i].point.learning_rate);
    CHECK(a.curve[i].evaluation.loss == b.curve[i].evaluation.loss);
  }
  REQUIRE(a.learners.size() == b.learners.size());
  for (std::size_t l = 0; l < a.learners.size(); ++l) {
    CHECK(a.learners[l].busy == b.learners[l].busy);
    CHECK(a.learners[l].gradients == b.learners[l].gradients);
  }
}

const std::vector<std::string> protocols{R"({"kind": "async"})",
                                         R"({"kind": "sync"})",
                                         R"({"kind": "k-async", "k": 2})",
                                         R"({"kind": "k-batch-async", "k": 3})",
                                         R"({"kind": "softsync", "n": 2})",
                                         R"({"kind": "ssp", "bound": 1})"};

double runtime(std::uint32_t learner, std::uint32_t draw) {
  std::mt19937_64 random(1000 * learner + draw);
  return 0.1 + 2 * static_cast<double>(random() >> 11) * 0x1p-53;
}

class Hashed final : public Runtimes {
 public:
  double duration(std::uint32_t learner, std::uint32_t draw, double, std::uint32_t) override {
    return runtime(learner, draw);
  }
};

struct Machines {
  std::uint32_t learners = 5, k = 1;
  std::vector<std::size_t> sizes = {};  // of ranges, in parameters
  double bandwidth = 0, bytes = 0;      // of a link each way, of a model; 0: no links
  double per_gradient = 0, per_update = 0;
};

/// k-async with a rate by staleness and momentum, by shards.
class Loop {
 public:
  static constexpr double eta = 0.08, momentum = 0.5;

  Loop(const Machines& machines, const Race& race, Model<double>& model)
      : machines_(machines),
        race_(race),
        model_(model),
        w_(model.parameters()),
        velocity_(w_.size()),
        learners_(machines.learners) {
    model.initialise(race.seed, 0, w_);
    std::size_t first = 0;
    for (const std::size_t size : machines.sizes) {
      shards_.push_back({.first = first, .last = first + size});
      first += size;
    }
    REQUIRE(first == w_.size());
    for (std::uint32_t l = 0; l < machines.learners; ++l) pull(l);
  }

  /// Losses at those times.
  std::vector<double> losses(const std::vector<double>& times) {
    std::vector<double> found;
    for (const double time : times) {
      for (Event event = next(); event.time <= time; event = next()) {
        flow(event.time - now_);
        now_ = event.time;
        event.happen();
      }
      flow(time - now_);
      now_ = time;
      Evaluation evaluation;
      const double* const w = w_.data();
      model_.evaluate({&w, 1}, {&evaluation, 1});
      found.push_back(evaluation.loss);
    }
    return found;
  }

  std::uint32_t fewest_updates() const {
    return std::ranges::min(shards_, {}, &Shard::version).version;
  }
  bool were_apart = false;  // versions that a learner read

 private:
  struct Flow {
    std::uint32_t learner;
    double left;
  };
  struct Part {
    std::uint32_t learner, staleness;
    std::vector<double> g;
  };
  struct Shard {
    std::size_t first, last;
    std::uint32_t version = 0;
    double free_at = 0, begins = 0, ends = never;  // never: it takes nothing up
    /// What it is at, or has been told to do since it was told to take the next one up.
    double busy(double now) const {
      return now < begins && free_at == ends ? begins : std::max(now, free_at);
    }
    std::vector<Flow> leaving = {};  // left: when
    std::vector<Flow> out = {}, in = {};
    std::deque<std::uint32_t> queue = {};
    std::vector<Part> accepted = {};
    std::vector<std::uint32_t> waiting = {};
  };
  struct Learner {
    std::uint32_t draws = 0, to_come = 0, let_go = 0;
    double computed = never;
    std::vector<std::uint32_t> read = {};
    std::vector<double> g = {};
  };
  struct Event {
    double time = never;
    std::function<void()> happen = {};
  };

  double part(const Shard& shard) const {
    return static_cast<double>(shard.last - shard.first) / static_cast<double>(w_.size());
  }

  Event next() {
    Event first;
    const auto offer = [&](double time, auto happen) {
      if (time < first.time) first = {time, happen};
    };
    for (std::uint32_t l = 0; l < learners_.size(); ++l)
      offer(learners_[l].computed, [this, l] { push(l); });
    for (Shard& shard : shards_) {
      offer(shard.ends, [this, &shard] { take_up(shard); });
      const auto offer_flows = [&](std::vector<Flow>& flows, auto end) {
        for (std::size_t i = 0; i < flows.size(); ++i)
          offer(now_ + flows[i].left * static_cast<double>(flows.size()) / machines_.bandwidth,
                [&flows, i, end] {
                  const std::uint32_t learner = flows[i].learner;
                  flows.erase(flows.begin() + static_cast<std::ptrdiff_t>(i));
                  end(learner);
                });
      };
      for (std::size_t i = 0; i < shard.leaving.size(); ++i)
        offer(shard.leaving[i].left, [this, &shard, i] {
          shard.out.push_back({shard.leaving[i].learner, machines_.bytes * part(shard)});
          shard.leaving.erase(shard.leaving.begin() + static_cast<std::ptrdiff_t>(i));
        });
      offer_flows(shard.out, [this](std::uint32_t l) {
        if (--learners_[l].to_come == 0) compute(l, now_);
      });
      offer_flows(shard.in, [this, &shard](std::uint32_t l) { reach(shard, l); });
    }
    return first;
  }

  void flow(double time) {
    for (Shard& shard : shards_)
      for (auto* flows : {&shard.out, &shard.in})
        for (Flow& one : *flows)
          one.left -= time * machines_.bandwidth / static_cast<double>(flows->size());
  }

  void pull(std::uint32_t l) {
    Learner& learner = learners_[l];
    learner.let_go = 0;
    learner.read.clear();
    double last = now_;
    for (Shard& shard : shards_) {
      learner.read.push_back(shard.version);
      last = std::max(last, shard.busy(now_));
      if (machines_.bandwidth > 0) shard.leaving.push_back({l, shard.busy(now_)});
    }
    were_apart = were_apart || std::ranges::min(learner.read) < std::ranges::max(learner.read);
    learner.g.resize(w_.size());
    model_.gradient(w_, {race_.seed, 0, l, learner.draws, race_.plans[0].minibatch[l]}, learner.g);
    learner.to_come = static_cast<std::uint32_t>(shards_.size());
    if (machines_.bandwidth == 0) compute(l, last);
  }
  void compute(std::uint32_t l, double begin) {
    learners_[l].computed = begin + runtime(l, learners_[l].draws++);
  }
  void push(std::uint32_t l) {
    learners_[l].computed = never;
    for (Shard& shard : shards_) {
      if (machines_.bandwidth > 0)
        shard.in.push_back({l, machines_.bytes * part(shard)});
      else
        reach(shard, l);
    }
  }
  void reach(Shard& shard, std::uint32_t l) {
    shard.queue.push_back(l);
    if (shard.ends == never) begin_next(shard);
  }
  void begin_next(Shard& shard) {
    shard.ends = never;
    if (shard.queue.empty()) return;
    shard.begins = std::max(now_, shard.free_at);
    shard.free_at = shard.ends = shard.begins + machines_.per_gradient * part(shard);
  }
  void take_up(Shard& shard) {
    const std::uint32_t l = shard.queue.front();
    shard.queue.pop_front();
    const auto number = static_cast<std::size_t>(&shard - shards_.data());
    shard.accepted.push_back({l, shard.version - learners_[l].read[number], learners_[l].g});
    shard.waiting.push_back(l);
    if (shard.accepted.size() == machines_.k) {
      update(shard);
      std::ranges::sort(shard.waiting);
      for (const std::uint32_t waiting : std::exchange(shard.waiting, {}))
        if (++learners_[waiting].let_go == shards_.size()) pull(waiting);
    }
    begin_next(shard);
  }
  void update(Shard& shard) {
    for (std::size_t j = shard.first; j < shard.last; ++j) {
      double step = 0;
      for (const Part& one : shard.accepted)
        step += eta / std::max(1u, one.staleness) / machines_.k * one.g[j];
      velocity_[j] = momentum * velocity_[j] + step;
      w_[j] -= velocity_[j];
    }
    shard.accepted.clear();
    ++shard.version;
    shard.free_at = std::max(now_, shard.free_at) + machines_.per_update * part(shard);
  }

  const Machines& machines_;
  const Race& race_;
  Model<double>& model_;
  std::vector<double> w_, velocity_;
  std::vector<Learner> learners_;
  std::vector<Shard> shards_;
  double now_ = 0;
};

std::string number(double x) {
  std::string text(32, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.17g", x)));
  return text;
}

Point point_of(const Machines& machines, const std::string& model) {
  std::string sizes;
  for (const std::size_t size : machines.sizes)
    sizes += (sizes.empty() ? "[" : ", ") + std::to_string(size);
  const std::string server = in_shards(sizes + "]", "each",
                                       R"(, "per_gradient": )" + number(machines.per_gradient) +
                                           R"(, "per_update": )" + number(machines.per_update));
  std::string cluster = R"("runtime": {"distribution": "exponential", "mean": 1}, )" + server;
  if (machines.bandwidth > 0)
    cluster += R"(, "network": {"bandwidth": )" + number(machines.bandwidth) +
               R"(, "model_bytes": )" + number(machines.bytes) + "}";
  const Training training{
      .protocol = R"({"kind": "k-async", "k": )" + std::to_string(machines.k) + "}",
      .model = model,
      .rate = R"({"kind": "staleness", "eta": )" + number(Loop::eta) + "}",
      .optimiser = R"({"kind": "sgd", "momentum": )" + number(Loop::momentum) + "}",
      .stop = R"({"time": 40})"};
  return point_of(training, machines.learners, cluster, R"({"every_time": 1.7})");
}

/// Whether a learner's reads were of different versions.
bool check_against_loop(const Machines& machines, const std::string& model_text) {
  const Point point = point_of(machines, model_text);
  Race race = point.race();
  race.make_runtimes = [](std::uint64_t, std::uint32_t) { return std::make_unique<Hashed>(); };
  const auto device = make_device(*point.model, {});
  const RaceRecord record = run_race({race, 0}, device.get());
  const RaceRecord in_pieces = run_race({race, 0, 7}, device.get());
  REQUIRE(record.status == Status::finished);
  std::vector<double> times;
  for (const CurvePoint& seen : record.curve) times.push_back(seen.point.time);
  REQUIRE(times.size() > 20);
  const auto model = point.model->make_float64();
  Loop loop(machines, race, *model);
  const std::vector<double> expected = loop.losses(times);
  CHECK(record.totals.updates == loop.fewest_updates());
  CHECK(record.hash == in_pieces.hash);
  REQUIRE(in_pieces.curve.size() == times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    CAPTURE(i);
    REQUIRE(record.curve[i].evaluation.loss == doctest::Approx(expected[i]).epsilon(1e-12));
    REQUIRE(in_pieces.curve[i].evaluation.loss == record.curve[i].evaluation.loss);
  }
  return loop.were_apart;
}

}  // namespace

TEST_CASE("sharded server: shards in step, with a version each, give the bits of one version") {
  const std::vector<std::string> optimisers{
      R"({"kind": "sgd"})", R"({"kind": "sgd", "momentum": 0.9, "nesterov": true, "ema": 0.9})",
      R"({"kind": "adam", "clip": 0.5})", R"({"kind": "adamw"})",
      R"({"kind": "sgd", "delay_compensation": {"lambda": 0.04, "adaptive": true}})"};
  for (const std::string& model : {quadratic, softmax, packed}) {
    for (const std::string& protocol : protocols) {
      for (const std::string& optimiser : optimisers) {
        if (protocol.find("\"sync\"") != std::string::npos &&
            optimiser.find("delay") != std::string::npos)
          continue;  // no gradient is late
        for (const std::string law : {R"({"distribution": "exponential", "mean": 1})",
                                      R"({"distribution": "deterministic", "value": 1})"}) {
          CAPTURE(protocol);
          CAPTURE(optimiser);
          CAPTURE(law);
          CAPTURE(model);
          const Training training{
              .protocol = protocol,
              .model = model,
              .rate = R"({"kind": "staleness-exponential", "eta": 0.05, "rho": 0.9})",
              .optimiser = optimiser};
          const std::string runtime = R"("runtime": )" + law + ", ";
          const auto run = [&](const std::string& versions) {
            return run_of(point_of(training, 6, runtime + in_shards("[3, 1, 2]", versions)));
          };
          const RaceRecord one = run("one"), each = run("each");
          check_same(one, each);
          CHECK(3 * one.totals.staleness_sum == each.totals.staleness_sum);
          REQUIRE(one.staleness_counts.size() == each.staleness_counts.size());
          for (std::size_t s = 0; s < one.staleness_counts.size(); ++s)
            CHECK(3 * one.staleness_counts[s] == each.staleness_counts[s]);
        }
      }
    }
  }
}

TEST_CASE("sharded server: equal shards, and one alone, give the bits of one version") {
  for (const std::string shards : {"1", "4", "[2, 2, 2]"}) {
    for (const std::string& protocol : protocols) {
      CAPTURE(shards);
      CAPTURE(protocol);
      const std::string cluster =
          R"("runtime": {"distribution": "exponential", "mean": 1},
             "network": {"bandwidth": 100, "model_bytes": 44}, )";
      const std::string work = R"(, "per_gradient": 0.1, "per_update": 0.2)";
      const Training training{.protocol = protocol};
      const auto run = [&](const std::string& versions) {
        return run_of(point_of(training, 6, cluster + in_shards(shards, versions, work)));
      };
      const RaceRecord one = run("one"), each = run("each");
      check_same(one, each);
      CHECK(one.staleness_counts == each.staleness_counts);
    }
  }
}

TEST_CASE("sharded server: losses are those of a loop over parts, with queues and with links") {
  const std::vector<std::size_t> of_quadratic{6, 1, 4};
  const std::size_t d = point_of({.protocol = protocols[0], .model = softmax}, 1,
                                 R"("runtime": {"distribution": "exponential", "mean": 1})")
                            .model->value_layout()
                            .numbers;
  const std::vector<std::size_t> of_softmax{d / 2 + 3, d / 4, d - d / 2 - 3 - d / 4};
  for (const std::uint32_t k : {1u, 2u, 5u}) {
    bool were_apart = false;
    for (const bool has_links : {false, true}) {
      CAPTURE(k);
      CAPTURE(has_links);
      Machines machines{.k = k, .per_gradient = 0.3, .per_update = 0.2};
      if (has_links) machines.bandwidth = 100, machines.bytes = 40, machines.per_gradient = 0.1;
      machines.sizes = of_quadratic;
      were_apart = check_against_loop(machines, quadratic) || were_apart;
      machines.sizes = of_softmax;
      were_apart = check_against_loop(machines, softmax) || were_apart;
    }
    CHECK(were_apart == (k < 5));  // K = P is sync
  }
}

TEST_CASE(
    "sharded server: shards out of step count by themselves, and gradients arrive as before") {
  const Training training{.protocol = protocols[0], .stop = R"({"gradients": 500})"};
  const std::string cards = R"("card": {"bandwidth": [30, 60], "latency": 0.1})";
  const std::string bytes = R"("network": {"model_bytes": 44, "bandwidth": 90)";
  for (const std::string& network : {std::string(), bytes + "}, ", bytes + ", " + cards + "}, ",
                                     bytes + ", " + cards + R"(, "overlap": true}, )"}) {
    CAPTURE(network);
    const auto run = [&](const std::string& versions) {
      return run_timing(point_of(training, 6,
                                 R"("runtime": {"distribution": "exponential", "mean": 1}, )" +
                                     network +
                                     in_shards("[8, 1]", versions, R"(, "per_gradient": 0.2)"))
                            .race());
    };
    const RaceRecord one = run("one"), each = run("each");
    CHECK(each.totals.applied == 500);
    std::uint64_t parts = 0, sum = 0;
    for (std::size_t s = 0; s < each.staleness_counts.size(); ++s) {
      parts += each.staleness_counts[s];
      sum += s * each.staleness_counts[s];
    }
    CHECK(parts == 1000);
    CHECK(sum == each.totals.staleness_sum);
    // The small one does not wait for the large one, so that fewer updates come between.
    CHECK(sum < 2 * one.totals.staleness_sum);
    // An update takes no time, and a learner pulls when its last part is taken up.
    CHECK(each.totals.time == one.totals.time);
    for (std::size_t l = 0; l < one.learners.size(); ++l) {
      CHECK(each.learners[l].busy == one.learners[l].busy);
      CHECK(each.learners[l].gradients == one.learners[l].gradients);
    }
  }
}

TEST_CASE("sharded server: a run stands still where each learner waits for a shard") {
  const Training training{.protocol = R"({"kind": "k-async", "k": 2})",
                          .stop = R"({"gradients": 3000})"};
  Race race = point_of(training, 3,
                       R"("runtime": {"distribution": "pareto", "scale": 0.01, "shape": 1.1},
                          "network": {"model_bytes": 44, "card": {"bandwidth": [1, 20, 300]}}, )" +
                           in_shards("[5, 3, 1]", "each", R"(, "per_gradient": 0.1)"))
                  .race();
  race.seed = 1;
  const RaceRecord record = run_timing(race);
  CHECK(record.status == Status::deadlocked);
  CHECK(record.reason.find("nobody computes") != std::string::npos);
  CHECK(record.totals.applied > 100);
  race.transit.server->version_each = false;
  CHECK(run_timing(race).status == Status::finished);
}

}  // namespace gradrace::sharded_server_test
