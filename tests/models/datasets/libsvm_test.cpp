#include <doctest/doctest.h>

#include <algorithm>

#include "models/datasets/shelf.h"
#include "tests/support/model_checks.h"
#include "tests/support/reading.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::libsvm_test {

static std::shared_ptr<const Dataset> load(const TemporaryFolder& folder, const std::string& more) {
  DataShelf shelf(folder.path(), {});
  const auto reading = read_dataset(R"({"kind": "libsvm", "path": "train", )" + more + "}", shelf);
  REQUIRE(reading.problems == "");
  return reading.product();
}

TEST_CASE("libsvm: labels, sparse numbers, what is not named is 0") {
  const TemporaryFolder folder;
  folder.write("train", "+1 1:0.5 3:-2 \n-1\t2:1e-1 # why\r\n\n# nothing\n-1 \n1 3:4\n");
  folder.write_gz("test.gz", "-1 2:7\n+1 1:1 2:+2 3:3");
  const auto data = load(folder, R"("test_path": "test.gz")");
  CHECK(data->features == 3);
  CHECK(data->classes == 2);
  CHECK(data->train.count == 4);
  CHECK(data->train.classes == std::vector<std::uint8_t>{1, 0, 0, 1});
  CHECK(data->train.floats == std::vector<float>{0.5f, 0, -2, 0, 0.1f, 0, 0, 0, 0, 0, 0, 4});
  CHECK(data->test.classes == std::vector<std::uint8_t>{0, 1});
  CHECK(data->test.floats == std::vector<float>{0, 7, 0, 1, 2, 3});
  CHECK(!data->image);
}

TEST_CASE("libsvm: as many features as are said, or as the greatest index of both files") {
  const TemporaryFolder folder;
  folder.write("train", "0 1:1\n1 2:1\n");
  folder.write("test", "0 4:9\n");
  CHECK(load(folder, R"("test_path": "test", "features": 6)")->features == 6);
  const auto data = load(folder, R"("test_path": "test")");
  CHECK(data->features == 4);
  CHECK(data->train.floats == std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0});
  CHECK(data->test.floats == std::vector<float>{0, 0, 0, 9});
}

TEST_CASE("libsvm: indices count from 0 where one of the files has a 0, and a qid is left out") {
  const TemporaryFolder folder;
  folder.write("train", "0 qid:1 1:1 2:5\n1 qid:2 2:1\n");
  folder.write("test", "0 1:2\n1 0:9 2:3\n");
  const auto data = load(folder, R"("test_path": "test")");
  CHECK(data->features == 3);
  CHECK(data->train.floats == std::vector<float>{0, 1, 5, 0, 0, 1});
  CHECK(data->test.floats == std::vector<float>{0, 2, 0, 9, 0, 3});
  REQUIRE(data->notes.size() == 1);
  CHECK(data->notes[0] == (folder.path() / "test").string() +
                              ":2: has index 0, so that indices count from 0 and not from 1");
  CHECK(load(folder, R"("test_path": "test", "features": 3)")->features == 3);
  CHECK_THROWS_WITH_AS(
      load(folder, R"("test_path": "test", "features": 2)"),
      ((folder.path() / "train").string() + ":1: index 2, and 2 features that count from 0 (" +
       (folder.path() / "test").string() + ":2 has index 0) end at 1")
          .c_str(),
      std::runtime_error);
}

TEST_CASE("libsvm: files of which one may count from 0 and the other from 1 are refused") {
  const TemporaryFolder folder;
  folder.write("train", "0 1:1 3:5\n1 1:1\n");
  folder.write("test", "0 1:1\n1 0:1 2:5\n");
  const std::string train = (folder.path() / "train").string();
  const std::string test = (folder.path() / "test").string();
  CHECK_THROWS_WITH_AS(
      load(folder, R"("test_path": "test")"),
      (train + ":1: index 3 is greater than all of " + test + ", which has index 0 (line 2), and " +
       train + " has none: one may count from 0 and the other from 1; count both from 1")
          .c_str(),
      std::runtime_error);
}

