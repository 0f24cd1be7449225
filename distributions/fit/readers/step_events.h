#pragma once

#include <string>
#include <vector>

#include "distributions/fit/readers/trace_events.h"

namespace gradrace {

/// Times that a file of events gives, in seconds, by learner; and where they come from.
struct EventTimes {
  std::vector<std::string> learners;
  std::vector<std::vector<double>> series;
  std::string what, why;    // "event ProfilerStep", "PyTorch profiler's steps"
  bool step_times = false;  // each is the whole job's, which waits for its slowest learner
};

/// How long the events of a name lasted: "X", or "B" and "E" nested on a track (pid, tid).  A
/// number at the end of an event's name does not count ("ProfilerStep#12").  Without a name:
/// ProfilerStep. Each track is a learner; in a file of PyTorch's profiler (Kineto) its rank is, and
/// copies of annotations on a GPU's streams are left out.  Throws TraceError, with the names there
/// are. Source: Trace Event Format (Google, 2016); Kineto, libkineto/src/output_json.cpp.
EventTimes step_events(const std::filesystem::path& file, std::string_view text,
                       const std::string& name);

/// Times from a Horovod timeline, in which each tensor is a process.  A learner's minibatch lasts
/// from the end of the tensor's all-reduce to the tick by which the learner says that the tensor is
/// ready again.  Without a tensor's name: the one that is negotiated last in the first step, of
/// those reduced most often, so that forward and backward pass lie before it.  Where no ticks were
/// written (tensors of the response cache), the times from one negotiation to the next, which are
/// step times.  Throws TraceError.
/// Source: Horovod, horovod/common/timeline.cc.
EventTimes horovod_steps(const std::filesystem::path& file, std::string_view text,
                         const std::string& tensor);

/// Whether these are events of Horovod.
bool is_horovod_timeline(std::string_view text);

}  // namespace gradrace
