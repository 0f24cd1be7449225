#include "models/datasets/partition.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "models/datasets/partitions/pools.h"
#include "models/linear.h"
#include "models/sampling/minibatch.h"
#include "sim/reading/document.h"
#include "sim/reading/reader.h"
#include "tests/support/model_checks.h"

namespace gradrace::partition_test {

namespace {

using Numbers = std::vector<std::uint32_t>;

const std::string iid = R"({"kind": "iid"})";

std::string by_class(std::uint32_t classes) {
  return R"({"kind": "by-class", "classes": )" + std::to_string(classes) + "}";
}

std::string dirichlet(const std::string& alpha) {
  return R"({"kind": "dirichlet", "alpha": )" + alpha + "}";
}

PartitionProduct partition(const std::string& json) {
  const Document document = Document::parse(R"({"partition": )" + json + "}", "test");
  Reader reader(document);
  PartitionProduct product;
  read_kind(reader, "partition", partition_catalog(), product, Need::required, "");
  CHECK(reader.finish().empty());
  return product;
}

/// Rows i, i + 1, ... of the classes in turn, as long as they last: so many of each.
Dataset of_sizes(const Numbers& sizes) {
  Dataset data;
  data.classes = sizes.size();
  for (std::uint32_t i = 0; i < *std::ranges::max_element(sizes); ++i) {
    for (std::size_t c = 0; c < sizes.size(); ++c)
      if (i < sizes[c]) data.train.classes.push_back(static_cast<std::uint8_t>(c));
  }
  data.train.count = data.train.classes.size();
  return data;
}

const Dataset ten_classes = of_sizes(Numbers(10, 400));

/// [class]: rows of a shard.
Numbers counts(const Dataset& data, std::span<const std::uint32_t> rows) {
  Numbers result(data.classes);
  for (const std::uint32_t row : rows) ++result[data.train.classes[row]];
  return result;
}

std::ptrdiff_t classes_in(const Dataset& data, std::span<const std::uint32_t> rows) {
  const Numbers all = counts(data, rows);
  return std::ssize(all) - std::ranges::count(all, 0u);
}

/// Total variation between the classes of a shard and those of the data, mean of the learners.
double skew(const Dataset& data, const Shards& shards) {
  double sum = 0;
  for (std::uint32_t learner = 0; learner < shards.learners(); ++learner) {
    for (const std::uint32_t count : counts(data, shards.of(learner)))
      sum += std::abs(static_cast<double>(count) / shards.size - 0.1) / 2;
  }
  return sum / static_cast<double>(shards.learners());
}

/// Of (total mod blocks) rows left out, class c's part to less than a row.
void check_trimmed(const Dataset& data, const Shards& shards, std::uint64_t blocks) {
  const std::size_t rows = data.train.count, left_out = rows % blocks;
  CHECK(shards.rows.size() == rows - left_out);
  const std::set<std::uint32_t> used(shards.rows.begin(), shards.rows.end());
  CHECK(used.size() == shards.rows.size());
  CHECK(*used.rbegin() < rows);
  Numbers all(rows);
  std::iota(all.begin(), all.end(), 0u);
  const Numbers of_all = counts(data, all), of_used = counts(data, shards.rows);
  for (std::size_t c = 0; c < data.classes; ++c) {
    const double quota = static_cast<double>(left_out * of_all[c]) / static_cast<double>(rows);
    CHECK(std::abs(of_all[c] - of_used[c] - quota) < 1);
  }
}

}  // namespace

TEST_CASE("partition: the example of every page is read") {
  for (const PartitionEntry* entry : partition_catalog().entries) {
    CHECK((partition(std::string(entry->page.example)) == nullptr) ==
          (entry->page.name == "shared"));
    CHECK(!entry->page.definition.empty());
    CHECK(!entry->page.source.empty());
  }
}

TEST_CASE("partition: shards are disjoint, of equal size, and cover the trimmed set") {
  for (const Numbers& sizes :
       {Numbers(10, 400), Numbers{1000, 10, 300, 0, 1}, Numbers{701}, Numbers{2, 2, 299}}) {
    const Dataset data = of_sizes(sizes);
    for (const std::uint32_t learners : {1u, 3u, 7u, 100u}) {
      CAPTURE(sizes.size());
      CAPTURE(learners);
      const Shards even = partition(iid)->divide(data, {learners, 5});
      CHECK(even.learners() == learners);
      CHECK(even.size == data.train.count / learners);
      check_trimmed(data, even, learners);
      for (const auto alpha : {"1e-9", "0.1", "1", "1000", "1e12"}) {
        const Shards skewed = partition(dirichlet(alpha))->divide(data, {learners, 5});
        CHECK(skewed.size == even.size);
        CHECK(skewed.learners() == learners);
        check_trimmed(data, skewed, learners);
        CHECK(std::set(skewed.rows.begin(), skewed.rows.end()) ==
              std::set(even.rows.begin(), even.rows.end()));
      }
      for (const std::uint32_t classes : {1u, 2u, 3u}) {
        const Shards few = partition(by_class(classes))->divide(data, {learners, 5});
        CHECK(few.size == data.train.count / (learners * classes) * classes);
        CHECK(few.learners() == learners);
        check_trimmed(data, few, std::uint64_t{learners} * classes);
      }
    }
  }
}

TEST_CASE("partition: the seed alone says which rows") {
  for (const auto& kind : {iid, by_class(2), dirichlet("0.5")}) {
    const Shards shards = partition(kind)->divide(ten_classes, {8, 1});
    CHECK(shards.rows == partition(kind)->divide(ten_classes, {8, 1}).rows);
    CHECK(shards.rows != partition(kind)->divide(ten_classes, {8, 2}).rows);
  }
}

TEST_CASE("iid: a shard's classes are those of a sample without replacement") {
  // 2,000 counts, hypergeometric; 3 standard errors of their mean square deviation, which is near
  // that of normals.
  double sum = 0;
  const double n = 200, variance = n * 0.1 * 0.9 * (4000 - n) / 3999;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Shards shards = partition(iid)->divide(ten_classes, {20, seed});
    for (std::uint32_t learner = 0; learner < 20; ++learner) {
      for (const std::uint32_t count : counts(ten_classes, shards.of(learner)))
        sum += (count - n / 10) * (count - n / 10) / variance;
    }
  }
  CHECK(std::abs(sum / 2000 - 1) <= 3 * std::sqrt(2.0 / 2000));
}

