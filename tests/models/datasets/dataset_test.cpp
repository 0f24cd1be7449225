#include <doctest/doctest.h>

#include <set>
#include <thread>

#include "models/datasets/shelf.h"

namespace gradrace::dataset_test {

/// Two training rows of bytes, a test row of floats.
static Dataset toy() {
  Dataset dataset;
  dataset.features = 2;
  dataset.classes = 2;
  dataset.train = {2, {1, 2, 3, 4}, {}, {0, 1}};
  dataset.test = {1, {}, {0.5f, -1.5f}, {1}};
  return dataset;
}

TEST_CASE("data shelf: a data set is made once, also by many threads") {
  DataShelf shelf(".", {});
  int calls = 0;
  std::shared_ptr<const Dataset> got[4];
  std::vector<std::thread> threads;
  for (auto& slot : got)
    threads.emplace_back([&] {
      slot = shelf.get("toy", [&] {
        ++calls;
        return toy();
      });
    });
  for (auto& thread : threads) thread.join();
  CHECK(calls == 1);
  for (const auto& slot : got) CHECK(slot == got[0]);
  CHECK(shelf.get("other", toy) != got[0]);
}

TEST_CASE("data shelf: a load that fails may be tried again") {
  DataShelf shelf(".", {});
  CHECK_THROWS_AS(shelf.get("toy", []() -> Dataset { throw std::runtime_error("no"); }),
                  std::runtime_error);
  CHECK(shelf.get("toy", toy)->train.count == 2);
}

TEST_CASE("data hash: FNV-1a of shape and content") {
  // Computed apart: shape, scale and rows as little-endian bytes.
  DataShelf shelf(".", {});
  CHECK(shelf.get("toy", toy)->hash == "af8839f10d7620e3");
}

TEST_CASE("data hash: each part of the content matters") {
  const std::function<void(Dataset&)> changes[] = {
      [](Dataset& d) { d.train.bytes[3] ^= 1; },    [](Dataset& d) { d.train.classes[0] = 1; },
      [](Dataset& d) { d.test.floats[0] = 0.25f; }, [](Dataset& d) { d.test.classes[0] = 0; },
      [](Dataset& d) { d.byte_scale = 0.5f; },      [](Dataset& d) { d.classes = 3; },
      [](Dataset& d) { d.image = {1, 1, 2}; },      [](Dataset& d) { d.image = {1, 2, 1}; },
  };
  DataShelf shelf(".", {});
  std::set<std::string> hashes{shelf.get("toy", toy)->hash};
  int number = 0;
  for (const auto& change : changes) {
    const auto changed = shelf.get(std::to_string(number++), [&] {
      Dataset dataset = toy();
      change(dataset);
      return dataset;
    });
    CHECK(hashes.insert(changed->hash).second);
  }
}

}  // namespace gradrace::dataset_test
