#include "models/gpu/block_device.h"

#include <doctest/doctest.h>

#include <boost/random/normal_distribution.hpp>
#include <cmath>

#include "models/gpu/cuda/cuda_device.h"
#include "models/quadratic.h"
#include "tests/support/race_text.h"
#include "tests/support/skip.h"
#include "tests/support/subjects.h"

namespace gradrace {

namespace {

/// One gradient of the device: an update of so great a weight that where it starts is nothing; of
/// statistics it leaves statistics.decay.
Vector gradient_on(const Subject& subject, const Place& place, const Vector& at,
                   std::uint32_t learner, std::uint32_t draw, std::uint32_t minibatch) {
  const double weight = std::ldexp(1.0, place.float64 ? 40 : 20);
  const auto device = subject.on(place, at);
  const Tape tape{7, 0, {{minibatch, 0}}, {{}}};
  device->start({&tape, 1});
  Segment segment;
  segment.gradients = {{0, learner, draw, 0, Fate::used}};
  segment.uses = {{0, 0, weight}};
  segment.ops = {{Op::Kind::update, 0, 1, 0, 0, 1}};
  segment.live = {1};
  const Segment* const wave = &segment;
  Results results;
  device->replay({&wave, 1}, {&results, 1});
  Vector g = device->parameters(0);
  const auto [count, decay] = subject.exact()->statistics();
  const std::size_t learnt = g.size() - count;
  for (std::size_t i = 0; i < learnt; ++i) g[i] = (at[i] - g[i]) / weight;
  for (std::size_t i = learnt; i < g.size(); ++i) g[i] = (g[i] - decay * at[i]) / (1 - decay);
  return g;
}

void check_gradient(const Place& place, const Subject& subject, double scale,
                    std::uint32_t minibatch) {
  CAPTURE(subject.name);
  CAPTURE(scale);
  CAPTURE(minibatch);
  const auto exact = subject.exact();
  Vector w = some_point(exact->parameters(), scale);
  for (double& s : carried(std::span(w), exact->statistics())) s = 1;
  for (double& x : w) x = static_cast<double>(static_cast<float>(x));  // as float32 has them
  const Vector wanted = gradient(*exact, w, {7, 0, 3, 2, minibatch});
  const Vector found = gradient_on(subject, place, w, 3, 2, minibatch);
  // Logits exceed 50 with the greatest scale.
  const double tolerance = scale > 1 ? 10 * place.tolerance() : place.tolerance();
  // Apart: statistics can be a million times as large.  Those of float32 are found to its rounding
  // beside the ones that were carried.
  const auto learns = static_cast<std::ptrdiff_t>(w.size() - exact->statistics().count);
  const auto check = [&](auto first, auto last, double beside) {
    const Vector part(wanted.begin() + first, wanted.begin() + last);
    const Vector of_found(found.begin() + first, found.begin() + last);
    CHECK(distance(part, of_found) <= tolerance * (norm(part) + beside));
  };
  check(std::ptrdiff_t{0}, learns, 0);
  check(learns, static_cast<std::ptrdiff_t>(w.size()), norm({w.begin() + learns, w.end()}));
}

void check_gradients(const Place& place) {
  CAPTURE(place.name);
  for (const Subject& subject : subjects())
    for (const double scale : {0.0, 0.3, 30.0})
      for (const std::uint32_t minibatch : {1u, 5u, 33u})
        check_gradient(place, subject, scale, minibatch);
  for (const Subject& subject : subjects())
    if (subject.name == "mlp, relu, no regulariser") check_gradient(place, subject, 0.3, 131);
  check_gradient(place, full_size(), 0.3, 2);
}

const Rule rules[] = {
    {},
    {make_optimiser(Sgd{.momentum = 0.9})},
    {make_optimiser(Sgd{.momentum = 0.9, .nesterov = true})},
    {make_optimiser(Sgd{.momentum = 0.9, .nesterov = true, .from_rest = true})},
    {make_optimiser(Sgd{.momentum = 0.9, .of_gradients = true})},
    {.optimiser = make_optimiser(Sgd{.momentum = 0.9, .nesterov = true, .of_gradients = true}),
     .distance = 1e-3},
    {make_optimiser(Sgd{.rmsprop = RmsProp{}})},
    {.ema = 0.9},
    {.distance = 1e-3},
    {.optimiser =
         make_optimiser(Sgd{.momentum = 0.8, .nesterov = true, .rmsprop = RmsProp{0.8, 0.01}}),
     .ema = 0.7,
     .distance = 1e-3},
    // A step is g / (sqrt(v) + epsilon): at epsilon = 1 a gradient's rounding is no more of it than
    // of a step of sgd; near 0 the rounding of a gradient of 0 is a step as long as any.
    {make_optimiser(Adam{.epsilon = 1})},
    {.optimiser = make_optimiser(AdamW{{0.5, 0.8, 1}, 0.1}), .ema = 0.7, .distance = 1e-3},
};

/// The same kind of optimiser as it is without keys, apart from adam's epsilon.
Rule by_default(const Rule& rule) {
  Rule other;
  with_kind(optimiser_of(rule), [&]<class Kind>(const Kind& given) {
    Kind kind;
    if constexpr (requires { kind.epsilon; }) kind.epsilon = given.epsilon;
    if constexpr (requires { kind.adam; }) kind.adam.epsilon = given.adam.epsilon;
    other.optimiser = make_optimiser(kind);
  });
  return other;
}

/// Some updates, one of three gradients by another rule, the last two with another recipe, one of
/// none, some stale, and evaluations; in two segments.
std::vector<Segment> some_updates() {
  Segment first, second;
  first.gradients = {{0, 0, 0, 0, Fate::used}, {0, 1, 0, 0, Fate::used}, {0, 2, 0, 0, Fate::open},
                     {1, 0, 1, 1, Fate::used}, {1, 1, 1, 0, Fate::dead}, {1, 3, 0, 1, Fate::used}};
  first.uses = {{0, 0, 0.01}, {1, 1, 0.02}, {3, 0, 0.03}, {5, 0, 0.01}};
  first.ops = {{Op::Kind::evaluate, 0, 0, 0, 0, 0},
               {Op::Kind::update, 0, 1, 0, 0, 1},
               {Op::Kind::update, 1, 2, 1, 1, 3},
               {Op::Kind::evaluate, 0, 2, 2, 0, 0},
               {Op::Kind::update, 0, 3, 2, 4, 0}};  // of no gradient
  first.live = {3};
  second.first_gradient = 6;
  second.gradients = {{3, 0, 2, 0, Fate::used}, {3, 1, 2, 1, Fate::used}};
  second.uses = {{2, 2, 0.02}, {6, 0, 0.01}, {7, 0, 0.03}};
  second.ops = {{Op::Kind::update, 0, 4, 3, 0, 2},
                {Op::Kind::update, 0, 5, 4, 2, 1},
                {Op::Kind::evaluate, 0, 5, 5, 0, 0}};
  second.live = {5};
  second.end = End::finished;
  return {first, second};
}

struct Replayed {
  Vector w;
  std::vector<Results> results;
};

Replayed replay_updates(Device& device, const Rule& rule, double clip) {
  const Tape tape{7, 0, {{5, clip}, {3, 0}}, {rule, by_default(rule)}};
  device.start({&tape, 1});
  Replayed replayed;
  for (const Segment& segment : some_updates()) {
    const Segment* const wave = &segment;
    replayed.results.emplace_back();
    device.replay({&wave, 1}, {&replayed.results.back(), 1});
  }
  replayed.w = device.parameters(0);
  return replayed;
}

bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::abs(b) || (std::isnan(a) && std::isnan(b));
}

void check_updates(const Place& place) {
  CAPTURE(place.name);
  Place reference = cpu();
  reference.float64 = true;
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.name);
    Vector start = some_value(*subject.exact());
    for (double& x : start) x = static_cast<double>(static_cast<float>(x));
    const auto tested = subject.on(place, start), exact = subject.on(reference, start);
    for (std::size_t rule = 0; rule < std::size(rules); ++rule) {
      for (const double clip : {0.0, 0.1}) {
        CAPTURE(rule);
        CAPTURE(clip);
        const Replayed wanted = replay_updates(*exact, rules[rule], clip);
        const Replayed found = replay_updates(*tested, rules[rule], clip);
        Vector moved = start;
        for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= wanted.w[i];
        CHECK(distance(wanted.w, found.w) <=
              place.tolerance() * std::max(norm(start), norm(moved)));
        for (std::size_t s = 0; s < 2; ++s) {
          const Results &a = found.results[s], &b = wanted.results[s];
          CHECK(a.gradients_computed == b.gradients_computed);
          REQUIRE(a.evaluations.size() == b.evaluations.size());
          REQUIRE(a.rate_factors.size() == b.rate_factors.size());
          const double tolerance = 10 * place.tolerance();
          for (std::size_t i = 0; i < a.evaluations.size(); ++i) {
            CHECK(near(a.evaluations[i].loss, b.evaluations[i].loss, tolerance));
            CHECK(near(a.evaluations[i].test_loss, b.evaluations[i].test_loss, tolerance));
            CHECK(near(a.evaluations[i].test_error, b.evaluations[i].test_error, 0));
          }
          for (std::size_t i = 0; i < a.rate_factors.size(); ++i)
            CHECK(near(a.rate_factors[i], b.rate_factors[i], 1e-3));
        }
      }
    }
  }
}

