#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

#include "sim/engine/books.h"
#include "sim/engine/drawn_times.h"
#include "sim/engine/engine.h"
#include "sim/engine/evaluations.h"
#include "sim/engine/race.h"
#include "sim/engine/tape_writer.h"
#include "sim/engine/timing_server.h"
#include "sim/large_pages.h"
#include "sim/server_protocol.h"

namespace gradrace {

/// Learners never wait: a gradient is an update when it arrives, and its learner goes on.  The
/// minibatches of a learner then follow on one another whatever the others do, so that their ends
/// are drawn for a span of time, learner by learner, and sorted; none is pending.
///
/// Minibatches that end at one time count in the order in which they began.  Where one ends when it
/// begins, or never, the span goes minibatch by minibatch.
class RenewalServer final : public TimingServer {
 public:
  /// All must outlive it.  The protocol never waits; runtimes are independent draws of
  /// race.runtime alone.
  RenewalServer(const Race& race, std::uint32_t replica, const ServerProtocol& protocol,
                Engine& engine, TapeWriter& tape, const Quiet& quiet);

  void start() override;
  /// The next update is due, and all that follow up to the next alarm.
  void on_timer() override;
  void finish() override { is_over_ = true; }

  const Totals& totals() const override { return books_.totals(); }
  std::span<const std::uint64_t> staleness_counts() const override {
    return books_.staleness_counts();
  }
  std::uint64_t outstanding_sum() const override { return books_.outstanding_sum(); }
  std::vector<LearnerTotals> learner_totals() const override;

 private:
  struct alignas(32) Learner {
    double begin = 0;  // of its minibatch
    double busy = 0;
    std::uint32_t read = 0;  // the version that it computes at
    std::uint32_t applied = 0;
  };

  /// A minibatch's end.
  struct End {
    double time;
    std::uint32_t learner;
    std::uint32_t part;  // of the span
  };

  /// What ends after so many others is fetched, and before that its learner.
  static constexpr std::uint32_t ahead = 12;
  void fetch_coming();
  void apply(const End& end);
  void begin(std::uint32_t learner);
  double end_of_next(std::uint32_t learner);

  void next_span();
  bool draw_span();
  void sort_span();
  void order_ties();
  void go_by_heap();
  void take_from_heap();

  const Quiet& quiet_;
  DrawnTimes drawn_;
  Books books_;
  bool is_over_ = false;  // the run

  LargeVector<Learner> learners_;
  LargeVector<double> ends_;  // of the learners' minibatches, the first after the span

  const std::size_t enough_;            // ends of a span, if all goes as before
  double length_ = 0;                   // of the span
  LargeVector<End> drawn_ends_, span_;  // learner by learner, in order; room for more than enough
  LargeVector<std::uint32_t> places_;   // in span_, by parts of the span
  std::size_t size_ = 0;                // of the span, in ends
  std::size_t at_ = 0;                  // the next of them
  std::size_t ordered_ = 0;             // among equal times, up to here

  using Due = std::tuple<double, std::uint32_t, std::uint32_t>;  // end, version read, learner
  std::priority_queue<Due, std::vector<Due>, std::greater<>> heap_;
  std::size_t of_heap_ = 0;  // ends still to be taken from it
};

}  // namespace gradrace
