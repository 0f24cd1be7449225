#include <doctest/doctest.h>

#include <algorithm>

#include "models/make_device.h"
#include "sim/reading/problem.h"
#include "tests/compression/kinds.h"
#include "tests/support/race_text.h"
#include "tests/support/subjects.h"

namespace gradrace::compression_runs_test {

namespace {

const std::string every_kind[] = {
    R"({"kind": "qsgd", "bits": 4})",
    R"({"kind": "qsgd", "levels": 1, "bucket": "tensor", "norm": "max"})",
    R"({"kind": "terngrad"})",
    R"({"kind": "sign", "memory": {}})",
    R"({"kind": "top-k", "share": 0.05, "memory": {"decay": 0.9}})",
    R"({"kind": "random-k", "k": 30})",
    R"({"kind": "uniform", "bits": 8, "memory": {}})"};

/// Of W [8 x 10] and b [10].
Point point_of(const std::string& protocol, const std::string& compression,
               const std::string& cluster = "", const std::string& stop = R"({"updates": 40})") {
  return point_from(
      R"({"cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1})" +
      cluster + R"(}, "protocol": )" + protocol +
      (compression.empty() ? "" : R"(, "compression": )" + compression) +
      R"(, "model": {"kind": "softmax", "minibatch": 8, "dataset": {"kind": "synthetic",
              "features": 8, "rows": 300, "test_rows": 10}},
          "learning_rate": {"kind": "constant", "eta": 0.1}, "optimiser": {"momentum": 0.5},
          "stop": )" +
      stop + "}");
}

}  // namespace

TEST_CASE("compression: a model's tensors are all that it learns") {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.name);
    const auto model = subject.exact();
    const auto tensors = model->tensors();
    std::size_t numbers = 0;
    for (const Tensor& tensor : tensors) numbers += tensor.numbers();
    CHECK(numbers == model->parameters() - model->statistics().count);
    CHECK(std::ranges::count(tensors, 0u, &Tensor::numbers) == 0);
  }
}

TEST_CASE("compression: weights are a matrix with a row for each output") {
  const auto shapes = [](const std::string& model) {
    const Point point = point_from(
        R"({"cluster": {"learners": 1, "runtime": {"distribution": "deterministic", "value": 1}},
            "protocol": {"kind": "async"}, "learning_rate": {"kind": "constant", "eta": 0.1},
            "stop": {"updates": 1}, "model": {"dataset": {"kind": "synthetic", "features": 64,
            "rows": 20, "test_rows": 10}, )" +
        model + "}}");
    std::string text;
    for (const Tensor& tensor : point.model->tensors())
      text += std::to_string(tensor.rows) + "x" + std::to_string(tensor.columns) + " ";
    return text;
  };
  CHECK(shapes(R"("kind": "softmax")") == "10x64 10x1 ");
  CHECK(shapes(R"("kind": "mlp", "widths": [7])") == "7x64 7x1 10x7 10x1 ");
}

TEST_CASE("compression: a message has the model's tensors") {
  const auto bytes = [](const std::string& kind) {
    return point_of(R"({"kind": "async"})", kind).race().plans.front().bytes_of_message(360);
  };
  CHECK(bytes(R"({"kind": "terngrad"})") == 23 + 2 * 4);
  CHECK(bytes(R"({"kind": "sign"})") == 12 + 2 * 4);
  CHECK(bytes(R"({"kind": "qsgd", "bits": 4})") == 45 + 4);
}

TEST_CASE(
    "compression: what leaves nothing out is no compression, bit for bit, by every protocol") {
  for (const std::string& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    const RaceRecord plain = run_training(point_of(protocol, ""));
    for (const std::string kind :
         {R"({"kind": "qsgd", "bits": 32})", R"({"kind": "top-k", "share": 1})",
          R"({"kind": "random-k", "share": 1})"}) {
      const RaceRecord whole = run_training(point_of(protocol, kind));
      CHECK(whole.hash == plain.hash);
      CHECK(whole.totals.time == plain.totals.time);
    }
    const RaceRecord remembered =
        run_training(point_of(protocol, R"({"kind": "top-k", "share": 1, "memory": {}})"));
    CHECK(remembered.curve.back().evaluation.loss == plain.curve.back().evaluation.loss);
  }
}

