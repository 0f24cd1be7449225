#include <doctest/doctest.h>

#include <cmath>

#include "models/gpu/block_device.h"
#include "tests/support/race_text.h"
#include "tests/support/subjects.h"

namespace gradrace::block_runs_test {

namespace {

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

const char* const averaged = R"("learning_rate": {"kind": "constant", "eta": 0.02},
  "optimiser": {"momentum": 0.9, "nesterov": true, "ema": 0.9})";
const char* const adam = R"("learning_rate": {"kind": "constant", "eta": 0.02},
  "optimiser": {"kind": "adamw", "epsilon": 0.001, "ema": 0.9})";

std::string compressed(const std::string& kind) {
  return std::string(plain) + R"(, "compression": )" + kind;
}

/// Every code that blocks compute, with every memory.
std::vector<std::string> messages() {
  std::vector<std::string> rests;
  for (const char* const kind :
       {R"({"kind": "qsgd", "bits": 4, "bucket": 64})",
        R"({"kind": "qsgd", "levels": 3, "norm": "max", "bucket": "tensor",
            "memory": {"lambda": 0.5, "nu": 0.7}})",
        R"({"kind": "terngrad"})", R"({"kind": "terngrad", "clip": null})",
        R"({"kind": "sign", "memory": {"decay": 0.9}})",
        R"({"kind": "sign", "scale": "norm", "memory": {"of": "step", "on_drop": "return"}})",
        R"({"kind": "uniform", "bits": 4, "block": 16, "memory": {"on_drop": "return"}})",
        R"({"kind": "top-k", "share": 0.1, "memory": {}})",
        R"({"kind": "top-k", "k": 7, "memory": "ef21"})", R"({"kind": "random-k", "share": 0.2})",
        R"({"kind": "random-k", "k": 11, "scaled": false, "shared_seed": true, "memory": {}})",
        R"({"kind": "qsgd", "bits": 5, "from": 4})",
        R"({"kind": "chunked-top-k", "chunk": 9, "k": 3, "value_bits": 3, "memory": {}})",
        R"({"kind": "chunked-top-k", "chunk": 8, "k": 2, "value_bits": 32, "memory": "ef21"})"})
    rests.push_back(compressed(kind));
  return rests;
}

/// Servers that make messages of updates, or hear of their norms.
const char* const of_steps[] = {
    R"({"kind": "qsgd", "bits": 5, "down": {"kind": "uniform", "bits": 6, "block": 16,
        "memory": {"decay": 0.9}}})",
    R"({"kind": "sign", "majority": true, "down": "same"})",
    R"({"kind": "top-k", "share": 0.2, "memory": {}, "down": {"kind": "qsgd", "bits": 6}})",
    R"({"kind": "dq-sgd", "mean_bits": 5, "alpha": 0.98})",
    R"({"kind": "dq-sgd", "error": 1e-3, "alpha": 0.98, "L": 4, "from": 3})"};

/// Models that learners send.
const char* const of_models[] = {
    R"({"kind": "qsgd", "bits": 5})", R"({"kind": "top-k", "share": 0.2, "memory": {}})",
    R"({"kind": "sign", "memory": {"decay": 0.9}})",
    R"({"kind": "uniform", "bits": 32, "memory": {}})",
    R"({"kind": "chunked-top-k", "chunk": 9, "k": 3, "memory": "ef21"})"};
/// What all learners make together: gradients, or models.
const char* const of_means[] = {
    R"({"kind": "power", "rank": 2, "memory": {}})",
    R"({"kind": "power", "rank": 1, "warm_start": false, "memory": {"decay": 0.9}, "from": 3})",
    R"({"kind": "power", "rank": 3})"};
const std::string all_reduce = R"({"kind": "all-reduce"})";
const char* const quadratic = R"({"kind": "quadratic", "dimensions": 40, "noise": 0.5,
  "curvatures": [1, 0.3, 2]})";
