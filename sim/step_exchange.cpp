#include "sim/step_exchange.h"

#include <algorithm>

namespace gradrace {

namespace {

/// constant + slope M.
struct Line {
  double slope = 0, constant = 0;
};

/// Those of which some is the largest at some M >= 0, by slope.
std::vector<Line> upper(std::vector<Line> lines) {
  std::ranges::sort(lines, [](const Line& a, const Line& b) {
    return a.slope != b.slope ? a.slope < b.slope : a.constant < b.constant;
  });
  const auto meet = [](const Line& a, const Line& b) {
    return (a.constant - b.constant) / (b.slope - a.slope);
  };
  std::vector<Line> hull;
  for (const Line& line : lines) {
    while (!hull.empty() && hull.back().constant <= line.constant) hull.pop_back();
    while (hull.size() > 1 && meet(hull[hull.size() - 2], hull.back()) >= meet(hull.back(), line))
      hull.pop_back();
    hull.push_back(line);
  }
  return hull;
}

/// E of the largest of the lines.
std::optional<double> mean_of(const std::vector<Line>& lines, const Conditions& conditions) {
  const auto mean = slowest_minibatch(conditions);
  if (!mean) return {};
  double sum = lines.front().constant + lines.front().slope * *mean;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const double rise = lines[i].slope - lines[i - 1].slope;
    const double from = (lines[i - 1].constant - lines[i].constant) / rise;
    const auto below = slowest_minibatch(conditions, from);
    if (!below) return {};
    sum += rise * (*mean - *below);
  }
  return sum;
}

}  // namespace

std::vector<std::uint32_t> StepExchange::group(std::uint32_t number, std::uint32_t learners) const {
  const std::uint32_t size = members > 0 ? members : learners;
  std::vector<std::uint32_t> group(size);
  for (std::uint32_t i = 0; i < size; ++i)
    group[i] = holds ? number * size + i : number + i * groups(learners);
  return group;
}

double time_of(const StepExchange& exchange, const Conditions& conditions) {
  double longest = 0;
  for (std::uint32_t number = 0; number < exchange.groups(conditions.learners); ++number)
    longest = std::max(
        longest, collective_time(conditions.network, exchange.group(number, conditions.learners),
                                 exchange.share));
  return exchange.holds ? longest / 2 : longest;
}

std::optional<double> step_time(std::span<const StepExchange> exchanges,
                                std::span<const double> times, double backward_pass,
                                const Conditions& conditions) {
  std::vector<Line> computing{{}}, channel{{}};
  double done = 0;
  const auto compute = [&](double until) {
    for (Line& line : computing) line.slope += until - done;
    done = until;
    channel.insert(channel.end(), computing.begin(), computing.end());
    channel = upper(std::move(channel));
  };
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    compute(exchanges[i].begins(backward_pass));
    for (Line& line : channel) line.constant += times[i];
    if (exchanges[i].holds) computing = channel;
  }
  compute(1);
  return mean_of(channel, conditions);
}

std::optional<Estimate> step_time(std::span<const StepExchange> exchanges, double backward_pass,
                                  const Conditions& conditions) {
  std::vector<double> times;
  for (const StepExchange& exchange : exchanges) times.push_back(time_of(exchange, conditions));
  const PeerNetwork* network = conditions.network;
  const bool shares_cards = network && network->per_node > 0 && network->regions.empty() &&
                            network->shared &&
                            std::ranges::any_of(exchanges, [&](const StepExchange& exchange) {
                              return exchange.groups(conditions.learners) > 1;
                            });
  const bool sets_up = network && network->communicator_setup > 0;
  return estimate(step_time(exchanges, times, backward_pass, conditions),
                  shares_cards || sets_up ? Basis::lower : Basis::exact);
}

}  // namespace gradrace