TEST_CASE("compression: every kind trains by every protocol, whoever drops gradients") {
  const std::string roads =
      R"(, "network": {"push": {"distribution": "exponential", "mean": 0.2}, "bandwidth": 4000,
          "model_bytes": 360}, "failures": {"up": {"distribution": "exponential", "mean": 9},
          "down": {"distribution": "uniform", "low": 0, "high": 4}})";
  for (const std::string& protocol : every_server_protocol())
    for (const std::string& kind : every_kind) {
      CAPTURE(protocol);
      CAPTURE(kind);
      const Point point = point_of(protocol, kind, roads);
      const RaceRecord record = run_training(point);
      CHECK(record.status == Status::finished);
      const RaceRecord again = run_training(point);
      CHECK(again.hash == record.hash);
      CHECK(record.totals.time == run_timing(point.race()).totals.time);
    }
}

TEST_CASE("compression: a gradient takes latency and bytes / bandwidth, a model all its bytes") {
  for (const std::string& kind : every_kind) {
    CAPTURE(kind);
    const Point point = point_from(
        R"({"cluster": {"learners": 1, "runtime": {"distribution": "deterministic", "value": 1},
             "network": {"push": {"distribution": "deterministic", "value": 0.25},
                         "bandwidth": 65536, "model_bytes": 32768}},
            "protocol": {"kind": "sync"}, "stop": {"updates": 64}, "compression": )" +
        kind + "}");
    const double bytes = message_from(kind).compressor->bytes(8192);
    const RaceRecord record = run_timing(point.race());
    CHECK(record.totals.time == 64 * (0.5 + 1 + 0.25 + bytes / 65536));
    CHECK(record.learners[0].exchanged.sent == 64 * bytes);
    CHECK(record.learners[0].exchanged.received == 65 * 32768.0);
  }
}

TEST_CASE("compression: the curve has the error of the messages since the evaluation before") {
  const auto errors = [](const std::string& kind, std::uint32_t limit) {
    const Point point = point_from(
        R"({"cluster": {"learners": 2, "runtime": {"distribution": "deterministic", "value": 1}},
            "protocol": {"kind": "sync"}, "model": {"kind": "quadratic", "dimensions": 4, "noise": 0},
            "learning_rate": {"kind": "constant", "eta": 0.5}, "stop": {"updates": 5},
            "record": {"every_updates": 2}, "compression": )" +
        kind + "}");
    const Race race = point.race();
    const auto device = make_device(*point.model, {});
    std::vector<double> found;
    for (const CurvePoint& at : run_race({race, 0, limit}, device.get()).curve)
      found.push_back(at.evaluation.compression_error);
    return found;
  };
  for (const std::uint32_t limit : {1u, 4096u}) {
    // Of w = (1, 1, 1, 1) one number is sent: of 4, 3.25, 2.5 and so on 1 is sent.
    const auto found = errors(R"({"kind": "top-k", "k": 1})", limit);
    REQUIRE(found.size() == 4);  // at 0, 2, 4 and 5 updates
    CHECK(std::isnan(found[0]));
    CHECK(found[1] == doctest::Approx((3 / 4.0 + 2.25 / 3.25) / 2).epsilon(1e-6));
    for (const double error : errors(R"({"kind": "qsgd", "bits": 32})", limit))
      CHECK((std::isnan(error) || error == 0));
  }
}

