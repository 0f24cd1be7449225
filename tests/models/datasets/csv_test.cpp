#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "models/datasets/shelf.h"
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

static const std::string without_names =
    R"(allowed: "header": false, and "label" the number of its column, from "1"; or a first line )"
    "of names";
static const std::string row_of_data =
    ":1: is a row of data where a line of names is needed; " + without_names;
static const std::string of_names =
    ":3: column \"y\": a label is the name of its column: is the first line a row of data?  " +
    without_names;

TEST_CASE("csv: points are before decimals where some column's numbers cannot be thousands") {
  const TemporaryFolder folder;
  for (const char* const numbers :
       {"1.187\n0.912\n", "1.187\n0.912\n3\n", "1.187\n912.5\n3\n", "2.187\n-999\n3.125\n",
        "1.187\n1912\n", "1.187\n1e3\n3\n", "1.187\n+3\n"}) {
    CAPTURE(numbers);
    std::string text = "y;x\n", number;
    for (std::istringstream lines(numbers); lines >> number;) text += "1;" + number + "\n0;1.187\n";
    folder.write("a.csv", text);
    CHECK(load(folder, R"("test_rows": 1, "label": "y")")->features == 1);
  }
  for (const char* const text :
       {"y;x;z\n1;1.187;1.5\n0;2.216;2\n1;1.187;1\n", "y,x\n1,1.187\n0,2.216\n1,1.187\n"}) {
    CAPTURE(text);
    folder.write("a.csv", text);
    CHECK(load(folder, R"("test_path": "a.csv", "label": "y")")->train.floats[0] == 1.187f);
  }
}

