#include "sim/layers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <ranges>
#include <string>
#include <vector>

#include "protocols/groups/graph.h"
#include "tests/support/iteration_time.h"
#include "tests/support/race_text.h"
#include "tests/support/schedule.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::layers_test {

namespace {

const std::vector<Layer> four{{6, 40, 8}, {0, 0, 80}, {10, 120, 16}, {4, 800, 20}};

/// The race of a scenario whose table has those layers; `of_layers`: other keys of them.
Race race_by_layer(const std::vector<Layer>& layers, std::uint32_t learners,
                   const std::string& of_layers, const std::string& runtime,
                   const std::string& protocol = R"("backward": 0.6)",
                   const std::string& topology = R"("topology": "mesh", "latency": 0.002,
                                                   "bandwidth": 4000)",
                   const std::string& kind = R"("all-reduce")") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "layers.csv";
  std::ofstream table(file);
  table << "layer,flop,parameter_bytes,activation_bytes\n";
  for (const Layer& layer : layers)
    table << "a," << layer.flop << "," << layer.parameter_bytes << "," << layer.activation_bytes
          << "\n";
  table.close();
  return point_from(R"({"cluster": {"learners": )" + std::to_string(learners) + R"(, "runtime": )" +
                    runtime + R"(, "network": {)" + topology + R"(, "layers": {"path": ")" +
                    file.string() + "\"" + of_layers + R"(}}}, "protocol": {"kind": )" + kind +
                    (protocol.empty() ? "" : ", ") + protocol + R"(}, "stop": {"updates": 50}})")
      .race();
}

const std::string one = R"({"distribution": "deterministic", "value": 1})";

/// Of a ring of g learners on that mesh: all-reduce, and all-gather or reduce-scatter.
double ring(double g, double bytes) { return 2 * (g - 1) * 0.002 + 2 * (g - 1) / g * bytes / 4000; }
double gather(double g, double bytes) { return (g - 1) * 0.002 + (g - 1) / g * bytes / 4000; }

/// The recurrence of Das et al. for minibatches of length 1: one channel, first in first out.
double step_of(const std::vector<Layer>& layers, double P, double samples, bool weights_first,
               const std::vector<double>& groups, double backward = 0.6) {
  double work = 0;
  for (const Layer& layer : layers) work += layer.flop;
  double t = 0, channel = 0;
  const auto take_in = [&](std::size_t i) {
    if (groups[i] == P) return;
    const double bytes = layers[i].activation_bytes * samples * P / groups[i];
    t = channel = std::max(channel, t) + gather(P / groups[i], bytes);
  };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    take_in(i);
    t += (1 - backward) * layers[i].flop / work;
  }
  for (std::size_t i = layers.size(); i-- > 0;) {
    const double half = backward * layers[i].flop / work / 2;
    const auto send = [&] {
      if (groups[i] == 1 || layers[i].parameter_bytes == 0) return;
      channel = std::max(channel, t) + ring(groups[i], layers[i].parameter_bytes * groups[i] / P);
    };
    t += half;
    if (weights_first) send();
    if (!weights_first) take_in(i);
    t += half;
    if (weights_first) take_in(i);
    if (!weights_first) send();
  }
  return std::max(t, channel);
}

/// The recurrence of Das et al. for a server: of a learner whose minibatches take `length`, where
/// a byte takes `byte` on its way down and up, and each message `latency` besides.
double step_with_server(const std::vector<Layer>& layers, double length, double byte,
                        double latency, bool weights_first) {
  double work = 0;
  for (const Layer& layer : layers) work += layer.flop;
  double t = 0, channel = 0;
  for (const Layer& layer : layers) {
    if (layer.parameter_bytes > 0) {
      channel += layer.parameter_bytes * byte;
      t = std::max(t, channel + latency);
    }
    t += length * layer.flop / work / 3;
  }
  channel = 0;
  for (const Layer& layer : std::views::reverse(layers)) {
    const double half = length * layer.flop / work / 3;
    t += half;
    if (!weights_first) t += half;
    if (layer.parameter_bytes > 0)
      channel = std::max(channel, t + latency) + layer.parameter_bytes * byte;
    if (weights_first) t += half;
  }
  return std::max(t, channel);
}