/// A scenario of the example of that protocol.
Point point_of(const std::string& protocol, const std::string& model, const std::string& rest) {
  return point_from(
      R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
          "record": {"every_time": 1.5}, "protocol": )" +
      protocol + R"(, "model": )" + model + ", " + rest + "}");
}

const char* const softmax = R"({"kind": "softmax", "minibatch": 30, "l2": 0.01, "init_sd": 0.01,
  "dataset": {"kind": "synthetic", "rows": 300, "test_rows": 100}})";
// Weights stay in the blocks.
const char* const in_place = R"({"kind": "mlp", "widths": [6], "activation": "tanh",
  "minibatch": 30, "dataset": {"kind": "synthetic", "rows": 300, "test_rows": 100}})";
const char* const in_place_minibatch = R"({"kind": "mlp", "widths": [6], "activation": "tanh",
  "minibatch": 7, "dataset": {"kind": "synthetic", "rows": 300, "test_rows": 100}})";
// They fit into no GPU's block.
const char* const too_large_anywhere = R"({"kind": "mlp", "widths": [200], "minibatch": 30,
  "dataset": {"kind": "synthetic", "features": 300, "rows": 300, "test_rows": 100}})";
const char* const small_minibatch = R"({"kind": "softmax", "minibatch": 7, "l2": 0.01,
  "init_sd": 0.01, "dataset": {"kind": "synthetic", "rows": 300, "test_rows": 100}})";
