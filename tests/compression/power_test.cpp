#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <boost/random/normal_distribution.hpp>
#include <numeric>

#include "models/make_device.h"
#include "tests/compression/kinds.h"
#include "tests/support/race_text.h"

namespace gradrace::power_test {

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

constexpr std::uint32_t learners = 4, updates = 20;
const std::string all_reduce = R"({"kind": "all-reduce"})";

/// Of W [16 x 64], b [16], W [10 x 16] and b [10]: 1210 numbers.
Point point_of(const std::string& compression, const std::string& protocol = all_reduce,
               const std::string& more = "", const std::string& cluster = "") {
  return point_from(
      R"({"cluster": {"learners": 4, "runtime": {"distribution": "deterministic", "value": 1})" +
      cluster + R"(}, "protocol": )" + protocol +
      (compression.empty() ? "" : R"(, "compression": )" + compression) +
      R"(, "model": {"kind": "mlp", "widths": [16], "minibatch": 8, "precision": "float64",
              "dataset": {"kind": "synthetic", "features": 64, "rows": 300, "test_rows": 10}},
          "learning_rate": {"kind": "step", "eta": 0.5, "factor": 0.1, "at": [0.5],
              "unit": "fraction"},
          "record": {"every_updates": 20}, "stop": {"updates": 20, "gradients": 80})" +
      more + "}");
}

/// Whose factor a learner takes from what it put in.
enum class Left : std::uint8_t { of_own, of_mean };

/// Learners with memories of their own, written out; factors are made by Householder reflections.
struct DirectLoop {
  std::uint32_t rank;
  double decay;
  Left left;
  bool warm_start = true;
  std::uint32_t maker = ~std::uint32_t{0};  // whose words are drawn

  double loss = 0, error = 0;  // the last, and the mean of those of messages
  std::vector<Matrix> Q = {};  // [tensor]

  void run(const Point& point) {
    const auto model = point.model->make_float64();
    const auto d = static_cast<Eigen::Index>(model->parameters());
    Vector w(d), g(d);
    model->initialise(point.seed, 0, {w.data(), model->parameters()});
    std::vector<Vector> memory(learners, Vector::Zero(d));
    for (std::uint32_t n = 0; n < updates; ++n) {
      Vector put_in = Vector::Zero(d);
      for (std::uint32_t l = 0; l < learners; ++l) {
        model->gradient({w.data(), model->parameters()}, {point.seed, 0, l, n, 8},
                        {g.data(), model->parameters()});
        memory[l] = g + decay * memory[l];
        put_in += memory[l];
      }
      w -= rate(n) * sent_of(put_in, *model, memory, point.seed, n);
    }
    error /= updates;
    evaluate(*model, w);
  }

  /// Of rounds of tau steps; the run ends before the last exchange.
  void run_local(const Point& point, std::uint32_t tau) {
    const auto model = point.model->make_float64();
    const auto d = static_cast<Eigen::Index>(model->parameters());
    Vector x(d), g(d);
    model->initialise(point.seed, 0, {x.data(), model->parameters()});
    std::vector<Vector> memory(learners, Vector::Zero(d));
    for (std::uint32_t first = 0; first < updates; first += tau) {
      Vector put_in = Vector::Zero(d), come = Vector::Zero(d);
      for (std::uint32_t l = 0; l < learners; ++l) {
        Vector y = x;
        for (std::uint32_t n = first; n < first + tau; ++n) {
          model->gradient({y.data(), model->parameters()}, {point.seed, 0, l, n, 8},
                          {g.data(), model->parameters()});
          y -= rate(n) * g;
        }
        come += (y - x) / learners;
        memory[l] = y - x + decay * memory[l];
        put_in += memory[l];
      }
      if (first + tau == updates) return evaluate(*model, x + come);
      x += sent_of(put_in, *model, memory, point.seed, first / tau);
    }
  }

 private:
  static double rate(std::uint32_t n) { return n < updates / 2 ? 0.5 : 0.05; }

  void evaluate(Model<double>& model, const Vector& w) {
    const double* const value = w.data();
    Evaluation evaluation;
    model.evaluate({&value, 1}, {&evaluation, 1});
    loss = evaluation.loss;
  }

  /// The exchange, by which nothing is lost.
  Vector sent_of(const Vector& put_in, const Model<double>& model, std::vector<Vector>& memory,
                 std::uint64_t seed, std::uint32_t number) {
    Vector sent = exchange(model.tensors(), memory, seed, number), kept = Vector::Zero(sent.size());
    for (const Vector& of_one : memory) kept += of_one;
    CHECK((put_in - learners * sent - kept).norm() <= 1e-13 * put_in.norm());
    error += (sent - put_in / learners).squaredNorm() / (put_in / learners).squaredNorm();
    return sent;
  }

