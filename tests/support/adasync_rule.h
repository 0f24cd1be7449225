#pragma once

#include <cstdint>
#include <string>

#include "sim/make_protocol.h"

namespace gradrace {

/// Takes every order and does nothing; remembers when the next evaluation is wanted.
class Idle : public Server {
 public:
  std::uint32_t learners() const override { return 8; }
  std::uint32_t version() const override { return 0; }
  std::uint32_t accepted() const override { return 1u << 20; }  // enough for any K
  double time() const override { return 0; }
  const Work& work() const override { return work_; }
  Stream random(std::uint32_t number) const override { return stream({.draw = number}); }
  void dispatch(std::uint32_t) override {}
  void dispatch_waiting() override {}
  void accept(const GradientFacts&) override {}
  void drop(const GradientFacts&) override {}
  void hold(const GradientFacts&) override {}
  void release(const GradientFacts&) override {}
  const GradientFacts* computing(std::uint32_t) const override { return nullptr; }
  void cancel(const GradientFacts&) override {}
  void cancel_all() override {}
  void update() override {}
  void pause(double) override {}
  void timer(double) override {}
  void evaluate_at(double time) override { next_evaluation = time; }
  void follow(std::uint16_t) override {}

  double next_evaluation = -1;

 private:
  Work work_;
};

/// adasync with these keys of its config and an interval.
MakeProtocol adasync(const std::string& keys, std::uint32_t learners = 8,
                     const std::string& runtime = R"({"distribution": "exponential", "mean": 1})");

/// K in force after an update that follows the loss 1 / r; the first loss is 1.
std::uint32_t k_at(const MakeProtocol& make, double r);

/// The r at which K is half way between `k` and `k + 1`, found from k_at alone.
double threshold(const MakeProtocol& make, std::uint32_t k);

}  // namespace gradrace
