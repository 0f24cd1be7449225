#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/linear.h"
#include "models/mlp.h"
#include "tests/support/places.h"

/// Dense networks that a block keeps in place, against a loop in double precision over the same
/// minibatches: async SGD of 8 learners.
namespace gradrace::in_place_test {

namespace {

constexpr std::uint32_t features = 784, classes = 10, hidden = 128, learners = 8, minibatch = 32,
                        updates = 24;
constexpr double eta = 0.05;

std::uint32_t mixed(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t h =
      a * 0x9E3779B1u ^ (b + 0x7F4A7C15u) * 0x85EBCA77u ^ (c + 0x165667B1u) * 0xC2B2AE3Du;
  h ^= h >> 16, h *= 0x7feb352du, h ^= h >> 15, h *= 0x846ca68bu;
  return h ^ h >> 16;
}

/// Bytes like those of digits: four of five are 0, and where the others are says the class.
std::shared_ptr<const Dataset> digits() {
  auto data = std::make_shared<Dataset>();
  data->features = features, data->classes = classes, data->byte_scale = 1.0f / 255;
  for (Rows* rows : {&data->train, &data->test}) {
    rows->count = rows == &data->train ? 500 : 10;
    for (std::uint32_t i = 0; i < rows->count; ++i) {
      const std::uint32_t label = mixed(i, 1, 2) % classes;
      rows->classes.push_back(static_cast<std::uint8_t>(label));
      for (std::uint32_t j = 0; j < features; ++j) {
        const std::uint32_t h = mixed(i, j, 3), more = mixed(label, j, 9) % 3 == 0 ? 40 : 0;
        rows->bytes.push_back(
            static_cast<std::uint8_t>((h & 1023) < 195 + more ? 1 + (h >> 12) % 255 : 0));
      }
    }
  }
  return data;
}

/// Layers of weights W [outputs, inputs], then b, relu between them; softmax at the end.
struct Reference {
  const Dataset& data;
  std::vector<std::uint32_t> widths;  // features first, classes last
  std::vector<double> w;
  double momentum;
  std::vector<double> of_learner[learners] = {};  // the gradient
  std::vector<double> v = std::vector<double>(w.size());

  void compute(std::uint32_t learner, std::uint32_t draw) {
    std::vector<double>& g = of_learner[learner];
    g.assign(w.size(), 0);
    std::array<std::uint32_t, minibatch> rows;
    minibatch_rows(Sampling::iid, {7, 0, learner, draw, minibatch},
                   static_cast<std::uint32_t>(data.train.count), rows);
    for (const std::uint32_t row : rows) add_row(row, g);
  }

  void add_row(std::uint32_t row, std::vector<double>& g) const {
    std::vector<std::vector<double>> y(widths.size());
    for (std::uint32_t j = 0; j < features; ++j)
      y[0].push_back(data.train.bytes[row * features + j] * static_cast<double>(data.byte_scale));
    std::size_t first = 0;
    std::vector<std::size_t> begins;
    for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
      begins.push_back(first);
      const double *const W = w.data() + first, *const b = W + widths[l] * widths[l + 1];
      for (std::uint32_t o = 0; o < widths[l + 1]; ++o) {
        double z = b[o];
        for (std::uint32_t k = 0; k < widths[l]; ++k) z += W[o * widths[l] + k] * y[l][k];
        y[l + 1].push_back(l + 2 < widths.size() && z < 0 ? 0 : z);
      }
      first += widths[l + 1] * (widths[l] + 1);
    }
    std::vector<double> dz = y.back();
    const double top = *std::max_element(dz.begin(), dz.end());
    double total = 0;
    for (double& s : dz) total += s = std::exp(s - top);
    for (std::uint32_t c = 0; c < classes; ++c)
      dz[c] = (dz[c] / total - (c == data.train.classes[row])) / minibatch;
    for (std::size_t l = begins.size(); l-- > 0;) {
      const double* const W = w.data() + begins[l];
      double *const to = g.data() + begins[l], *const of_b = to + widths[l] * widths[l + 1];
      std::vector<double> below(widths[l]);
      for (std::uint32_t o = 0; o < widths[l + 1]; ++o) {
        of_b[o] += dz[o];
        for (std::uint32_t k = 0; k < widths[l]; ++k) {
          to[o * widths[l] + k] += dz[o] * y[l][k];
          below[k] += y[l][k] > 0 ? dz[o] * W[o * widths[l] + k] : 0;
        }
      }
      dz = below;
    }
  }

