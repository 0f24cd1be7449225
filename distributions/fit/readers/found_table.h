#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "distributions/fit/table.h"

namespace gradrace {

/// A table that was found in a text, and how.
struct FoundTable {
  Table table;
  std::vector<std::string> units = {};  // by column, of a row of units; empty: there is none
  std::vector<std::string> notes = {};  // what a reader may want to know
  std::string rate = {};                // "it/s", where a log's numbers are rates; else empty
  std::string average = {};             // what a log says of averages, and the cure; else empty
  std::vector<std::string> said = {};  // beside a log's times, such as "data time", "per 100 steps"
  std::string repeated = {};           // of rows that stand in two files; else empty
  bool plain = true;                   // a scenario's empirical law reads the file alike
};

/// A table whose cells are separated by commas, semicolons, tabs, | or blanks, the same in all
/// rows. Left out are lines that begin with #, lines of one cell before the line of names (a tool's
/// preface), and a last row that was cut.  A row of units below the names is read as such.  Throws
/// TraceError.
FoundTable separated_table(const std::filesystem::path& file, std::string_view text);

/// JSON objects, a line each, or in one array: a column for each key, "a.b" for b inside a.  A last
/// line that was cut is left out.  Throws TraceError.
FoundTable record_table(const std::filesystem::path& file, std::string_view text);

/// The lines that the regular expression (ECMAScript's) is found in: a column for each named group
/// ((?<rank>\d+)), and "time" for the first that has no name.  Throws TraceError.
FoundTable matched_table(const std::filesystem::path& file, std::string_view text,
                         const std::string& pattern);

}  // namespace gradrace