const char* const plain = R"("learning_rate": {"kind": "constant", "eta": 0.05})";
const char* const everything = R"("learning_rate": {"kind": "distance", "c": 1e-3, "eta_max": 0.05},
  "optimiser": {"momentum": 0.9, "clip": 0.5, "ema": 0.9, "rmsprop": {}})";
const char* const carrying = R"("learning_rate": {"kind": "constant", "eta": 0.02},
  "optimiser": {"momentum": 0.9, "nesterov": true, "ema": 0.9, "rmsprop": {}})";

const char* const adam = R"("learning_rate": {"kind": "constant", "eta": 0.02},
  "optimiser": {"kind": "adamw", "epsilon": 0.001, "ema": 0.9})";

std::unique_ptr<Device> device_on(const Place& place, const ModelSpec& model) {
  if (place.float64) return place.make_float64(model.make_float64());
  return place.make_float32(model.make_float32());
}

std::vector<RunRecord> records_of(std::vector<Run> runs, Device& device) {
  drive(runs, &device, [] { return true; });
  std::vector<RunRecord> records;
  for (auto& run : runs) records.push_back(run.record());
  return records;
}

std::vector<RunRecord> run_cohort(const Point& point, Device& device, std::uint32_t first,
                                  std::uint32_t count, std::uint32_t limit) {
  const Race race = point.race();
  std::vector<Run> runs;
  for (std::uint32_t r = first; r < first + count; ++r)
    runs.emplace_back(race, r, true, nullptr, limit);
  return records_of(std::move(runs), device);
}

