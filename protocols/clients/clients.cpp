#include "protocols/clients/clients.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/server_filter.h"

namespace gradrace {

namespace {

/// The server as the drawn learners' protocol sees it: they are all that there are.
class Drawing final : public ServerFilter {
 public:
  explicit Drawing(std::uint32_t count) : count_(count) {}

  void begin() { all_ = everyone(server().learners()); }

  std::uint32_t learners() const override { return count_; }
  /// The first `count` of a shuffle are drawn.
  void dispatch_waiting() override {
    Stream words = random(version());
    for (std::uint32_t i = 0; i < count_; ++i) {
      const auto left = static_cast<std::uint32_t>(all_.size()) - i;
      std::swap(all_[i], all_[i + uniform_below(words, left)]);
    }
    std::sort(all_.begin(), all_.begin() + count_);
    for (std::uint32_t i = 0; i < count_; ++i) dispatch(all_[i]);
  }

 private:
  const std::uint32_t count_;
  std::vector<std::uint32_t> all_;
};

class OfClients final : public ServerProtocol {
 public:
  OfClients(std::unique_ptr<ServerProtocol> protocol, std::uint32_t count)
      : protocol_(std::move(protocol)), count_(count), drawing_(count) {}

  void start(Server& server) override {
    drawing_.stand_before(server);
    drawing_.begin();
    protocol_->start(drawing_);
  }
  void on_gradient(Server& server, const GradientFacts& arrival) override {
    drawing_.stand_before(server);
    protocol_->on_gradient(drawing_, arrival);
  }

  Traits traits() const override { return {.no_phase = "clients"}; }
  std::uint32_t k() const override { return protocol_->k(); }

  /// That of so many learners, where all are equal.
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    if (!conditions.law) return {};
    Conditions drawn = conditions;
    drawn.learners = count_;
    return protocol_->iteration_time(drawn);
  }
  Staleness staleness(std::uint32_t) const override { return {0.0}; }

 private:
  const std::unique_ptr<ServerProtocol> protocol_;
  const std::uint32_t count_;
  Drawing drawing_;
};

}  // namespace

void Clients::visit(Fields& fields, std::uint32_t learners) {
  fields.integer("clients", count, between(1, learners, "cluster.learners"),
                 "learners that are drawn for each update, without replacement; all if absent");
}

std::unique_ptr<ServerProtocol> Clients::among_all(std::unique_ptr<ServerProtocol> protocol) const {
  return std::make_unique<OfClients>(std::move(protocol), number());
}

}  // namespace gradrace
