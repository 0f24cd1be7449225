#include "sim/engine/sharded_server.h"

#include <algorithm>
#include <numeric>
#include <variant>

#include "sim/check.h"
#include "sim/engine/uses_of_update.h"
#include "sim/message_text.h"
#include "sim/server_protocol.h"

namespace gradrace {

/// A range of the model, and the orders of the protocol that it follows.
///
/// Checks after every call of the protocol: the books of its parts of gradients add up.
class ShardedServer::Shard final : public Server {
 public:
  Shard(ShardedServer& owner, std::uint16_t number)
      : owner_(owner),
        number_(number),
        made_(owner.race_.make_protocol()),
        protocol_(*std::get<std::unique_ptr<ServerProtocol>>(made_)),
        reads_(owner.race_.learners),
        waiting_(owner.race_.learners) {
    GRADRACE_CHECK(protocol_.traits().by_shard, "a protocol is not to be followed by shards");
    std::iota(waiting_.begin(), waiting_.end(), 0u);
  }

  void start() { protocol_.start(*this); }
  /// The learner reads the version of now.
  void read(std::uint32_t learner) {
    reads_[learner] = version();
    books_.dispatch(1);
    ++under_way_;
  }
  void take_up(GradientFacts part) {
    part.version = reads_[part.learner];
    --under_way_;
    waiting_.push_back(part.learner);
    protocol_.on_gradient(*this, part);
    books_.check(under_way_ + accepted());
  }

  std::uint16_t number() const { return number_; }
  ValueId value() const { return value_; }
  std::uint32_t k() const { return protocol_.k(); }
  std::uint32_t version() const override { return books_.version(); }

 private:
  std::uint32_t learners() const override { return owner_.race_.learners; }
  std::uint32_t accepted() const override { return static_cast<std::uint32_t>(accepted_.size()); }
  double time() const override { return owner_.engine_.time(); }
  const Work& work() const override { return work_; }
  Stream random(std::uint32_t number) const override {
    return stream({owner_.race_.seed, owner_.replica_, Purpose::clients, 0, number});
  }

  void dispatch(std::uint32_t learner) override {
    const auto found = std::find(waiting_.rbegin(), waiting_.rend(), learner);
    GRADRACE_CHECK(found != waiting_.rend(), "a learner computes one minibatch at a time");
    *found = waiting_.back();
    waiting_.pop_back();
    owner_.dispatch(learner);
  }
  void dispatch_waiting() override {
    std::ranges::sort(waiting_);
    for (const std::uint32_t learner : waiting_) owner_.dispatch(learner);
    waiting_.clear();
  }
  void accept(const GradientFacts& arrival) override { accepted_.push_back(arrival); }

  void update() override {
    GRADRACE_CHECK(!accepted_.empty(), "an update needs a gradient");
    std::uint64_t samples = 0;
    for (auto& part : accepted_) {
      part.staleness = books_.apply(part.version);
      samples += owner_.samples_of(part);
    }
    if (owner_.tape_.taped()) list_uses(owner_.race_, 0, work_, accepted_, uses_);
    value_ = owner_.tape_.update(value_, 0, uses_, number_);
    books_.update(under_way_, time());
    owner_.count_work(work_, accepted(), samples);
    for (const auto& part : accepted_) owner_.apply(*this, part);
    accepted_.clear();
    owner_.change(*this);
  }

  void drop(const GradientFacts&) override { refuse(); }
  void hold(const GradientFacts&) override { refuse(); }
  void release(const GradientFacts&) override { refuse(); }
  const GradientFacts* computing(std::uint32_t) const override {
    refuse();
    return nullptr;
  }
  void cancel(const GradientFacts&) override { refuse(); }
  void cancel_all() override { refuse(); }
  void pause(double) override { refuse(); }
  void timer(double) override { refuse(); }
  void evaluate_at(double) override { refuse(); }
  void follow(std::uint16_t) override { refuse(); }