const std::string local_sgd = R"({"kind": "local-sgd", "tau": 3, "outer": {"eta": 0.9}})";

/// The model with sizes from 1 to 36 in place of its one.
std::string with_unlike_minibatches(std::string model) {
  const std::size_t at = model.find(R"("minibatch": )") + 13, end = model.find(',', at);
  return model.replace(at, end - at, "[30, 7, 1, 16, 30, 36, 7, 2]");
}

std::unique_ptr<Device> device_on(const Place& place, const ModelSpec& model) {
  if (place.float64) return place.make_float64(model.make_float64());
  return place.make_float32(model.make_float32());
}

std::vector<RaceRecord> run_cohort(const Point& point, Device& device, std::uint32_t first,
                                   std::uint32_t count, std::uint32_t limit) {
  const Race race = point.race();
  std::vector<Starter> starters;
  for (std::uint32_t r = first; r < first + count; ++r) starters.push_back({race, r, limit});
  return run_races(starters, &device);
}

const char* const small_resnet = R"({"kind": "resnet", "depth": 8, "width": 2, "minibatch": 6,
  "l2": 0.001, "augment": true, "statistics_decay": 0.8,
  "dataset": {"kind": "synthetic", "rows": 60, "test_rows": 20, "classes": 3, "separation": 8,
              "features": 70, "height": 7, "width": 5}})";
// Its second stage has maps enough for tiles of TF32 parts.
const char* const tf32_resnet = R"({"kind": "resnet", "depth": 8, "width": 8, "minibatch": 7,
  "precision": "tf32x3", "statistics_decay": 0.8,
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
    const Point point = point_of(protocol, model, rest + R"(, "stop": {"updates": 20})");
    const auto exact = device_on(reference, *point.model), tested = device_on(place, *point.model);
    const RaceRecord wanted = run_cohort(point, *exact, 0, 1, 4096).front();
    const RaceRecord found = run_cohort(point, *tested, 0, 1, 4096).front();
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
      CHECK(near(found.curve[i].evaluation.compression_error,
                 wanted.curve[i].evaluation.compression_error, tolerance));
      const double apart[] = {found.curve[i].evaluation.disagreement,
                              wanted.curve[i].evaluation.disagreement};
      CHECK((near(apart[0], apart[1], tolerance) || std::abs(apart[0] - apart[1]) < 1e-12));
    }
  }
}

void check_equal(const RaceRecord& a, const RaceRecord& b) {
  REQUIRE(a.hash != 0);
  REQUIRE(a.hash == b.hash);
  REQUIRE(a.curve.size() == b.curve.size());
  for (std::size_t i = 0; i < a.curve.size(); ++i) {
    const Evaluation &left = a.curve[i].evaluation, &right = b.curve[i].evaluation;
    REQUIRE(left.loss == right.loss);
    REQUIRE(near(left.test_loss, right.test_loss, 0));
    REQUIRE(near(a.curve[i].point.learning_rate, b.curve[i].point.learning_rate, 0));
    REQUIRE(near(left.disagreement, right.disagreement, 0));
    REQUIRE(near(left.compression_error, right.compression_error, 0));
  }
}

/// Those with a server; in the short form every third from the `first`th on.
std::vector<std::string> server_protocols(std::size_t first) {
  const std::vector<std::string> all = every_server_protocol();
  if (is_long_form()) return all;
  std::vector<std::string> some;
  for (std::size_t i = first; i < all.size(); i += 3) some.push_back(all[i]);
  return some;
}

