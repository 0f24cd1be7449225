#include "sim/engine/exchanges.h"

#include <algorithm>

#include "sim/check.h"

namespace gradrace {

Exchanges::Exchanges(const PeerNetwork* network, std::uint32_t learners, EventQueue& queue,
                     std::uint32_t first_slot)
    : nic_bandwidth_(network ? network->between.bandwidth : 0),
      queue_(queue),
      first_slot_(first_slot),
      exchanges_(learners),
      nics_(network && network->shared ? network->node(learners - 1) + 1 : 0) {
  free_.reserve(learners);
  for (std::uint32_t number = learners; number-- > 0;) free_.push_back(number);
}

std::uint32_t Exchanges::begin(const Transfer& transfer, double now) {
  GRADRACE_CHECK(!free_.empty(), "more exchanges are under way than there are learners");
  const std::uint32_t number = free_.back();
  free_.pop_back();
  Exchange& exchange = exchanges_[number];
  exchange.flows = true;
  exchange.transfer.nics.clear();
  if (transfer.nics.empty()) {
    schedule(number, now + transfer.alone());
    return number;
  }
  exchange.transfer = transfer;
  if (transfer.latency > 0) {
    exchange.flows = false;
    schedule(number, now + transfer.latency);
  } else {
    flow(number, now);
  }
  return number;
}

[[gnu::always_inline]] inline void Exchanges::end(std::uint32_t number, double now) {
  leave(number, now);
  queue_.remove(first_slot_ + number);
  free_.push_back(number);
}

bool Exchanges::on_event(std::uint32_t number, double now) {
  if (!exchanges_[number].flows) {
    flow(number, now);
    return false;
  }
  end(number, now);
  return true;
}

void Exchanges::call_off(std::uint32_t number, double now) {
  if (!exchanges_[number].flows) exchanges_[number].transfer.nics.clear();
  end(number, now);
}

void Exchanges::flow(std::uint32_t number, double now) {
  Exchange& exchange = exchanges_[number];
  const Transfer& transfer = exchange.transfer;
  for (const NicUse& use : transfer.nics) {
    nics_[use.node].out += use.out;
    nics_[use.node].in += use.in;
  }
  change_rates(transfer, now);
  exchange.flows = true;
  exchange.rate = rate(transfer);
  exchange.end = now + transfer.bytes / exchange.rate;
  schedule(number, exchange.end);
  for (const NicUse& use : transfer.nics) nics_[use.node].passing.push_back(number);
}

void Exchanges::leave(std::uint32_t number, double now) {
  const Transfer& transfer = exchanges_[number].transfer;
  for (const NicUse& use : transfer.nics) {
    Nic& nic = nics_[use.node];
    nic.out -= use.out;
    nic.in -= use.in;
    nic.passing.erase(std::find(nic.passing.begin(), nic.passing.end(), number));
  }
  change_rates(transfer, now);
}

double Exchanges::rate(const Transfer& transfer) const {
  double least = transfer.bandwidth;
  for (const NicUse& use : transfer.nics) {
    const Nic& nic = nics_[use.node];
    if (use.out > 0) least = std::min(least, nic_bandwidth_ / nic.out);
    if (use.in > 0) least = std::min(least, nic_bandwidth_ / nic.in);
  }
  return least;
}

/// Of the others on the NICs of this one.
void Exchanges::change_rates(const Transfer& transfer, double now) {
  for (const NicUse& use : transfer.nics) {
    for (const std::uint32_t number : nics_[use.node].passing) {
      Exchange& other = exchanges_[number];
      const double changed = rate(other.transfer);
      if (changed == other.rate) continue;
      other.end = now + (other.end - now) * (other.rate / changed);
      other.rate = changed;
      schedule(number, other.end);
    }
  }
}

}  // namespace gradrace
