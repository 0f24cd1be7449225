#include "distributions/cluster/windows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/random/generate_canonical.hpp>
#include <cmath>
#include <string>

#include "sim/random.h"
#include "sim/reading/document.h"
#include "sim/reading/reader.h"

namespace gradrace::windows_test {
namespace {

/// Of eight learners.
std::vector<Window> windows_of(const std::string& json) {
  const auto document = Document::parse("{\"windows\": " + json + "}", "test.json");
  Reader reader(document);
  auto windows = read_windows(reader, 8);
  for (const auto& problem : reader.finish()) FAIL(problem.text());
  return windows;
}

double time_of(const std::string& windows, double begin, double work, std::uint32_t learner = 0) {
  return time_through(windows_of(windows), learner, begin, work);
}

TEST_CASE("windows: without one nothing changes") {
  CHECK(time_of("[]", 1e9 / 3, 0.1) == 0.1);
  CHECK(time_of(R"([{"start": 5, "length": 1, "factor": 3}])", 1e9 / 3, 0.1) == 0.1);
  CHECK(time_of(R"([{"start": 5, "length": 1, "factor": 3}])", 4, 1) == 1);
}

TEST_CASE("windows: only what is done inside is slow") {
  const auto* window = R"([{"start": 10, "length": 4, "factor": 2}])";
  CHECK(time_of(window, 8, 3) == 2 + 1 * 2);  // ends inside, at 12
  CHECK(time_of(window, 8, 4) == 2 + 2 * 2);  // ends as it closes
  CHECK(time_of(window, 8, 5) == 2 + 4 + 1);  // reaches through: 2 done inside
  CHECK(time_of(window, 10, 1) == 2);         // begins as it opens
  CHECK(time_of(window, 13, 1) == 1 + 0.5);   // begins inside
  CHECK(time_of(window, 14, 1) == 1);         // begins as it closes
}

TEST_CASE("windows: a delay comes on top of what is begun inside") {
  const auto* window = R"([{"start": 10, "length": 4, "delay": 5}])";
  CHECK(time_of(window, 9, 3) == 3);
  CHECK(time_of(window, 10, 1) == 1 + 5);
  CHECK(time_of(window, 13, 3) == 3 + 5);
  CHECK(time_of(window, 14, 1) == 1);
  const auto* two = R"([{"start": 0, "length": 4, "delay": 5, "learners": [1]},
                        {"start": 0, "length": 1, "every": 2, "delay": 0.5, "factor": 3}])";
  CHECK(time_of(two, 2.5, 0.125, 1) == 0.375 + 5 + 0.5);
  CHECK(time_of(two, 2.5, 0.125, 0) == 0.375 + 0.5);
  CHECK(time_of(two, 1.5, 0.125, 1) == 0.125 + 5);
  CHECK(time_of(two, 0x1p60, 2, 0) == doctest::Approx(3 + 0.25));
}

TEST_CASE("windows: a minibatch across two of them is slowed in both") {
  const auto* windows = R"([{"start": 16, "length": 2, "factor": 4},
                            {"start": 10, "length": 4, "factor": 2}])";
  // From 8: 2 done at 10, 2 more at 14, 2 more at 16, 0.5 more at 18, the last 1.5 at 19.5.
  CHECK(time_of(windows, 8, 8) == 11.5);
}

TEST_CASE("windows: what is open together multiplies") {
  const auto* windows = R"([{"start": 0, "length": 10, "factor": 2},
                            {"start": 4, "length": 3, "factor": 3}])";
  // 2 done at 4, 0.5 more at 7, 1.5 more at 10, 1 more at 11.
  CHECK(time_of(windows, 0, 5) == doctest::Approx(11).epsilon(1e-15));
  const auto* same =
      R"([{"start": 0, "length": 9, "factor": 2}, {"start": 0, "length": 9, "factor": 2}])";
  CHECK(time_of(same, 0, 1) == 4);
}

TEST_CASE("windows: they open again after each `every`") {
  const auto* window = R"([{"start": 1, "length": 1, "every": 3, "factor": 2}])";
  // Open in [1, 2), [4, 5), ...: 1 done at 1, 0.5 more at 2, 2 more at 4, 0.5 more at 5.
  CHECK(time_of(window, 0, 4) == 5);
  CHECK(time_of(window, 100.5, 0.25) == 0.5);
  CHECK(time_of(window, 99, 2) == 1 + 1 + 0.5);
  CHECK(time_of(window, 3e6 + 1, 1) == 1 + 0.5);
  // 0.1 is no sum of powers of two: wherever a repeat begins it is left again.
  const auto* tenths = R"([{"start": 0.3, "length": 0.1, "every": 0.3, "factor": 2}])";
  for (int i = 1; i < 1000; ++i) {
    CHECK(time_of(tenths, 0.3 * i, 0.25) == doctest::Approx(0.3).epsilon(1e-9));
  }
}

