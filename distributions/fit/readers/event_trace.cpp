#include "distributions/fit/readers/event_trace.h"

#include <algorithm>
#include <map>
#include <utility>

#include "distributions/fit/readers/file_names.h"
#include "distributions/fit/readers/step_events.h"
#include "sim/hash.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

void refuse_columns(const TraceText& file, const TraceRequest& request) {
  const std::pair<const char*, bool> of_tables[] = {{"column", !request.columns.empty()},
                                                    {"censored", !request.cancelled.empty()},
                                                    {"learner", request.learners.has_value()},
                                                    {"sum-by", !request.sum_by.empty()},
                                                    {"begin", !request.begin.empty()},
                                                    {"differences", request.differences},
                                                    {"rate", request.items > 0}};
  const auto* const asked =
      std::ranges::find(of_tables, true, &std::pair<const char*, bool>::second);
  if (asked == std::end(of_tables)) return;
  const std::string option = asked->first;
  throw TraceError(
      option, file.file.string() + " has events and no columns: --" + option + " is for CSV files",
      "--step NAME, --where thread=NAME for a file of events");
}

}  // namespace

ReadTrace event_trace(const std::vector<TraceText>& files, const TraceRequest& request) {
  ReadTrace result{{files.front().file, "", {}, {}}, {}};
  const auto names = names_of_files(files);
  std::map<std::string, std::vector<double>> series;
  std::map<std::string, std::size_t> files_of;
  Hash hash;
  for (std::size_t i = 0; i < files.size(); ++i) {
    refuse_columns(files[i], request);
    hash.add_bytes(files[i].text);
    const EventTimes times = is_horovod_timeline(files[i].text)
                                 ? horovod_steps(files[i], request.step)
                                 : step_events(files[i], request);
    const std::string file = times.rank.empty() && files.size() > 1 ? names[i] : times.rank;
    for (std::size_t learner = 0; learner < times.learners.size(); ++learner) {
      const std::string& own = times.learners[learner];
      const std::string name = file + (file.empty() || own.empty() ? "" : "/") + own;
      ++files_of[name];
      auto& all = series[name];
      all.insert(all.end(), times.series[learner].begin(), times.series[learner].end());
    }
    result.source.times = times.what.substr(times.what.find(' ') + 1);
    result.source.times_told =
        times.what + ", in seconds" + (times.why.empty() ? "" : " (" + times.why + ")");
    result.source.step_times = times.step_times;
    for (const auto& note : times.notes)
      result.source.notes.push_back(
          note.starts_with("the last") ? files[i].file.string() + ": " + note : note);
  }
  for (const auto& [name, count] : files_of) {
    if (count > 1)
      result.source.notes.push_back(count_text(count, "file") + " say that they are of rank " +
                                    name +
                                    ": their times are one learner's, in the order of the files");
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
