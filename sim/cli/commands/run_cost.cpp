#include "sim/cli/commands/run_cost.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <thread>

#include "models/cpu/cpu_device.h"
#include "models/cpu/message_maker.h"
#include "models/make_device.h"
#include "sim/cli/commands/model_cost.h"
#include "sim/cli/commands/process_usage.h"
#include "sim/cli/commands/run_sizes.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/results/run_recorders.h"
#include "sim/cli/scenario/counted_replay.h"
#include "sim/cli/scenario/run_work.h"

namespace gradrace {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_probes = 5;   // points, from the least work to the most
constexpr double seconds_of_all = 2;     // of their first parts
constexpr double seconds_to_get_on = 4;  // beyond that, of all

// Measured on one core of an AMD EPYC of generation Zen 5, with a disk that takes 1 GB/s.
constexpr double published_bytes = 150e6;   // a second, of text
constexpr double published_runs = 60e3;     // a second
constexpr double published_targets = 40e3;  // a second
constexpr double moved_bytes = 8e9;         // a second, of values that are added up

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Of processor time, so that what others do on the machine cuts nothing short.
struct Patience {
  double usual;
  double longest;  // until a run has got on
};

/// What a run takes, without what all runs share.
struct RunCost {
  double seconds = 0;  // NaN: nothing tells how far it is
  double memory = 0;
  DiskSize growing, of_first;  // with its work: of every run, and of a point's first one besides
  DiskSize fixed;              // of any run of the point
  DiskSize of_learners;        // with their number
  double beside = 1;           // runs that take no longer together
};

/// How a run got on.
class Pace {
 public:
  void note(double seconds, double progress) {
    if (first_progress_ == 0) first_ = seconds, first_progress_ = progress;
    seconds_ = seconds, progress_ = progress;
  }
  bool got_on() const { return first_progress_ > 0; }
  /// By more than what its beginning is a part of.
  bool is_known() const { return progress_ > first_progress_; }
  double progress() const { return progress_; }
  /// NaN: nothing tells.
  double of_all() const {
    if (progress_ >= 1) return seconds_;
    if (!got_on()) return std::numeric_limits<double>::quiet_NaN();
    const double rate =
        is_known() ? (progress_ - first_progress_) / (seconds_ - first_) : first_progress_ / first_;
    return first_ + (1 - first_progress_) / rate;
  }

