#include "sim/cli/scenario/network/network.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/scenario/cluster.h"
#include "sim/reading/document.h"
#include "sim/reading/reader.h"

namespace gradrace::network_test {

namespace {

struct Read {
  Cluster cluster;
  std::string problems, resolved;  // the latter of the network
};

Read read(const std::string& network, int learners = 8) {
  const auto document = Document::parse(
      R"({"cluster": {"runtime": {"distribution": "exponential", "mean": 1}, "learners": )" +
          std::to_string(learners) + R"(, "network": )" + network + "}}",
      "a.json");
  Reader reader(document);
  Read result;
  visit_cluster(reader, result.cluster);
  for (const auto& problem : reader.finish()) {
    const std::string text = problem.text();
    result.problems += text.substr(text.find("error: ") + 7) + "\n";
  }
  if (result.problems.empty()) result.resolved = reader.resolved()["cluster"]["network"].dump();
  return result;
}

}  // namespace

TEST_CASE("network: a star needs no topology, and what is resolved is as the file says it") {
  const std::string plain = R"({"bandwidth":100,"model_bytes":50})";
  CHECK(read(plain).resolved == plain);
  CHECK(read(plain).cluster.transit.network->bandwidth == 100);
  CHECK_FALSE(read(plain).cluster.peers);
  const std::string named = R"({"topology":"star","bandwidth":100,"model_bytes":50})";
  CHECK(read(named).resolved == named);
  CHECK(read(named).cluster.transit.network->model_bytes == 50);
}

TEST_CASE("network: cards of learners around a server") {
  const auto links = [](const std::string& card) {
    return *read(R"({"model_bytes": 50, "card": )" + card + "}").cluster.transit.network;
  };
  CHECK(links(R"({"bandwidth": 10})").down.bandwidths == std::vector<double>{10});
  CHECK(links(R"({"bandwidth": 10})").up.latency(3) == 0);
  CHECK(links(R"({"bandwidth": [10, 20], "latency": [0, 1, 2]})").down.latency(5) == 2);
  CHECK(links(R"({"bandwidth": [10, 20], "latency": [0, 1, 2]})").up.latency(5) == 2);
  CHECK(links(R"({"bandwidth": 10})").up.bandwidths == std::vector<double>{10});
  CHECK(links(R"({"bandwidth": 10})").carries());
  const ServerLinks apart = links(R"({"down": {"latency": 3}, "up": {"bandwidth": [1, 2]}})");
  CHECK(apart.down.latency(1) == 3);
  CHECK(apart.down.bandwidths.empty());
  CHECK(apart.up.latency(1) == 0);
  CHECK(apart.up.bandwidths == std::vector<double>{1, 2});
  CHECK(apart.carries());
  CHECK_FALSE(links(R"({"latency": 10})").carries());

  const auto problems = [](const std::string& keys) { return read("{" + keys + "}").problems; };
  CHECK(problems(R"("card": {"latency": 1})") == "");
  CHECK(problems(R"("card": {"bandwidth": 1})")
            .starts_with("cluster.network.model_bytes: is missing, and a bandwidth says nothing"));
  CHECK(problems(R"("model_bytes": 1, "card": {"latency": 1})") ==
        "cluster.network.model_bytes: says nothing without the other of the two\n"
        "    allowed: bandwidth, here or in card, and model_bytes or layers\n");
  CHECK(problems(R"("model_bytes": 1, "bandwidth": 1, "card": {"bandwidth": [], "latency": -1})") ==
        "cluster.network.card.bandwidth: must be at least one\n"
        "cluster.network.card.latency: must be >= 0, got -1\n");
  const std::string both =
      "is that of both ways, and down or up says that of one\n    allowed: it in "
      "down and up, or without these\n";
  CHECK(problems(R"("model_bytes": 1, "card": {"bandwidth": 1, "latency": 1, "up": {}})") ==
        "cluster.network.card.bandwidth: " + both + "cluster.network.card.latency: " + both);
  CHECK(problems(R"("model_bytes": 1, "bandwidth": 1, "card": {"up": {"bandwidth": 0}})")
            .starts_with("cluster.network.card.up.bandwidth: must be > 0"));
  CHECK(problems(R"("model_bytes": 1e300, "card": {"down": {"bandwidth": [1e300, 1]}})")
            .starts_with("cluster.network.card.down.bandwidth: makes a transfer of model_bytes"));
  CHECK(problems(R"("model_bytes": 1e300, "card": {"bandwidth": [1e300, 1]})")
            .starts_with("cluster.network.card.bandwidth: makes a transfer of model_bytes take"));
}

TEST_CASE("network: a mesh and its defaults") {
  const Read mesh =
      read(R"({"topology": "mesh", "latency": 2, "bandwidth": 10, "model_bytes": 5})");
  CHECK(mesh.problems.empty());
  CHECK_FALSE(mesh.cluster.transit.network);
  REQUIRE(mesh.cluster.peers);
  const PeerNetwork& network = *mesh.cluster.peers;
  CHECK(network.per_node == 0);
  CHECK(network.inside.latency == 2);
  CHECK(network.inside.bandwidth == 10);
  CHECK(network.model_bytes == 5);
  CHECK(network.collective == Collective::ring);
  CHECK(network.communicator_setup == 0);
  CHECK(network.communicators == 60);
  CHECK(mesh.resolved ==
        R"({"topology":"mesh","latency":2,"bandwidth":10,"model_bytes":5,"collective":"ring",)"
        R"("communicator_setup":0,"communicators":60})");
  CHECK(std::isinf(read(R"({"topology": "mesh"})").cluster.peers->inside.bandwidth));
}

TEST_CASE("network: nodes") {
  const Read nodes = read(
      R"({"topology": "nodes", "per_node": 3, "inside": {"latency": 1}, "between": {"bandwidth": 7},
          "shared": false, "model_bytes": 5, "communicator_setup": 0.5, "communicators": 9})");
  CHECK(nodes.problems.empty());
  REQUIRE(nodes.cluster.peers);
  const PeerNetwork& network = *nodes.cluster.peers;
  CHECK(network.per_node == 3);
  CHECK(network.node(7) == 2);
  CHECK(network.inside.latency == 1);
  CHECK(std::isinf(network.inside.bandwidth));
  CHECK(network.between.latency == 0);
  CHECK(network.between.bandwidth == 7);
  CHECK_FALSE(network.shared);
  CHECK(network.communicator_setup == 0.5);
  CHECK(network.communicators == 9);
}

