#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "distributions/fit/readers/table_trace.h"
#include "distributions/fit/readers/trace_events.h"
#include "distributions/fit/trace_columns.h"

namespace gradrace {

/// Times that a file of events gives, in seconds, by learner; and where they come from.
struct EventTimes {
  std::string rank;                   // of the file, else empty
  std::vector<std::string> learners;  // names within the file; empty of one
  std::vector<std::vector<double>> series;
  std::string what, why;    // "event ProfilerStep", "PyTorch profiler's steps"
  bool step_times = false;  // each is the whole job's, which waits for its slowest learner
  std::vector<std::string> notes;
};

/// How long the events of a name lasted: "X", or "B" and "E" nested on a track (pid, tid).  A
/// number at the end of an event's name does not count ("ProfilerStep#12").  Without a name:
/// ProfilerStep, or all events of the tracks that were chosen.  Each track is a learner; in a file
/// of PyTorch's profiler (Kineto) its rank is, and copies of annotations on a GPU's streams are
/// left out.  Events are chosen by name, category, process and thread (`where`), the latter two by
/// name or number.  Throws TraceError, with what there is: no such event; tracks of unlike
/// processes or threads (a host's and a device's); events of several kinds, or within each other.
/// Source: Trace Event Format (Google, 2016); Kineto, libkineto/src/output_json.cpp; "Steps" of
/// OpenXLA's profiler, tsl/profiler.
EventTimes step_events(const TraceText& file, const TraceRequest& request);

/// Times from a Horovod timeline, in which each tensor is a process.  A learner's minibatch lasts
/// from the end of the tensor's all-reduce to the tick by which the learner says that the tensor is
/// ready again.  Without a tensor's name: the one that is negotiated last in the first step, of
/// those reduced most often, so that forward and backward pass lie before it.  Where ticks were
/// written in less than half of the steps (tensors of the response cache), the times from one
/// negotiation to the next, which are step times.  Throws TraceError.
/// Source: Horovod, horovod/common/timeline.cc.
EventTimes horovod_steps(const TraceText& file, const std::string& tensor);

/// Whether these are events of Horovod.
bool is_horovod_timeline(std::string_view text);

}  // namespace gradrace
