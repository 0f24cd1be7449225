#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/event_queue.h"
#include "sim/peer_network.h"

namespace gradrace {

/// The exchanges that are under way between learners.
///
/// The latency of an exchange comes first; then its bytes flow.  Where NICs are shared, those whose
/// bytes pass the same one in the same direction divide its bandwidth equally among their messages
/// (NicUse), and each goes at the smallest share on its way, for all its bytes.  What an exchange
/// leaves of its share because it is slower elsewhere goes to nobody.
class Exchanges {
 public:
  /// At most one for each learner; the event of exchange e has slot `first_slot` + e.  Without a
  /// network no NIC is shared.  The network and the queue must outlive this.
  Exchanges(const PeerNetwork* network, std::uint32_t learners, EventQueue& queue,
            std::uint32_t first_slot);

  /// The number that the next one will have.
  std::uint32_t next() const { return free_.back(); }
  /// Its number, which is free again when it has ended.
  std::uint32_t begin(const Transfer& transfer, double now);

  /// The event of that exchange: true if it has ended, false if its bytes begin to flow.
  bool on_event(std::uint32_t number, double now);

  /// It ends before its time; the next one has its number.
  void call_off(std::uint32_t number, double now);

 private:
  struct Exchange {
    Transfer transfer;
    bool flows = false;
    double rate = 0, end = 0;  // where NICs are shared
  };
  struct Nic {
    std::uint32_t out = 0, in = 0;       // messages
    std::vector<std::uint32_t> passing;  // exchanges
  };

  void schedule(std::uint32_t number, double time) {
    queue_.schedule(first_slot_ + number, time, EventClass::exchange);
  }
  void end(std::uint32_t number, double now);
  void flow(std::uint32_t number, double now);
  void leave(std::uint32_t number, double now);
  double rate(const Transfer& transfer) const;
  void change_rates(const Transfer& transfer, double now);

  const double nic_bandwidth_;
  EventQueue& queue_;
  const std::uint32_t first_slot_;
  std::vector<Exchange> exchanges_;
  std::vector<std::uint32_t> free_;
  std::vector<Nic> nics_;  // of the nodes
};

}  // namespace gradrace
