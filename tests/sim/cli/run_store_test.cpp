#include "sim/cli/results/run_store.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <thread>

#include "sim/cli/usage_error.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::run_store_test {

namespace {

RunKey key_of(std::uint8_t number) {
  RunKey key{};
  key.data[15] = number;
  key.data[0] = 1;
  return key;
}

/// What it has of a run: the file and its rows, one after the other.
std::string rows_of(const RunStore& store, const StoredRun& run) {
  std::string all, last;
  store.read(run, [&](const std::string& file, std::string_view piece) {
    if (last != file) all += (all.empty() ? "" : " ") + file + ":";
    last = file;
    all += piece;
  });
  return all;
}

class WithStore {
 public:
  std::filesystem::path path() const { return folder.path() / "runs.store"; }

  void add(RunStore& store, std::uint8_t number, const std::string& text) {
    RunRows rows;
    rows.try_emplace("a.csv", spools).first->second.end() += text;
    rows.try_emplace("b.csv", spools).first->second.end() += std::to_string(number);
    store.add(key_of(number), number, "result " + std::to_string(number), rows);
  }

  TemporaryFolder folder;
  SpoolFile spools{folder.path() / "spool"};
};

/// A store of two runs; where they begin, and its bytes.
struct TwoRuns : WithStore {
  TwoRuns() {
    RunStore store(path(), RunStore::Use::add);
    store.add_header("header");
    for (std::uint8_t number = 1; number <= 2; ++number) {
      begins.push_back(store.end());
      add(store, number, "some text");
    }
    std::ifstream file(path(), std::ios::binary);
    whole = {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::uint64_t> begins;
  std::string whole;
};

}  // namespace

TEST_CASE_FIXTURE(WithStore, "run store: what was added is there when it is opened again") {
  const std::string many(3 << 20, 'x');
  {
    RunStore store(path(), RunStore::Use::add);
    CHECK(store.header().empty());
    store.add_header("first");
    add(store, 1, "one");
    store.add_header("second");
    add(store, 2, many);
    add(store, 3, "");
    store.sync();
    CHECK(store.runs().empty());  // those that were there
  }
  for (const auto use : {RunStore::Use::read, RunStore::Use::add}) {
    const RunStore store(path(), use);
    CHECK(store.header() == "second");
    CHECK(store.damaged() == 0);
    REQUIRE(store.runs().size() == 3);
    CHECK(store.runs()[1].key == key_of(2));
    CHECK(store.runs()[1].data == 2);
    CHECK(store.read(store.runs()[2], [](auto&, auto) {}) == "result 3");
    CHECK(rows_of(store, store.runs()[0]) == "a.csv:one b.csv:1");
    CHECK((rows_of(store, store.runs()[1]) == "a.csv:" + many + " b.csv:2"));
    CHECK(rows_of(store, store.runs()[2]) == "b.csv:3");
  }
}

TEST_CASE_FIXTURE(WithStore,
                  "run store: cut anywhere, it has the runs before the cut and goes on") {
  std::uint64_t first = 0;
  {
    RunStore store(path(), RunStore::Use::add);
    store.add_header("header");
    add(store, 1, "one");
    first = store.end();
    add(store, 2, "two");
  }
  std::ifstream file(path(), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  for (std::uint64_t cut = first; cut < whole.size(); ++cut) {
    folder.write("runs.store", whole.substr(0, cut));
    {
      RunStore store(path(), RunStore::Use::add);
      CHECK(store.runs().size() == 1);
      CHECK(store.end() == first);
      add(store, 2, "two");
    }
    const RunStore store(path(), RunStore::Use::read);
    CHECK(store.runs().size() == 2);
    CHECK(store.end() == whole.size());
  }
  folder.write("runs.store", "");
  CHECK(RunStore(path(), RunStore::Use::add).runs().empty());
}

TEST_CASE_FIXTURE(WithStore,
                  "run store: a changed byte is noticed, and takes one record with it at most") {
  std::uint64_t first_run = 0;
  {
    RunStore store(path(), RunStore::Use::add);
    store.add_header("header");
    first_run = store.end();
    add(store, 1, "one");
    add(store, 2, "two");
  }
  std::ifstream file(path(), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t place = 0; place < whole.size(); ++place) {
    std::string changed = whole;
    changed[place] ^= 4;
    folder.write("runs.store", changed);
    const RunStore store(path(), RunStore::Use::read);
    CHECK(store.header() == "header");
    CHECK(store.runs().size() == (place < first_run ? 2 : 1));
    CHECK(store.is_damaged());
  }
  folder.write("runs.store", "mine");
  CHECK_THROWS_AS(RunStore(path(), RunStore::Use::add), UsageError);
}

TEST_CASE_FIXTURE(TwoRuns,
                  "run store: bytes that are lost take no record with them but their own") {
  const std::uint64_t second_header = begins[0] / 2;
  for (const std::size_t lost : {1u, 10u})
    for (std::size_t place = 0; place + lost <= whole.size(); ++place) {
      std::string cut = whole;
      cut.erase(place, lost);
      folder.write("runs.store", cut);
      const RunStore store(path(), RunStore::Use::read);
      const auto is_hit = [&](std::uint64_t begin, std::uint64_t end) {
        return place < end && place + lost > begin;
      };
      const bool both = is_hit(0, second_header) && is_hit(second_header, begins[0]);
      CHECK(store.header() == (both ? "" : "header"));
      CHECK(store.runs().size() ==
            2u - is_hit(begins[0], begins[1]) - is_hit(begins[1], whole.size()));
      CHECK((store.is_damaged() || place + lost == whole.size() || place > begins[1]));
    }
}

TEST_CASE_FIXTURE(TwoRuns, "run store: what changes while it is open is not read, and not copied") {
  const RunStore store(path(), RunStore::Use::read);
  RunStore copy(folder.path() / "copy.store", RunStore::Use::add);
  const auto read = [&](std::size_t run) {
    return store.read(store.runs()[run], [](auto&, auto) {});
  };
  CHECK(read(0) == "result 1");
  for (std::uint64_t place = begins[0] + 48; place + 4 < begins[1]; ++place) {  // its content
    std::fstream file(path());
    file.seekp(static_cast<std::streamoff>(place)).put(static_cast<char>(whole[place] ^ 4)).flush();
    CHECK_THROWS_WITH_AS(read(0), doctest::Contains("is no longer as it was written"), DiskError);
    CHECK_THROWS_AS(copy.add(store, store.runs()[0]), DiskError);
    CHECK(copy.end() == 0);
    CHECK(read(1) == "result 2");
    file.seekp(static_cast<std::streamoff>(place)).put(whole[place]);
  }
  std::filesystem::resize_file(path(), begins[0] + 60);
  CHECK_THROWS_WITH_AS(read(1), doctest::Contains("runs.store: ends too early"), DiskError);
}

TEST_CASE_FIXTURE(WithStore, "run store: threads add to one") {
  {
    RunStore store(path(), RunStore::Use::add);
    std::vector<std::jthread> threads;
    for (std::uint8_t first = 0; first < 4; ++first) {
      threads.emplace_back([&, first] {
        for (int i = 0; i < 50; ++i)
          add(store, static_cast<std::uint8_t>(4 * i + first), std::string(1000 * first, 'y'));
      });
    }
  }
  const RunStore store(path(), RunStore::Use::read);
  CHECK(store.runs().size() == 200);
  for (const StoredRun& run : store.runs())
    CHECK(store.read(run, [](auto&, auto) {}) == "result " + std::to_string(run.key.data[15]));
}

TEST_CASE("run result: it reads back exactly") {
  RunResult result;
  result.status = Status::deadlocked;
  result.reason = "0 waits for 1";
  result.totals.updates = 1ull << 60;
  result.totals.time = 0.1;
  result.totals.last_update_time = 1e-300;
  result.totals.max_staleness = 7;
  result.last.point.epoch = std::nan("");
  result.last.evaluation.loss = 2.0 / 3;
  result.hash = ~0ull;
  result.exchanged = ExchangeTotals{.sent = 1e20, .conflicts = 3};
  result.target_times = {1.5, std::nan("")};
  result.ran_out = {{"/data/times.csv", 3, 512, 300}};
  const RunResult back = result_from(bytes_of(result));
  CHECK(back.status == Status::deadlocked);
  CHECK(back.reason == result.reason);
  CHECK(back.totals.updates == result.totals.updates);
  CHECK(back.totals.time == 0.1);
  CHECK(back.totals.last_update_time == 1e-300);
  CHECK(back.totals.max_staleness == 7);
  CHECK(std::isnan(back.last.point.epoch));
  CHECK(back.last.evaluation.loss == 2.0 / 3);
  CHECK(std::isnan(back.last.evaluation.test_error));
  CHECK(back.hash == ~0ull);
  CHECK(back.exchanged->sent == 1e20);
  CHECK(back.exchanged->conflicts == 3);
  CHECK(back.target_times[0] == 1.5);
  CHECK(std::isnan(back.target_times[1]));
  CHECK(back.ran_out[0].file == "/data/times.csv");
  CHECK(back.ran_out[0].draws == 512);
  CHECK_FALSE(back.outer);
  result.outer = {5, 6, 3};
  for (const bool has_failures : {false, true}) {
    if (has_failures) result.failures = {{1, 2, 3}, 0.5};
    const RunResult other = result_from(bytes_of(result));
    CHECK(other.failures.has_value() == has_failures);
    CHECK(other.outer->updates == 5);
    CHECK(other.outer->staleness_sum == 6);
    CHECK(other.outer->max_staleness == 3);
  }
  CHECK_FALSE(result_from(bytes_of(RunResult())).exchanged);
  CHECK_THROWS_AS(result_from("no result"), std::runtime_error);
}

}  // namespace gradrace::run_store_test
