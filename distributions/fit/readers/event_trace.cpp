#include "distributions/fit/readers/event_trace.h"

#include <map>
#include <utility>

#include "distributions/fit/readers/step_events.h"
#include "sim/hash.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

std::string in_brackets(const std::string& why) { return why.empty() ? "" : " (" + why + ")"; }

void refuse_columns(const fs::path& file, const TraceRequest& request) {
  const char* option = !request.columns.empty()     ? "column"
                       : !request.cancelled.empty() ? "censored"
                       : request.learner            ? "learner"
                                                    : nullptr;
  if (!option) return;
  throw TraceError(option,
                   file.string() + " has events and no columns: --" + option + " is for CSV files",
                   "--step NAME for a file of events");
}

}  // namespace

/// Joins what several files say; a learner that two files have is told apart by the file.
ReadTrace event_trace(const std::vector<fs::path>& files, const TraceRequest& request) {
  ReadTrace result{{files.front(), "", {}, {}}, {}};
  std::map<std::string, std::vector<double>> series;
  Hash hash;
  for (const auto& file : files) {
    refuse_columns(file, request);
    const std::string text = read_trace_file(file);
    hash.add_bytes(text);
    const EventTimes times = is_horovod_timeline(text) ? horovod_steps(file, text, request.step)
                                                       : step_events(file, text, request.step);
    for (std::size_t i = 0; i < times.learners.size(); ++i) {
      std::string name = times.learners[i];
      if (files.size() > 1 && (name.empty() || series.contains(name)))
        name = file.stem().string() + (name.empty() ? "" : "/" + name);
      if (!series.emplace(name, times.series[i]).second)
        throw TraceError("path", file.string() + ": a file of that name was read before");
    }
    result.source.times = times.what.substr(times.what.find(' ') + 1);
    result.source.times_told = times.what + ", in seconds" + in_brackets(times.why);
    result.source.step_times = times.step_times;
  }
  result.trace.hash = hash.hex();
  for (const auto& [name, times] : series) result.trace.learners.push_back(name);
  sort_learners(result.trace.learners);
  for (const auto& name : result.trace.learners)
    result.trace.series.push_back(std::move(series[name]));
  result.source.learner_told = result.trace.learners.size() > 1 ? "ranks, files or tracks of events"
                                                                : "one, all times are its own";
  return result;
}

}  // namespace gradrace