TEST_CASE("libsvm: of rows of too many numbers only those that are not 0 are kept") {
  const TemporaryFolder folder;
  folder.write("train", "1 1:1 7:-2\n0 1000000000:3\n0 5:0.5\n1 2:1\n");
  const auto data = load(folder, R"("test_rows": 1, "features": 1000000000)");
  CHECK(data->features == 1'000'000'000);
  CHECK(data->train.floats.empty());
  CHECK(data->train.listed.rows() == 3);
  CHECK(data->test.listed.rows() == 1);
  CHECK(data->train.listed.x.size() + data->test.listed.x.size() == 5);
  CHECK_THROWS_WITH_AS(
      load(folder, R"("test_rows": 1, "features": 1000000000, "standardise": true)"),
      ((folder.path() / "train").string() +
       ": has too many numbers to keep those that are 0, which standardise changes")
          .c_str(),
      std::runtime_error);
}

TEST_CASE("libsvm: classes are the labels in ascending order, targets are what they are") {
  const TemporaryFolder folder;
  folder.write("train", "7 1:1\n-3 1:2\n2.5 1:3\n7 1:4\n");
  folder.write("test", "2.5 1:1\n");
  const auto classes = load(folder, R"("test_path": "test")");
  CHECK(classes->classes == 3);
  CHECK(classes->train.classes == std::vector<std::uint8_t>{2, 0, 1, 2});
  CHECK(classes->test.classes == std::vector<std::uint8_t>{1});
  const auto targets = load(folder, R"("test_path": "test", "regression": true)");
  CHECK(targets->classes == 0);
  CHECK(targets->train.targets == std::vector<float>{7, -3, 2.5f, 7});
  CHECK(targets->train.classes.empty());
  CHECK(targets->hash != classes->hash);
}

TEST_CASE("libsvm: held out rows and the others are all rows, the same at every reading") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 50; ++i) text += std::to_string(i % 2) + " 1:" + std::to_string(i) + "\n";
  folder.write("train", text);
  const auto data = load(folder, R"("test_rows": 12)");
  CHECK(data->train.count == 38);
  CHECK(data->test.count == 12);
  CHECK(std::ranges::is_sorted(data->train.floats));
  CHECK(!std::ranges::is_sorted(data->test.floats));
  std::vector<float> all = data->train.floats;
  all.insert(all.end(), data->test.floats.begin(), data->test.floats.end());
  std::ranges::sort(all);
  for (int i = 0; i < 50; ++i) CHECK(all[static_cast<std::size_t>(i)] == static_cast<float>(i));
  for (std::size_t i = 0; i < 12; ++i)
    CHECK(data->test.classes[i] == static_cast<int>(data->test.floats[i]) % 2);
  CHECK(load(folder, R"("test_rows": 12)")->hash == data->hash);
}

TEST_CASE("libsvm: every defect is said with file and line") {
  const std::pair<std::string, std::string> cases[] = {
      {"", ": has no rows"},
      {"\n# nothing\n", ": has no rows"},
      {"1 1:1\nyes 1:1\n", R"(:2: label "yes" is no finite number; write words as 0, 1 and so on)"},
      {"1 1:1\nnan 1:1\n", R"(:2: label "nan" is no finite number; write words as 0, 1 and so on)"},
      {"1 0:1:0.5\n", ":1: has field:index:value, as files of LIBFFM do; leave the fields out"},
      {"1 1:1 2000000000:2\n",
       ":1: index 2000000000 is beyond 134217728; if there are so many "
       "features, say so: \"features\": 2000000000"},
      {"1 -1:1\n", R"(:1: expected an integer from 0 to 4294967294, found "-1:1")"},
      {"1 0:1 1:2\n", ": has training rows of one label only, 1"},
      {"1,2 1:1\n", ":1: has several labels, and a row is of one class; such data cannot be read"},
      {"1 1:1 2\n", ":1: expected a colon after index 2"},
      {"1 1:1 2: 3\n", R"(:1: expected a finite number, found " 3")"},
      {"1 1:1 2:\n", ":1: expected a finite number, found the end of the line"},
      {"1 1:1 3:1 2:1\n", ":1: index 2 after 3: indices must ascend"},
      {"1 1:1 1:1\n", ":1: index 1 after 1: indices must ascend"},
      {"1 qid:a 1:1\n", R"(:1: expected an integer from 0 to 18446744073709551615, found "a 1:1")"},
      {"1 1:1\n1 1:2\n", ": has training rows of one label only, 1"},
  };
  for (const auto& [content, says] : cases) {
    const TemporaryFolder folder;
    folder.write("train", content);
    folder.write("test", "1 1:1\n");
    CHECK_THROWS_WITH_AS(load(folder, R"("test_path": "test")"),
                         ((folder.path() / "train").string() + says).c_str(), std::runtime_error);
  }
}