TEST_CASE("compression: all-reduce gathers what does not add, and a ring adds what does") {
  const auto of = [](const std::string& kind) {
    return point_from(
        R"({"cluster": {"learners": 4, "runtime": {"distribution": "deterministic", "value": 1},
             "network": {"topology": "mesh", "latency": 0.25, "bandwidth": 65536,
                         "model_bytes": 32768}},
            "protocol": {"kind": "all-reduce"}, "stop": {"updates": 64}, "compression": )" +
        kind + "}");
  };
  const auto check = [&](const std::string& kind, double exchange, double sent) {
    CAPTURE(kind);
    const Point point = of(kind);
    const RaceRecord record = run_timing(point.race());
    CHECK(record.totals.time == doctest::Approx(64 * (1 + exchange)).epsilon(1e-13));
    CHECK(point.theory().iteration_time->value == doctest::Approx(1 + exchange).epsilon(1e-13));
    for (const LearnerTotals& learner : record.learners)
      CHECK(learner.exchanged.sent == doctest::Approx(64 * sent).epsilon(1e-13));
  };
  for (const std::string& kind : every_kind) {
    const double bytes = message_from(kind).compressor->bytes(8192);
    check(kind, 3 * (0.25 + bytes / 65536), 3 * bytes);
  }
  const auto ring = [&](const std::string& kind, double bytes) {
    check(kind, 6 * 0.25 + 2 * 3 / 4.0 * bytes / 65536, 2 * 3 / 4.0 * bytes);
  };
  ring(R"({"kind": "qsgd", "bits": 32})", 32768);
  ring(R"({"kind": "random-k", "k": 30, "shared_seed": true})", 120);
}

TEST_CASE("compression: rounds of local-sgd gather what does not add, and train alike when cut") {
  const std::string network =
      R"(, "network": {"topology": "mesh", "bandwidth": 4000, "model_bytes": 360})";
  for (const std::string& kind : every_kind) {
    CAPTURE(kind);
    const Point point = point_of(R"({"kind": "local-sgd", "tau": 4})", kind, network);
    const Race race = point.race();
    const double bytes = race.plans.front().bytes_of_message(360);
    const RaceRecord record = run_training(point);
    CHECK(record.learners[0].exchanged.sent == doctest::Approx(10 * 3 * bytes).epsilon(1e-12));
    CHECK(record.totals.time == run_timing(race).totals.time);
    for (const std::uint32_t limit : {1u, 7u})
      CHECK(run_race({race, 0, limit}, make_device(*point.model, {}).get()).hash == record.hash);
  }
}

TEST_CASE("compression: all-reduce trains as sync does, and whole messages as none do") {
  const std::string sync = R"({"kind": "sync"})", all_reduce = R"({"kind": "all-reduce"})";
  for (const std::string& kind : every_kind)
    CHECK(run_training(point_of(all_reduce, kind)).curve.back().evaluation.loss ==
          run_training(point_of(sync, kind)).curve.back().evaluation.loss);
  CHECK(run_training(point_of(all_reduce, R"({"kind": "qsgd", "bits": 32})")).hash ==
        run_training(point_of(all_reduce, "")).hash);
}

TEST_CASE("compression: all of a gradient's numbers are no compression, in a ring or tree too") {
  for (const std::string protocol :
       {R"({"kind": "all-reduce", "buckets": 2})", R"({"kind": "local-sgd", "tau": 2})"})
    for (const std::string collective : {"ring", "tree", "halving-doubling"}) {
      const std::string network =
          R"(, "network": {"topology": "mesh", "latency": 0.25, "bandwidth": 4000,
              "model_bytes": 360, "collective": ")" +
          collective + "\"}";
      const RaceRecord plain = run_training(point_of(protocol, "", network));
      for (const std::string kind :
           {R"({"kind": "top-k", "k": 90})", R"({"kind": "top-k", "share": 1, "memory": {}})",
            R"({"kind": "random-k", "k": 90})",
            R"({"kind": "chunked-top-k", "chunk": 8, "k": 8, "value_bits": 32})"}) {
        CAPTURE(kind);
        const RaceRecord whole = run_training(point_of(protocol, kind, network));
        CHECK(whole.curve.back().evaluation.loss == plain.curve.back().evaluation.loss);
        CHECK(whole.totals.time == plain.totals.time);
        CHECK(whole.learners[1].exchanged.sent == plain.learners[1].exchanged.sent);
      }
    }
}

