#pragma once

#include <string>
#include <vector>

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
  std::string id;      // item of a paper's checklist, and what varies: "backup-7.step.n-96"
  std::string source;  // paper and place, or "derived": from the definitions alone
  std::string text;
  Expected expected;
  double measured;
};

/// Checks the claim, and that no other has its id.  Where the environment variable GRADRACE_CLAIMS
/// names a file, it also writes the row id, source, claim, expected, tolerance, measured, verdict
/// (pass or fail) to that CSV, which the first row of a process begins anew.
void claim(const Claim& claim);

/// True if GRADRACE_DATA has no folder of that name: the test case is to be left.  A row for each
/// of the items, whose claims are not checked, says with the verdict `skipped` what is missing.
bool cannot_claim(const std::vector<std::string>& items, const std::string& source,
                  const std::string& text, const std::string& folder);

/// The text as a part of an id: letters, digits and dots, a dash for what lies between them.
std::string id_part(const std::string& text);

}  // namespace gradrace