  ShardedServer& owner_;
  const std::uint16_t number_;
  const AnyProtocol made_;
  ServerProtocol& protocol_;
  ValueId value_ = 0;
  std::vector<std::uint32_t> reads_;    // [learner]: the version that its gradient is computed at
  std::vector<std::uint32_t> waiting_;  // learners to be dispatched
  std::uint32_t under_way_ = 0;         // parts that are not taken up
  std::vector<GradientFacts> accepted_;
  std::vector<Use> uses_;  // of an update; kept for its memory
  Work work_;
  Books books_;
};

ShardedServer::ShardedServer(const Race& race, std::uint32_t replica, Engine& engine,
                             TapeWriter& tape)
    : Owner(race, engine, tape), replica_(replica), let_go_(race.learners) {
  GRADRACE_CHECK(!race.transit.failures && !race.has_messages() && race.plans.size() == 1,
                 "shards with a version each are not asked for it");
  behind_ = race.versions();
  for (std::uint32_t shard = 0; shard < behind_; ++shard)
    shards_.push_back(std::make_unique<Shard>(*this, static_cast<std::uint16_t>(shard)));
}

ShardedServer::~ShardedServer() = default;

void ShardedServer::start() {
  for (const auto& shard : shards_) shard->start();
}

void ShardedServer::on_part(std::uint32_t learner) {
  shards_[engine_.taker()]->take_up(engine_.gradient(learner));
}

void ShardedServer::on_arrival(std::uint32_t learner) {
  const GradientFacts arrival = engine_.gradient(learner);  // its next one may begin meanwhile
  engine_.settle(arrival, Ending::accepted);
  shards_[engine_.taker()]->take_up(arrival);
  if (engine_.computing() == 0)
    standstill_ = "at time " + short_number(engine_.time(), 17) +
                  " nobody computes: every learner waits for a shard that waits for more gradients";
}

void ShardedServer::dispatch(std::uint32_t learner) {
  if (++let_go_[learner] < shards()) return;
  let_go_[learner] = 0;
  pull(learner);
}

void ShardedServer::pull(std::uint32_t learner) {
  for (const auto& shard : shards_) shard->read(learner);
  note_dispatch();
  engine_.compute(learner, {assembled(), static_cast<std::uint32_t>(totals_.updates), plan_});
  GRADRACE_CHECK(engine_.gradient(learner).gradient == oldest_ + left_.size() - 1,
                 "gradients are numbered in the order of dispatch");
}

void ShardedServer::note_dispatch() {
  ++totals_.dispatched;
  if (left_.full()) {
    left_.set_capacity(std::max<std::size_t>(race_.learners, 2 * left_.size()));
    staleness_.set_capacity(left_.capacity() * shards());
  }
  left_.push_back(shards());
  staleness_.insert(staleness_.end(), shards(), 0);
}

ValueId ShardedServer::assembled() {
  if (is_assembled_) return assembled_;
  ranges_.clear();
  for (const auto& shard : shards_) ranges_.push_back({shard->value(), 1});
  is_assembled_ = true;
  return assembled_ = tape_.assemble(ranges_);
}

void ShardedServer::apply(const Shard& shard, const GradientFacts& part) {
  const std::size_t number = part.gradient - oldest_;
  staleness_[number * shards() + shard.number()] = part.staleness;
  if (--left_[number] == 0) finish_gradient(part);
}

/// All parts of it have been applied.
void ShardedServer::finish_gradient(const GradientFacts& gradient) {
  ++totals_.applied;
  engine_.count_applied(gradient.learner);
  count_work(1, samples_of(gradient));
  const std::size_t first = std::size_t{gradient.gradient - oldest_} * shards();
  for (std::size_t i = first; i < first + shards(); ++i) {
    const std::uint32_t staleness = staleness_[i];
    totals_.staleness_sum += staleness;
    totals_.max_staleness = std::max(totals_.max_staleness, staleness);
    if (staleness >= staleness_counts_.size()) staleness_counts_.resize(staleness + 1);
    ++staleness_counts_[staleness];
  }
  for (; !left_.empty() && left_.front() == 0; ++oldest_) {
    left_.pop_front();
    staleness_.erase_begin(shards());
  }
}

void ShardedServer::change(const Shard& shard) {
  is_assembled_ = false;
  ++changes_;
  engine_.on_update_of(shard.number());
  if (shard.version() != totals_.updates + 1 || --behind_ > 0) return;
  ++totals_.updates;
  totals_.last_update_time = engine_.time();
  behind_ = static_cast<std::uint32_t>(std::ranges::count_if(
      shards_, [this](const auto& one) { return one->version() == totals_.updates; }));
}

void ShardedServer::evaluate(Evaluations& evaluations) {
  const std::uint32_t k = shards_.front()->k();
  evaluations.add(point(k, k), changes_);
  tape_.evaluate(assembled());
}

std::span<const ValueId> ShardedServer::live() {
  live_.assign(1, assembled());
  for (const auto& shard : shards_) live_.push_back(shard->value());
  for (std::size_t i = 0; i < left_.size(); ++i)
    if (left_[i] > 0 && left_[i] < shards()) tape_.stay_open(oldest_ + static_cast<GradientId>(i));
  return live_;
}

}  // namespace gradrace
