#include "tests/claims/claim.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "sim/cli/csv.h"

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

void append_row(const std::string& path, const Claim& claim, bool passes) {
  std::ofstream file(path, std::ios::app);
  file.seekp(0, std::ios::end);
  Csv csv;
  if (file.tellp() == 0)
    csv.row("id", "source", "claim", "expected", "tolerance", "measured", "verdict");
  csv.row(claim.id, claim.source, claim.text, claim.expected.value, tolerance_text(claim.expected),
          claim.measured, passes ? "pass" : "fail");
  file << csv.text();
  file.close();
  REQUIRE_MESSAGE(file.good(), "cannot write to GRADRACE_CLAIMS, " << path);
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
  CHECK(claim.measured >= claim.expected.low);
  CHECK(claim.measured <= claim.expected.high);
  const bool passes = claim.measured >= claim.expected.low && claim.measured <= claim.expected.high;
  if (const char* path = std::getenv("GRADRACE_CLAIMS")) append_row(path, claim, passes);
}

}  // namespace gradrace
