#pragma once

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradrace {

/// A file of measured times that cannot be used, and which of its three keys is to blame: "path",
/// "column" or "learner_column".
class TraceError : public std::runtime_error {
 public:
  TraceError(std::string_view blamed, const std::string& what, std::string right = {})
      : std::runtime_error(what), key(blamed), allowed(std::move(right)) {}

  std::string key, allowed;  // allowed: empty, or what would be right
};

/// Text cells of a file (RFC 4180, lines may end in LF): a line of names, then rows.
struct Table {
  std::filesystem::path file;
  std::string hash;                            // of the file's bytes
  std::vector<std::string> names;              // some may be empty
  std::vector<std::vector<std::string>> rows;  // each as long as names
  std::vector<std::size_t> lines;              // where the rows begin, from 1
  bool cut = false;                            // a last row of too few cells was left out

  /// Throws TraceError unless one column has that name.
  std::size_t column(std::string_view name, std::string_view key) const;

  /// Of a column, by row, without spaces around them.
  std::vector<std::string_view> cells(std::size_t column) const;
};

/// How a table is written.
struct TableShape {
  char separator = ',';   // '\0': none, a line is a cell
  std::size_t begin = 0;  // byte at which the line of names begins
  bool comments = false;  // lines that begin with # are none
  bool cut = false;       // a last row without an end of line may have too few cells: left out
};

/// Throws TraceError for a file that is no table or has no rows.
Table read_table(const std::filesystem::path& file);
Table table_of(const std::filesystem::path& file, std::string_view text, const TableShape& shape);

/// The cell as a number: all of it, spaces around it apart.  False if it is none.
bool parse_number(std::string_view cell, double& number);
bool is_number(std::string_view cell);

/// The bytes of a file, unpacked if gzip packed it.  Throws TraceError.
std::string read_trace_file(const std::filesystem::path& file);

/// Without a byte-order mark at its beginning.
std::string_view without_mark(std::string_view text);

/// Without blanks around it.
std::string_view trimmed(std::string_view text);

/// Letters of ASCII in lower case.
std::string lowercase(std::string_view text);

/// `"text"`, cut after 40 bytes.
std::string shown(std::string_view text);

/// "a, b"; those that are not empty.
std::string listed(const std::vector<std::string>& names);

}  // namespace gradrace
