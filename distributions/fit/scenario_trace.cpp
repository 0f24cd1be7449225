#include "distributions/fit/scenario_trace.h"

#include "distributions/fit/doubts.h"
#include "distributions/fit/read_trace.h"
#include "distributions/fit/trace_fit.h"

namespace gradrace {

namespace {

constexpr std::string_view learner_key = "learner_column";

bool is_sample_of_fit(const Table& table) {
  return table.names ==
         std::vector<std::string>{"learner", "draw", "time", "evened", "cancelled", "outlier"};
}

std::vector<std::string> notes_of(const Trace& trace, const ReadTrace& read, bool by_learner,
                                  bool pooled) {
  const std::string file = trace.file.string() + ": ";
  std::vector<std::string> notes = doubts_about(read.trace, read.source, 1);
  for (auto& note : notes) note.insert(0, file + "as gradrace fit says, ");
  if (pooled) return notes;
  if (!by_learner && !read.source.learner.empty()) {
    notes.push_back(file + "column " + read.source.learner +
                    " says whose a time is, by its name; without learner_column all rows are one "
                    "learner's");
  } else if (read.trace.series != trace.series) {
    notes.push_back(
        file +
        "rows are taken as they stand, which is not the order of their steps; sample.csv "
        "of gradrace fit has that");
  }
  return notes;
}

}  // namespace

Trace scenario_trace(const std::filesystem::path& file, const std::string& column,
                     const std::string& learner_column, bool pooled) {
  const Table table = read_table(file);
  Trace trace = trace_of(table, column, learner_column);
  if (is_sample_of_fit(table)) return trace;
  TraceRequest request;
  request.columns = {column};
  if (!learner_column.empty()) request.learners = {{learner_column}};
  try {
    const ReadTrace read = read_trace({file}, request);
    refuse_totals(read.trace, read.source);
    trace.notes = notes_of(trace, read, !learner_column.empty(), pooled);
  } catch (const TraceError& error) {
    const bool of_learners = error.key == learner_key;
    if (of_learners && pooled) return trace;
    const std::string what = error.what(), place = file.string() + ": ";
    throw TraceError(
        of_learners ? learner_key : "column",
        what.starts_with(place) ? what.substr(place.size()) : what,
        "what gradrace fit " + file.string() +
            " makes of it, whose sample.csv a scenario reads; its options: " + error.allowed);
  }
  return trace;
}

}  // namespace gradrace
