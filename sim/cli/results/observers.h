#pragma once

#include <vector>

#include "sim/observer.h"

namespace gradrace {

/// Hands on to several observers.
class Observers : public Observer {
 public:
  void add(Observer* observer) { observers_.push_back(observer); }

  void on_start() override { tell(&Observer::on_start); }
  void on_dispatch(const GradientFacts& gradient, double time) override {
    tell(&Observer::on_dispatch, gradient, time);
  }
  void on_end(const GradientFacts& gradient, double begin, double time, Ending ending) override {
    tell(&Observer::on_end, gradient, begin, time, ending);
  }
  void on_trip(const TripFacts& trip) override { tell(&Observer::on_trip, trip); }
  void on_update(const UpdateFacts& update) override { tell(&Observer::on_update, update); }
  void on_step(const GradientFacts& gradient) override { tell(&Observer::on_step, gradient); }
  void on_exchange(const ExchangeFacts& exchange) override {
    tell(&Observer::on_exchange, exchange);
  }
  void on_in_flight(const GradientFacts& gradient, double begin, double time) override {
    tell(&Observer::on_in_flight, gradient, begin, time);
  }
  void on_finish(double time) override { tell(&Observer::on_finish, time); }

 private:
  template <class Event, class... Facts>
  void tell(Event event, const Facts&... facts) {
    for (auto* observer : observers_) (observer->*event)(facts...);
  }

  std::vector<Observer*> observers_;
};

}  // namespace gradrace
