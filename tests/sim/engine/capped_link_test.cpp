#include "sim/engine/capped_link.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "sim/engine/shared_link.h"

namespace gradrace::capped_link_test {

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// A link whose caps are told by their values.
class Link : public CappedLink {
 public:
  /// caps: ascending.
  Link(double bandwidth, const std::vector<double>& caps, std::uint32_t learners)
      : CappedLink(bandwidth, caps, learners), caps_(caps) {}

  void enter(std::uint32_t learner, double bytes, double now, double cap) {
    CappedLink::enter(learner, bytes, now, rank(cap));
  }
  double remove(std::uint32_t learner, double now, double cap) {
    return CappedLink::remove(learner, now, rank(cap));
  }

 private:
  std::uint32_t rank(double cap) const {
    return static_cast<std::uint32_t>(std::ranges::find(caps_, cap) - caps_.begin());
  }
  const std::vector<double>& caps_;
};

TEST_CASE("capped_link: what slow cards leave goes to the others, worked by hand") {
  const std::vector<double> caps{1, 3, 10};
  Link link(8, caps, 8);
  link.enter(7, 10, 0, 10);
  CHECK(link.next_end() == 1.25);  // 8 of 10
  link.enter(6, 2, 0.5, 1);        // 7 has 6 left, at 7; 6 at 1
  CHECK(link.next_end() == doctest::Approx(0.5 + 6.0 / 7));
  link.enter(5, 12, 1, 3);  // 7 has 2.5 left, at 4; 6 has 1.5 left, at 1; 5 at 3
  CHECK(link.next_end() == doctest::Approx(1.625));
  CHECK(link.pop(1.625) == 7);
  CHECK(link.next_end() == doctest::Approx(2.5));
  link.enter(4, 20, 1.625, 10);  // 4 of what the cards leave
  CHECK(link.pop(2.5) == 6);
  CHECK(link.busy(2.5) == doctest::Approx(2.5));
  CHECK(link.next_end() == doctest::Approx(5));  // 5 has 7.5 left, at 3; 4 has 16.5, at 5
  CHECK(link.remove(4, 3, 10) == doctest::Approx(14));
  CHECK(link.next_end() == doctest::Approx(5));
  CHECK(link.pop(5) == 5);
  CHECK(link.busy(9) == doctest::Approx(3 + 2 * 3.0 / 8));
  CHECK(link.is_idle());
}

TEST_CASE("capped_link: each of several slow cards leaves its share") {
  const std::vector<double> caps{1, 10};
  Link link(8, caps, 8);
  link.enter(1, 9, 0, 1);
  link.enter(2, 9, 0, 1);
  link.enter(3, 9, 0, 10);
  CHECK(link.next_end() == 1.5);  // at 6
  CHECK(link.pop(1.5) == 3);
  CHECK(link.next_end() == 9);
  link.clear(2);
  CHECK(link.is_idle());
  CHECK(link.busy(9) == 1.5 + 0.5 * 2 / 8);
}

TEST_CASE("capped_link: without a limit of its own each has its card's bandwidth") {
  const std::vector<double> caps{2, 4};
  Link link(unlimited, caps, 4);
  link.enter(1, 6, 0, 2);
  link.enter(2, 6, 0, 4);
  link.enter(3, 6, 0, 4);
  CHECK(link.pop(1.5) == 2);
  CHECK(link.pop(1.5) == 3);
  CHECK(link.next_end() == 3);
}

TEST_CASE("capped_link: a cap above the bandwidth, or none of a card, changes no bit") {
  std::mt19937_64 random(3);
  SharedLink open(10);
  const std::vector<double> caps{20};
  Link capped(10, caps, 10'000);
  double now = 0;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    if (open.is_idle() || random() % 2 == 0) {
      if (!open.is_idle()) now += 0.1 * (open.next_end() - now);
      const double bytes = 1 + static_cast<double>(random() % 1000) / 7;
      open.enter(i, bytes, now);
      capped.enter(i, bytes, now, 20);
    } else {
      now = open.next_end();
      REQUIRE(open.pop(now) == capped.pop(now));
    }
    REQUIRE(open.is_idle() == capped.is_idle());
    if (!open.is_idle()) REQUIRE(open.next_end() == capped.next_end());
    REQUIRE(open.busy(now) == capped.busy(now));
  }
}

/// Max-min fairness written out: all rates anew at each change.
class Plain {
 public:
  explicit Plain(double bandwidth) : bandwidth_(bandwidth) {}

  struct Flow {
    std::uint32_t learner;
    double left, cap, rate = 0;
    double end() const { return left / rate; }  // from now
  };
  std::vector<Flow> flows;
  double busy = 0;

  void pass(double time) {
    double sum = 0;
    for (Flow& flow : flows) {
      flow.left -= flow.rate * time;
      sum += flow.rate;
    }
    busy += time * sum / bandwidth_;
  }
  void share() {
    std::ranges::sort(flows, {}, &Flow::cap);
    double left = bandwidth_;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      flows[i].rate = std::min(flows[i].cap, left / static_cast<double>(flows.size() - i));
      left -= flows[i].rate;
    }
  }

 private:
  double bandwidth_;
};

TEST_CASE("capped_link: every change of 40 random links, against max-min fairness written out") {
  std::mt19937_64 random(50);
  const auto real = [&random](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    const double bandwidth = i % 5 == 0 ? unlimited : real(1, 100);
    std::vector<double> caps(1 + random() % 20);
    for (double& cap : caps) cap = real(0.1, 20);
    std::ranges::sort(caps);
    Link link(bandwidth, caps, 2'000);
    Plain plain(bandwidth);
    double now = 0;
    for (std::uint32_t change = 0; change < 2'000; ++change) {
      CAPTURE(change);
      const auto first = std::ranges::min_element(plain.flows, {}, &Plain::Flow::end);
      const bool ends = first != plain.flows.end() && real(0, 40) < double(plain.flows.size());
      const double passes = first == plain.flows.end() ? 1 : first->end() * (ends ? 1 : real(0, 1));
      now += passes;
      if (ends) {
        const std::uint32_t learner = first->learner;
        REQUIRE(link.next_end() == doctest::Approx(now).epsilon(1e-9));
        plain.pass(passes);
        plain.flows.erase(first);
        REQUIRE(link.pop(now) == learner);
      } else {
        plain.pass(passes);
        if (!plain.flows.empty() && random() % 4 == 0) {
          const auto gone = plain.flows.begin() + static_cast<long>(random() % plain.flows.size());
          REQUIRE(link.remove(gone->learner, now, gone->cap) ==
                  doctest::Approx(gone->left).epsilon(1e-9));
          plain.flows.erase(gone);
        } else {
          plain.flows.push_back({change, real(1, 100), caps[random() % caps.size()]});
          link.enter(change, plain.flows.back().left, now, plain.flows.back().cap);
        }
      }
      plain.share();
      REQUIRE(link.is_idle() == plain.flows.empty());
      REQUIRE(link.busy(now) == doctest::Approx(plain.busy).epsilon(1e-9));
    }
  }
}

}  // namespace gradrace::capped_link_test