/// A run's numbers depend neither on its cohort nor on where its segments end.
void check_equal_bits(const Place& place, const char* model,
                      const std::vector<std::string>& protocols, const std::string& rest) {
  for (const auto& protocol : protocols) {
    CAPTURE(protocol);
    const Point point = point_of(protocol, model, rest + R"(, "stop": {"updates": 8})");
    const auto device = device_on(place, *point.model);
    std::vector<RaceRecord> alone;
    for (std::uint32_t r = 0; r < 3; ++r)
      alone.push_back(run_cohort(point, *device, r, 1, 1'000'000).front());
    CHECK(alone[0].hash != alone[1].hash);
    for (const std::uint32_t limit : {1u, 64u}) {
      const auto together = run_cohort(point, *device, 0, 3, limit);
      for (std::size_t r = 0; r < 3; ++r) check_equal(together[r], alone[r]);
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
                                   std::string(rest) + R"(, "stop": {"updates": 6})");
      races.push_back(point.race());
      model = point.model;
    }
  }
  const auto device = device_on(place, *model);
  std::vector<Starter> starters;
  for (const Race& race : races) starters.push_back({race, 1, 64});
  const auto together = run_races(starters, device.get());
  for (std::size_t i = 0; i < races.size(); ++i) {
    CAPTURE(i);
    check_equal(together[i], run_race({races[i], 1}, device.get()));
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

TEST_CASE("emulated: a wave waits for the device only where a run needs its answers") {
  const auto waits = [](const std::string& record) {
    const Point point = point_from(
        R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
            "protocol": {"kind": "async"}, "stop": {"updates": 100}, "record": )" +
        record + R"(, "model": )" + in_place + ", " + plain + "}");
    const EmulatedBlocks blocks(1, EmulatedBlocks::most_shared_memory, Execution::at_wait);
    const auto count = blocks.waits();
    const auto device = make_block_device(point.model->make_float32(), blocks, {});
    std::uint64_t before = *count;
    for (int time = 0; time < 2; ++time) {  // lists grow in the first, which waits, too
      before = *count;
      run_cohort(point, *device, 0, 3, 8);
    }
    return *count - before;
  };
  // Of some 25 waves: the start, and the evaluations at time 0 and at the end.
  CHECK(waits("{}") == 3);
  CHECK(waits(R"({"every_updates": 5})") >= 20);
}

TEST_CASE("blocks: runs of every protocol conform, with one thread") {
  check_runs(emulated(1), softmax, every_server_protocol(), plain, 1e-4);
  check_runs(emulated(1, true), softmax, server_protocols(0), plain, 1e-11);
  check_runs(emulated(1, true), softmax, every_server_protocol(), everything, 1e-9);
  check_runs(emulated(1), in_place, every_server_protocol(), plain, 1e-4);
  check_runs(emulated(1), in_place, server_protocols(1), averaged, 1e-4);
  check_runs(emulated(1), in_place, some_protocols, adam, 1e-3);
  check_runs(emulated(1, true), in_place, server_protocols(2), plain, 1e-11);
  check_runs(emulated(1, true), in_place, every_server_protocol(), carrying, 1e-9);
  check_runs(by_gradients(), in_place, server_protocols(0), plain, 1e-4);
  check_runs(by_gradients(true), in_place, server_protocols(1), plain, 1e-11);
  check_runs(by_gradients(true), in_place, server_protocols(2), carrying, 1e-9);
  check_runs(emulated(1, true), in_place, some_protocols, adam, 1e-9);
  check_runs(emulated(1), small_cnn, server_protocols(1), plain, 1e-4);
  check_runs(emulated(1, true), small_cnn, server_protocols(2), everything, 1e-9);
}

TEST_CASE("blocks: runs of every protocol without a server conform, with one thread") {
  check_runs(emulated(1), in_place, every_peer_protocol(), plain, 1e-4);
  check_runs(emulated(1, true), softmax, every_peer_protocol(), plain, 1e-11);
  check_runs(emulated(1), in_place, every_peer_protocol(), averaged, 1e-4);
  check_runs(by_gradients(true), in_place, every_peer_protocol(), carrying, 1e-9);
  check_runs(emulated(1, true), small_cnn, every_peer_protocol(), plain, 1e-9);
}