/// Learners that exchange with neighbours; the minibatch that learner i makes for step n takes
/// lengths[i][n].
struct Gossip {
  std::vector<Layer> layers;
  std::vector<std::vector<double>> lengths;
  Graph graph;
  bool weights_first, combine_first;
  double backward, latency, byte;

  /// When update n is made: the recurrence of Das et al. for each learner's link, which takes a
  /// layer when the learner and all that it hears have it.
  double time_of(std::uint32_t updates) const {
    const auto P = static_cast<std::uint32_t>(lengths.size());
    std::vector<double> there, bytes;  // of the backward pass, from the last layer on
    double work = 0, done = 0;
    for (const Layer& layer : layers) work += layer.flop;
    for (const Layer& layer : std::views::reverse(layers)) {
      if (layer.parameter_bytes > 0) {
        const double half = weights_first ? layer.flop / 2 : 0;
        there.push_back(1 - backward + backward * (done + layer.flop - half) / work);
        bytes.push_back(layer.parameter_bytes);
      }
      done += layer.flop;
    }
    const bool ends_early = there.back() < 1 - 1e-9;
    std::vector<double> begin(P, 0.0), channel(P, 0.0);
    std::vector<std::vector<double>> shown(P, std::vector<double>(there.size(), 0.0));
    for (std::uint32_t step = 0;; ++step) {
      const auto length = [&](std::uint32_t i) { return lengths[i][step]; };
      double made = 0;
      if (!combine_first) {
        for (std::uint32_t i = 0; i < P; ++i) {
          for (std::size_t b = 0; b < there.size(); ++b)
            shown[i][b] = begin[i] + there[b] * length(i);
          made = std::max(made, begin[i] + length(i));
        }
        if (step + 1 == updates) return made;
      }
      std::vector<double> next = begin;
      auto next_shown = shown;
      for (std::uint32_t i = 0; i < P; ++i) {
        const auto heard = graph.hears(i);
        for (std::size_t b = 0; b < there.size(); ++b) {
          double from = std::max(channel[i], shown[i][b]);
          for (const std::uint32_t j : heard) from = std::max(from, shown[j][b]);
          channel[i] = from + latency + static_cast<double>(heard.size()) * bytes[b] * byte;
          next_shown[i][b] = std::max(channel[i], begin[i] + there[b] * length(i));
        }
        next[i] = std::max(channel[i], begin[i] + length(i));
        if (ends_early)
          for (const std::uint32_t j : heard)
            next[i] = std::max(next[i], begin[j] + (combine_first ? 0 : length(j)));
      }
      begin = next;
      shown = next_shown;
      if (combine_first && step + 1 == updates) return std::ranges::max(begin);
    }
  }
};

}  // namespace

TEST_CASE("layers: equal ones are exchanged as buckets are, and one as a whole, byte for byte") {
  for (const std::string topology :
       {R"("topology": "mesh", "latency": 0.01, "bandwidth": 9000)",
        R"("topology": "nodes", "per_node": 2, "between": {"bandwidth": 7000})"}) {
    for (const std::string kind :
         {R"("all-reduce")", R"("local-sgd", "tau": 3)", R"("d-psgd", "graph": "ring")",
          R"("d-psgd", "graph": "exponential", "order": "combine-first")"}) {
      for (const std::size_t parts : {1u, 5u}) {
        const std::string backward = parts > 1 ? R"("backward": 0.7)" : R"("backward": 0.6667)";
        const std::string in = R"(, "buckets": )" + std::to_string(parts);
        const Race by_layer =
            race_by_layer(std::vector<Layer>(parts, {3, 3500.0 / static_cast<double>(parts), 1}), 6,
                          "", exponential_1, backward, topology, kind);
        const Race by_bucket =
            point_from(R"({"cluster": {"learners": 6, "runtime": )" + std::string(exponential_1) +
                       R"(, "network": {)" + topology +
                       R"(, "model_bytes": 3500}}, "protocol": {"kind": )" + kind +
                       (parts > 1 ? in + ", " + backward : "") + R"(}, "stop": {"updates": 50}})")
                .race();
        CHECK(theory_of(by_layer).iteration_time->basis ==
              theory_of(by_bucket).iteration_time->basis);
        const RaceRecord layers = run_timing(by_layer), buckets = run_timing(by_bucket);
        CHECK(layers.hash == buckets.hash);
        CHECK(layers.totals.time == buckets.totals.time);
        for (std::size_t l = 0; l < 6; ++l) {
          CHECK(layers.learners[l].exchanged.hidden == buckets.learners[l].exchanged.hidden);
          CHECK(layers.learners[l].exchanged.sent == buckets.learners[l].exchanged.sent);
        }
      }
    }
  }
}