const char* const small_resnet = R"({"kind": "resnet", "depth": 8, "width": 2, "minibatch": 6,
  "l2": 0.001, "augment": true, "statistics_decay": 0.8,
  "dataset": {"kind": "synthetic", "rows": 60, "test_rows": 20, "classes": 3, "separation": 8,
              "features": 70, "height": 7, "width": 5}})";
const char* const small_cnn = R"({"kind": "cnn", "channels": [3], "kernel": 2, "minibatch": 9,
  "l2": 0.001, "dataset": {"kind": "synthetic", "rows": 60, "test_rows": 20, "classes": 3,
                           "separation": 8, "features": 30, "height": 5, "width": 6}})";
const char* const cnn_minibatch = R"({"kind": "cnn", "channels": [3], "kernel": 2, "minibatch": 4,
  "l2": 0.001, "dataset": {"kind": "synthetic", "rows": 60, "test_rows": 20, "classes": 3,
                           "separation": 8, "features": 30, "height": 5, "width": 6}})";
const std::vector<std::string> some_protocols = {
    R"({"kind": "async"})", R"({"kind": "k-sync", "k": 3})", R"({"kind": "k-async", "k": 3})"};

/// Equal to the CPU's run: the schedule is, and losses to the tolerance.
void check_runs(const Place& place, const char* model, const std::vector<std::string>& protocols,
                const std::string& rest, double tolerance) {
  Place reference = cpu();
  reference.float64 = true;
  for (const auto& protocol : protocols) {
    CAPTURE(protocol);
    const Point point = point_of(protocol, model, rest + R"(, "stop": {"updates": 60})");
    const auto exact = device_on(reference, *point.model), tested = device_on(place, *point.model);
    const RunRecord wanted = run_cohort(point, *exact, 0, 1, 4096).front();
    const RunRecord found = run_cohort(point, *tested, 0, 1, 4096).front();
    CHECK(found.status == wanted.status);
    CHECK(found.totals.time == wanted.totals.time);
    CHECK(found.totals.applied == wanted.totals.applied);
    CHECK(found.staleness_counts == wanted.staleness_counts);
    CHECK(found.gradients_computed == wanted.gradients_computed);
    REQUIRE(found.curve.size() == wanted.curve.size());
    for (std::size_t i = 0; i < found.curve.size(); ++i) {
      CHECK(found.curve[i].point.update == wanted.curve[i].point.update);
      CHECK(near(found.curve[i].evaluation.loss, wanted.curve[i].evaluation.loss, tolerance));
      CHECK(near(found.curve[i].evaluation.test_loss, wanted.curve[i].evaluation.test_loss,
                 tolerance));
    }
  }
}

void check_equal(const RunRecord& a, const RunRecord& b) {
  REQUIRE(a.hash != 0);
  REQUIRE(a.hash == b.hash);
  REQUIRE(a.curve.size() == b.curve.size());
  for (std::size_t i = 0; i < a.curve.size(); ++i) {
    REQUIRE(a.curve[i].evaluation.loss == b.curve[i].evaluation.loss);
    REQUIRE(a.curve[i].evaluation.test_loss == b.curve[i].evaluation.test_loss);
    const double rates[] = {a.curve[i].point.learning_rate, b.curve[i].point.learning_rate};
    REQUIRE((rates[0] == rates[1] || (std::isnan(rates[0]) && std::isnan(rates[1]))));
  }
}