TEST_CASE("dirichlet: shares have mean 1 / classes and the law's variance") {
  // Of the first learner, whom no pool lacks: a share of 1 takes a pool of 400.
  for (const double alpha : {0.1, 1.0, 10.0}) {
    const auto product = partition(dirichlet(std::to_string(alpha)));
    const int seeds = 400;
    double mean = 0, square = 0, fourth = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const Shards shards = product->divide(ten_classes, {10, seed});
      const double p = counts(ten_classes, shards.of(0))[3] / 400.0 - 0.1;
      mean += p / seeds;
      square += p * p / seeds;
      fourth += p * p * p * p / seeds;
    }
    const double variance = 0.1 * 0.9 / (10 * alpha + 1);
    CAPTURE(alpha);
    CHECK(std::abs(mean) <= 3 * std::sqrt(variance / seeds));
    CHECK(std::abs(square - variance) <= 3 * std::sqrt((fourth - square * square) / seeds));
  }
}

TEST_CASE("dirichlet: uniform as alpha grows, and less skewed all the way") {
  const Shards uniform = partition(dirichlet("1e9"))->divide(ten_classes, {8, 1});
  for (std::uint32_t learner = 0; learner < 8; ++learner) {
    for (const std::uint32_t count : counts(ten_classes, uniform.of(learner)))
      CHECK(std::abs(count - 50.0) <= 1);  // 3 standard errors of a sample: 20
  }
  double before = 1;
  for (const auto alpha : {"0.1", "1", "10", "1000"}) {
    const double now = skew(ten_classes, partition(dirichlet(alpha))->divide(ten_classes, {8, 1}));
    CAPTURE(alpha);
    CHECK(now < before);
    before = now;
  }
}

TEST_CASE("dirichlet: what a class lacks comes from the one with most left") {
  // The learner wants one class, and a shard is 10 rows.
  const Dataset data = of_sizes({4, 6, 10});
  std::set<Numbers> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Shards shards = partition(dirichlet("1e-9"))->divide(data, {2, seed});
    seen.insert(counts(data, shards.of(0)));
  }
  CHECK(seen == std::set<Numbers>{{4, 0, 6}, {0, 6, 4}, {0, 0, 10}});
  CHECK(largest_remainder(std::vector{1.5, 0.75, 1.75}, 4) == Numbers{1, 1, 2});
  CHECK(largest_remainder(std::vector{1.5, 1.5, 1.0}, 4) == Numbers{2, 1, 1});
}

TEST_CASE("dirichlet: learners draw shares of their own") {
  // Each wants one class of two, and there is enough of both.
  const Dataset data = of_sizes({20, 20});
  int alike = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Shards shards = partition(dirichlet("1e-9"))->divide(data, {4, seed});
    alike += counts(data, shards.of(0)) == counts(data, shards.of(1));
  }
  CHECK(std::abs(alike - 20) <= 3 * std::sqrt(10.0));
}

