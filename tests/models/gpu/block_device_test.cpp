#include "models/gpu/block_device.h"

#include <doctest/doctest.h>

#include <boost/random/normal_distribution.hpp>
#include <cmath>

#include "models/quadratic.h"
#include "tests/compression/kinds.h"
#include "tests/support/compressors.h"
#include "tests/support/skip.h"
#include "tests/support/subjects.h"

namespace gradrace::block_device_test {

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

/// So many parameters that an emulated device takes a second for a few updates.
bool is_large(const Subject& subject) { return subject.exact()->parameters() > 20'000; }

void check_gradients(const Place& place) {
  CAPTURE(place.name);
  for (const Subject& subject : subjects())
    if (is_large(subject))
      check_gradient(place, subject, 0.3, 5);
    else
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

/// Three states go their ways and are averaged, some of them at once and some one after the other;
/// disagreements of those that are gone by the time of the evaluation; a gradient used twice, and
/// once more in the next segment.
std::vector<Segment> some_averages() {
  Segment first, second;
  first.gradients = {{0, 0, 0, 0, Fate::used},
                     {0, 1, 0, 0, Fate::used},
                     {0, 2, 0, 1, Fate::open},
                     {4, 0, 1, 0, Fate::used},
                     {5, 1, 1, 0, Fate::used}};
  first.uses = {{0, 0, 0.01}, {1, 0, 0.02},  {2, 0, 0.03},
                {3, 0, 0.01}, {0, 1, 0.005}, {4, 0, 0.01}};
  first.terms = {{1, 0.25}, {2, 0.5},  {3, 0.25},  // 4
                 {1, 0.5},  {3, 0.5},              // 5
                 {4, 0.75}, {2, 0.25},             // 6, of 4
                 {1, 0.5},  {2, 0.5},              // disagreement with 6
                 {7, 0.5},  {8, 0.5},              // 9
                 {7, 0.25}, {8, 0.25}, {9, 0.5}};  // disagreement with 9
  using Kind = Op::Kind;
  first.ops = {{Kind::update, 0, 1, 0, 0, 1},
               {Kind::update, 0, 2, 0, 1, 1},
               {Kind::update, 1, 3, 0, 2, 1},
               {Kind::average, 0, 4, 1, 0, 3, Summed::learnt},
               {Kind::average, 0, 5, 2, 3, 2, Summed::parameters},
               {Kind::average, 0, 6, 3, 5, 2, Summed::whole},
               {Kind::evaluate, 0, 6, 6, 7, 2},
               {Kind::update, 0, 7, 4, 3, 2},
               {Kind::update, 0, 8, 5, 5, 1},
               {Kind::average, 0, 9, 7, 9, 2, Summed::whole},
               {Kind::evaluate, 0, 9, 9, 11, 3},
               {Kind::evaluate, 0, 7, 7, 0, 0}};
  first.live = {7, 9};
  first.open = {0};
  first.gradients[0].fate = Fate::open;
  second.first_gradient = 5;
  second.gradients = {{9, 0, 2, 1, Fate::used}};
  second.uses = {{2, 2, 0.02}, {0, 3, 0.01}, {5, 0, 0.01}};
  second.terms = {{10, 0.5}, {7, 0.5}};
  second.ops = {{Kind::update, 0, 10, 9, 0, 3},
                {Kind::average, 0, 11, 10, 0, 2},
                {Kind::evaluate, 0, 11, 11, 0, 0}};
  second.live = {10, 11};
  second.end = End::finished;
  return {first, second};
}

struct Replayed {
  Vector w;
  std::vector<Results> results;
};

Replayed replay(Device& device, const Rule& rule, double clip,
                const std::vector<Segment>& segments) {
  const Tape tape{7, 0, {{5, clip}, {3, 0}}, {rule, by_default(rule)}};
  device.start({&tape, 1});
  Replayed replayed;
  for (const Segment& segment : segments) {
    const Segment* const wave = &segment;
    replayed.results.emplace_back();
    device.replay({&wave, 1}, {&replayed.results.back(), 1});
  }
  replayed.w = device.parameters(0);
  return replayed;
}

/// Every rule, of a large model every fifth; in the short form every third from the `first`th on,
/// of a large one the first and the last.  Gradients are clipped in one precision and in the other
/// are not.
void check_replays(const Place& place, const Subject& subject, const std::vector<Segment>& segments,
                   std::size_t first = 0) {
  const std::size_t last = std::size(rules) - 1;
  const std::size_t step = is_long_form()      ? (is_large(subject) ? 5 : 1)
                           : is_large(subject) ? last
                                               : 3;
  if (is_large(subject) || is_long_form()) first = 0;
  CAPTURE(place.name);
  CAPTURE(subject.name);
  Place reference = cpu();
  reference.float64 = true;
  Vector start = some_value(*subject.exact());
  for (double& x : start) x = static_cast<double>(static_cast<float>(x));
  const auto tested = subject.on(place, start), exact = subject.on(reference, start);
  for (std::size_t rule = first; rule < std::size(rules); rule += step) {
    const double clip = (rule % 2 == 0) == place.float64 ? 0.1 : 0;
    CAPTURE(rule);
    CAPTURE(clip);
    const Replayed wanted = replay(*exact, rules[rule], clip, segments);
    const Replayed found = replay(*tested, rules[rule], clip, segments);
    REQUIRE(wanted.w.size() == found.w.size());
    Vector moved = start;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= wanted.w[i];
    CHECK(distance(wanted.w, found.w) <= place.tolerance() * std::max(norm(start), norm(moved)));
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
        CHECK(near(a.evaluations[i].disagreement, b.evaluations[i].disagreement, tolerance));
      }
      for (std::size_t i = 0; i < a.rate_factors.size(); ++i)
        CHECK(near(a.rate_factors[i], b.rate_factors[i], 1e-3));
    }
  }
}

void check_updates(const Place& place, std::size_t first = 0) {
  for (const Subject& subject : subjects()) check_replays(place, subject, some_updates(), first);
}

void check_averages(const Place& place, std::size_t first = 0) {
  for (const Subject& subject : subjects()) check_replays(place, subject, some_averages(), first);
}

/// Two places that differ by nothing but how many threads their blocks have.  In the short form a
/// rule for each subject, in turns.
void check_threads(const Place& some, const Place& others) {
  std::size_t number = 0;
  for (const Subject& subject : subjects()) {
    if (is_large(subject) && !is_long_form()) continue;
    CAPTURE(subject.name);
    const Vector start = some_value(*subject.exact());
    const auto one = subject.on(some, start), three = subject.on(others, start);
    std::vector<Rule> tried = {rules[0]};
    if (!is_large(subject)) tried.insert(tried.end(), std::end(rules) - 2, std::end(rules));
    if (!is_long_form()) tried = {tried[number++ % tried.size()]};
    for (const Rule& rule : tried) {
      const double clip = rule.distance;  // neither: weights stay in the blocks
      const Replayed a = replay(*one, rule, clip, some_updates()),
                     b = replay(*three, rule, clip, some_updates());
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

}  // namespace

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
  check_updates(emulated(1, true), 1);
  check_updates(by_gradients(), 2);
  check_updates(by_gradients(true));
}

TEST_CASE("blocks: gradients conform, with three threads") {
  for (const Place& place : {emulated(3), by_gradients(false, 3)})
    for (const Subject& subject : subjects()) check_gradient(place, subject, 0.3, 33);
}

TEST_CASE("blocks: equal bits for any number of threads") {
  check_threads(emulated(1), emulated(3));
  check_threads(by_gradients(), by_gradients(false, 3));
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

template <class Number>
struct CodeKernel {
  using Real = Number;

  BlockCode code;
  std::uint32_t n;
  Real* row;

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return kernels::scratch_numbers; }
  template <class Block>
  void operator()(const Block& block, std::uint32_t, std::uint32_t) const {
    const Tensor tensor{n};
    kernels::Coder<Real>(code, {&tensor, StreamName{}})(block, row, n);
  }
};

template <class Real>
void check_alike(std::uint32_t threads, const std::string& kind) {
  std::vector<Real> row;
  for (int i = 0; i < 1500; ++i) row.push_back(static_cast<Real>(i / 3 * 5 % 7 - 3));
  const Message message = message_from(kind);
  std::vector<Real> found = row;
  EmulatedBlocks blocks(threads);
  launch_all(blocks,
             CodeKernel<Real>{*message.compressor->block_code(row.size()), 1500, found.data()}, 1);
  CHECK(found == passed(message, row));
}

TEST_CASE("blocks: of numbers that are alike the first are kept, as on the CPU") {
  for (const std::string kind :
       {R"({"kind": "top-k", "k": 500})", R"({"kind": "top-k", "k": 501})",
        R"({"kind": "top-k", "k": 1})",
        R"({"kind": "chunked-top-k", "chunk": 700, "k": 300, "value_bits": 32})",
        R"({"kind": "chunked-top-k", "chunk": 70, "k": 11, "value_bits": 3})"}) {
    CAPTURE(kind);
    check_alike<float>(1, kind);
    check_alike<double>(2, kind);
  }
}

TEST_CASE("blocks: messages that only the CPU makes are refused") {
  const Tape tape{7, 0, {{1, 0}}, {{}}, {{std::make_shared<Halving>()}}};
  const auto device = make_block_device(quadratic(3, 0).fast(), EmulatedBlocks(1), {});
  CHECK_THROWS_WITH_AS(device->start({&tape, 1}),
                       "only the CPU makes messages of this kind; use --device cpu",
                       std::runtime_error);
}

TEST_CASE("blocks: averages, disagreements and gradients used twice conform, with one thread") {
  check_averages(emulated(1));
  check_averages(emulated(1, true), 1);
  check_averages(by_gradients(true), 2);
}

TEST_CASE("blocks: averages and disagreements have equal bits for any number of threads") {
  std::size_t number = 0;
  for (const Subject& subject : subjects()) {
    if (is_large(subject)) continue;
    CAPTURE(subject.name);
    const Vector start = some_value(*subject.exact());
    std::vector<Rule> tried = {rules[0], rules[std::size(rules) - 1]};
    if (!is_long_form()) tried = {tried[number++ % 2]};
    for (const Rule& rule : tried) {
      const auto one = subject.on(emulated(1), start), three = subject.on(emulated(3), start);
      const Replayed a = replay(*one, rule, 0, some_averages());
      const Replayed b = replay(*three, rule, 0, some_averages());
      REQUIRE(a.w == b.w);
      for (std::size_t s = 0; s < a.results.size(); ++s)
        for (std::size_t i = 0; i < a.results[s].evaluations.size(); ++i)
          REQUIRE(near(a.results[s].evaluations[i].disagreement,
                       b.results[s].evaluations[i].disagreement, 0));
    }
  }
}

TEST_CASE("blocks: gradients and updates by three products of TF32 conform, with one thread") {
  for (const Subject& subject : by_three_products()) {
    for (const std::uint32_t minibatch : {5u, 33u})
      check_gradient(emulated(1), subject, 0.3, minibatch);
    check_replays(emulated(1), subject, some_updates());
  }
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

// The two smallest: compute-sanitizer makes them up to a hundred times as long.
TEST_CASE("cuda: one gradient of each kind") {
  GRADRACE_NEEDS_CUDA();
  for (const Subject& subject : subjects()) check_gradient(cuda(), subject, 0.3, 5);
}

TEST_CASE("cuda: gradients by three products of TF32 conform") {
  GRADRACE_NEEDS_CUDA();
  for (const Subject& subject : by_three_products()) check_gradient(cuda(), subject, 0.3, 33);
}

TEST_CASE("cuda: a quadratic moves by every rule") {
  GRADRACE_NEEDS_CUDA();
  check_replays(cuda(), quadratic(10, 0.5), some_updates());
}

TEST_CASE("cuda: averages, disagreements and gradients used twice conform") {
  GRADRACE_NEEDS_CUDA();
  check_averages(cuda());
  check_averages(cuda(true));
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

}  // namespace gradrace::block_device_test