/// A run's numbers depend neither on its cohort nor on where its segments end.
void check_equal_bits(const Place& place, const char* model,
                      const std::vector<std::string>& protocols, const std::string& rest) {
  for (const auto& protocol : protocols) {
    CAPTURE(protocol);
    const Point point = point_of(protocol, model, rest + R"(, "stop": {"updates": 60})");
    const auto device = device_on(place, *point.model);
    std::vector<RunRecord> alone;
    for (std::uint32_t r = 0; r < 5; ++r)
      alone.push_back(run_cohort(point, *device, r, 1, 1'000'000).front());
    CHECK(alone[0].hash != alone[1].hash);
    for (const std::uint32_t limit : {1u, 64u, 4096u}) {
      const auto together = run_cohort(point, *device, 0, 5, limit);
      for (std::size_t r = 0; r < 5; ++r) check_equal(together[r], alone[r]);
    }
  }
}

/// Nor on the points of the others: protocols, minibatches and rules differ.
void check_mixed_points(const Place& place, const char* one, const char* other) {
  std::vector<Race> races;
  ModelProduct model;
  for (const char* const rest : {plain, everything, carrying, adam}) {
    for (const auto& protocol : every_server_protocol()) {
      const Point point = point_of(protocol, races.size() % 3 == 0 ? one : other,
                                   std::string(rest) + R"(, "stop": {"updates": 60})");
      races.push_back(point.race());
      model = point.model;
    }
  }
  const auto device = device_on(place, *model);
  std::vector<Run> runs;
  for (const Race& race : races) runs.emplace_back(race, 1, true, nullptr, 64);
  const auto together = records_of(std::move(runs), *device);
  for (std::size_t i = 0; i < races.size(); ++i) {
    CAPTURE(i);
    std::vector<Run> alone;
    alone.emplace_back(races[i], 1, true, nullptr, 4096);
    check_equal(together[i], records_of(std::move(alone), *device).front());
  }
}

/// Two places that differ by nothing but how many threads their blocks have.
void check_threads(const Place& some, const Place& others) {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.name);
    const Vector start = some_value(*subject.exact());
    const auto one = subject.on(some, start), three = subject.on(others, start);
    for (const Rule& rule : {rules[0], rules[std::size(rules) - 2], rules[std::size(rules) - 1]}) {
      const double clip = rule.distance;  // neither: weights stay in the blocks
      const Replayed a = replay_updates(*one, rule, clip), b = replay_updates(*three, rule, clip);
      REQUIRE(a.w == b.w);
      for (std::size_t s = 0; s < 2; ++s) {
        REQUIRE(a.results[s].hash == b.results[s].hash);
        REQUIRE(a.results[s].rate_factors == b.results[s].rate_factors);
        for (std::size_t i = 0; i < a.results[s].evaluations.size(); ++i)
          REQUIRE(a.results[s].evaluations[i].loss == b.results[s].evaluations[i].loss);
      }
    }
  }
}

/// Small cohorts, replayed in every way, are what blocks one after the other make of them.
void check_execution(std::uint32_t threads, Execution execution) {
  struct Case {
    const char* model;
    const char* rest;
    std::size_t shared_memory;
  };
  const std::size_t fits = EmulatedBlocks::most_shared_memory;
  for (const Case& of : {Case{softmax, everything, fits}, Case{in_place, carrying, fits},
                         Case{in_place, plain, 0}, Case{small_resnet, everything, fits}}) {
    CAPTURE(of.model);
    const Point point = point_of(R"({"kind": "k-async", "k": 3})", of.model,
                                 std::string(of.rest) + R"(, "stop": {"updates": 6})");
    const auto wanted = device_on(emulated(1, false, of.shared_memory), *point.model);
    const auto tested =
        device_on(emulated(threads, false, of.shared_memory, execution), *point.model);
    const auto a = run_cohort(point, *wanted, 0, 5, 4), b = run_cohort(point, *tested, 0, 5, 4);
    for (std::size_t r = 0; r < 5; ++r) check_equal(a[r], b[r]);
  }
}

}  // namespace

TEST_CASE("emulated: what a device does as late as it may has equal bits") {
  check_execution(1, Execution::at_wait);
}

TEST_CASE("emulated: blocks of two threads side by side have equal bits") {
  check_execution(2, Execution::side_by_side);
}