 private:
  double first_ = 0, first_progress_ = 0, seconds_ = 0, progress_ = 0;
};

/// Share of the run that is done, by its gradients too, as far as its limits count them: an update
/// of many takes long.
double progress_of(const Run& run) {
  const Stop& stop = run.race().stop;
  double all = std::numeric_limits<double>::infinity();
  if (stop.gradients) all = static_cast<double>(*stop.gradients);
  if (stop.updates)
    all = std::min(all, static_cast<double>(*stop.updates) * run.race().make_protocol()->k());
  constexpr double nearly = 0.99;
  const double applied = static_cast<double>(run.applied()) / all;
  return std::max(run.progress(), stop.time || stop.epochs ? 0 : std::min(nearly, applied));
}

/// The first part of a run without its numbers.
struct FirstPart {
  Pace pace;
  CountedReplay::Counts counts;
  double states = 0;  // that the whole run holds
  double memory = 0;
  DiskSize growing, of_first, fixed, of_learners;  // as of RunCost
};

/// Of a run that has come so far.
void add_sizes(FirstPart& part, RunSizes& sizes, const Point& point, const Theory& theory,
               SpoolFile& spool, RunRecorders& recorders, const RunRecord& record) {
  std::set<std::string_view> growing;
  for (const auto& [file, rows] : recorders.rows())
    if (rows.size() > 0) growing.insert(file);
  RunResult result = recorders.finish(record);
  std::ranges::fill(result.target_times, result.totals.time);  // each is reached
  std::ranges::fill(result.target_intervals, result.totals.time);
  part.fixed = sizes.of_result(point, theory, result);
  const RunRecorders later(1, point, spool);
  const double done = part.pace.progress() > 0 ? part.pace.progress() : 1;
  for (const auto& [file, size] : sizes.of_rows(point, recorders.rows())) {
    if (file == "learners.csv")
      part.of_learners += size;
    else if (!later.rows().contains(file) && file != "staleness.csv")
      part.of_first += size * (1 / done);
    else if (growing.contains(file))
      part.growing += size * (1 / done);
    else
      part.fixed += size;
  }
}

FirstPart first_part_of(const Point& point, const Theory& theory, RunSizes& sizes,
                        const Evaluation& found, std::size_t numbers, std::uint32_t replica,
                        Patience patience) {
  FirstPart part;
  const MemoryGrowth growth;
  SpoolFile spool(std::filesystem::temp_directory_path() /
                  ("gradrace-" + std::to_string(::getpid())));
  const double before_run = thread_seconds();
  const auto computed = [&] { return thread_seconds() - before_run; };
  const Race race = point.race();
  RunRecorders recorders(replica, point, spool);
  CountedReplay replay(found);
  Run run(race, replica, point.with_model(), recorders.observer(), &recorders.curve(),
          point.with_model() ? segment_limit(race, numbers) : TimingPlane::default_limit);
  const double to_get_on = is_limited(race.stop) ? patience.longest : patience.usual;
  double states_at_half = 0;
  drive({&run, 1}, point.with_model() ? &replay : nullptr, [&] {
    const double seconds = computed();
    part.pace.note(seconds, progress_of(run));
    if (seconds < patience.usual / 2) states_at_half = replay.counts().states;
    return seconds < (part.pace.is_known() ? patience.usual : to_get_on);
  });
  part.pace.note(computed(), progress_of(run));
  part.counts = replay.counts();
  part.states = part.counts.states;
  const double done = part.pace.progress();
  if (done > 0 && done < 1 && part.states > states_at_half)
    part.states = std::max(part.states, std::min(race.learners + 2.0, part.states / done));
  part.pace.note(computed(), done);
  add_sizes(part, sizes, point, theory, spool, recorders, run.record());
  part.memory = growth.bytes();
  return part;
}

/// Of making one for a gradient, by a row of a million numbers at most; of one that all learners
/// make together, its share.
double seconds_of_message(const Point& point, std::size_t numbers) {
  if (!point.with_compression()) return 0;
  Message message = point.first_plan.message;
  if (const auto codes = point.codes()) message.compressor = codes->compressors.front();
  const bool joint = message.compressor->joint();
  if (joint) message.compressor = point.compressor();
  const std::size_t tried = joint ? numbers : std::min<std::size_t>(numbers, 1 << 20);
  std::vector<float> row(tried), before(tried), after(tried);
  std::vector<float> carried(message.compressor->carried());
  for (std::size_t i = 0; i < tried; ++i)
    row[i] = static_cast<float>(i * 2'654'435'761 % 1009) / 1009 - 0.5f;
  MessageMaker<float> maker{Packing(tried), {}};
  std::uint64_t bits = 0;
  MemoryRows<float> memory;
  if (message.memory) memory = {nullptr, after.data(), &bits};
  maker.make(message, 1, false, stream({}), row, memory, carried);
  if (message.memory) {
    before = after;
    memory.before = before.data();
  }
  const auto begin = Clock::now();
  maker.make(message, 1, false, stream({}), row, memory, carried);
  const double makers = joint ? point.cluster.learners : 1;
  return seconds_since(begin) * static_cast<double>(numbers) / static_cast<double>(tried) / makers;
}

RunCost cost_on_cpu(const Point& point, const Theory& theory, RunSizes& sizes,
                    const RunPlan::Group& group, const ModelCost& model, std::size_t missing,
                    std::size_t helpers, Patience patience) {
  const auto begin = Clock::now();
  const std::size_t numbers = group.memory.value.numbers;
  RunCost cost;
  FirstPart part = first_part_of(point, theory, sizes, model.found, numbers, 0, patience);
  const FirstPart first = part;
  double seconds = part.pace.of_all();
  std::uint32_t runs = 1;
  for (; part.pace.progress() >= 1 && runs < missing && seconds_since(begin) < patience.usual;
       ++runs) {
    part = first_part_of(point, theory, sizes, model.found, numbers, runs, patience);
    seconds += part.pace.of_all();
  }
  cost.seconds = seconds / runs;
  cost.growing = first.growing;
  cost.of_first = first.of_first;
  cost.fixed = first.fixed;
  cost.of_learners = first.of_learners;
  cost.memory = first.memory;
  if (!point.with_model()) return cost;
  const Race race = point.race();
  const double state = state_bytes(point, race, group.memory.value);
  const auto value = static_cast<double>(numbers * group.memory.value.bytes_of_number);
  const double scratch = point.with_compression() ? 4 : 2;  // of the device
  const double share = first.pace.progress() > 0 ? first.pace.progress() : 1;
  const double minibatch = race.plans[0].minibatch.mean();
  const std::uint32_t most = race.plans[0].minibatch.greatest();
  cost.seconds += (static_cast<double>(first.counts.gradients) *
                       (model.gradient(minibatch) + seconds_of_message(point, numbers)) +
                   static_cast<double>(first.counts.evaluations) * model.evaluation +
                   static_cast<double>(first.counts.terms) * 2 * state / moved_bytes) /
                  share;
  if (first.counts.measured) cost.memory += 2 * sizeof(double) * static_cast<double>(numbers);
  cost.memory += first.states * (state + bytes_of_slot) + (first.counts.kept + scratch) * value +
                 model.memory(most);
  if (const std::size_t ahead =
          gradients_ahead(numbers * group.memory.value.bytes_of_number, numbers, most, helpers))
    cost.memory +=
        static_cast<double>(ahead) * value + static_cast<double>(helpers) * model.memory(most);
  return cost;
}

/// Of as many of `missing` runs as it takes at once.
RunCost cost_on_gpu(const Point& point, const RunPlan::Group& group, std::size_t missing,
                    Patience patience) {
  const MemoryGrowth growth;
  const auto device = make_device(*point.model, group.options);
  device->prepare();
  const Race race = point.race();
  const auto begin = Clock::now();
  std::vector<Run> runs;
  const std::size_t beside = std::min(missing, device->cohort());
  for (std::uint32_t replica = 0; replica < beside; ++replica)
    runs.emplace_back(race, replica, true, nullptr);
  Pace pace;
  drive(runs, device.get(), [&] {
    const double seconds = seconds_since(begin);
    pace.note(seconds, runs.front().progress());
    return seconds < (pace.got_on() ? patience.usual : patience.longest);
  });
  pace.note(seconds_since(begin), runs.front().progress());
  const auto count = static_cast<double>(beside);
  return {pace.of_all(), growth.bytes() / count, {}, {}, {}, {}, count};
}

/// [part]: points in the order of their work, of which the middle one is tried.
std::vector<std::vector<std::size_t>> parts_of(const RunPlan& plan,
                                               const std::vector<std::size_t>& missing) {
  std::vector<std::size_t> by_work;
  for (std::size_t point = 0; point < missing.size(); ++point)
    if (missing[point] > 0 && plan.groups[plan.group_of[point]].obstacle.empty())
      by_work.push_back(point);
  std::ranges::stable_sort(by_work, {}, [&](std::size_t point) { return plan.work[point]; });
  const std::size_t count = std::min(most_probes, by_work.size());
  std::vector<std::vector<std::size_t>> parts;
  for (std::size_t part = 0; part < count; ++part) {
    const auto at = [&](std::size_t number) {
      return by_work.begin() + static_cast<std::ptrdiff_t>(by_work.size() * number / count);
    };
    parts.emplace_back(at(part), at(part + 1));
  }
  return parts;
}

}  // namespace

RunsCost cost_of_runs(const Scenario& scenario, const RunPlan& plan,
                      const std::vector<std::size_t>& missing, unsigned jobs, const TellStep& tell,
                      Compression compression) {
  const double before = resident_memory(), peak_before = peak_memory();
  const auto parts = parts_of(plan, missing);
  const double usual = seconds_of_all / static_cast<double>(std::max<std::size_t>(1, parts.size()));
  double to_get_on = seconds_to_get_on;
  std::map<std::size_t, ModelCost> models;  // [group]
  RunsCost cost;
  RunSizes sizes(scenario, compression);
  DiskSize disk;
  double of_run = 0;
  const double runs =
      static_cast<double>(std::accumulate(missing.begin(), missing.end(), std::size_t{0}));
  const double threads = std::max(1.0, std::min<double>(jobs, runs));
  const double crew = std::min(jobs, std::thread::hardware_concurrency());
  const auto helpers = static_cast<std::size_t>(std::max(0.0, crew - threads));
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (tell) tell("times of runs", part, parts.size());
    const std::size_t tried = parts[part][parts[part].size() / 2];
    const Point& point = scenario.points[tried];
    const std::size_t number = plan.group_of[tried];
    const RunPlan::Group& group = plan.groups[number];
    const Patience patience{usual, usual + to_get_on};
    const double begin = thread_seconds();
    RunCost of_tried;
    if (point.with_model() && point.device == "cuda") {
      of_tried = cost_on_gpu(point, group, missing[tried], patience);
    } else {
      if (point.with_model() && !models.contains(number))
        models.emplace(number, cost_of_model(point, group.memory, usual));
      of_tried = cost_on_cpu(point, plan.theories[tried], sizes, group, models[number],
                             missing[tried], helpers, patience);
    }
    to_get_on = std::max(0.0, to_get_on - std::max(0.0, thread_seconds() - begin - usual));
    of_run = std::max(of_run, of_tried.memory);
    for (const std::size_t each : parts[part]) {
      const double ratio = plan.work[each] / plan.work[tried];
      const double times = std::isfinite(ratio) ? ratio : 1;
      const auto count = static_cast<double>(missing[each]);
      cost.longest = std::max(cost.longest, of_tried.seconds * times);
      cost.seconds += of_tried.seconds * times * std::ceil(count / of_tried.beside);
      disk += of_tried.fixed * count;
      disk += of_tried.of_learners *
              (count * scenario.points[each].cluster.learners / point.cluster.learners);
      disk += of_tried.growing * (count * times);
      disk += of_tried.of_first * (count > 0 ? times : 0);
      if (std::isnan(of_tried.seconds)) cost.longest = cost.seconds = of_tried.seconds;
    }
  }
  const bool on_gpu = device_of(scenario) == "cuda";
  cost.seconds = std::max(cost.seconds / (on_gpu ? 1 : threads), cost.longest);
  const auto all = static_cast<double>(scenario.runs());
  const Point& first = scenario.first();
  const auto targets =
      static_cast<double>(first.target_loss.size() + first.target_test_error.size());
  double text = 0;
  for (const auto& [file, size] : disk.files) text += size;
  cost.publishing = text / published_bytes + all / published_runs + targets / published_targets;
  const MemoryGrowth of_publishing;
  disk += sizes.of_rest(plan.theories);
  cost.store = disk.store;
  cost.files = sizes.of_files(disk);
  double shared = 0;
  for (const auto& [group, model] : models) shared += model.shared;
  for (const MemoryPart& kept : memory_of_scenario(scenario, scenario.first()))
    if (kept.key == "replicas") shared += kept.bytes;
  cost.memory =
      std::max(peak_before, before + shared + std::max(threads * of_run, of_publishing.bytes()));
  return cost;
}

}  // namespace gradrace
