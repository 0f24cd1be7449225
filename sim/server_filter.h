#pragma once

#include "sim/server_protocol.h"

namespace gradrace {

/// A server as a protocol is to see it who stands behind another: each order is passed on, but
/// those that the filter changes.
class ServerFilter : public Server {
 public:
  /// That of this call.
  void stand_before(Server& server) { server_ = &server; }
  Server& server() const { return *server_; }

  std::uint32_t learners() const override { return server_->learners(); }
  std::uint32_t version() const override { return server_->version(); }
  std::uint32_t accepted() const override { return server_->accepted(); }
  double time() const override { return server_->time(); }
  const Work& work() const override { return server_->work(); }
  Stream random(std::uint32_t number) const override { return server_->random(number); }
  void dispatch(std::uint32_t learner) override { server_->dispatch(learner); }
  void dispatch_waiting() override { server_->dispatch_waiting(); }
  void accept(const GradientFacts& arrival) override { server_->accept(arrival); }
  void drop(const GradientFacts& arrival) override { server_->drop(arrival); }
  void hold(const GradientFacts& arrival) override { server_->hold(arrival); }
  void release(const GradientFacts& held) override { server_->release(held); }
  const GradientFacts* computing(std::uint32_t learner) const override {
    return server_->computing(learner);
  }
  void cancel(const GradientFacts& gradient) override { server_->cancel(gradient); }
  void cancel_all() override { server_->cancel_all(); }
  void update() override { server_->update(); }
  void pause(double length) override { server_->pause(length); }
  void timer(double time) override { server_->timer(time); }
  void evaluate_at(double time) override { server_->evaluate_at(time); }
  void follow(std::uint16_t plan) override { server_->follow(plan); }

 private:
  Server* server_ = nullptr;
};

}  // namespace gradrace