TEST_CASE("blocks: the CPU in float32 conforms to float64") {
  check_gradients(cpu());
  check_updates(cpu());
}

TEST_CASE("blocks: gradients conform, with one thread") {
  check_gradients(emulated(1));
  check_gradients(emulated(1, true));
  check_gradients(by_gradients());
  check_gradients(by_gradients(true));
}

TEST_CASE("blocks: updates by every rule conform, with one thread") {
  check_updates(emulated(1));
  check_updates(emulated(1, true));
  check_updates(by_gradients());
  check_updates(by_gradients(true));
}

TEST_CASE("blocks: runs of every protocol conform, with one thread") {
  check_runs(emulated(1), softmax, every_server_protocol(), plain, 1e-4);
  check_runs(emulated(1, true), softmax, every_server_protocol(), plain, 1e-11);
  check_runs(emulated(1, true), softmax, every_server_protocol(), everything, 1e-9);
  check_runs(emulated(1), in_place, every_server_protocol(), plain, 1e-4);
  check_runs(emulated(1, true), in_place, every_server_protocol(), plain, 1e-11);
  check_runs(emulated(1, true), in_place, every_server_protocol(), carrying, 1e-9);
  check_runs(by_gradients(), in_place, every_server_protocol(), plain, 1e-4);
  check_runs(by_gradients(true), in_place, every_server_protocol(), plain, 1e-11);
  check_runs(by_gradients(true), in_place, every_server_protocol(), carrying, 1e-9);
  check_runs(emulated(1, true), in_place, some_protocols, adam, 1e-9);
  check_runs(emulated(1), small_cnn, every_server_protocol(), plain, 1e-4);
  check_runs(emulated(1, true), small_cnn, every_server_protocol(), everything, 1e-9);
}

TEST_CASE("blocks: runs with statistics and augmented images conform, with one thread") {
  check_runs(emulated(1), small_resnet, some_protocols, plain, 1e-4);
  check_runs(emulated(1, true), small_resnet, some_protocols, plain, 1e-11);
  check_runs(emulated(1, true), small_resnet, some_protocols, everything, 1e-9);
  check_runs(emulated(1, true), small_resnet, {some_protocols.back()}, adam, 1e-9);
}

TEST_CASE("blocks: equal bits for any cohort and any segment limit") {
  check_equal_bits(emulated(1), softmax, every_server_protocol(), plain);
  check_equal_bits(emulated(1), softmax, every_server_protocol(), everything);
  check_equal_bits(emulated(1), in_place, every_server_protocol(), plain);
  check_equal_bits(emulated(1), in_place, every_server_protocol(), carrying);
  check_equal_bits(emulated(1), in_place, some_protocols, adam);
  check_equal_bits(emulated(1), small_resnet, {some_protocols.back()}, everything);
  check_equal_bits(by_gradients(), in_place, every_server_protocol(), plain);
  check_equal_bits(by_gradients(), in_place, every_server_protocol(), carrying);
  check_mixed_points(emulated(1), softmax, small_minibatch);
  check_mixed_points(emulated(1), in_place, in_place_minibatch);
  check_equal_bits(emulated(1), small_cnn, every_server_protocol(), plain);
  check_mixed_points(by_gradients(), in_place, in_place_minibatch);
  check_mixed_points(emulated(1), small_cnn, cnn_minibatch);
}

TEST_CASE("blocks: gradients conform, with three threads") {
  for (const Place& place : {emulated(3), by_gradients(false, 3)})
    for (const Subject& subject : subjects()) check_gradient(place, subject, 0.3, 33);
}

TEST_CASE("blocks: equal bits for any number of threads") {
  check_threads(emulated(1), emulated(3));
  check_threads(by_gradients(), by_gradients(false, 3));
}