  /// memory: what each learner puts in; becomes what is left of it.  The mean of what arrives.
  Vector exchange(const std::vector<Tensor>& tensors, std::vector<Vector>& memory,
                  std::uint64_t seed, std::uint32_t number) {
    Stream words = stream({seed, 0, Purpose::compression, maker, number});
    boost::random::normal_distribution<double> normal;
    Vector sent = Vector::Zero(memory[0].size());
    Eigen::Index at = 0;
    if (number == 0 || !warm_start) Q.clear();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Eigen::Index n = tensors[i].rows, m = tensors[i].columns;
      const auto part = [&](Vector& of) { return Eigen::Map<Matrix>(of.data() + at, n, m); };
      if (rank * (n + m) >= n * m) {
        for (Vector& of_one : memory) part(sent) += part(of_one) / learners, part(of_one).setZero();
      } else {
        if (Q.size() <= i) {
          Q.resize(i + 1);
          Q[i].resize(m, rank);
          for (std::uint32_t k = 0; k < rank; ++k)
            for (Eigen::Index j = 0; j < m; ++j) Q[i](j, k) = normal(words);
        }
        Matrix P = Matrix::Zero(n, rank), mean = Matrix::Zero(m, rank);
        for (Vector& of_one : memory) P += part(of_one) * Q[i] / learners;
        P = Eigen::HouseholderQR<Matrix>(P).householderQ() * Matrix::Identity(n, rank);
        for (Vector& of_one : memory) {
          const Matrix own = part(of_one).transpose() * P;
          mean += own / learners;
          if (left == Left::of_own) part(of_one) -= P * own.transpose();
        }
        part(sent) = P * mean.transpose();
        if (left == Left::of_mean)
          for (Vector& of_one : memory) part(of_one) -= part(sent);
        Q[i] = mean;
      }
      at += n * m;
    }
    return sent;
  }
};

template <class Real>
void check_exact(std::uint32_t rank, double bound) {
  constexpr std::uint32_t n = 30, m = 40, of = 2;
  const auto u = normal_numbers<double>(n * of, 1), v = normal_numbers<double>(m * of, 2);
  std::vector<Real> M(n * m);
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t j = 0; j < m; ++j)
      M[i * m + j] = static_cast<Real>(u[i] * v[j] + u[n + i] * v[m + j]);
  const auto power = message_from(R"({"kind": "power", "rank": )" + std::to_string(rank) + "}")
                         .compressor->of_tensors({{n, m}});
  std::vector<Real> row = M, carried(power->carried());
  for (std::uint32_t message = 0; message < 3; ++message) {
    power->pass(row, words_of(message), carried);
    for (std::size_t i = 0; i < M.size(); ++i) CHECK(std::abs(row[i] - M[i]) <= bound);
  }
}

}  // namespace

TEST_CASE("power: a matrix of no more than that rank arrives to rounding") {
  for (const std::uint32_t rank : {2u, 3u, 5u}) {
    check_exact<double>(rank, 1e-13);
    check_exact<float>(rank, 2e-5);
  }
}

// From q = (1, 1, 1) the t-th p of diag(4, 2, 1) is (4, 2, 1)^(2 t - 1), and tends to the first.
TEST_CASE("power: messages of one matrix are steps of the power method") {
  const auto power = message_from(R"({"kind": "power"})").compressor->of_tensors({{3, 3}});
  const Eigen::Vector3d diagonal(4, 2, 1);
  std::vector<double> carried(3, 1);
  for (int t = 1; t <= 4; ++t) {
    std::vector<double> row{4, 0, 0, 0, 2, 0, 0, 0, 1};
    power->pass(row, words_of(0), carried);
    const Eigen::Vector3d p = diagonal.array().pow(2 * t - 1).matrix().normalized();
    const Eigen::Vector3d q = diagonal.cwiseProduct(p);
    const Eigen::Map<const Matrix> arrived(row.data(), 3, 3);
    CHECK((arrived - p * q.transpose()).norm() < 1e-14);
    CHECK((Eigen::Map<const Vector>(carried.data(), 3) - q).norm() < 1e-14);
  }
}