TEST_CASE("compression: with a shared seed all learners send the same places") {
  const auto loss = [](const std::string& shared) {
    const Point point = point_from(
        R"({"cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
            "protocol": {"kind": "sync"}, "model": {"kind": "quadratic", "dimensions": 64, "noise": 0},
            "learning_rate": {"kind": "constant", "eta": 1}, "stop": {"updates": 1},
            "compression": {"kind": "random-k", "k": 16, "scaled": false, "shared_seed": )" +
        shared + "}}");
    return run_training(point).curve.back().evaluation.loss;
  };
  CHECK(loss("true") == 48 / 2.0);
  CHECK(loss("false") != 48 / 2.0);
}

TEST_CASE("compression: what does not go together is refused with the cure") {
  const auto refusal = [](const std::string& protocol, const std::string& kind) {
    return refusal_of([&] { point_of(protocol, kind); });
  };
  const std::string async = R"({"kind": "async"})";
  says(refusal(R"({"kind": "d-psgd", "graph": "ring"})", R"({"kind": "terngrad"})"),
       "compression: is of gradients, or of how far learners have come");
  says(refusal(R"({"kind": "switch", "phases": [
                   {"protocol": {"kind": "all-reduce"}, "end": {"updates": 5}},
                   {"protocol": {"kind": "local-sgd", "tau": 2}}]})",
               R"({"kind": "terngrad"})"),
       "adasync, switch between protocols with a server, all-reduce, local-sgd");
  const auto with_tree = [&] {
    return point_of(R"({"kind": "all-reduce"})", R"({"kind": "qsgd", "bits": 4})",
                    R"(, "network": {"topology": "mesh", "collective": "tree"})");
  };
  CHECK_THROWS_AS(with_tree(), ScenarioError);
  const auto on_cuda = [](const std::string& model, const std::string& kind) {
    return refusal_of([&] {
      point_from(R"({"device": "cuda", "cluster": {"learners": 2, "runtime": {"distribution":
          "exponential", "mean": 1}}, "protocol": {"kind": "async"}, "learning_rate": {"kind":
          "constant", "eta": 0.1}, "stop": {"updates": 5}, "model": )" +
                 model + R"(, "compression": )" + kind + "}");
    });
  };
  const std::string softmax = R"({"kind": "softmax", "dataset": {"kind": "synthetic"}})";
  for (const std::string kind :
       {R"({"kind": "sign", "down": "same"})", R"({"kind": "chunked-top-k"})",
        R"({"kind": "dq-sgd", "mean_bits": 4, "alpha": 0.9})"}) {
    CHECK(on_cuda(softmax, kind).empty());
    CHECK(on_cuda(R"({"kind": "quadratic"})", kind).empty());
  }
  says(refusal(async, R"({"kind": "qsgd", "bits": 4, "levels": 7})"), "compression.levels");
  says(refusal(async, R"({"kind": "qsgd"})"), "bits, levels");
  says(refusal(async, R"({"kind": "qsgd", "bits": 28})"), "must be 2 to 24, or 32, got 28");
  says(refusal(async, R"({"kind": "qsgd", "bits": 4, "bucket": "layer"})"), "or tensor");
  says(refusal(async, R"({"kind": "top-k"})"), "k, share");
  says(refusal(async, R"({"kind": "random-k", "k": 3, "memory": {}})"), "scaled: false");
  says(refusal(async, R"({"kind": "terngrad", "memory": {}})"), "lambda, nu");
  says(refusal(async, R"({"kind": "terngrad", "memory": {"decay": 1}})"), "memory.decay");
  says(refusal(async, R"({"kind": "sign", "memory": {"lambda": 1}})"), "memory.nu");
  says(refusal(async, R"({"kind": "sign", "memory": {"lambda": 1, "nu": 1, "of": "step"}})"),
       "one of both");
  says(refusal(async, R"({"kind": "sign", "memory": "ef21", "down": "same"})"), "compression.down");
}

}  // namespace gradrace::compression_runs_test