TEST_CASE("blocks: a run that is lost is recorded up to the evaluation that shows it") {
  const Point point =
      point_of(R"({"kind": "k-sync", "k": 3})", R"({"kind": "quadratic", "noise": 0})",
               R"("learning_rate": {"kind": "constant", "eta": 5},
                                  "stop": {"updates": 5000})");
  const auto device = device_on(emulated(1), *point.model);
  const auto exact = device_on(cpu(), *point.model);
  const RunRecord found = run_cohort(point, *device, 0, 1, 100).front();
  const RunRecord wanted = run_cohort(point, *exact, 0, 1, 100).front();
  CHECK(found.status == Status::diverged);
  CHECK(found.totals.updates == wanted.totals.updates);
}

TEST_CASE("blocks: the noise is what Boost draws from the same words") {
  const StreamName name{3, 1, Purpose::gradient_noise, 4, 5};
  Stream words = stream(name);
  boost::random::normal_distribution<double> wanted;
  const ResidentQuadratic<double, EmulatedBlocks> resident({1, {1.0}, 1.0});
  kernels::Normal normal(*resident.quadratic().ziggurat, name);
  std::uint64_t tails = 0;  // beyond 3.4426, where the last layer begins
  for (int i = 0; i < 1'000'000; ++i) {
    const double x = normal.next();
    REQUIRE(x == wanted(words));
    tails += std::abs(x) > 3.4426198558966523;
  }
  CHECK(tails > 400);  // 576 are expected
  CHECK(tails < 800);
}

TEST_CASE("blocks: threads draw the rows of a minibatch together") {
  for (const Sampling sampling : {Sampling::iid, Sampling::epoch}) {
    for (const std::uint32_t n : {1u, 7u, 100u}) {
      for (const std::uint32_t threads : {1u, 3u, 64u}) {
        const MinibatchName name{9, 2, 1, 3, 37};
        std::vector<std::uint32_t> wanted(name.size), found(name.size, n);
        minibatch_rows(sampling, name, n, wanted);
        for (std::uint32_t thread = 0; thread < threads; ++thread) {
          if (sampling == Sampling::iid)
            draw_iid(name, n, found.data(), thread, threads);
          else
            draw_epoch(name, n, found.data(), thread, threads);
        }
        CHECK(found == wanted);
      }
    }
  }
}

TEST_CASE("blocks: a model that only the CPU has is refused") {
  class OfTheCpu final : public Model<float> {
   public:
    std::size_t parameters() const override { return 1; }
    void initialise(std::uint64_t, std::uint32_t, std::span<float>) override {}
    void gradient(std::span<const float>, const MinibatchName&, std::span<float>) override {}
    void evaluate(std::span<const float* const>, std::span<Evaluation>) override {}
  };
  CHECK_THROWS_WITH(make_block_device<float>(std::make_unique<OfTheCpu>(), EmulatedBlocks(1), {}),
                    "emulated: only the CPU computes this model; use --device cpu");
}

TEST_CASE("blocks: what only the CPU replays is refused") {
  const Tape tape{7, 0, {{1, 0}}, {{}}};
  const auto replay = [&](const Segment& segment) {
    const auto device = make_block_device(quadratic(3, 0).fast(), EmulatedBlocks(1), {});
    device->start({&tape, 1});
    const Segment* const wave = &segment;
    Results results;
    device->replay({&wave, 1}, {&results, 1});
  };
  Segment averages;
  averages.terms = {{0, 1}};
  averages.ops = {{Op::Kind::average, 0, 1, 0, 0, 1}};
  averages.live = {1};
  CHECK_THROWS_WITH_AS(replay(averages),
                       "emulated: only the CPU replays averages of models; use --device cpu",
                       std::runtime_error);
  Segment disagrees;
  disagrees.terms = {{0, 1}};
  disagrees.ops = {{Op::Kind::evaluate, 0, 0, 0, 0, 1}};
  disagrees.live = {0};
  CHECK_THROWS_WITH_AS(
      replay(disagrees),
      "emulated: only the CPU replays the disagreement of models; use --device cpu",
      std::runtime_error);
  Segment twice;
  twice.gradients = {{0, 0, 0, 0, Fate::used}};
  twice.uses = {{0, 0, 0.1}, {0, 1, 0.1}};
  twice.ops = {{Op::Kind::update, 0, 1, 0, 0, 1}, {Op::Kind::update, 0, 2, 1, 1, 1}};
  twice.live = {2};
  CHECK_THROWS_WITH_AS(replay(twice),
                       "emulated: only the CPU replays a gradient used twice; use --device cpu",
                       std::runtime_error);
}

