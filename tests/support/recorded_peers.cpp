#include "tests/support/recorded_peers.h"

#include <memory>
#include <utility>

#include "sim/make_protocol.h"
#include "sim/message_text.h"
#include "tests/support/race_text.h"
#include "tests/support/stub_law.h"

namespace gradrace {

namespace {

using Members = std::span<const std::uint32_t>;

/// Hands every order on.
class RecordedPeers final : public Peers {
 public:
  RecordedPeers(Peers& peers, std::vector<PeerOrder>& orders) : peers_(peers), orders_(orders) {}

  std::uint32_t learners() const override { return peers_.learners(); }
  double time() const override { return peers_.time(); }
  const Work& work() const override { return peers_.work(); }
  std::uint64_t updates() const override { return peers_.updates(); }
  std::uint32_t per_node() const override { return peers_.per_node(); }
  Members present() const override { return peers_.present(); }
  void compute(std::uint32_t learner, std::uint64_t step) override {
    peers_.compute(learner, step);
  }
  void compute(std::uint32_t learner) override {
    note(PeerOrder::Kind::compute, {&learner, 1});
    peers_.compute(learner);
  }
  void compute_all() override {
    peers_.compute_all();
    for (const std::uint32_t learner : present()) note(PeerOrder::Kind::compute, {&learner, 1});
  }
  const GradientFacts* computing(std::uint32_t learner) const override {
    return peers_.computing(learner);
  }
  double due(std::uint32_t learner) const override { return peers_.due(learner); }
  ValueId value(std::uint32_t learner) const override { return peers_.value(learner); }
  void set(std::uint32_t learner, ValueId value) override { peers_.set(learner, value); }
  double rate() const override { return peers_.rate(); }
  Stream random(std::uint32_t learner, std::uint32_t number) const override {
    return peers_.random(learner, number);
  }
  void step(const GradientFacts& gradient) override {
    note(PeerOrder::Kind::step, {&gradient.learner, 1});
    peers_.step(gradient);
  }
  void skip(std::uint32_t learner, std::uint32_t steps) override { peers_.skip(learner, steps); }
  void step_all(std::span<const GradientFacts> gradients) override { peers_.step_all(gradients); }
  ValueId average(ValueId base, std::span<const Term> terms) override {
    return peers_.average(base, terms);
  }
  void average(Members members, std::span<const Term> terms, MomentumState state) override {
    note(PeerOrder::Kind::average, members);
    peers_.average(members, terms, state);
  }
  void average_sent(Members members, ValueId base, MomentumState state) override {
    note(PeerOrder::Kind::average, members);
    peers_.average_sent(members, base, state);
  }
  bool makes_messages() const override { return peers_.makes_messages(); }
  ValueId move(ValueId base, std::span<const Term> terms) override {
    return peers_.move(base, terms);
  }
  void move(Members members, std::span<const Term> terms) override {
    note(PeerOrder::Kind::average, members);
    peers_.move(members, terms);
  }
  std::uint32_t collective(Members members, double share, Payload payload) override {
    note(PeerOrder::Kind::begin, members);
    return peers_.collective(members, share, payload);
  }
  std::uint32_t pair(std::uint32_t a, std::uint32_t b, std::optional<double> time,
                     double share) override {
    const std::uint32_t members[] = {a, b};
    note(PeerOrder::Kind::pair, members);
    return peers_.pair(a, b, time, share);
  }
  std::uint32_t gossip(std::uint32_t learner, Members hears, Members heard_by,
                       double share) override {
    return peers_.gossip(learner, hears, heard_by, share);
  }
  std::uint32_t message(std::uint32_t learner, Towards towards) override {
    const bool up = towards == Towards::coordinator;
    note(up ? PeerOrder::Kind::push : PeerOrder::Kind::pull, {&learner, 1});
    return peers_.message(learner, towards);
  }
  Members members(std::uint32_t exchange) const override { return peers_.members(exchange); }
  bool exchanging(std::uint32_t learner) const override { return peers_.exchanging(learner); }
  void count_conflict(std::uint32_t learner) override { peers_.count_conflict(learner); }
  void count_outer_update(std::uint32_t staleness) override {
    peers_.count_outer_update(staleness);
  }
  void timer(double time) override { peers_.timer(time); }
  void evaluate_at(double time) override { peers_.evaluate_at(time); }
  void follow(std::uint16_t plan) override { peers_.follow(plan); }
  void deadlock(Members circle) override { peers_.deadlock(circle); }

