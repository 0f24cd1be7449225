#include "tests/claims/claim.h"

#include <doctest/doctest.h>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "sim/cli/results/cells.h"
#include "tests/support/skip.h"

namespace gradrace {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Six digits: ends are products of roundings.
std::string short_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string tolerance_text(const Expected& expected) {
  if (expected.low == expected.high) return "exact";
  if (expected.low == -infinity) return "<= " + short_text(expected.high);
  if (expected.high == infinity) return ">= " + short_text(expected.low);
  return short_text(expected.low) + " to " + short_text(expected.high);
}

/// Appends to the file that GRADRACE_CLAIMS names, if any.
void write(const std::string& path, const std::string& rows) {
  static bool first = true;
  std::ofstream file(path, first ? std::ios::trunc : std::ios::app);
  if (first) file << "id,source,claim,expected,tolerance,measured,verdict\n";
  first = false;
  file << rows;
  file.close();
  REQUIRE_MESSAGE(file.good(), "cannot write to GRADRACE_CLAIMS, " << path);
}

template <class... Cells>
void write_row(const Cells&... cells) {
  std::string row;
  add_csv_line(row, std::vector<Cell>{Cell(cells)...});
  if (const char* path = std::getenv("GRADRACE_CLAIMS")) write(path, row);
}

bool is_new(const std::string& id) {
  static std::set<std::string> ids;
  return ids.insert(id).second;
}

}  // namespace

Expected exactly(double value) { return {value, value, value}; }
Expected about(double value, double tolerance) {
  return {value, value - tolerance, value + tolerance};
}
Expected from_to(double low, double high) { return {none, low, high}; }
Expected no_more_than(double high) { return {none, -infinity, high}; }
Expected no_less_than(double low) { return {none, low, infinity}; }

void claim(const Claim& claim) {
  CAPTURE(claim.id);
  CAPTURE(claim.text);
  CAPTURE(claim.expected.value);
  CHECK_MESSAGE(is_new(claim.id), "two claims have one id");
  CHECK(claim.measured >= claim.expected.low);
  CHECK(claim.measured <= claim.expected.high);
  const bool passes = claim.measured >= claim.expected.low && claim.measured <= claim.expected.high;
  write_row(claim.id, claim.source, claim.text, claim.expected.value,
            tolerance_text(claim.expected), claim.measured, passes ? "pass" : "fail");
}

bool cannot_claim(const std::vector<std::string>& items, const std::string& source,
                  const std::string& text, const std::string& folder) {
  if (!data_folder(folder).empty()) return false;
  const std::string missing = "GRADRACE_DATA names no folder with " + folder + " in it";
  for (const auto& item : items) write_row(item, source, text, none, "", missing, "skipped");
  note_skip(missing);
  return true;
}

std::string id_part(const std::string& text) {
  std::string part;
  bool between = false;
  for (const char letter : text) {
    const auto c = static_cast<unsigned char>(letter);
    if (!std::isalnum(c) && c != '.') {
      between = true;
      continue;
    }
    if (between && !part.empty()) part += '-';
    between = false;
    part += static_cast<char>(std::tolower(c));
  }
  return part;
}

}  // namespace gradrace