TEST_CASE("blocks: a device without the memory for one run says so") {
  DeviceOptions options;
  options.learners = 1'000'000;
  const Subject large = quadratic(1000, 0);
  options.rules = {{}};  // 4 GB of 8
  CHECK(make_block_device(large.fast(), EmulatedBlocks(1), options)->cohort() == 1);
  options.rules = {{make_optimiser(Sgd{.momentum = 0.9}), 0.9}};  // three parts of a state
  CHECK_THROWS_WITH(make_block_device(large.fast(), EmulatedBlocks(1), options),
                    doctest::Contains("a run with 1000000 learners needs up to"));
  options.learners = 8;
  const auto device = make_block_device(large.fast(), EmulatedBlocks(1), options);
  CHECK(device->cohort() > 100);
}

#define GRADRACE_NEEDS_CUDA() \
  if (!no_cuda_device().empty()) GRADRACE_SKIP(no_cuda_device())

// The smallest: compute-sanitizer makes it up to a hundred times as long.
TEST_CASE("cuda: one gradient of each kind") {
  GRADRACE_NEEDS_CUDA();
  for (const Subject& subject : subjects()) check_gradient(cuda(), subject, 0.3, 5);
}

TEST_CASE("cuda: gradients conform") {
  GRADRACE_NEEDS_CUDA();
  check_gradients(cuda());
  check_gradients(cuda(true));
}

TEST_CASE("cuda: updates by every rule conform") {
  GRADRACE_NEEDS_CUDA();
  check_updates(cuda());
  check_updates(cuda(true));
}

TEST_CASE("cuda: runs of every protocol conform") {
  GRADRACE_NEEDS_CUDA();
  check_runs(cuda(), softmax, every_server_protocol(), plain, 1e-4);
  check_runs(cuda(true), softmax, every_server_protocol(), plain, 1e-11);
  check_runs(cuda(true), softmax, every_server_protocol(), everything, 1e-9);
  check_runs(cuda(), in_place, every_server_protocol(), plain, 1e-4);
  check_runs(cuda(true), in_place, every_server_protocol(), carrying, 1e-9);
  check_runs(cuda(), too_large_anywhere, every_server_protocol(), plain, 1e-4);
  check_runs(cuda(true), too_large_anywhere, every_server_protocol(), carrying, 1e-9);
  check_runs(cuda(), small_cnn, every_server_protocol(), plain, 1e-4);
  check_runs(cuda(true), small_cnn, every_server_protocol(), everything, 1e-9);
  check_runs(cuda(), small_resnet, some_protocols, plain, 1e-4);
  check_runs(cuda(true), small_resnet, some_protocols, everything, 1e-9);
}

TEST_CASE("cuda: equal bits for any cohort and any segment limit") {
  GRADRACE_NEEDS_CUDA();
  check_equal_bits(cuda(), softmax, every_server_protocol(), plain);
  check_equal_bits(cuda(), softmax, every_server_protocol(), everything);
  check_equal_bits(cuda(), in_place, every_server_protocol(), plain);
  check_equal_bits(cuda(), in_place, every_server_protocol(), carrying);
  check_equal_bits(cuda(), too_large_anywhere, every_server_protocol(), plain);
  check_equal_bits(cuda(), too_large_anywhere, every_server_protocol(), carrying);
  check_equal_bits(cuda(), small_cnn, every_server_protocol(), plain);
  check_equal_bits(cuda(), small_resnet, {some_protocols.back()}, everything);
  check_mixed_points(cuda(), softmax, small_minibatch);
  check_mixed_points(cuda(), in_place, in_place_minibatch);
  check_mixed_points(cuda(), small_cnn, cnn_minibatch);
}

}  // namespace gradrace
