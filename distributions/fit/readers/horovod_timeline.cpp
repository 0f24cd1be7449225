#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "distributions/fit/readers/step_events.h"

namespace gradrace {
namespace {

/// What happened to one tensor, step by step.
struct Tensor {
  std::string name;
  int depth = 0;  // of events that have begun and not ended
  bool negotiating = false, new_negotiation = false;
  double end = TraceEvent::unknown;         // of the newest all-reduce
  double first = TraceEvent::unknown;       // negotiation
  double negotiated = TraceEvent::unknown;  // begin of the newest negotiation
  std::size_t reduced = 0;                  // how often
  std::size_t negotiations = 0;             // how many, and how many with ticks
  std::size_t ticked = 0;
  std::map<std::string, std::vector<double>> minibatches;  // by rank, in microseconds
  std::vector<double> steps;                               // from negotiation to negotiation
};

bool is_rank(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

class Timeline {
 public:
  Timeline(const std::filesystem::path& file, std::string_view text) : file_(file), text_(text) {}

  void take(const TraceEvent& event) {
    Tensor& tensor = tensors_[event.process];
    if (event.phase == "M" && event.name == "process_name") {
      tensor.name = event.named;
    } else if (event.phase == "B") {
      if (tensor.depth++ == 0) begin(tensor, event);
    } else if (event.phase == "E") {
      if (tensor.depth > 0 && --tensor.depth == 0) end(tensor, event);
    } else if (event.phase == "X" && tensor.negotiating && is_rank(event.name)) {
      if (std::exchange(tensor.new_negotiation, false)) ++tensor.ticked;
      if (!std::isnan(tensor.end))
        tensor.minibatches[event.name].push_back(positive(event, event.begin - tensor.end));
    }
  }

  const Tensor& tensor(const std::string& wanted) const {
    const Tensor* last = nullptr;
    for (const auto& [process, each] : tensors_) {
      if (each.reduced == 0 || (!wanted.empty() && each.name != wanted)) continue;
      if (!last || std::pair(each.reduced, each.first) > std::pair(last->reduced, last->first))
        last = &each;
    }
    if (!last) refuse(wanted);
    return *last;
  }

 private:
  void begin(Tensor& tensor, const TraceEvent& event) {
    tensor.negotiating = event.name.starts_with("NEGOTIATE_");  // ALLREDUCE, ADASUM, ALLGATHER, ...
    if (!tensor.negotiating) return;
    if (std::isnan(tensor.first)) tensor.first = event.begin;
    if (!std::isnan(tensor.negotiated))
      tensor.steps.push_back(positive(event, event.begin - tensor.negotiated));
    ++tensor.negotiations;
    tensor.new_negotiation = true;
    tensor.negotiated = event.begin;
  }

  void end(Tensor& tensor, const TraceEvent& event) {
    if (!tensor.negotiating && !std::isnan(tensor.negotiated)) {
      tensor.end = event.begin;
      ++tensor.reduced;
    }
    tensor.negotiating = false;
  }

  double positive(const TraceEvent& event, double time) const {
    if (std::isfinite(time) && time > 0) return time;
    throw event_error(file_, text_, event.offset,
                      event.name + " must come after the tensor's all-reduce before",
                      "a later \"ts\", in microseconds");
  }

  [[noreturn]] void refuse(const std::string& wanted) const {
    std::string allowed;
    for (const auto& [process, tensor] : tensors_) {
      if (tensor.reduced > 0) allowed += (allowed.empty() ? "" : ", ") + tensor.name;
    }
    throw TraceError("step",
                     file_.string() + ": no tensor " +
                         (wanted.empty() ? "" : "called " + shown(wanted) + " ") + "is all-reduced",
                     allowed);
  }

  const std::filesystem::path& file_;
  const std::string_view text_;
  std::map<std::string, Tensor> tensors_;  // by process
};

std::vector<double> in_seconds(std::vector<double> times) {
  for (double& time : times) time /= microseconds_a_second;
  return times;
}

}  // namespace

EventTimes horovod_steps(const TraceText& file, const std::string& wanted) {
  Timeline timeline(file.file, file.text);
  const TraceHeader header =
      read_events(file.file, file.text, [&](const TraceEvent& event) { timeline.take(event); });
  const Tensor& tensor = timeline.tensor(wanted);
  EventTimes result;
  result.what = "tensor " + tensor.name;
  result.notes = header.notes;
  if (2 * tensor.ticked < tensor.negotiations) {
    result.why = "Horovod timeline without ticks of ranks: from negotiation to negotiation";
    if (tensor.ticked > 0) {
      result.notes.push_back("ranks' ticks are in " + std::to_string(tensor.ticked) + " of " +
                             std::to_string(tensor.negotiations) +
                             " steps alone, as where Horovod answers from its cache: the times are "
                             "those of the whole job's steps");
    }
    result.step_times = true;
    result.learners = {""};
    result.series = {in_seconds(tensor.steps)};
    return result;
  }
  result.why = "Horovod timeline: from all-reduce to each rank's next tick";
  for (const auto& [rank, times] : tensor.minibatches) result.learners.push_back(rank);
  sort_learners(result.learners);
  for (const auto& rank : result.learners)
    result.series.push_back(in_seconds(tensor.minibatches.at(rank)));
  return result;
}

bool is_horovod_timeline(std::string_view text) {
  constexpr std::size_t beginning = 1 << 16;
  return text.substr(0, beginning).find("\"NEGOTIATE_") != std::string_view::npos;
}

}  // namespace gradrace
