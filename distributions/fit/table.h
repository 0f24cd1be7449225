#pragma once

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
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

/// Text cells of a CSV file (RFC 4180, lines may end in LF): a line of names, then rows.
struct Table {
  std::filesystem::path file;
  std::string hash;                            // of the file's bytes
  std::vector<std::string> names;              // some may be empty
  std::vector<std::vector<std::string>> rows;  // each as long as names
  std::vector<std::size_t> lines;              // where the rows begin, from 1

  /// Throws TraceError unless one column has that name.
  std::size_t column(std::string_view name, std::string_view key) const;
};

/// Throws TraceError for a file that is no table or has no rows.
Table read_table(const std::filesystem::path& file);

/// The cell as a number: all of it, spaces around it apart.  False if it is none.
bool parse_number(std::string_view cell, double& number);

/// The bytes of a file.  Throws TraceError.
std::string read_trace_file(const std::filesystem::path& file);

/// `"text"`, cut after 40 bytes.
std::string shown(std::string_view text);

}  // namespace gradrace