TEST_CASE("network: regions, and the order of a ring") {
  const auto regions = [](const std::string& more) {
    return read(R"({"topology": "regions", "per_region": 4, "model_bytes": 8, "regions": [)" +
                more + "}");
  };
  const std::string rows = R"({"bandwidth": [4, 2], "latency": 1}, {"latency": [2, 3]}])";
  const Read plain = regions(rows);
  CHECK(plain.problems.empty());
  REQUIRE(plain.cluster.peers);
  const PeerNetwork& network = *plain.cluster.peers;
  CHECK(network.link(0, 3).bandwidth == 4);
  CHECK(network.link(3, 4).bandwidth == 2);
  CHECK(network.link(3, 4).latency == 1);
  CHECK(network.link(4, 0).latency == 2);
  CHECK(std::isinf(network.link(7, 7).bandwidth));
  CHECK(network.ring.empty());
  using Places = std::vector<std::uint32_t>;
  CHECK(regions(rows + R"(, "ring": [1, 0, 2, 3, 4, 5, 7, 6])").cluster.peers->ring ==
        Places{1, 0, 2, 3, 4, 5, 7, 6});
  const Read best = regions(rows + R"(, "ring": "best")");
  // From region 1 to itself takes the longest.
  CHECK(best.cluster.peers->ring == Places{0, 2, 4, 6, 1, 3, 5, 7});
  CHECK(best.resolved.find(R"("ring":"best")") != std::string::npos);

  const auto refused = [&](const std::string& more) {
    const std::string all = regions(more).problems;
    return all.substr(0, all.find('\n'));
  };
  CHECK(
      refused(R"({"bandwidth": [1, 2, 3]}, {}])") ==
      "cluster.network.regions[0].bandwidth: has 3 numbers, and there are 2 rows: the matrix must "
      "be square");
  CHECK(
      refused(R"({}, {"latency": [1]}])") ==
      "cluster.network.regions[1].latency: has 1 numbers, and there are 2 rows: the matrix must be "
      "square");
  CHECK(refused(R"({}])") ==
        "cluster.network.regions: have room for 4 learners, and there are 8 (cluster.learners)");
  CHECK(refused(rows + R"(, "ring": [])") == "cluster.network.ring: names nobody");
  for (const char* ring : {"[0, 1]", "[0, 1, 2, 3, 4, 5, 6, 6]", "[0, 1, 2, 3, 4, 5, 6, 8]"})
    CHECK(refused(rows + R"(, "ring": )" + ring) ==
          "cluster.network.ring: does not go through each learner once");
  CHECK(refused(R"({"bandwidth": 1e-300}, {}])")
            .starts_with("cluster.network.regions[0].bandwidth: makes a transfer"));
}

