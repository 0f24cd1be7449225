#include "distributions/fit/read_trace.h"

#include <algorithm>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/readers/file_names.h"
#include "distributions/fit/readers/log_pattern.h"
#include "distributions/fit/readers/step_events.h"
#include "distributions/fit/readers/table_trace.h"
#include "sim/hash.h"
#include "sim/message_text.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

void refuse_pipe(const fs::path& file) {
  std::error_code ignored;
  if (fs::is_fifo(file, ignored) || fs::is_character_file(file, ignored))
    throw TraceError(
        "path", file.string() + ": is a pipe or a device, and it is read more than once", "a file");
}

/// Whether a text is one object in JSON that has objects alone, or a list of objects half of which
/// have a time.
bool is_table(std::string_view text) {
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) return false;
  const auto has_time = [](const auto& one) {
    return one.is_object() && std::ranges::any_of(one.items(), [](const auto& entry) {
             return entry.value().is_primitive() && says_time(entry.key());
           });
  };
  const auto has_times = [&](const auto& value) {
    return value.is_array() && value.size() > 1 &&
           2 * std::ranges::count_if(value, has_time) >= std::ssize(value);
  };
  return std::ranges::all_of(object, [](const auto& value) { return value.is_object(); }) ||
         std::ranges::any_of(object, has_times);
}

/// Whether a text in JSON has events, and no records: objects a line or in an array, none of which
/// says a phase.
bool has_events(const TraceText& file) {
  std::string_view text = without_mark(file.text);
  while (!text.empty() && std::string_view(" \t\r\n").find(text.front()) != std::string_view::npos)
    text.remove_prefix(1);
  if (!text.starts_with('{') && !text.starts_with('[')) return false;
  const bool list = text.starts_with('[');
  const auto inside = text.find_first_not_of(" \t\r\n", 1);
  if (list && inside != std::string_view::npos && text[inside] != '{' && text[inside] != ']') {
    const bool is_json = nlohmann::json::accept(text);
    const std::string options = log_options(text);
    throw TraceError(
        "path",
        file.file.string() +
            (is_json ? ": is a list in JSON, and not of objects" : ": is neither JSON nor a table"),
        is_json ? "a list of objects, a minibatch each, such as [{\"time\": 0.5}]; or a table"
        : options.empty() ? "of a log, --pattern REGEX with a group of parentheses around the time"
                          : options);
  }
  if (text.find("\"ph\"") != std::string_view::npos ||
      text.find("\"traceEvents\"") != std::string_view::npos)
    return true;
  if (!list && is_table(text)) return false;
  if (!list && text.find("\"log_history\"") != std::string_view::npos)
    throw TraceError(
        "path",
        file.file.string() +
            ": is the state of Hugging Face's Trainer, whose log_history has no time of "
            "a step",
        "times that a TrainerCallback logs, from on_step_begin to on_step_end, as CSV "
        "or as a JSON object a line");
  if (list) return inside == std::string_view::npos || text[inside] == ']';
  return !trimmed(text.substr(0, text.find('\n'))).ends_with('}');
}

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

/// The times of files of events.  Those of several files are of one learner where the files say so
/// (its rank), else each file is a learner's.  Throws TraceError.
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

void keep(ReadTrace& read, const TraceRequest& request) {
  Trace& trace = read.trace;
  for (std::size_t learner = 0; learner < trace.series.size(); ++learner) {
    auto& times = trace.series[learner];
    if (times.size() <= request.skip) {
      throw TraceError("skip", "--skip " + std::to_string(request.skip) +
                                   " leaves no time of learner " + shown(trace.learners[learner]) +
                                   ", which has " + std::to_string(times.size()));
    }
    const auto skip = static_cast<std::ptrdiff_t>(request.skip);
    times.erase(times.begin(), times.begin() + skip);
    if (!trace.cancelled.empty())
      trace.cancelled[learner].erase(trace.cancelled[learner].begin(),
                                     trace.cancelled[learner].begin() + skip);
    for (double& time : times) time *= request.scale;
  }
  if (request.skip > 0)
    read.source.notes.push_back("left out: the first " + count_text(request.skip, "time") +
                                " of each learner");
}

ReadTrace read_texts(const std::vector<TraceText>& texts, const TraceRequest& request,
                     bool of_events) try {
  return of_events ? event_trace(texts, request) : table_trace(texts, request);
} catch (const std::bad_alloc&) {
  throw TraceError("path", texts.front().file.string() + ": does not fit into memory",
                   "fewer rows, or the columns that are needed alone");
}

}  // namespace

ReadTrace read_trace(const std::vector<fs::path>& files, const TraceRequest& request) {
  std::vector<TraceText> texts;
  std::size_t of_events = 0;
  for (const auto& file : files) {
    refuse_pipe(file);
    texts.push_back({file, read_trace_file(file)});
    if (request.pattern.empty() && has_events(texts.back())) ++of_events;
  }
  if (of_events > 0 && of_events < files.size())
    throw TraceError("path", "some files have events, and others are tables", "files of one kind");
  ReadTrace result = read_texts(texts, request, of_events > 0);
  result.source.scale = request.scale;
  result.source.skipped = static_cast<std::uint32_t>(request.skip);
  result.source.durations = request.durations || request.differences || !request.begin.empty();
  keep(result, request);
  return result;
}

}  // namespace gradrace
