#include "tests/support/clusters.h"

#include <doctest/doctest.h>

#include "sim/reading/document.h"
#include "sim/reading/reader.h"

namespace gradrace {

std::shared_ptr<const ClusterRuntimes> cluster_of(const std::string& json, std::uint32_t learners) {
  const auto document = Document::parse(json, "test.json");
  Reader reader(document);
  ClusterRuntimes cluster;
  visit_cluster_runtimes(reader, cluster, learners);
  for (const auto& problem : reader.finish()) FAIL(problem.text());
  return std::make_shared<const ClusterRuntimes>(std::move(cluster));
}

std::unique_ptr<Runtimes> runtimes_of(const std::string& json, std::uint32_t learners,
                                      std::uint64_t seed, std::uint32_t replica) {
  const auto make = make_cluster_runtimes(cluster_of(json, learners), learners);
  REQUIRE(make);
  return make(seed, replica);
}

}  // namespace gradrace
