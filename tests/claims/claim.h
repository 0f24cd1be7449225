#pragma once

#include <string>

namespace gradrace {

/// What is expected of a number: its value, NaN where only a range is claimed, and the ends of what
/// passes.
struct Expected {
  double value, low, high;
};

Expected exactly(double value);
Expected about(double value, double tolerance);
Expected from_to(double low, double high);
Expected no_more_than(double high);
Expected no_less_than(double low);

/// What a paper says, or what follows from its definitions, beside what the simulator says.
struct Claim {
  std::string id;      // paper and item: "backup-7"
  std::string source;  // paper and place, or "derived": from the definitions alone
  std::string text;
  Expected expected;
  double measured;
};

/// Checks the claim.  Where the environment variable GRADRACE_CLAIMS names a file, it also appends
/// the row id, source, claim, expected, tolerance, measured, verdict (pass or fail) to that CSV,
/// and first these names if the file is empty.
void claim(const Claim& claim);

}  // namespace gradrace