TEST_CASE("libsvm: defects of two files or of labels are said") {
  const TemporaryFolder folder;
  std::string many;
  for (int i = 0; i < 257; ++i) many += std::to_string(i) + " 1:1\n";
  folder.write("train", many);
  folder.write("test", "1 1:1\n\n3.5 1:1\n");
  const std::string train = (folder.path() / "train").string(),
                    test = (folder.path() / "test").string();
  CHECK_THROWS_WITH_AS(load(folder, R"("test_path": "test")"),
                       (train + ": has 257 different labels, and 256 classes are the most; "
                                "targets are read with \"regression\": true")
                           .c_str(),
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(
      load(folder, R"("test_rows": 257)"),
      (train + ": has 257 rows, and test_rows are 257: none is left for training").c_str(),
      std::runtime_error);
  folder.write("train", many.substr(0, many.find("256 ")));
  CHECK_THROWS_WITH_AS(
      load(folder, R"("test_path": "test")"),
      (test + ":3: label 3.5 is none of the training rows, which have 0, 1, 2, 3, 4 ...; if "
              "labels are targets: \"regression\": true")
          .c_str(),
      std::runtime_error);
  folder.write("test", "");
  CHECK_THROWS_WITH_AS(load(folder, R"("test_path": "test")"), (test + ": has no rows").c_str(),
                       std::runtime_error);
  folder.write("test", "1 7:1\n");
  CHECK_THROWS_WITH_AS(load(folder, R"("test_path": "test", "features": 6)"),
                       (test + R"(:1: index 7, and the key "features" is 6)").c_str(),
                       std::runtime_error);
  folder.write("train", "1\n0 # 3:2\n");
  folder.write("test", "1\n");
  CHECK_THROWS_WITH_AS(load(folder, R"("test_path": "test")"),
                       (train + ": has no features").c_str(), std::runtime_error);
}

TEST_CASE("libsvm: keys that do not fit are refused") {
  const TemporaryFolder folder;
  folder.write("train", "1 1:1\n");
  DataShelf shelf(folder.path(), {});
  const std::pair<std::string, std::string> cases[] = {
      {R"("path": "train")", "the test rows come from a file or are held out"},
      {R"("path": "train", "test_path": "train", "test_rows": 3)", "it.test_rows"},
      {R"("path": "trian", "test_rows": 3)", "it.path: no file \"trian\""},
      {R"("path": ".", "test_rows": 3)", "it.path: no file \".\""},
      {R"("path": "train", "test_path": "tset")", "it.test_path: no file \"tset\""},
      {R"("path": "train", "test_rows": 0)", "it.test_rows"},
      {R"("path": "train", "test_rows": 1, "features": 0)", "it.features"},
  };
  for (const auto& [keys, place] : cases) {
    const auto reading = read_dataset(R"({"kind": "libsvm", )" + keys + "}", shelf);
    CAPTURE(reading.problems);
    CHECK(!reading.product);
    CHECK(reading.problems.find(place) != std::string::npos);
  }
  shelf.need_data(false);
  const auto later =
      read_dataset(R"({"kind": "libsvm", "path": "trian", "test_rows": 3})", shelf).product;
  REQUIRE(later);
  CHECK_THROWS_AS(later(), std::runtime_error);
}

TEST_CASE("libsvm: a9a has its known counts") {
  GRADRACE_NEEDS_DATA("libsvm");
  DataShelf shelf(".", data_folder("libsvm"));
  const auto data = read_dataset(R"({"kind": "libsvm", "path": "a9a", "test_path": "a9a.t",
                                     "features": 123})",
                                 shelf)
                        .product();
  CHECK(data->features == 123);
  CHECK(data->train.count == 32561);
  CHECK(data->test.count == 16281);
  CHECK(std::ranges::count(data->train.classes, 1) == 7841);
  CHECK(std::ranges::count(data->test.classes, 1) == 3846);
  CHECK(std::ranges::count(data->train.floats, 1.0f) == 451592);
  CHECK(std::ranges::count(data->test.floats, 1.0f) == 225731);
  CHECK(std::ranges::count(data->train.floats, 0.0f) == 32561 * 123 - 451592);
}

}  // namespace gradrace::libsvm_test
