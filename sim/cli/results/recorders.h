#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/cli/results/run_files.h"

namespace gradrace {

/// Rows of updates.csv of one run.
class UpdatesRecorder : public Observer {
 public:
  explicit UpdatesRecorder(const RunId& id) : id_(id) {}

  void on_start() override { rows_.clear(); }
  void on_update(const UpdateFacts& update) override;

  const std::string& rows() const { return rows_.text(); }

 private:
  const RunId id_;
  Csv rows_;
};

/// The timeline of one run as Chrome trace events: a process for the point, a track for the server
/// (tid 0; its slices are the versions) and one for each learner (tid learner + 1; its slices are
/// the minibatches).  One unit of simulated time is drawn as one second.  Times are rounded to
/// whole nanoseconds, so slices of a track that touch do not overlap.
class TraceRecorder : public Observer {
 public:
  TraceRecorder(std::size_t point, std::string label, std::uint32_t learners,
                std::optional<std::uint64_t> updates);

  void on_start() override;
  void on_end(const GradientFacts& gradient, double begin, double time, Ending ending) override;
  void on_update(const UpdateFacts& update) override;
  void on_in_flight(const GradientFacts& gradient, double begin, double time) override;
  void on_finish(double time) override;

  /// The events as JSON, separated by commas.
  std::string events() const;

 private:
  struct Slice {
    GradientFacts gradient;
    double begin, end;
    const char* fate;
    std::uint32_t staleness;
  };

  bool open() const { return !updates_ || versions_.size() <= *updates_; }
  void add(const GradientFacts& gradient, double begin, double end, const char* fate);

  std::size_t point_;
  std::string label_;
  std::uint32_t learners_;
  std::optional<std::uint64_t> updates_;
  std::vector<Slice> slices_;
  std::vector<double> versions_;  // when each version began
  double end_ = 0;
  std::unordered_map<GradientId, std::size_t> waiting_;  // accepted, not applied yet: its slice
};

/// Hands on to several observers.
class Observers : public Observer {
 public:
  void add(Observer* observer) { observers_.push_back(observer); }
  bool empty() const { return observers_.empty(); }

  void on_start() override { tell(&Observer::on_start); }
  void on_dispatch(const GradientFacts& gradient, double time) override {
    tell(&Observer::on_dispatch, gradient, time);
  }
  void on_end(const GradientFacts& gradient, double begin, double time, Ending ending) override {
    tell(&Observer::on_end, gradient, begin, time, ending);
  }
  void on_update(const UpdateFacts& update) override { tell(&Observer::on_update, update); }
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
