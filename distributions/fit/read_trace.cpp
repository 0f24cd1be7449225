#include "distributions/fit/read_trace.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>

#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/readers/event_trace.h"
#include "distributions/fit/readers/log_pattern.h"
#include "distributions/fit/readers/table_trace.h"
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