TEST_CASE("network: with best no order makes an exchange faster, with any latencies") {
  std::mt19937 random(7);
  const auto one_of = [&](std::initializer_list<const char*> numbers) {
    return std::string(numbers.begin()[random() % numbers.size()]);
  };
  for (int matrix = 0; matrix < 8; ++matrix) {
    CAPTURE(matrix);
    std::string rows;
    for (int from = 0; from < 8; ++from) {
      std::string bandwidth, latency;
      for (int to = 0; to < 8; ++to) {
        bandwidth += (to > 0 ? ", " : "") + one_of({"1", "2", "5", "20", "100"});
        latency += (to > 0 ? ", " : "") + one_of({"0", "0.1", "1", "5", "10"});
      }
      rows += std::string(from > 0 ? ", " : "") + R"({"bandwidth": [)" + bandwidth +
              R"(], "latency": [)" + latency + "]}";
    }
    const Read best = read(R"({"topology": "regions", "per_region": 1, "model_bytes": 80,
        "ring": "best", "regions": [)" +
                           rows + "]}");
    REQUIRE(best.problems == "");
    PeerNetwork network = *best.cluster.peers;
    std::vector<std::uint32_t> all(8);
    std::iota(all.begin(), all.end(), 0);
    const double told = collective_transfer(network, all, 80).alone();
    double least = told;
    network.ring = all;
    do {
      least = std::min(least, collective_transfer(network, all, 80).alone());
    } while (std::next_permutation(network.ring.begin() + 1, network.ring.end()));
    CHECK(told == least);
  }
}