TEST_CASE("csv: every defect is said with file and line") {
  const std::string lack = "; leave such a row out of the file, or give it a number";
  const std::pair<std::string, std::string> cases[] = {
      {"", ": has no rows"},
      {"x,y\n", ": has no rows"},
      {"x,z\n1,2\n", ":1: no column \"y\" (the columns: x, z)"},
      {"y,x,y\n1,2,3\n",
       ":1: more than one column \"y\" (the columns: y, x, y); the others are to be named "
       "otherwise"},
      {"y,x,\n1,2,\n",
       ":2: column \"\": expected a finite number, found an empty cell; a separator at the end of "
       "each line is to be left out"},
      {"y\n1\n", ":1: there is no column beside \"y\""},
      {"x,y\n1,2\n1;2\n", R"(:3: column "x": expected a finite number, found "1;2")"},
      {"x,y\n1\n", R"(:2: column "y": has no cell here: the line ends after 1 of 2)"},
      {"x,y\n1,\n", R"(:2: column "y": expected a label, found an empty cell)"},
      {"x,y\n1,1\n,2\n", R"(:3: column "x": expected a finite number, found an empty cell)" + lack +
                             ", or leave out a column without any"},
      {"x,y\n1,1\nblue,1\n", R"(:3: column "x": expected a finite number, found "blue")" + lack},
      {"x,y\n2026-01-31,1\n",
       R"(:2: column "x": expected a finite number, found "2026-01-31"; a column of dates or )"
       "times is no feature, and is to be left out of the file"},
      {"x,y\n12%,1\n",
       R"(:2: column "x": expected a finite number, found "12%"; signs such as % and $ are to be )"
       "left out"},
      {"x,y\nblue,1\n1,1\n",
       R"(:3: column "x": expected a word, as in the rows before, found "1"; a row of units below )"
       "the names is to be left out"},
      {"x;y\n912;1\n-1.187;1\n216;0\n2.311;0\n",
       R"(:3: column "x": "-1.187" may be -1187, as every point of the column is before three )"
       "digits, and numbers without one are below 1000; points between thousands are to be left "
       "out, and whole numbers beside decimals to be written as 7.0"},
      {"x;y\n1.187;1\n2.216;0\n",
       R"(:2: column "x": "1.187" may be 1187, as every point of the column is before three )"
       "digits, and semicolons separate the cells; points between thousands are to be left out, "
       "or, if they are before decimals, commas to separate the cells"},
      {"x,y\nblue,1\nNA,1\n",
       R"(:3: column "x": expected a word, as in the rows before, found "NA")"},
      {"x,y\n\"1,000\",1\n",
       R"(:2: column "x": expected a finite number, found "1,000"; commas are to be left out: )"
       "between thousands, or a decimal point in their place"},
      {"x;y\n1,5;1\n",
       R"(:2: column "x": expected a finite number, found "1,5"; decimal commas are to be points)"},
      {"x;y\n3,558.4;1\n", R"(:2: column "x": expected a finite number, found "3,558.4"; commas )"
                           "between thousands are to be left out"},
      {"1,2\n3,4\n", row_of_data},
      {"5.1,y\n3,4\n", row_of_data},
      {"x,Private,17,y\n3,4,1,2\n", row_of_data},
      {"x,y\n1,2\n1,y\n", of_names},
      {"x,y\ninf,1\n", R"(:2: column "x": expected a finite number, found "inf")" + lack},
      {"x,kinds\n1,2\n", R"(:1: no column "y" (the columns: x, kinds))"},
      {"x,Y\n1,2\n", R"(:1: no column "y" (the columns: x, Y); did you mean "Y"?)"},
      {"x,y\n\"1\"2,1\n", R"(:2: expected a comma, found "2,1")"},
      {"x,y\n1,\"2\n", ":2: a quote is not closed on this line"},
      {"x y\n1 2 3\n", R"(:2: expected the end of the line after 2 cells, found " 3")"},
      {"x|y\n1|2|3\n", R"(:2: expected the end of the line after 2 cells, found "|3")"},
      {"x|y\n\"1\"2|3\n", R"(:2: expected "|", found "2|3")"},
      {"x y\n1\n", R"(:2: column "y": has no cell here: the line ends after 1 of 2)"},
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
      ((folder.path() / "b.csv").string() +
       R"(:3: label "10.0" is none of the training rows, which have "10", "daisy", "rose, "wild"")")
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
  CHECK_THROWS_WITH_AS(load(folder, R"("test_path": "b.csv", "label": "y")"),
                       ((folder.path() / "b.csv").string() +
                        R"(:2: label "nine" is none of the training rows, which have 9, 10)")
                           .c_str(),
                       std::runtime_error);
}

TEST_CASE("csv: a target is a number, and what is not is said with its column") {
  const TemporaryFolder folder;
  folder.write("a.csv", "x,y\n1,2\n1,blue\n");
  folder.write("b.csv", "x,y\n1,2\n");
  CHECK_THROWS_WITH_AS(
      load(folder, R"("test_path": "b.csv", "label": "y", "regression": true)"),
      ((folder.path() / "a.csv").string() +
       R"(:3: column "y": expected a finite number, found "blue"; leave such a row )"
       "out of the file, or give it a number")
          .c_str(),
      std::runtime_error);
}

TEST_CASE("csv: test rows of other columns are refused, and the same are read in any order") {
  const TemporaryFolder folder;
  folder.write("a.csv", "x,c,y,z\n1,red,2,3\n1,blue,3,3\n");
  folder.write("b.csv", "y,z,c,x\n2,5,red,4\n3,7,blue,6\n");
  const auto data = load(folder, R"("test_path": "b.csv", "label": "y")");
  CHECK(data->test.floats == std::vector<float>{4, 0, 1, 5, 6, 1, 0, 7});
  CHECK(data->test.classes == std::vector<std::uint8_t>{0, 1});
  folder.write("a.csv", "x,y,z\n1,2,3\n1,3,3\n");
  for (const char* other : {"x,y\n1,2\n", "x,y,w\n1,2,3\n", "x,y,x\n1,2,3\n"}) {
    folder.write("b.csv", other);
    CHECK_THROWS_WITH_AS(load(folder, R"("test_path": "b.csv", "label": "y")"),
                         ((folder.path() / "b.csv").string() + ": has other columns than " +
                          (folder.path() / "a.csv").string())
                             .c_str(),
                         std::runtime_error);
  }
}

TEST_CASE("csv: without a line of names columns have numbers") {
  const TemporaryFolder folder;
  folder.write("a.csv", "0.5,2,a\n1.5,3,b\n2.5,4,a\n");
  const auto data = load(folder, R"("test_rows": 1, "label": "3", "header": false)");
  CHECK(data->train.count + data->test.count == 3);
  CHECK(data->features == 2);
  CHECK_THROWS_WITH_AS(load(folder, R"("test_rows": 1, "label": "a")"),
                       ((folder.path() / "a.csv").string() + row_of_data).c_str(),
                       std::runtime_error);
  folder.write("a.csv", "7,y\n1,2\n3,2\n5,6\n4,6\n");
  CHECK(load(folder, R"("test_rows": 1, "label": "y", "header": true)")->features == 1);
  folder.write("a.csv", "0,1,2,y\n1,2,3,1\n4,5,6,2\n7,8,9,1\n");
  CHECK(load(folder, R"("test_rows": 1, "label": "y")")->features == 3);
}

TEST_CASE("csv: a column of words is a feature of 0 and 1 for each of them") {
  const TemporaryFolder folder;
  folder.write("a.csv", "x,colour,y\n4,red,0\n2,blue,1\n3,red,1\n");
  folder.write("b.csv", "x,colour,y\n4,green,0\n5,blue,1\n");
  const auto data = load(folder, R"("test_path": "b.csv", "label": "y")");
  CHECK(data->features == 3);
  CHECK(data->train.floats == std::vector<float>{4, 0, 1, 2, 1, 0, 3, 0, 1});
  CHECK(data->test.floats == std::vector<float>{4, 0, 0, 5, 1, 0});
  CHECK(data->notes.size() == 2);  // of the column, and of green
  folder.write("b.csv", "x,colour,y\n4,7,0\n");
  CHECK_THROWS_WITH_AS(load(folder, R"("test_path": "b.csv", "label": "y")"),
                       ((folder.path() / "b.csv").string() +
                        ": column \"colour\" has numbers, and the training rows have words")
                           .c_str(),
                       std::runtime_error);
}

TEST_CASE("csv: a first column without a name that numbers the rows is no feature, and told") {
  const TemporaryFolder folder;
  folder.write("a.csv", ",x,y\n3,0.5,0\n0,1.5,1\n7,2.5,1\n");
  folder.write("b.csv", ",x,y\n3,0.25,0\n");
  const auto data = load(folder, R"("test_path": "b.csv", "label": "y")");
  CHECK(data->features == 1);
  CHECK(data->train.floats == std::vector<float>{0.5f, 1.5f, 2.5f});
  CHECK(data->test.floats == std::vector<float>{0.25f});
  REQUIRE(data->notes.size() == 1);
  CHECK(data->notes[0].ends_with(
      "the first column has no name and numbers the rows: it is no feature"));
  folder.write("a.csv", "id,x,y\n1,0.5,0\n2,1.5,1\n3,2.5,1\n");
  folder.write("b.csv", "id,x,y\n3,0.25,0\n");
  const auto named = load(folder, R"("test_path": "b.csv", "label": "y")");
  CHECK(named->features == 2);
  REQUIRE(named->notes.size() == 1);
  CHECK(
      named->notes[0].ends_with("column \"id\" has another number in each row, as ids have, and is "
                                "a feature as every other"));
}

TEST_CASE("csv: semicolons, tabs, | and blanks part cells where they part the names") {
  for (const std::string mark : {";", "\t", "|", " | ", " ", "  \t  "}) {
    const TemporaryFolder folder;
    folder.write("a.csv", " \"x, m\"" + mark + "y \n1" + mark + "0\n 2" + mark + "\"1\"  \n");
    folder.write("b.csv", "\"x, m\"" + mark + "y\n3" + mark + "1\n");
    const auto data = load(folder, R"("test_path": "b.csv", "label": "y")");
    CHECK(data->train.floats == std::vector<float>{1, 2});
    CHECK(data->test.floats == std::vector<float>{3});
  }
}

TEST_CASE("csv: comments above the names are left out, and names may stand in one") {
  for (const std::string names : {"# made by x\nx,y", "sep=,\nx,y", "# x,y", "#x y"}) {
    const TemporaryFolder folder;
    const std::string mark = names.ends_with("x y") ? " " : ",";
    folder.write("a.csv", names + "\n1" + mark + "0\n2" + mark + "1\n");
    const auto data = load(folder, R"("test_path": "a.csv", "label": "y")");
    CHECK(data->train.floats == std::vector<float>{1, 2});
  }
  const TemporaryFolder folder;
  folder.write("a.csv", "x,y\r1,0\r2,1\r");
  CHECK_THROWS_WITH_AS(
      load(folder, R"("test_path": "a.csv", "label": "y")"),
      ((folder.path() / "a.csv").string() + ": lines end in CR alone; allowed: LF, or CR and LF")
          .c_str(),
      std::runtime_error);
}

TEST_CASE("csv: what a first line or a dot at the end of labels hides is told") {
  const TemporaryFolder folder;
  folder.write("a.csv", "1, 5, >50K\n2, 6, <=50K\n");
  folder.write("b.csv", "|1x3 Cross validator\n1, 5, >50K.\n");
  const std::string keys = R"("test_path": "b.csv", "label": "3", "header": false)";
  const auto told = [&] {
    try {
      load(folder, keys);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(
      told().ends_with(R"(b.csv:1: no column "3" (the columns: 1, 2); a first line that is no row )"
                       "is to be left out of the file"));
  folder.write("b.csv", "1, 5, >50K.\n");
  CHECK(told().ends_with(
      R"(b.csv:1: label ">50K." is none of the training rows, which have "<=50K", )"
      R"(">50K"; a dot at the end is to be left out)"));
}

TEST_CASE("csv: labels that differ by case alone are told") {
  const TemporaryFolder folder;
  folder.write("a.csv", "x,y\n1,no\n2,No\n3,yes\n");
  const auto data = load(folder, R"("test_path": "a.csv", "label": "y")");
  CHECK(std::ranges::any_of(data->notes, [](const std::string& note) {
    return note.ends_with(R"(labels "No" and "no" are two classes, and differ by case alone)");
  }));
}

TEST_CASE("csv: rows in columns of blanks without names are read") {
  const TemporaryFolder folder;
  folder.write("a.csv", "  0.5   10  a\n 10.25   9  b\n\t1.0  8\tb\t\n");
  folder.write("b.csv", "1 2 a\n");
  const std::string keys = R"("test_path": "b.csv", "label": "3", "header": false)";
  CHECK(load(folder, keys)->train.floats == std::vector<float>{0.5, 10, 10.25, 9, 1, 8});
}

TEST_CASE(
    "csv: features of very different size are told, and standardised where that is asked for") {
  const TemporaryFolder folder;
  folder.write("a.csv", "x,z,c,y\n1000,0.5,3,0\n2000,0.25,3,1\n3000,0.75,3,1\n");
  folder.write("b.csv", "x,z,c,y\n5000,0.5,4,1\n");
  const std::string keys = R"("test_path": "b.csv", "label": "y")";
  const auto plain = load(folder, keys);
  REQUIRE(plain->notes.size() == 1);
  CHECK(plain->notes[0] == (folder.path() / "a.csv").string() +
                               ": features are of very different size: column \"x\" reaches 3000, "
                               "column \"z\" 0.75; \"standardise\": true gives each of them mean 0 "
                               "and standard deviation 1");
  const auto data = load(folder, keys + R"(, "standardise": true)");
  CHECK(data->notes.empty());
  const auto root = static_cast<float>(std::sqrt(1.5));
  const std::vector<float> x{-root, 0, 0, 0, -root, 0, root, root, 0};
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(data->train.floats[i] == doctest::Approx(x[i]));
  CHECK(data->test.floats[0] == doctest::Approx(3 * root));
  CHECK(data->test.floats[2] == 0);
  CHECK(data->hash != plain->hash);
}

TEST_CASE("csv: numbers that single precision takes for 0 are told") {
  const TemporaryFolder folder;
  folder.write("a.csv", "x,y\n0,0\n1e-310,1\n1e-400,1\n0.0e9,1\n");
  folder.write("b.csv", "x,y\n1,1\n");
  const auto data = load(folder, R"("test_path": "b.csv", "label": "y")");
  REQUIRE(data->notes.size() == 1);
  CHECK(data->notes[0].starts_with((folder.path() / "a.csv").string() +
                                   ":3: column \"x\": is closer to 0"));
}

}  // namespace gradrace::csv_test
