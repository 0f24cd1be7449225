#include "sim/cli/scenario/spaced_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "sim/reading/json_places.h"
#include "sim/reading/reader.h"
#include "sim/reading/reference.h"

namespace gradrace {

namespace {

/// x^f, 0 <= f < 1, by square roots: every machine rounds these in the same way, std::pow not.
double power(double x, double f) {
  double result = 1, root = x;
  while (f > 0) {
    root = std::sqrt(root);
    f *= 2;
    if (f < 1) continue;
    result *= root;
    f -= 1;
  }
  return result;
}

/// e of "1e-05".
int decimal_exponent(double x) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, x, std::chars_format::scientific, 16);
  const char* digits = std::find(text, end.ptr, 'e') + 1;
  if (*digits == '+') ++digits;
  int exponent = 0;
  std::from_chars(digits, end.ptr, exponent);
  return exponent;
}

/// To 12 significant digits of a number as large as `scale`, which is not below |x|.
double rounded(double x, double scale) {
  const int digits = 11 - decimal_exponent(scale) + decimal_exponent(x);  // behind the point
  if (x == 0 || digits < 0) return 0;
  char text[40];
  const auto end =
      std::to_chars(text, text + sizeof text, x, std::chars_format::scientific, digits);
  double result = 0;
  std::from_chars(text, end.ptr, result);
  return result;
}

double between_ends(const SpacedValues& spaced, double f) {
  const auto [from, to] = std::pair(spaced.from, spaced.to);
  if (spaced.linear)
    return rounded((1 - f) * from + f * to, std::max(std::abs(from), std::abs(to)));
  const double value = power(from, 1 - f) * power(to, f);
  return rounded(value, value);
}

}  // namespace

std::vector<double> SpacedValues::values() const {
  const std::uint64_t steps = (linear ? *linear : *log) - 1;
  std::vector<double> values{from};
  for (std::uint64_t i = 1; i < steps; ++i)
    values.push_back(between_ends(*this, static_cast<double>(i) / static_cast<double>(steps)));
  values.push_back(to);
  return values;
}

void visit(Fields& fields, SpacedValues& spaced) {
  constexpr double most = 1'000'000;
  fields.real("from", spaced.from, Need::required, anything(), "the first value");
  fields.real("to", spaced.to, Need::required, anything(), "the last value");
  fields.integer("log", spaced.log, between(2, most),
                 "so many values with equal ratios; from and to are > 0");
  fields.integer("linear", spaced.linear, between(2, most), "so many values with equal steps");
  constexpr auto either = "log (equal ratios) or linear (equal steps)";
  if (fields.has("log") && fields.has("linear"))
    fields.complain("linear", "stands beside log, and a list has one of them", either);
  if (!fields.good()) return;
  if (!spaced.log && !spaced.linear)
    return fields.complain("", "does not say how many values it has", either);
  for (const auto& [key, end] : {std::pair("from", spaced.from), std::pair("to", spaced.to)}) {
    if (spaced.log && !(end > 0))
      fields.complain(key,
                      "must be > 0 where values have equal ratios (log), got " + json_number(end));
  }
  if (!fields.good()) return;
  const auto values = spaced.values();
  if (std::ranges::adjacent_find(values) != values.end())
    fields.complain("", "has values that are equal to 12 significant digits",
                    "fewer values, or ends further apart");
}

bool is_spaced(const Document& document, std::string_view pointer) {
  const auto& value =
      document.root().at(nlohmann::ordered_json::json_pointer(std::string(pointer)));
  return std::ranges::any_of(std::array{"from", "to", "log", "linear"},
                             [&](const char* key) { return value.contains(key); });
}

std::optional<std::vector<double>> read_spaced(const Document& document, std::string_view pointer,
                                               std::vector<Problem>& problems) {
  const Document list = document.part(pointer);
  Reader reader(list);
  SpacedValues spaced;
  visit(reader, spaced);
  std::vector<Problem> wrong = reader.finish();
  if (wrong.empty()) return spaced.values();
  for (Problem& problem : wrong)
    problem.path = dotted_path(pointer) + (problem.path.empty() ? "" : "." + problem.path);
  problems.insert(problems.end(), std::make_move_iterator(wrong.begin()),
                  std::make_move_iterator(wrong.end()));
  return {};
}

}  // namespace gradrace