TEST_CASE("by-class: as few classes as asked for, and one more for each border inside a block") {
  // Blocks of 100 and classes of 400: no border inside.
  const Shards pure = partition(by_class(2))->divide(ten_classes, {20, 1});
  int of_two = 0;
  for (std::uint32_t learner = 0; learner < 20; ++learner) {
    CHECK(classes_in(ten_classes, pure.of(learner)) <= 2);
    of_two += classes_in(ten_classes, pure.of(learner)) == 2;
  }
  CHECK(of_two > 10);  // dealt at random: 20 (1 - 3/39) are expected
  // Blocks of 190 (21 of them): 9 borders between classes, one at most in a block.
  const Shards mixed = partition(by_class(3))->divide(ten_classes, {7, 1});
  std::ptrdiff_t all = 0;
  for (std::uint32_t learner = 0; learner < 7; ++learner) {
    CHECK(classes_in(ten_classes, mixed.of(learner)) <= 6);
    all += classes_in(ten_classes, mixed.of(learner));
  }
  CHECK(all <= 21 + 9);
}

TEST_CASE("shards: an epoch of a learner has each row of its shard once") {
  const Shards shards = partition(dirichlet("0.5"))->divide(ten_classes, {8, 1});
  for (std::uint32_t learner = 0; learner < 8; ++learner) {
    Numbers walk;
    for (std::uint32_t draw = 0; draw < 2 * 500 / 20; ++draw) {
      Numbers rows(20);
      minibatch_rows(Sampling::epoch, {1, 0, learner, draw, 20}, shards.of(learner), rows);
      walk.insert(walk.end(), rows.begin(), rows.end());
    }
    for (const std::ptrdiff_t first : {0, 500}) {
      Numbers epoch(walk.begin() + first, walk.begin() + first + 500);
      std::ranges::sort(epoch);
      CHECK(std::ranges::equal(epoch, shards.of(learner)));
    }
    CHECK(!std::equal(walk.begin(), walk.begin() + 500, walk.begin() + 500));
  }
}

TEST_CASE(
    "shards: one learner's is the training set, and its gradients those without, to the bit") {
  const auto data = synthetic(R"("rows": 97, "test_rows": 5, "classes": 3)");
  for (const auto& sampling : {"iid", "epoch"}) {
    auto config = on<SoftmaxConfig>(data);
    config.sampling = sampling;
    const auto without = make_softmax(config)->make_float32();
    std::vector<float> w(without->parameters(), 0.1f), g(w), wanted(w);
    without->gradient(w, {1, 2, 0, 5, 32}, wanted);
    for (const auto& kind : {iid, dirichlet("0.1"), by_class(1)}) {
      const auto shards = std::make_shared<Shards>(partition(kind)->divide(*data, {1, 1}));
      config.shards = [shards] { return shards; };
      make_softmax(config)->make_float32()->gradient(w, {1, 2, 0, 5, 32}, g);
      CHECK(g == wanted);
    }
  }
}

TEST_CASE("shards: a minibatch is of its learner's rows alone") {
  const auto data = synthetic(R"("rows": 40, "test_rows": 5, "classes": 4, "features": 3)");
  const auto shards = std::make_shared<Shards>(partition(by_class(1))->divide(*data, {4, 1}));
  auto config = on<SoftmaxConfig>(data);
  config.shards = [shards] { return shards; };
  const auto model = make_softmax(config)->make_float64();
  for (std::uint32_t learner = 0; learner < 4; ++learner) {
    REQUIRE(classes_in(*data, shards->of(learner)) == 1);
    const std::size_t own = data->train.classes[shards->of(learner).front()];
    // At 0 all scores are equal: the gradient of a class's bias is 1/4 less its share of the rows.
    Vector w(model->parameters()), g(w);
    model->gradient(w, {1, 0, learner, 0, 16}, g);
    for (std::size_t c = 0; c < 4; ++c)
      CHECK(g[g.size() - 4 + c] == doctest::Approx(c == own ? -0.75 : 0.25));
  }
}

TEST_CASE("partition: data that cannot be dealt out are refused with what is allowed") {
  const Dataset data = of_sizes({6, 4});
  Dataset targets;
  targets.train.count = 10;
  const auto told = [](const std::string& kind, const Dataset& rows, const Sharers& sharers) {
    const auto fault = partition(kind)->fault(rows, sharers);
    return fault ? fault->what + "; allowed: " + fault->allowed : "";
  };
  for (const auto& kind : {iid, by_class(1), dirichlet("1")}) {
    CHECK(told(kind, data, {10, 1}).empty());
    CHECK(told(kind, data, {11, 1}) ==
          "a shard would be empty: 11 learners (cluster.learners) share 10 training rows; allowed: "
          "cluster.learners <= 10, or kind shared");
    if (kind == iid) continue;
    CHECK(told(kind, targets, {2, 1})
              .ends_with("needs classes, and the rows of this data set have targets; allowed: kind "
                         "iid, shared"));
  }
  CHECK(told(iid, targets, {3, 1}).empty());
  CHECK(partition(iid)->divide(targets, {3, 1}).size == 3);
  CHECK(told(by_class(3), data, {3, 1}).empty());
  CHECK(told(by_class(4), data, {3, 1}) ==
        "by-class deals out cluster.learners x classes = 3 x 4 blocks, and there are 10 training "
        "rows; allowed: classes <= 3 with so many learners");
}

}  // namespace gradrace::partition_test
