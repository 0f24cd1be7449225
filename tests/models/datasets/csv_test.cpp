#include <doctest/doctest.h>

#include "models/datasets/dataset.h"
#include "tests/support/model_checks.h"
#include "tests/support/reading.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::csv_test {

static std::shared_ptr<const Dataset> load(const TemporaryFolder& folder, const std::string& more) {
  DataShelf shelf(folder.path(), {});
  const auto reading = read_dataset(R"({"kind": "csv", "path": "a.csv", )" + more + "}", shelf);
  REQUIRE(reading.problems == "");
  return reading.product();
}

TEST_CASE("csv: the label's column is the class, the others are features in their order") {
  const TemporaryFolder folder;
  folder.write("a.csv",
               "\xEF\xBB\xBFheight, \"kind\" ,weight\r\n1.5,20,-3\r\n\r\n 2 ,10, +4e1\r\n0,20,0");
  folder.write_gz("b.csv.gz", "height,kind,weight\n7,10,8\n");
  const auto data = load(folder, R"("test_path": "b.csv.gz", "label": "kind")");
  CHECK(data->features == 2);
  CHECK(data->classes == 2);
  CHECK(data->train.classes == std::vector<std::uint8_t>{1, 0, 1});
  CHECK(data->train.floats == std::vector<float>{1.5f, -3, 2, 40, 0, 0});
  CHECK(data->test.classes == std::vector<std::uint8_t>{0});
  CHECK(data->test.floats == std::vector<float>{7, 8});
}

TEST_CASE("csv: a column may be a target, and rows may be held out") {
  const TemporaryFolder folder;
  folder.write("a.csv", "x,y\n1,10.5\n2,20.5\n3,30.5\n4,40.5\n");
  const auto data = load(folder, R"("test_rows": 1, "label": "y", "regression": true)");
  CHECK(data->classes == 0);
  CHECK(data->train.count == 3);
  CHECK(data->test.count == 1);
  for (const Rows* rows : {&data->train, &data->test})
    for (std::size_t i = 0; i < rows->count; ++i)
      CHECK(rows->targets[i] == 10 * rows->floats[i] + 0.5f);
  CHECK(load(folder, R"("test_rows": 1, "label": "x", "regression": true)")->hash != data->hash);
}

TEST_CASE("csv: every defect is said with file and line") {
  const std::pair<std::string, std::string> cases[] = {
      {"", ": has no rows"},
      {"x,y\n", ": has no rows"},
      {"x,z\n1,2\n", ":1: no column \"y\" (the columns: x, z)"},
      {"y,x,y\n1,2,3\n", ":1: more than one column \"y\" (the columns: y, x, y)"},
      {"y\n1\n", ":1: there is no column beside \"y\""},
      {"x,y\n1,2\n1;2\n", R"(:3: column "x": expected a finite number, found "1;2")"},
      {"x,y\n1\n", R"(:2: column "y": has no cell here: the line ends after 1 of 2)"},
      {"x,y\n1,\n", R"(:2: column "y": expected a label, found an empty cell)"},
      {"x,y\n1,1\n,2\n", R"(:3: column "x": expected a finite number, found an empty cell)"},
      {"x,y\nblue,1\n", R"(:2: column "x": expected a finite number, found "blue")"},
      {"x,y\ninf,1\n", R"(:2: column "x": expected a finite number, found "inf")"},
      {"x,y\n\"1\"2,1\n", R"(:2: expected a comma, found "2,1")"},
      {"x,y\n1,\"2\n", ":2: a quote is not closed on this line"},
      {"x,y\n1,2,3\n", R"(:2: expected the end of the line after 2 cells, found ",3")"},
  };
  for (const auto& [content, says] : cases) {
    const TemporaryFolder folder;
    folder.write("a.csv", content);
    folder.write("b.csv", "x,y\n1,2\n");
    CHECK_THROWS_WITH_AS(load(folder, R"("test_path": "b.csv", "label": "y")"),
                         ((folder.path() / "a.csv").string() + says).c_str(), std::runtime_error);
  }
}

TEST_CASE("csv: classes may be words, in alphabetical order") {
  const TemporaryFolder folder;
  folder.write("a.csv",
               "x,kind\n1,\"rose, \"\"wild\"\"\"\n2, daisy \n3,\"10\"\n4,\"rose, \"\"wild\"\"\"\n");
  folder.write("b.csv", "x,kind\n5,daisy\n6,10\n");
  const auto data = load(folder, R"("test_path": "b.csv", "label": "kind")");
  CHECK(data->classes == 3);
  CHECK(data->train.classes == std::vector<std::uint8_t>{2, 1, 0, 2});
  CHECK(data->test.classes == std::vector<std::uint8_t>{1, 0});
  CHECK(data->train.floats == std::vector<float>{1, 2, 3, 4});

  folder.write("b.csv", "x,kind\n5,daisy\n6,10.0\n");
  CHECK_THROWS_WITH_AS(
      load(folder, R"("test_path": "b.csv", "label": "kind")"),
      ((folder.path() / "b.csv").string() + R"(:3: label "10.0" is none of the training rows)")
          .c_str(),
      std::runtime_error);
}

TEST_CASE("csv: labels that are numbers are classes in numeric order, however they are written") {
  const TemporaryFolder folder;
  folder.write("a.csv", "x,y\n1,10\n2,9\n3,1e1\n");
  folder.write("b.csv", "x,y\n5,9.0\n");
  const auto data = load(folder, R"("test_path": "b.csv", "label": "y")");
  CHECK(data->train.classes == std::vector<std::uint8_t>{1, 0, 1});
  CHECK(data->test.classes == std::vector<std::uint8_t>{0});
  folder.write("b.csv", "x,y\n5,nine\n");
  CHECK_THROWS_WITH_AS(
      load(folder, R"("test_path": "b.csv", "label": "y")"),
      ((folder.path() / "b.csv").string() + R"(:2: label "nine" is none of the training rows)")
          .c_str(),
      std::runtime_error);
}

TEST_CASE("csv: a target is a number, and what is not is said with its column") {
  const TemporaryFolder folder;
  folder.write("a.csv", "x,y\n1,2\n1,blue\n");
  folder.write("b.csv", "x,y\n1,2\n");
  CHECK_THROWS_WITH_AS(load(folder, R"("test_path": "b.csv", "label": "y", "regression": true)"),
                       ((folder.path() / "a.csv").string() +
                        R"(:3: column "y": expected a finite number, found "blue")")
                           .c_str(),
                       std::runtime_error);
}

TEST_CASE("csv: test rows of other columns are refused") {
  const TemporaryFolder folder;
  folder.write("a.csv", "x,y,z\n1,2,3\n1,3,3\n");
  for (const char* other : {"x,z,y\n1,2,3\n", "x,y\n1,2\n", "x,y,w\n1,2,3\n"}) {
    folder.write("b.csv", other);
    CHECK_THROWS_WITH_AS(load(folder, R"("test_path": "b.csv", "label": "y")"),
                         ((folder.path() / "b.csv").string() + ": has other columns than " +
                          (folder.path() / "a.csv").string())
                             .c_str(),
                         std::runtime_error);
  }
}

}  // namespace gradrace::csv_test