 private:
  void note(PeerOrder::Kind kind, Members learners) {
    orders_.push_back({kind, time(), {learners.begin(), learners.end()}});
  }

  Peers& peers_;
  std::vector<PeerOrder>& orders_;
};

class RecordedProtocol final : public PeerProtocol {
 public:
  RecordedProtocol(AnyProtocol protocol, std::vector<PeerOrder>& orders)
      : made_(std::move(protocol)),
        protocol_(*std::get<std::unique_ptr<PeerProtocol>>(made_)),
        orders_(orders) {}

  void start(Peers& peers) override {
    RecordedPeers recorded(peers, orders_);
    protocol_.start(recorded);
  }
  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    RecordedPeers recorded(peers, orders_);
    protocol_.on_gradient(recorded, arrival);
  }
  void on_exchange(Peers& peers, std::uint32_t exchange) override {
    RecordedPeers recorded(peers, orders_);
    protocol_.on_exchange(recorded, exchange);
  }
  void on_timer(Peers& peers) override {
    RecordedPeers recorded(peers, orders_);
    protocol_.on_timer(recorded);
  }
  void on_evaluation(Peers& peers, const Evaluation& evaluation) override {
    RecordedPeers recorded(peers, orders_);
    protocol_.on_evaluation(recorded, evaluation);
  }
  void on_leave(Peers& peers, std::uint32_t learner) override {
    RecordedPeers recorded(peers, orders_);
    protocol_.on_leave(recorded, learner);
  }
  void on_return(Peers& peers, std::uint32_t learner) override {
    RecordedPeers recorded(peers, orders_);
    protocol_.on_return(recorded, learner);
  }
  std::vector<std::uint32_t> neighbours(std::uint32_t learner) const override {
    return protocol_.neighbours(learner);
  }
  Traits traits() const override { return protocol_.traits(); }
  std::vector<Change> changes() const override { return protocol_.changes(); }
  std::optional<ValueId> evaluated() const override { return protocol_.evaluated(); }
  void hold(std::vector<ValueId>& live) const override { protocol_.hold(live); }
  std::uint32_t k() const override { return protocol_.k(); }
  std::uint32_t gradients_of_step() const override { return protocol_.gradients_of_step(); }
  Theory theory(const Conditions& conditions) const override {
    return protocol_.theory(conditions);
  }

 private:
  AnyProtocol made_;
  PeerProtocol& protocol_;
  std::vector<PeerOrder>& orders_;
};

}  // namespace

std::string text(const PeerOrder& order) {
  constexpr const char* words[] = {" compute", " begin", " average", " step",
                                   " pair",    " push",  " pull"};
  std::string line = number_text(order.time) + words[static_cast<std::size_t>(order.kind)];
  for (const std::uint32_t learner : order.learners) line += " " + std::to_string(learner);
  return line;
}

Race recorded(Race race, std::vector<PeerOrder>& orders) {
  race.make_protocol = [make = race.make_protocol, &orders] {
    return std::make_unique<RecordedProtocol>(make(), orders);
  };
  return race;
}

Race by_hand(const std::string& protocol, std::uint32_t learners,
             const std::vector<double>& runtimes, std::uint64_t updates, std::uint32_t per_node) {
  Race race = race_of(learners, protocol, R"({"updates": )" + std::to_string(updates) + "}");
  race.make_runtimes = listed(runtimes);
  PeerNetwork& network = race.peers.emplace();
  network.per_node = per_node;
  network.inside.latency = network.between.latency = 0.5;
  return race;
}

std::vector<std::string> orders(const std::string& protocol, std::uint32_t learners,
                                const std::vector<double>& runtimes, std::uint64_t updates,
                                std::uint32_t per_node) {
  std::vector<PeerOrder> found;
  run_timing(recorded(by_hand(protocol, learners, runtimes, updates, per_node), found));
  std::vector<std::string> lines;
  for (const PeerOrder& order : found)
    if (order.kind != PeerOrder::Kind::step) lines.push_back(text(order));
  return lines;
}

}  // namespace gradrace