TEST_CASE("blocks: runs of learners with unlike minibatches conform, with equal bits") {
  const std::vector<std::string> protocols = {some_protocols[1], some_protocols[2], all_reduce};
  const std::string of_softmax = with_unlike_minibatches(softmax);
  const std::string of_layers = with_unlike_minibatches(in_place);
  check_runs(emulated(1, true), of_softmax.c_str(), protocols, plain, 1e-11);
  check_runs(emulated(1, true), of_layers.c_str(), protocols, plain, 1e-11);
  check_runs(by_gradients(true), of_layers.c_str(), protocols, carrying, 1e-9);
  check_runs(emulated(1, true), with_unlike_minibatches(small_resnet).c_str(), {protocols[1]},
             plain, 1e-9);
  check_equal_bits(emulated(1), of_softmax.c_str(), protocols, plain);
  check_equal_bits(emulated(1), of_layers.c_str(), protocols, carrying);
}

TEST_CASE("blocks: steps of learners at a server conform, with equal bits for any cohort") {
  const std::vector<std::string> protocols = {R"({"kind": "sync", "tau": 3})",
                                              R"({"kind": "k-batch-async", "k": 3, "tau": 4})"};
  check_runs(emulated(1, true), softmax, protocols, plain, 1e-11);
  check_runs(emulated(1, true), in_place, protocols, carrying, 1e-9);
  check_runs(by_gradients(true), in_place, protocols, plain, 1e-11);
  check_runs(emulated(1, true), quadratic, protocols, carrying, 1e-9);
  check_runs(emulated(1, true), small_resnet, {protocols[1]}, plain, 1e-9);
  check_equal_bits(emulated(1), softmax, protocols, carrying);
  check_equal_bits(emulated(1), in_place, protocols, plain);
}

TEST_CASE("blocks: averages have equal bits for any cohort and any segment limit") {
  check_equal_bits(emulated(1), softmax, every_peer_protocol(), plain);
  check_equal_bits(emulated(1), in_place, every_peer_protocol(), carrying);
  check_equal_bits(by_gradients(), in_place, every_peer_protocol(), plain);
}

TEST_CASE("blocks: runs with statistics and augmented images conform, with one thread") {
  check_runs(emulated(1), small_resnet, some_protocols, plain, 1e-4);
  check_runs(emulated(1, true), small_resnet, some_protocols, plain, 1e-11);
  check_runs(emulated(1, true), small_resnet, some_protocols, everything, 1e-9);
  check_runs(emulated(1, true), small_resnet, {some_protocols.back()}, adam, 1e-9);
}

TEST_CASE("blocks: runs by parts of TF32 conform, with equal bits for any cohort") {
  const std::string on_gpu = std::string(plain) + R"(, "device": "cuda")";
  check_runs(emulated(1), tf32_resnet, {some_protocols.back()}, on_gpu, 1e-4);
  check_equal_bits(emulated(1), tf32_resnet, {some_protocols.back()}, on_gpu);
}

TEST_CASE("blocks: equal bits for any cohort and any segment limit") {
  check_equal_bits(emulated(1), softmax, server_protocols(0), plain);
  check_equal_bits(emulated(1), softmax, server_protocols(1), everything);
  check_equal_bits(emulated(1), in_place, server_protocols(2), plain);
  check_equal_bits(emulated(1), in_place, server_protocols(0), carrying);
  check_equal_bits(emulated(1), in_place, some_protocols, adam);
  check_equal_bits(emulated(1), small_resnet, {some_protocols.back()}, everything);
  check_equal_bits(by_gradients(), in_place, server_protocols(1), plain);
  check_equal_bits(by_gradients(), in_place, some_protocols, carrying);
  check_mixed_points(emulated(1), softmax, small_minibatch);
  check_mixed_points(emulated(1), in_place, in_place_minibatch);
  check_equal_bits(emulated(1), small_cnn, some_protocols, plain);
  check_mixed_points(by_gradients(), in_place, in_place_minibatch);
  if (is_long_form()) check_mixed_points(emulated(1), small_cnn, cnn_minibatch);
}