TEST_CASE("power: a column that has become 0 is drawn anew, and NaN stays") {
  const std::vector<double> M = normal_numbers<double>(80);
  const auto of = [](const std::string& keys) {
    return message_from(R"({"kind": "power", "rank": 2)" + keys + "}")
        .compressor->of_tensors({{8, 10}});
  };
  const auto power = of("");
  std::vector<double> row(80), carried(20, 1), fresh(20);
  power->pass(row, words_of(0), carried);
  CHECK(row == std::vector<double>(80, 0));
  CHECK(carried == std::vector<double>(20, 0));
  const auto sent_from = [&](const std::shared_ptr<const Compressor>& by, std::vector<double> Q) {
    std::vector<double> v = M;
    by->pass(v, words_of(1), Q);
    return v;
  };
  CHECK(sent_from(power, carried) != std::vector<double>(80, 0));
  CHECK(sent_from(power, M) != sent_from(power, fresh));
  CHECK(sent_from(of(R"(, "warm_start": false)"), normal_numbers<double>(20)) ==
        sent_from(power, fresh));
  row = M;
  row[5] = std::numeric_limits<double>::quiet_NaN();
  power->pass(row, words_of(2), carried);
  CHECK(std::ranges::all_of(row, [](double x) { return std::isnan(x); }));
}

TEST_CASE("power: a message has its factors, and whole what they would not make smaller") {
  const auto bytes = [](const std::string& rank, double numbers) {
    return message_from(R"({"kind": "power", "rank": )" + rank + "}")
        .compressor->of_tensors({{16, 64}, {16}, {10, 16}, {10}})
        ->bytes(numbers);
  };
  CHECK(bytes("1", 1210) == 4 * (80 + 16 + 26 + 10));
  CHECK(bytes("2", 1210) == 4 * (160 + 16 + 52 + 10));
  CHECK(bytes("6", 1210) == 4 * (480 + 16 + 156 + 10));
  CHECK(bytes("7", 1210) == 4 * (560 + 16 + 160 + 10));
  CHECK(bytes("13", 1210) == 4 * 1210);
  CHECK(bytes("2", 12100) == 40 * (160 + 16 + 52 + 10));
}

TEST_CASE("power: it trains as learners with memories of their own, by either factor") {
  for (const double decay : {1.0, 0.5})
    for (const std::uint32_t rank : {1u, 2u, 4u})
      for (const bool warm_start : {true, false})
        for (const auto& [memory_of, left] :
             {std::pair("own", Left::of_own), {"mean", Left::of_mean}}) {
          const Point point = point_of(R"({"kind": "power", "rank": )" + std::to_string(rank) +
                                       R"(, "warm_start": )" + (warm_start ? "true" : "false") +
                                       R"(, "memory": {"decay": )" + std::to_string(decay) +
                                       R"(}, "memory_of": ")" + memory_of + "\"}");
          const Evaluation end = run_training(point).curve.back().evaluation;
          DirectLoop loop{rank, decay, left, warm_start};
          loop.run(point);
          CHECK(end.loss == doctest::Approx(loop.loss).epsilon(1e-11));
          CHECK(end.compression_error == doctest::Approx(loop.error).epsilon(1e-10));
        }
}

TEST_CASE("power: without a memory it trains as the direct loop of decay 0") {
  DirectLoop loop{2, 0, Left::of_own};
  const Point point = point_of(R"({"kind": "power", "rank": 2})");
  loop.run(point);
  const Evaluation end = run_training(point).curve.back().evaluation;
  CHECK(end.loss == doctest::Approx(loop.loss).epsilon(1e-11));
}

TEST_CASE("power: local-sgd sends factors of how far models have come") {
  const std::string local_sgd = R"({"kind": "local-sgd", "tau": 4})";
  for (const auto& [memory, decay] : {std::pair(std::string(), 0.0),
                                      {R"(, "memory": {})", 1.0},
                                      {R"(, "memory": {"decay": 0.5})", 0.5}}) {
    const Point point = point_of(R"({"kind": "power", "rank": 2)" + memory + "}", local_sgd);
    const Race race = point.race();
    const RaceRecord record = run_training(point);
    for (const std::uint32_t limit : {1u, 7u})
      CHECK(run_race({race, 0, limit}, make_device(*point.model, {}).get()).hash == record.hash);
    for (const Left left : {Left::of_own, Left::of_mean}) {
      DirectLoop loop{2, decay, left};
      loop.maker = 0;
      loop.run_local(point, 4);
      const Evaluation end = record.curve.back().evaluation;
      CHECK(end.loss == doctest::Approx(loop.loss).epsilon(1e-11));
      CHECK(end.compression_error == doctest::Approx(loop.error / 4).epsilon(1e-10));
    }
  }
}