// Backward passes from 0.4 on, 0.12 of layer 3 first: its gradient is there at 0.46 of weights
// first, and takes 0.006 x 2 + 1.5 x 0.2 = 0.312; that of layer 2 then takes 0.012 + 0.045, of
// layer 0 0.012 + 0.015.
TEST_CASE("layers: their gradients follow the backward pass, worked by hand") {
  const auto time = [](const std::string& keys) {
    return iteration_time(run_timing(race_by_layer(four, 4, keys, one)));
  };
  CHECK(time(R"(, "weights_first": true)") == doctest::Approx(1).epsilon(1e-12));
  const auto slow = [](const std::string& keys) {
    return iteration_time(run_timing(race_by_layer(four, 4, keys, one, R"("backward": 0.6)",
                                                   R"("topology": "mesh", "bandwidth": 1500)")));
  };
  CHECK(slow("") == doctest::Approx(0.52 + 0.8 + 0.12 + 0.04).epsilon(1e-12));
  CHECK(slow(R"(, "weights_first": true)") ==
        doctest::Approx(0.46 + 0.8 + 0.12 + 0.04).epsilon(1e-12));
}

TEST_CASE("layers: a step takes what the recurrence of one channel says, and theory too") {
  struct Way {
    std::string parallelism;
    std::vector<double> groups;
  };
  for (const std::uint32_t samples : {1u, 3u}) {
    std::vector<double> best;
    for (const Layer& layer : four) best.push_back(best_groups(layer, samples, 8));
    for (const auto& [parallelism, groups] :
         {Way{"data", {8, 8, 8, 8}}, Way{"model", {1, 1, 1, 1}}, Way{"hybrid", best}}) {
      for (const bool first : {false, true}) {
        CAPTURE(parallelism);
        CAPTURE(first);
        const std::string keys =
            R"(, "parallelism": ")" + parallelism + R"(", "weights_first": )" +
            (first ? "true" : "false") +
            (parallelism == "data" ? "" : R"(, "minibatch": )" + std::to_string(samples));
        const double expected = step_of(four, 8, samples, first, groups);
        const Race race = race_by_layer(four, 8, keys, one);
        CHECK(iteration_time(run_timing(race)) == doctest::Approx(expected).epsilon(1e-12));
        const auto theory = theory_of(race).iteration_time;
        REQUIRE(theory);
        CHECK(theory->basis == Basis::exact);
        CHECK(theory->value == doctest::Approx(expected).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("layers: of local steps the last hides what the recurrence says, and theory too") {
  const std::vector<double> all(4, 8);
  for (const bool first : {false, true}) {
    const Race race = race_by_layer(
        four, 8, first ? R"(, "weights_first": true)" : "", one, R"("backward": 0.6)",
        R"("topology": "mesh", "latency": 0.002, "bandwidth": 4000)", R"("local-sgd", "tau": 5)");
    const double round = 4 + step_of(four, 8, 0, first, all);
    CHECK(run_timing(race).totals.time == doctest::Approx(9 * round + 5).epsilon(1e-12));
    const auto theory = theory_of(race).iteration_time;
    REQUIRE(theory);
    CHECK(theory->basis == Basis::exact);
    CHECK(theory->value == doctest::Approx(round / 5).epsilon(1e-12));
  }
}

TEST_CASE("layers: neighbours exchange as the recurrence of each one's link says, at random") {
  std::mt19937_64 random(9);
  const auto real = [&random](double low, double high) {
    return low + (high - low) * static_cast<double>(random() % 1000) / 1000;
  };
  for (int i = 0; i < 120; ++i) {
    CAPTURE(i);
    const std::string kinds[] = {"ring", "exponential", "complete", "torus"};
    const std::string kind = kinds[i % 4];
    const auto P = static_cast<std::uint32_t>(kind == "torus" ? 9 : 3 + random() % 7);
    Gossip gossip{{}, {}, Graph(kind, P), random() % 2 > 0, random() % 2 > 0, real(0.2, 0.9), 0, 0};
    for (std::size_t layers = 1 + random() % 5; layers > 0; --layers)
      gossip.layers.push_back({std::floor(real(1, 9)), std::floor(real(1, 900)), 0});
    if (random() % 3 == 0) gossip.layers.front().parameter_bytes = 0;
    gossip.layers.push_back({2, 30, 0});
    const bool alike = random() % 3 == 0;
    const TemporaryFolder folder;
    std::ofstream times(folder.path() / "times.csv");
    times << "learner,time\n";
    for (std::uint32_t learner = 0; learner < P; ++learner) {
      auto& lengths = gossip.lengths.emplace_back(alike ? 400 : 50, 1.0);
      if (alike) continue;
      for (double& length : lengths) {
        length = std::floor(real(1, 17)) / 8;
        times << learner << "," << length << "\n";
      }
    }
    times.close();
    const std::string replayed =
        R"({"distribution": "empirical", "column": "time", "mode": "replay",
        "learner_column": "learner", "path": ")" +
        (folder.path() / "times.csv").string() + "\"}";
    gossip.latency = random() % 2 > 0 ? 0.0625 : 0;
    const double bandwidth = std::floor(real(500, 9000));
    gossip.byte = 1 / bandwidth;
    const Race race =
        race_by_layer(gossip.layers, P, gossip.weights_first ? R"(, "weights_first": true)" : "",
                      alike ? one : replayed, R"("backward": )" + std::to_string(gossip.backward),
                      R"("topology": "mesh", "latency": )" + std::to_string(gossip.latency) +
                          R"(, "bandwidth": )" + std::to_string(bandwidth),
                      R"("d-psgd", "graph": ")" + kind +
                          (gossip.combine_first ? R"(", "order": "combine-first")" : "\""));
    const RunRecord record = run_timing(race);
    CHECK(record.totals.time == doctest::Approx(gossip.time_of(50)).epsilon(1e-12));
    if (!alike) continue;
    const auto theory = theory_of(race).iteration_time;
    REQUIRE(theory);
    CHECK(theory->basis == Basis::exact);
    const double period = (gossip.time_of(400) - gossip.time_of(200)) / 200;
    CHECK(theory->value == doctest::Approx(period).epsilon(1e-9));
  }
}

// Four learners in a ring; layers of 1 and 3 bytes, two neighbours, a byte takes 1/4: 1.5 and 0.5.
// The backward pass of 4, of 6, has the last layer at 4: it is in at 5.5, the first one at 6.5.
// Combine-first all is in at 2, 2 before the last layer is made: steps of 6.
TEST_CASE("layers: neighbours exchange them, worked by hand") {
  const auto run = [](const std::string& order) {
    return run_timing(race_by_layer(
        {{1, 1, 0}, {1, 3, 0}}, 4, "", R"({"distribution": "deterministic", "value": 6})", "",
        R"("topology": "mesh", "bandwidth": 4)", R"("d-psgd", "graph": "ring")" + order));
  };
  const RunRecord adapts = run("");
  CHECK(adapts.totals.time == doctest::Approx(49 * 6.5 + 6).epsilon(1e-12));
  CHECK(adapts.learners[0].exchanged.hidden == doctest::Approx(50 * 1.5).epsilon(1e-12));
  CHECK(adapts.learners[0].exchanged.communicating == doctest::Approx(49 * 0.5).epsilon(1e-12));
  CHECK(adapts.learners[0].exchanged.messages == 50 * 2 * 2);
  const RunRecord combines = run(R"(, "order": "combine-first")");
  CHECK(combines.totals.time == doctest::Approx(50 * 6).epsilon(1e-12));
  CHECK(combines.learners[0].exchanged.communicating == 0);
}

TEST_CASE("layers: theory of neighbours holds with random runtimes") {
  const std::string gamma = R"({"distribution": "gamma", "mean": 0.3, "cv": 0.5})";
  const std::string mesh = R"("topology": "mesh", "latency": 0.002, "bandwidth": 9000)";
  for (const std::string graph : {R"("complete")", R"("ring")"}) {
    for (const std::string order : {R"("adapt-first")", R"("combine-first")"}) {
      Race race = race_by_layer(four, 8, R"(, "weights_first": true)", gamma, "", mesh,
                                R"("d-psgd", "graph": )" + graph + R"(, "order": )" + order);
      race.stop.updates = 600;
      const auto theory = theory_of(race).iteration_time;
      REQUIRE(theory);
      const bool exact = graph == R"("complete")" && order == R"("adapt-first")";
      CHECK(theory->basis == (exact ? Basis::exact : Basis::lower));
      if (exact)
        check_iteration_time(race, theory->value);
      else
        CHECK(iteration_time(run_timing(race)) > theory->value * (1 - 1e-12));
    }
  }
}

TEST_CASE("layers: a switch of protocols exchanges them in each phase") {
  const std::vector<double> all(4, 8);
  const auto time = [](const std::string& first, const std::string& then) {
    const std::string phases = R"("phases": [{"protocol": {)" + first +
                               R"(}, "end": {"updates": 10}}, {"protocol": {)" + then + "}}]";
    Race race =
        race_by_layer(four, 8, "", one, phases,
                      R"("topology": "mesh", "latency": 0.002, "bandwidth": 4000)", R"("switch")");
    race.stop.updates = 25;
    return run_timing(race).totals.time;
  };
  const std::string reduce = R"("kind": "all-reduce", "backward": 0.6)",
                    local = R"("kind": "local-sgd", "tau": 5, "backward": 0.6)";
  const double step = step_of(four, 8, 0, false, all), join = ring(8, 960);
  CHECK(time(reduce, local) ==
        doctest::Approx(10 * step + join + 2 * (4 + step) + 5).epsilon(1e-12));
  CHECK(time(local, reduce) == doctest::Approx(4 + step + 5 + join + 15 * step).epsilon(1e-12));
}

TEST_CASE("layers: theory of random runtimes holds, also where layers are divided") {
  for (const std::string keys :
       {R"(, "weights_first": true)", R"(, "parallelism": "hybrid", "minibatch": 3)"}) {
    Race race =
        race_by_layer(four, 8, keys, R"({"distribution": "gamma", "mean": 0.3, "cv": 0.5})");
    race.stop.updates = 2000;
    const auto theory = theory_of(race).iteration_time;
    REQUIRE(theory);
    check_iteration_time(race, theory->value);
  }
}

TEST_CASE("layers: a learner sends what the equation of hybrid parallelism says, by rings") {
  double bytes = 0;
  for (const Layer& layer : four) {
    const double G = best_groups(layer, 3, 8), g = 8 / G;
    bytes += 2 * layer.activation_bytes * 3 * 8 / G * (g - 1) / g;
    bytes += 2 * layer.parameter_bytes * G / 8 * (G - 1) / G;
  }
  const RaceRecord record =
      run_timing(race_by_layer(four, 8, R"(, "parallelism": "hybrid", "minibatch": 3)", one));
  for (const LearnerTotals& learner : record.learners)
    CHECK(learner.exchanged.sent == doctest::Approx(50 * bytes).epsilon(1e-12));
}

TEST_CASE("layers: with a server a step takes what the recurrence says") {
  for (const bool first : {false, true}) {
    const std::string keys = first ? R"(, "weights_first": true)" : "";
    for (const double bandwidth : {40000.0, 8000.0, 2000.0}) {
      const std::string link = R"("bandwidth": )" + std::to_string(bandwidth);
      // Six learners share the link, or their cards let less pass.
      const auto run = [&](const std::string& star) {
        return run_timing(race_by_layer(four, 6, keys, one, "", star, R"("sync")"));
      };
      const double shared = step_with_server(four, 1, 6 / bandwidth, 0.01, first);
      CHECK(iteration_time(run(link + R"(, "card": {"latency": 0.01})")) ==
            doctest::Approx(shared).epsilon(1e-12));
      const double capped =
          step_with_server(four, 1, std::max(6 / bandwidth, 1 / 900.0), 0.01, first);
      CHECK(iteration_time(run(link + R"(, "card": {"latency": 0.01, "bandwidth": 900})")) ==
            doctest::Approx(capped).epsilon(1e-12));
    }
    // Learners with roads of their own: the slowest.
    const RunRecord apart = run_timing(race_by_layer(
        four, 2, keys, one, "", R"("card": {"bandwidth": [700, 1500]})", R"("sync")"));
    CHECK(iteration_time(apart) ==
          doctest::Approx(step_with_server(four, 1, 1 / 700.0, 0, first)).epsilon(1e-12));
    for (const LearnerTotals& learner : apart.learners) {
      CHECK(learner.busy == doctest::Approx(50).epsilon(1e-12));
      CHECK(learner.exchanged.sent == doctest::Approx(50 * 960).epsilon(1e-12));
      CHECK(learner.exchanged.hidden > 0);
    }
  }
}

// Layers of 1 and 3 bytes, a byte takes 1/4: the model is there at 0.25 and 1, forward passes of 1
// and 1 end at 1.25 and 2.25, the last layer's backward pass at 4.25: it leaves until 5, the first
// one's is there at 6.25 and leaves until 6.5.
TEST_CASE("layers: with a server, worked by hand") {
  const RunRecord record =
      run_timing(race_by_layer({{1, 1, 0}, {1, 3, 0}}, 1, "", R"({"distribution": "deterministic",
                                                       "value": 6})",
                               "", R"("bandwidth": 4)", R"("sync")"));
  CHECK(iteration_time(record) == doctest::Approx(6.5).epsilon(1e-12));
  CHECK(record.learners[0].exchanged.communicating == doctest::Approx(50 * 0.5).epsilon(1e-12));
  CHECK(record.learners[0].exchanged.hidden == doctest::Approx(50 * 1.5).epsilon(1e-12));
}

TEST_CASE("layers: with a server a cancelled minibatch is accounted for until then, by hand") {
  const auto second = [](const std::vector<Layer>& layers, const std::string& card) {
    Race race = race_by_layer(layers, 2, "", R"({"distribution": "deterministic", "value": 6})", "",
                              R"("card": {)" + card + "}", R"("k-sync", "k": 1)");
    race.stop.updates = 1;
    return run_timing(race).learners[1];
  };
  // The first is done at 6.75.  The second has its model at 1, the last layer's gradient at 5,
  // which has left at 6, and computes until 7.
  LearnerTotals its = second({{1, 0, 0}, {1, 3, 0}}, R"("bandwidth": [4, 3])");
  CHECK(its.busy == doctest::Approx(5.75));
  CHECK(its.exchanged.communicating == doctest::Approx(1));
  CHECK(its.exchanged.hidden == doctest::Approx(1));
  // The first is done at 9.5.  The second has its first layer at 9.25; the other has passed its
  // card at 3.25, and is there at 12.25, two after the first layer's forward pass.
  its = second({{1, 1, 0}, {1, 12, 0}}, R"("bandwidth": 4, "latency": [0, 9])");
  CHECK(its.busy == doctest::Approx(0.25));
  CHECK(its.exchanged.communicating == doctest::Approx(9.25));
  CHECK(its.exchanged.hidden == doctest::Approx(0.25));
  // The first is done at 6.5.  The second has its model at 4 / 1.9, and the last layer's gradient
  // at 3 more, which is on its way until 3 / 1.9 later, 6.7: that of the first one has not left.
  // The next model's first layer comes then.
  its = second({{1, 1, 0}, {1, 3, 0}}, R"("bandwidth": [4, 1.9])");
  CHECK(its.exchanged.sent == 3);
  CHECK(its.exchanged.received == 4 + 1);
}

TEST_CASE("layers: one layer goes between server and learners as a whole, byte for byte") {
  const std::string half = std::string(exponential_1) + R"(, "server": {"shards": 2,
                                                                       "per_gradient": 0.01})";
  const std::string push = R"("push": {"distribution": "exponential", "mean": 0.1})";
  for (const auto& [runtime, star] :
       {std::pair{std::string(exponential_1),
                  std::string(R"("bandwidth": 9000, "card": {"latency": 0.01})")},
        {half, R"("bandwidth": 9000, "card": {"bandwidth": [900, 3000]}, )" + push}}) {
    for (const std::string kind :
         {R"("sync")", R"("async")", R"("k-sync", "k": 2)", R"("k-batch-async", "k": 3)"}) {
      const Race plain =
          point_from(R"({"cluster": {"learners": 4, "runtime": )" + runtime + R"(, "network": {)" +
                     star + R"(, "model_bytes": 700}}, "protocol": {"kind": )" + kind +
                     R"(}, "stop": {"updates": 50}})")
              .race();
      const RunRecord layers =
                          run_timing(race_by_layer({{3, 700, 1}}, 4, "", runtime, "", star, kind)),
                      whole = run_timing(plain);
      CHECK(layers.hash == whole.hash);
      CHECK(layers.totals.time == whole.totals.time);
      for (std::size_t l = 0; l < 4; ++l) {
        const LearnerTotals &one_by_one = layers.learners[l], &at_once = whole.learners[l];
        CHECK(one_by_one.busy == at_once.busy);
        CHECK(one_by_one.wasted == at_once.wasted);
        CHECK(one_by_one.exchanged.communicating == at_once.exchanged.communicating);
        CHECK(one_by_one.exchanged.hidden == at_once.exchanged.hidden);
        CHECK(one_by_one.exchanged.sent == at_once.exchanged.sent);
      }
    }
  }
}