TEST_CASE("blocks: runs with compressed gradients conform, with equal bits for any cohort") {
  const std::string backup = some_protocols[1];
  std::size_t number = 0;
  for (const std::string& rest : messages()) {
    CAPTURE(rest);
    const std::string protocol = number % 3 == 0 ? all_reduce : some_protocols[number % 3];
    const auto is_due = [&](std::size_t place) { return is_long_form() || number % 2 == place; };
    if (is_due(0)) check_runs(emulated(1, true), softmax, {protocol, backup}, rest, 1e-9);
    if (is_due(1)) check_runs(by_gradients(true), in_place, {protocol}, rest, 1e-9);
    if (is_due(0)) check_runs(emulated(1), in_place, {protocol}, rest, 1e-4);
    if (number % 4 == 0 || is_long_form()) {
      check_equal_bits(emulated(1), softmax, {protocol}, rest);
      check_runs(emulated(1, true), small_resnet, {protocol}, rest, 1e-9);
    }
    ++number;
  }
  check_runs(emulated(1, true), softmax, server_protocols(0), messages()[0], 1e-9);
  check_runs(emulated(1, true), softmax, server_protocols(1), messages()[7], 1e-9);
}

TEST_CASE("blocks: what servers make of updates, and learners of models, conforms") {
  for (const std::string kind : of_steps) {
    CAPTURE(kind);
    check_runs(emulated(1, true), softmax, {some_protocols[0], some_protocols[2]}, compressed(kind),
               1e-9);
    check_runs(emulated(1), in_place, {some_protocols[1]}, compressed(kind), 1e-4);
    check_equal_bits(emulated(1), softmax, {some_protocols[2]}, compressed(kind));
  }
  for (const std::string kind : of_models) {
    CAPTURE(kind);
    check_runs(emulated(1, true), softmax, {local_sgd}, compressed(kind), 1e-9);
    check_runs(emulated(1), in_place, {local_sgd}, compressed(kind), 1e-4);
    check_equal_bits(emulated(1), in_place, {local_sgd}, compressed(kind));
  }
  check_runs(emulated(1, true), small_resnet, {local_sgd}, compressed(of_models[1]), 1e-9);
  for (const std::string& rest :
       {compressed(of_steps[0]), messages()[0], messages()[5], messages()[11]}) {
    check_runs(emulated(1, true), quadratic, some_protocols, rest, 1e-9);
    check_equal_bits(emulated(1), quadratic, {some_protocols[2]}, rest);
  }
  check_runs(emulated(1), quadratic, {some_protocols[0]}, compressed(of_steps[3]), 1e-4);
  check_runs(emulated(1, true), quadratic, {local_sgd}, compressed(of_models[2]), 1e-9);
  check_runs(emulated(1, true), small_resnet, {some_protocols[1]}, compressed(of_steps[0]), 1e-9);
}

/// Bytes of messages are counted as the CPU counts them: the clock says so.
void check_bytes_of_messages(const Place& place) {
  Place reference = cpu();
  reference.float64 = true;
  for (const std::string& protocol :
       {some_protocols[0], some_protocols[1], all_reduce, local_sgd}) {
    CAPTURE(protocol);
    const bool peers = protocol == all_reduce || protocol == local_sgd;
    const Point point = point_from(
        R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1},
            "network": {"bandwidth": 100, "model_bytes": 4000)" +
        std::string(peers ? R"(, "topology": "mesh", "latency": 0.1)" : "") +
        R"(}}, "protocol": )" + protocol + R"(, "model": )" + small_minibatch + ", " +
        compressed(R"({"kind": "qsgd", "levels": 3, "bucket": 64, "code": "elias",
                       "memory": {"lambda": 0.5, "nu": 0.7})" +
                   std::string(peers ? "}" : R"(, "down": {"kind": "qsgd", "levels": 7,
                       "code": "elias"}})")) +
        R"(, "stop": {"updates": 20}, "record": {"every_updates": 5}})");
    const auto exact = device_on(reference, *point.model), tested = device_on(place, *point.model);
    const RaceRecord wanted = run_cohort(point, *exact, 0, 1, 4096).front();
    for (const RaceRecord& found : {run_cohort(point, *tested, 0, 2, 4096).front(),
                                    run_cohort(point, *tested, 0, 1, 3).front()}) {
      CHECK(found.totals.time == wanted.totals.time);
      CHECK(found.learners[3].exchanged.sent == wanted.learners[3].exchanged.sent);
      CHECK(found.gradients_computed == wanted.gradients_computed);
      CHECK(near(found.curve.back().evaluation.loss, wanted.curve.back().evaluation.loss, 1e-9));
    }
  }
}

