#include "sim/cli/scenario/sampler.h"

#include <string>

#include "protocols/catalog.h"

namespace gradrace {

namespace {

/// What of a cluster is allowed in place of what makes its learners unlike or its times dependent.
std::string_view in_place_of(std::string_view key) {
  if (key == "runtimes") return "one law for all, or ";
  if (key == "runtime") return "mode bootstrap, another law, or ";
  if (key == "speeds") return "the same speed for all, or ";
  return "none, or ";
}

}  // namespace

void visit_sampler(Fields& fields, Sampler& sampler) {
  const bool of_updates = fields.second_of(
      "sampler", "events", "order-statistic",
      "what is drawn: the time of every minibatch, or that of every update alone, as the "
      "K-th smallest of P (timing-only, equal learners, a protocol that begins anew at "
      "every update; any P takes the same work; no learners.csv)");
  sampler = of_updates ? Sampler::order_statistic : Sampler::events;
}

void check_sampler(Fields& fields, const Point& point) {
  if (point.sampler == Sampler::events) return;
  const auto refuse = [&](std::string_view key, std::string_view what,
                          std::string_view instead = "none, or ") {
    fields.complain(
        key, std::string(what) + ", and sampler order-statistic draws the times of updates alone",
        std::string(instead) + "sampler events");
  };
  if (point.with_model()) refuse("model", "is trained", "timing_only: true, or ");
  if (point.make_protocol && !point.make_protocol()->traits().restarts_all) {
    refuse("protocol", "does not begin all minibatches anew at every update",
           protocols_with([](const AnyProtocol& any) { return any->traits().restarts_all; }) +
               ", backup with late: cancel, or ");
  }
  const Cluster& cluster = point.cluster;
  if (!cluster.runtimes.laws.empty()) {
    for (const auto& [key, why] : cluster.runtimes.differences(cluster.learners, point.samples())) {
      if (key != "outliers") refuse("cluster." + std::string(key), why, in_place_of(key));
    }
  }
  if (point.samples().differs())
    refuse("model.minibatch", "is a number for each learner", "one number, or ");
  if (point.local_steps() > 1)
    refuse("protocol.tau", "makes gradients of several minibatches", "1, or ");
  if (cluster.runtimes.outliers) refuse("cluster.outliers", "are drawn for each minibatch");
  if (cluster.transit.network || cluster.peers) refuse("cluster.network", "takes time");
  if (cluster.transit.server) refuse("cluster.server", "takes time");
  if (cluster.transit.failures) refuse("cluster.failures", "come to each learner");
  for (const auto& [record, make] : point.records) {
    refuse("record." + std::string(record->key), "follows every event");
  }
}

}  // namespace gradrace