TEST_CASE("windows: one that opens a million times in a minibatch is no work") {
  // In a period 0.75 + 0.25/2 of the work is done.  4,000,000 periods of 2^-19, then 3/8 of one: a
  // quarter of it open, for an eighth, and another quarter.
  const auto* window =
      R"([{"start": 0, "length": 4.76837158203125e-07, "every": 1.9073486328125e-06, "factor": 2}])";
  const double every = 0x1p-19;
  CHECK(time_of(window, 0, 4e6 * 0.875 * every) == 4e6 * every);
  CHECK(time_of(window, 0, (4e6 * 0.875 + 0.375) * every) == (4e6 + 0.5) * every);
  // What happens after a while ends the skipping: half as fast from 2 on.
  const auto* two =
      R"([{"start": 0, "length": 4.76837158203125e-07, "every": 1.9073486328125e-06, "factor": 2},
          {"start": 2, "factor": 2}])";
  CHECK(time_of(two, 0, 4 * 0.875) == 2 + 2 * 2);
}

TEST_CASE("windows: so late that a time cannot tell its openings, one counts as on average") {
  const auto* window = R"([{"start": 0, "length": 1e-7, "every": 1e-6, "factor": 0.5}])";
  const double mean_speed = 0.9 + 0.1 / 0.5;
  for (const double begin : {0.0, 1e3, 1e9, 1e12, 1e300}) {
    CHECK(time_of(window, begin, 5) == doctest::Approx(5 / mean_speed).epsilon(1e-6));
  }
}

TEST_CASE("windows: one without a length stays open, one with a factor below 1 is fast") {
  CHECK(time_of(R"([{"start": 2, "factor": 5}])", 1, 3) == 1 + 2 * 5);
  CHECK(time_of(R"([{"start": 2, "factor": 0.25, "length": 1}])", 1, 3) == 1 + 0.5);
  CHECK(time_of(R"([{"start": 2, "factor": 0.25, "length": 1}])", 1, 8) == 1 + 1 + 3);
}

TEST_CASE("windows: they concern the learners they name") {
  const auto* windows = R"([{"start": 0, "factor": 2, "learners": [7, 2]},
                            {"start": 0, "factor": 3, "learners": [2, 3]},
                            {"start": 0, "factor": 5}])";
  for (const auto& [learner, factor] :
       {std::pair{0u, 5}, std::pair{2u, 30}, std::pair{3u, 15}, std::pair{7u, 10}}) {
    CHECK(time_of(windows, 4, 1, learner) == factor);
  }
}

/// The work done from `begin` to `end`, both multiples of 1/8 as are all ends of windows: eighth by
/// eighth, by the definition of a window.
double work_by_definition(const std::vector<Window>& windows, double begin, double end) {
  double work = 0;
  for (double eighth = begin; eighth < end; eighth += 0.125) {
    double factor = 1;
    for (const auto& window : windows) {
      const double since = eighth - window.start;
      const double phase = window.every ? std::fmod(since, *window.every) : since;
      if (since >= 0 && (!window.length || phase < *window.length)) factor *= window.factor;
    }
    work += 0.125 / factor;
  }
  return work;
}

// 2,000 cases of three windows each, seed 1; the sums are good to a few roundings of 1e-16.
TEST_CASE("windows: work done is the integral of the speed, whatever the windows") {
  Stream words = stream({.seed = 1});
  const auto eighths = [&](int low, int high) {
    return 0.125 *
           (low + std::floor((high - low) * boost::random::generate_canonical<double, 53>(words)));
  };
  for (int i = 0; i < 2000; ++i) {
    std::vector<Window> windows(3);
    for (auto& window : windows) {
      window.start = eighths(0, 100);
      window.factor = eighths(4, 40);
      window.length = eighths(1, 60);
      if (eighths(0, 2) > 0) window.every = *window.length + eighths(1, 60);
    }
    const double begin = eighths(0, 300), end = begin + eighths(1, 400);
    const double work = work_by_definition(windows, begin, end);
    CHECK(time_through(windows, 0, begin, work) == doctest::Approx(end - begin).epsilon(1e-12));
  }
}

// 500 cases, seed 1, some 300 to 100,000 periods of the window that opens most often.  In pieces of
// one period no period is skipped.
TEST_CASE("windows: skipping whole periods leads where walking through them does") {
  Stream words = stream({.seed = 1});
  const auto eighths = [&](int low, int high) {
    return 0.125 *
           (low + std::floor((high - low) * boost::random::generate_canonical<double, 53>(words)));
  };
  for (int i = 0; i < 500; ++i) {
    std::vector<Window> windows(3);
    windows[0] = {eighths(0, 100), eighths(1, 6), eighths(4, 40), eighths(6, 10), {}};
    windows[1] = {eighths(0, 100), eighths(1, 6000), eighths(4, 40), eighths(6000, 60000), {}};
    windows[2] = {eighths(0, 10000), eighths(1, 6000), eighths(4, 40), {}, {}};
    if (i % 2 == 1) windows.resize(1);
    const double begin = eighths(0, 3000), work = eighths(1000, 60000);
    double walked = 0;
    for (double left = work; left > 0; left -= 1)
      walked += time_through(windows, 0, begin + walked, std::min(left, 1.0));
    CHECK(time_through(windows, 0, begin, work) == doctest::Approx(walked).epsilon(1e-10));
  }
}

}  // namespace
}  // namespace gradrace::windows_test