TEST_CASE("blocks: messages have the bytes that the CPU counts") {
  check_bytes_of_messages(emulated(1, true));
}

TEST_CASE("cuda: messages have the bytes that the CPU counts") {
  GRADRACE_NEEDS_CUDA();
  check_bytes_of_messages(cuda(true));
}

TEST_CASE("blocks: factors that learners make together conform, with equal bits for any cohort") {
  for (const std::string kind : of_means) {
    CAPTURE(kind);
    for (const std::string& protocol : {all_reduce, local_sgd}) {
      check_runs(emulated(1, true), softmax, {protocol}, compressed(kind), 1e-9);
      check_runs(by_gradients(true), in_place, {protocol}, compressed(kind), 1e-9);
      check_runs(emulated(1), softmax, {protocol}, compressed(kind), 1e-4);
      check_equal_bits(emulated(1), in_place, {protocol}, compressed(kind));
    }
  }
  const std::string rest = std::string(R"("learning_rate": {"kind": "constant", "eta": 0.02,
      "warm_up": {"length": 40, "unit": "gradients", "from": 0}},
      "optimiser": {"kind": "adam", "epsilon": 0.001, "clip": 0.5}, "compression": )") +
                           of_means[0];
  for (const std::string& protocol : {all_reduce, local_sgd}) {
    check_runs(emulated(1, true), in_place, {protocol}, rest, 1e-9);
    check_runs(emulated(1, true), small_resnet, {protocol}, compressed(of_means[0]), 1e-9);
  }
}

TEST_CASE("emulated: messages have equal bits for two threads side by side, as late as may be") {
  for (const auto& [protocol, rest] :
       {std::pair(some_protocols[2], messages()[7]), {all_reduce, compressed(of_means[0])}}) {
    const Point point = point_of(protocol, softmax, rest + R"(, "stop": {"updates": 6})");
    const auto one = device_on(emulated(1), *point.model);
    for (const auto& other :
         {emulated(2, false, EmulatedBlocks::most_shared_memory, Execution::side_by_side),
          emulated(1, false, EmulatedBlocks::most_shared_memory, Execution::at_wait)}) {
      const auto tested = device_on(other, *point.model);
      const auto a = run_cohort(point, *one, 0, 3, 4), b = run_cohort(point, *tested, 0, 3, 4);
      for (std::size_t r = 0; r < 3; ++r) check_equal(a[r], b[r]);
    }
  }
}

TEST_CASE("blocks: a run that is lost is recorded up to the evaluation that shows it") {
  const Point point =
      point_of(R"({"kind": "k-sync", "k": 3})", R"({"kind": "quadratic", "noise": 0})",
               R"("learning_rate": {"kind": "constant", "eta": 5},
                                  "stop": {"updates": 5000})");
  const auto device = device_on(emulated(1), *point.model);
  const auto exact = device_on(cpu(), *point.model);
  const RaceRecord found = run_cohort(point, *device, 0, 1, 100).front();
  const RaceRecord wanted = run_cohort(point, *exact, 0, 1, 100).front();
  CHECK(found.status == Status::diverged);
  CHECK(found.totals.updates == wanted.totals.updates);
}

