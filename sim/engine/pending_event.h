#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace gradrace {

/// What happens first among events of one instant.  An exchange between learners ends after the
/// arrivals of its time; a timer sees both, an evaluation all three, and the end of a run all.
enum class EventClass : std::uint8_t { arrival, exchange, timer, evaluation, end };

/// When a pending event comes.
///
/// Times that are not negative have the order of their bits, so that two whole numbers say which
/// event is the earlier one.
struct Due {
  std::uint64_t time_bits = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
  std::uint64_t order = ~std::uint64_t{0};  // class, then sequence of scheduling

  static Due at(double time, EventClass event_class, std::uint64_t sequence) {
    return {std::bit_cast<std::uint64_t>(time),
            static_cast<std::uint64_t>(event_class) << class_shift | sequence};
  }

  double time() const { return std::bit_cast<double>(time_bits); }
  EventClass event_class() const { return static_cast<EventClass>(order >> class_shift); }
  /// False: infinite, negative or NaN.
  bool is_time() const { return time_bits < Due().time_bits; }

  /// The one comparison; without a branch.
  friend bool operator<(const Due& a, const Due& b) {
    return (a.time_bits < b.time_bits) | ((a.time_bits == b.time_bits) & (a.order < b.order));
  }
  friend bool operator==(const Due&, const Due&) = default;

 private:
  static constexpr int class_shift = 60;
};

/// The event of a slot.
struct PendingEvent {
  Due due;
  std::uint32_t slot = 0;
};

}  // namespace gradrace