TEST_CASE("power: runs are the same cut, beside others and one after the other") {
  for (const std::string& protocol : {all_reduce, std::string(R"({"kind": "local-sgd", "tau": 2,
            "outer": {"eta": 0.7, "momentum": 0.9, "nesterov": true}})")}) {
    const Point point = point_of(R"({"kind": "power", "rank": 2, "memory": {}, "from": 3})",
                                 protocol, R"(, "optimiser": {"kind": "adam"})");
    const Race race = point.race();
    const RaceRecord record = run_training(point);
    for (const std::uint32_t limit : {1u, 7u}) {
      const RaceRecord cut = run_race({race, 0, limit}, make_device(*point.model, {}).get());
      CHECK(cut.hash == record.hash);
      CHECK(cut.curve.back().evaluation.compression_error ==
            record.curve.back().evaluation.compression_error);
    }
    const auto device = make_device(*point.model, {});
    for (const std::uint32_t replica : {1u, 0u, 1u})
      CHECK(run_race({race, replica}, device.get()).hash == run_training(point, replica).hash);
  }
}

TEST_CASE("power: what is sent whole, or not yet, is as without") {
  const double plain = run_training(point_of("")).curve.back().evaluation.loss;
  const auto loss = [](const std::string& keys) {
    return run_training(point_of(R"({"kind": "power", )" + keys + "}"))
        .curve.back()
        .evaluation.loss;
  };
  CHECK(loss(R"("rank": 16, "memory": {})") == doctest::Approx(plain).epsilon(1e-13));
  CHECK(loss(R"("from": 20)") == plain);
  CHECK(loss(R"("rank": 2)") != doctest::Approx(plain).epsilon(1e-3));
}

TEST_CASE("power: two collectives of a message have their latencies each") {
  const auto check = [](const std::string& collective, double latencies, double share,
                        double messages) {
    const Point point = point_of(
        R"({"kind": "power", "rank": 2})", all_reduce, R"(, "timing_only": true)",
        R"(, "network": {"topology": "mesh", "latency": 0.25, "bandwidth": 4840, "model_bytes": 4840,
            "collective": ")" +
            collective + "\"}");
    const double bytes = 4 * 238, exchange = 2 * latencies * 0.25 + share * bytes / 4840;
    const RaceRecord record = run_timing(point.race());
    CHECK(record.totals.time == doctest::Approx(updates * (1 + exchange)).epsilon(1e-13));
    CHECK(point.theory().iteration_time->value == doctest::Approx(1 + exchange).epsilon(1e-13));
    CHECK(record.learners[1].exchanged.sent == doctest::Approx(updates * share * bytes));
    CHECK(record.learners[1].exchanged.messages == updates * 2 * messages);
  };
  check("ring", 6, 1.5, 6);
  check("halving-doubling", 4, 1.5, 4);
}

TEST_CASE("power: where no matrix is worth factors, all are one collective") {
  for (const auto& [rank, rounds] : {std::pair{2, 2u}, {13, 1u}}) {
    const Point point = point_of(R"({"kind": "power", "rank": )" + std::to_string(rank) + "}");
    CHECK(point.compressor()->rounds() == rounds);
  }
}

TEST_CASE("power: what is not one message of all is refused with the cure") {
  const auto refusal = [](const std::string& kind, const std::string& protocol = all_reduce) {
    return refusal_of([&] { point_of(kind, protocol); });
  };
  const std::string power = R"({"kind": "power")";
  for (const std::string protocol : {R"({"kind": "sync"})", R"({"kind": "async"})"})
    says(refusal(power + "}", protocol), "another kind; or all-reduce, local-sgd");
  says(refusal(power + R"(, "down": "full"})"), "compression.down");
  says(refusal(R"({"kind": "sign", "down": {"kind": "power"}})", R"({"kind": "sync"})"),
       "is of a server alone");
  says(refusal(power + R"(, "memory": "ef21"})"), "compression.memory");
  says(refusal(power + R"(, "memory": {"of": "step"}})"), "compression.memory");
  says(refusal(power + R"(, "rank": 0})"), "compression.rank");
  says(refusal(power + R"(, "memory": {}, "memory_of": "all"})"), "own, mean");
  says(refusal_of([&] {
         point_from(R"({"cluster": {"learners": 2, "runtime": {"distribution": "deterministic",
            "value": 1}}, "protocol": {"kind": "all-reduce"}, "model": {"kind": "quadratic"},
            "learning_rate": {"kind": "constant", "eta": 0.1}, "stop": {"updates": 2},
            "compression": {"kind": "power"}})");
       }),
       "is of factors of matrices");
}

}  // namespace gradrace::power_test
