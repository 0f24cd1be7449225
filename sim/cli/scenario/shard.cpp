#include "sim/cli/scenario/shard.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace gradrace {

namespace {

std::optional<Shard> from_parts(std::string_view text, std::string_view between) {
  const auto middle = text.find(between);
  if (middle == std::string_view::npos) return {};
  const auto number_in = [](std::string_view part, unsigned& number) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    return error == std::errc() && end == part.data() + part.size() && !part.starts_with('0');
  };
  Shard shard;
  if (!number_in(text.substr(0, middle), shard.number) ||
      !number_in(text.substr(middle + between.size()), shard.of) || shard.number > shard.of)
    return {};
  return shard;
}

}  // namespace

std::optional<Shard> Shard::from(std::string_view text) { return from_parts(text, "/"); }

std::optional<Shard> Shard::from_file_name(std::string_view text) {
  return from_parts(text, "-of-");
}

std::vector<std::size_t> runs_of(const Shard& shard, const std::vector<double>& work) {
  std::vector<double> rounded;
  for (const double each : work)
    rounded.push_back(std::exp2(std::round(4 * std::log2(std::max(each, 1.0))) / 4));
  std::vector<std::size_t> longest_first(work.size());
  std::iota(longest_first.begin(), longest_first.end(), 0);
  std::ranges::stable_sort(longest_first, std::greater(),
                           [&](std::size_t run) { return rounded[run]; });
  using Load = std::pair<double, unsigned>;  // of a shard
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (unsigned number = 1; number <= std::min<std::size_t>(shard.of, work.size()); ++number)
    loads.emplace(0, number);
  std::vector<std::size_t> runs;
  for (const std::size_t run : longest_first) {
    auto [load, number] = loads.top();
    loads.pop();
    loads.emplace(load + rounded[run], number);
    if (number == shard.number) runs.push_back(run);
  }
  std::ranges::sort(runs);
  return runs;
}

}  // namespace gradrace