TEST_CASE("cuda: runs of every protocol conform") {
  GRADRACE_NEEDS_CUDA();
  check_runs(cuda(), softmax, every_server_protocol(), plain, 1e-4);
  check_runs(cuda(true), softmax, every_server_protocol(), plain, 1e-11);
  check_runs(cuda(true), softmax, every_server_protocol(), everything, 1e-9);
  check_runs(cuda(), in_place, every_server_protocol(), plain, 1e-4);
  for (const char* const model : {in_place, too_large_anywhere}) {
    check_runs(cuda(), model, every_server_protocol(), averaged, 1e-4);
    check_runs(cuda(), model, some_protocols, adam, 1e-3);
  }
  check_runs(cuda(true), in_place, every_server_protocol(), carrying, 1e-9);
  check_runs(cuda(), too_large_anywhere, every_server_protocol(), plain, 1e-4);
  check_runs(cuda(true), too_large_anywhere, every_server_protocol(), carrying, 1e-9);
  check_runs(cuda(), small_cnn, every_server_protocol(), plain, 1e-4);
  check_runs(cuda(true), small_cnn, every_server_protocol(), everything, 1e-9);
  check_runs(cuda(), small_resnet, some_protocols, plain, 1e-4);
  check_runs(cuda(true), small_resnet, some_protocols, everything, 1e-9);
  // A relu near 0 that turns by a rounding moves a loss by 1e-3.
  check_runs(cuda(), tf32_resnet, {some_protocols.back()},
             std::string(plain) + R"(, "device": "cuda")", 1e-2);
}

TEST_CASE("cuda: runs with compressed gradients conform") {
  GRADRACE_NEEDS_CUDA();
  for (const std::string& rest : messages()) {
    CAPTURE(rest);
    check_runs(cuda(true), softmax, some_protocols, rest, 1e-9);
    check_runs(cuda(true), small_resnet, {some_protocols.back()}, rest, 1e-9);
    check_equal_bits(cuda(), in_place, {some_protocols.back()}, rest);
  }
}

TEST_CASE("cuda: what servers make of updates, and learners of models, conforms") {
  GRADRACE_NEEDS_CUDA();
  for (const std::string kind : of_steps) {
    CAPTURE(kind);
    check_runs(cuda(true), softmax, some_protocols, compressed(kind), 1e-9);
    check_equal_bits(cuda(), in_place, {some_protocols[2]}, compressed(kind));
  }
  for (const std::string kind : of_models) {
    CAPTURE(kind);
    check_runs(cuda(true), softmax, {local_sgd}, compressed(kind), 1e-9);
    check_equal_bits(cuda(), in_place, {local_sgd}, compressed(kind));
  }
}

TEST_CASE("cuda: factors that learners make together conform") {
  GRADRACE_NEEDS_CUDA();
  for (const std::string kind : of_means)
    for (const std::string& protocol : {all_reduce, local_sgd}) {
      CAPTURE(kind);
      check_runs(cuda(true), softmax, {protocol}, compressed(kind), 1e-9);
      check_runs(cuda(true), small_resnet, {protocol}, compressed(kind), 1e-9);
      check_equal_bits(cuda(), in_place, {protocol}, compressed(kind));
    }
}

TEST_CASE("cuda: runs of every protocol without a server conform") {
  GRADRACE_NEEDS_CUDA();
  check_runs(cuda(), in_place, every_peer_protocol(), averaged, 1e-4);
  check_runs(cuda(), too_large_anywhere, every_peer_protocol(), plain, 1e-4);
  check_runs(cuda(true), softmax, every_peer_protocol(), plain, 1e-11);
  check_runs(cuda(true), small_cnn, every_peer_protocol(), plain, 1e-9);
  check_equal_bits(cuda(), softmax, every_peer_protocol(), plain);
  check_equal_bits(cuda(), in_place, every_peer_protocol(), carrying);
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

}  // namespace gradrace::block_runs_test