TEST_CASE("network: beyond ten learners best goes region by region, beyond ten regions greedily") {
  std::mt19937 random(11);
  const auto rows = [&](int regions, std::vector<double>& bandwidths) {
    std::string text;
    for (int i = 0; i < regions * regions; ++i) {
      bandwidths.push_back(1 + static_cast<double>(random() % 1000));
      text += (i % regions > 0 ? ", " : (i > 0 ? "]}, " : "") + std::string(R"({"bandwidth": [)")) +
              std::to_string(static_cast<int>(bandwidths.back()));
    }
    return R"("model_bytes": 120, "ring": "best", "regions": [)" + text + "]}]}";
  };
  SUBCASE("4 regions of 3: no order of whole regions is faster") {
    std::vector<double> bandwidths;
    PeerNetwork network =
        *read(R"({"topology": "regions", "per_region": 3, )" + rows(4, bandwidths), 12)
             .cluster.peers;
    std::vector<std::uint32_t> all(12), regions{0, 1, 2, 3};
    std::iota(all.begin(), all.end(), 0);
    const double told = collective_transfer(network, all, 120).alone();
    double least = INFINITY;
    do {
      for (std::uint32_t place = 0; place < 12; ++place)
        network.ring[3 * regions[place / 3] + place % 3] = place;
      least = std::min(least, collective_transfer(network, all, 120).alone());
    } while (std::ranges::next_permutation(regions).found);
    CHECK(told == least);
  }
  SUBCASE("12 regions of 1: from each to the one of those left whose link is fastest") {
    std::vector<double> bandwidths;
    const PeerNetwork network =
        *read(R"({"topology": "regions", "per_region": 1, )" + rows(12, bandwidths), 12)
             .cluster.peers;
    std::vector<bool> visited(12);
    for (std::uint32_t at = 0, place = 0; place < 12; ++place) {
      CHECK(network.ring[at] == place);
      visited[at] = true;
      std::uint32_t next = 12;
      for (std::uint32_t to = 0; to < 12; ++to) {
        const bool is_faster = next == 12 || bandwidths[12 * at + to] > bandwidths[12 * at + next];
        if (!visited[to] && is_faster) next = to;
      }
      at = next;
    }
  }
}

TEST_CASE("network: each collective by its name") {
  const std::pair<const char*, Collective> names[] = {
      {"ring", Collective::ring},
      {"halving-doubling", Collective::halving_doubling},
      {"tree", Collective::tree},
      {"server", Collective::server}};
  for (const auto& [name, collective] : names) {
    const std::string text = R"({"topology": "mesh", "collective": ")" + std::string(name) + "\"}";
    CHECK(read(text).cluster.peers->collective == collective);
  }
}

TEST_CASE("network: what a topology lacks is refused by name") {
  CHECK(read(R"({"latency": 2})").problems ==
        "cluster.network.latency: unknown key\n    allowed: pull, push, bandwidth, model_bytes, "
        "layers, "
        "card, overlap\n");
  CHECK(read(R"({"topolgy": "mesh"})").problems.find("topology") != std::string::npos);
  CHECK(read(R"({"topology": "ring"})").problems.find("allowed: star, mesh, nodes") !=
        std::string::npos);
  const auto unknown = [](const std::string& key, const std::string& network) {
    return read(network).problems.starts_with("cluster.network." + key + ": unknown key\n");
  };
  CHECK(unknown("push", R"({"topology": "mesh", "push": {}})"));
  CHECK(unknown("shared", R"({"topology": "mesh", "shared": true})"));
  CHECK(unknown("per_node", R"({"topology": "mesh", "per_node": 4})"));
  CHECK(unknown("latency", R"({"topology": "nodes", "per_node": 4, "between": {}, "latency": 1})"));
  CHECK(unknown("collective", R"({"topology": "star", "collective": "tree"})"));
  CHECK(read(R"({"topology": "nodes"})")
            .problems.starts_with("cluster.network.per_node: required key is missing"));
}

TEST_CASE("network: a bandwidth needs the model's bytes, and a transfer a time that can be told") {
  const std::string lacks = "cluster.network.model_bytes: is missing, and a bandwidth says nothing";
  CHECK(read(R"({"topology": "mesh", "bandwidth": 1})").problems.starts_with(lacks));
  CHECK(read(R"({"topology": "nodes", "per_node": 2, "between": {"bandwidth": 1}})")
            .problems.starts_with(lacks));
  CHECK(read(R"({"topology": "mesh", "model_bytes": 1})").problems.empty());
  const std::string tiny = R"("between": {"bandwidth": 1e-300}, "model_bytes": 1e300})";
  CHECK(read(R"({"topology": "nodes", "per_node": 2, )" + tiny)
            .problems.starts_with("cluster.network.between.bandwidth: makes a transfer"));
}

TEST_CASE("network: the examples are valid as they stand") {
  for (const auto* entry : topology_catalog().entries) {
    CAPTURE(entry->page.name);
    CHECK(read(std::string(entry->page.example)).problems == "");
  }
}

}  // namespace gradrace::network_test
