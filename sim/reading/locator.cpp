#include "sim/reading/locator.h"

#include <system_error>
#include <utility>
#include <vector>

#include "sim/reading/elsewhere.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

/// Its last component, then the last two, as far as they are names.
std::vector<fs::path> tails(fs::path path) {
  std::vector<fs::path> tails;
  path = path.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  fs::path tail;
  while (tails.size() < 2 && path.has_filename() && path.filename() != "..") {
    tail = tail.empty() ? path.filename() : path.filename() / tail;
    tails.push_back(tail);
    path = path.parent_path();
  }
  return tails;
}

}  // namespace

Locator::Locator(fs::path scenario_folder, fs::path data_folder)
    : scenario_folder_(std::move(scenario_folder)), data_folder_(std::move(data_folder)) {}

Location Locator::find(const std::string& name) const {
  Location location{name, {}, {}};
  if (name.empty()) return location;
  std::vector<fs::path> candidates{scenario_folder_ / name};
  if (!data_folder_.empty()) {
    for (const auto& tail : tails(name)) candidates.push_back(data_folder_ / tail);
  }
  for (const auto& candidate : candidates) {
    const fs::path whole = fs::absolute(candidate).lexically_normal();
    location.looked_at += (location.looked_at.empty() ? "" : ", ") + whole.string();
    std::error_code error;
    if (location.found.empty()) location.found = fs::canonical(whole, error);
  }
  if (const std::string hint = why_elsewhere(name); !hint.empty())
    location.looked_at += "; " + hint;
  else if (data_folder_.empty())
    location.looked_at += "; --data or GRADRACE_DATA name a data folder";
  return location;
}

}  // namespace gradrace
