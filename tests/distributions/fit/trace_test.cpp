#include "distributions/fit/trace.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace gradrace::trace_test {
namespace {

using Cells = std::vector<std::string>;
using Times = std::vector<double>;

/// A file t.csv of that content.
class File {
 public:
  explicit File(const std::string& content) { folder_.write("t.csv", content); }
  std::string path() const { return (folder_.path() / "t.csv").string(); }
  Table table() const { return read_table(path()); }

 private:
  TemporaryFolder folder_;
};

TEST_CASE(
    "trace: a CSV file is a line of names, then rows, with quotes, blank lines and ends of any "
    "kind") {
  const Table table = File(
                          "\xEF\xBB\xBF,a,\"b, c\"\r\n"
                          "0,1,x\n\n"
                          "1,\"two\nlines\",\"say \"\"so\"\"\"\r\n"
                          "2,,last")
                          .table();
  CHECK(table.names == Cells{"", "a", "b, c"});
  REQUIRE(table.rows.size() == 3);
  CHECK(table.rows[0] == Cells{"0", "1", "x"});
  CHECK(table.rows[1] == Cells{"1", "two\nlines", "say \"so\""});
  CHECK(table.rows[2] == Cells{"2", "", "last"});
  CHECK(table.lines == std::vector<std::size_t>{2, 4, 6});
}

TEST_CASE("trace: the hash is that of the file's bytes") {
  CHECK(File("a\n1\n").table().hash == File("a\n1\n").table().hash);
  CHECK(File("a\n1\n").table().hash != File("a\n2\n").table().hash);
  CHECK(File("a").path() != File("a").path());
}

TEST_CASE("trace: times go to their learners, learners in the order of their numbers") {
  const File file("who,node,t\n10,b,1.5\n9,a, 2e0\n10,a,3\n9,c,4\n");
  const Trace trace = trace_of(file.table(), "t", "who");
  CHECK(trace.file == file.path());
  CHECK(trace.learners == Cells{"9", "10"});
  CHECK(trace.series == std::vector<Times>{{2, 4}, {1.5, 3}});
  CHECK(trace.size() == 4);
  CHECK(trace_of(file.table(), "t", "node").learners == Cells{"a", "b", "c"});
  const Trace all = trace_of(file.table(), "t", "");
  CHECK(all.learners == Cells{""});
  CHECK(all.series == std::vector<Times>{{1.5, 2, 3, 4}});
}

struct Bad {
  std::string content, key, says, allowed;
};

TEST_CASE("trace: every defect is said with file, line, column and what is allowed") {
  const std::string number = "a finite number > 0";
  const Bad bads[] = {
      {"", "path", ": is empty", ""},
      {"\n\r\n", "path", ": is empty", ""},
      {"who,t\n", "path", ": has no rows, only a line of names", ""},
      {"who,t\n1,2\n3\n", "path",
       ":3: 1 fields, the first line has 2; the cells of a row are separated by commas, "
       "semicolons, "
       "tabs, | or blanks",
       ""},
      {"who,t\n\"1,2\n", "path", ":2: a quote is not closed", ""},
      {"who,t\n\"1\"x,2\n", "path", ":2: expected a comma after the quote", ""},
      {"who,t\n\n1,2\n1,slow\n", "column", ":4: t must be a time, got \"slow\"", number},
      {"who,t\n1,0\n", "column", ":2: t must be a time, got \"0\"", number},
      {"who,t\n1,-1\n", "column", ":2: t must be a time, got \"-1\"", number},
      {"who,t\n1,inf\n", "column", ":2: t must be a time, got \"inf\"", number},
      {"who,t\n1,nan\n", "column", ":2: t must be a time, got \"nan\"", number},
      {"who,t\n1,\n", "column", ":2: t must be a time, got \"\"", number},
      {"who,t\n1,1 s\n", "column", ":2: t must be a time, got \"1 s\"", number},
      {",who,time\n1,1,1\n", "column", " has no column \"t\"", "who, time"},
      {"who,tt\n1,1\n", "column", " has no column \"t\"", "who, tt; did you mean \"tt\"?"},
      {"who,t,t\n1,1,1\n", "column", " has more than one column \"t\"",
       "who, t, t; rename all but one of them in the line of names"},
      {"whom,t\n1,1\n", "learner_column", " has no column \"who\"",
       "whom, t; did you mean \"whom\"?"},
  };
  for (const auto& bad : bads) {
    CAPTURE(bad.content);
    const File file(bad.content);
    try {
      trace_of(file.table(), "t", "who");
      FAIL("no error");
    } catch (const TraceError& error) {
      CHECK(error.key == bad.key);
      CHECK(error.what() == file.path() + bad.says);
      CHECK(error.allowed == bad.allowed);
    }
  }
  CHECK_THROWS_WITH_AS(read_table("/nowhere/t.csv"), "/nowhere/t.csv: there is no such file",
                       TraceError);
  CHECK_THROWS_AS(read_table("/"), TraceError);
}

}  // namespace
}  // namespace gradrace::trace_test