  void move(std::uint32_t learner) {
    for (std::size_t j = 0; j < w.size(); ++j)
      w[j] -= v[j] = momentum * v[j] + eta * of_learner[learner][j];
  }
};

/// Each update by the oldest gradient of a learner, which then computes its next one at what it
/// gives; those of the end are not used.
Segment schedule(std::vector<std::uint32_t>& order) {
  Segment segment;
  std::array<std::uint32_t, learners> open, draws{};
  const auto dispatch = [&](std::uint32_t at, std::uint32_t learner) {
    open[learner] = static_cast<std::uint32_t>(segment.gradients.size());
    segment.gradients.push_back({at, learner, draws[learner]++, 0, Fate::dead});
  };
  for (std::uint32_t l = 0; l < learners; ++l) dispatch(0, l);
  for (std::uint32_t u = 0; u < updates; ++u) {
    const std::uint32_t learner = mixed(1, u, 77) % learners;
    order.push_back(learner);
    segment.gradients[open[learner]].fate = Fate::used;
    segment.uses.push_back({open[learner], 0, eta});
    segment.ops.push_back({Op::Kind::update, 0, u + 1, u, u, 1});
    dispatch(u + 1, learner);
  }
  segment.live = {updates};
  return segment;
}

double norm_of_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double squared = 0;
  for (std::size_t j = 0; j < a.size(); ++j) squared += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(squared);
}

struct Case {
  std::size_t shared_memory;
  double momentum = 0;
  unsigned passes = 1;  // in which an update rounds W
};

void check(const ModelProduct& model, const Dataset& data, std::vector<std::uint32_t> widths,
           const Case& of) {
  const auto device = emulated(2, false, of.shared_memory).make_float32(model->make_float32());
  const Tape tape{
      7, 0, {{minibatch, 0}}, {{.optimiser = make_optimiser(Sgd{.momentum = of.momentum})}}};
  device->start({&tape, 1});
  const std::vector<double> start = device->parameters(0);
  std::vector<std::uint32_t> order;
  const Segment segment = schedule(order);
  const Segment* const wave = &segment;
  Results results;
  device->replay({&wave, 1}, {&results, 1});
  const std::vector<double> found = device->parameters(0);
  Reference reference{data, std::move(widths), start, of.momentum};
  std::array<std::uint32_t, learners> draws{};
  for (std::uint32_t l = 0; l < learners; ++l) reference.compute(l, draws[l]++);
  for (const std::uint32_t learner : order)
    reference.move(learner), reference.compute(learner, draws[learner]++);
  const std::vector<double> zero(start.size());
  const double error = norm_of_difference(found, reference.w);
  const double moved = norm_of_difference(start, reference.w);
  CAPTURE(error / moved);
  // W is rounded by each pass of an update, by 2^-25 of it, in either direction.
  const double roundings = std::sqrt(updates * of.passes) * std::ldexp(1, -25);
  CHECK(error < 1.25 * roundings * norm_of_difference(reference.w, zero));
  CHECK(error < 1e-5 * moved);
}

}  // namespace

TEST_CASE("in place: softmax of digits is that of double precision, in blocks of any memory") {
  const auto data = digits();
  SoftmaxConfig config;
  config.dataset = [data] { return data; };
  config.init_sd = 0.05;
  // For the weights and 32 rows; for 32 rows; for eight.
  check(make_softmax(config), *data, {features, classes}, {227 << 10});
  check(make_softmax(config), *data, {features, classes}, {100 << 10});
  check(make_softmax(config), *data, {features, classes}, {48 << 10, 0, 4});
  check(make_softmax(config), *data, {features, classes}, {48 << 10, 0.9});
}

TEST_CASE("in place: an mlp of digits is that of double precision, its weights streamed") {
  const auto data = digits();
  MlpConfig config;
  config.dataset = [data] { return data; };
  config.widths = {hidden};
  for (const double momentum : {0.0, 0.9})
    check(make_mlp(config), *data, {features, hidden, classes}, {227 << 10, momentum});
}

}  // namespace gradrace::in_place_test