// Then a forward or a backward pass ends at most a layer's part later than as `overlap` has it.
TEST_CASE("layers: many equal ones come to what overlap says") {
  const std::string star = R"("bandwidth": 1000, "card": {"bandwidth": 700})";
  const RunRecord layers = run_timing(
      race_by_layer(std::vector<Layer>(400, {1, 1, 0}), 2, "", one, "", star, R"("sync")"));
  const RunRecord fluid = run_timing(
      point_from(R"({"cluster": {"learners": 2, "runtime": )" + one + R"(, "network": {)" + star +
                 R"(, "overlap": true, "model_bytes": 400}}, "protocol": {"kind": "sync"},
                    "stop": {"updates": 50}})")
          .race());
  CHECK(iteration_time(layers) >= iteration_time(fluid));
  CHECK(iteration_time(layers) <= iteration_time(fluid) + 4.0 / 400);
  CHECK(layers.learners[0].exchanged.hidden ==
        doctest::Approx(fluid.learners[0].exchanged.hidden).epsilon(0.01));
}

// All of it is in sight: minibatches of length 1 and what goes into the layers, twice each.
TEST_CASE("layers: what goes into divided layers is communicated, and hides nothing") {
  double all = 0;
  for (const Layer& layer : four) all += 2 * gather(8, layer.activation_bytes * 3 * 8);
  const RunRecord record =
      run_timing(race_by_layer(four, 8, R"(, "parallelism": "model", "minibatch": 3)", one));
  for (const LearnerTotals& learner : record.learners) {
    CHECK(learner.busy == doctest::Approx(50).epsilon(1e-12));
    CHECK(learner.exchanged.communicating == doctest::Approx(50 * all).epsilon(1e-12));
    CHECK(learner.exchanged.hidden == 0);
    CHECK(std::abs(learner.exchanged.waiting) <= 1e-9);
    CHECK(learner.exchanged.messages == 50 * 2 * 4 * 7);
  }
}

// Das et al., arXiv 1602.06709: 64 nodes, minibatch 256, a dense layer of 4096 to 4096: two groups.
TEST_CASE("layers: groups of the fewest bytes") {
  const Layer dense{1, 4.0 * 4096 * 4096, 4.0 * 4096};
  CHECK(best_groups(dense, 4, 64) == 2);
  const auto bytes = [&](double G) {
    return (G < 64 ? 2 * dense.activation_bytes * 256 / G : 0) +
           (G > 1 ? 2 * dense.parameter_bytes * G / 64 : 0);
  };
  CHECK(bytes(2) == bytes(1));
  for (const double G : {4, 8, 16, 32, 64}) CHECK(bytes(2) < bytes(G));
  CHECK(best_groups({1, 1, 0}, 4, 12) == 1);
  CHECK(best_groups({1, 0, 0}, 4, 12) == 12);
  CHECK(best_groups({1, 0, 5}, 4, 12) == 12);
  CHECK(best_groups(dense, 4, 1) == 1);
}

}  // namespace gradrace::layers_test
