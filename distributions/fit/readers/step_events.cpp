#include "distributions/fit/readers/step_events.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "sim/message_text.h"

namespace gradrace {
namespace {

/// "ProfilerStep" of "ProfilerStep#12", "train step" of "train step 7".
std::string without_number(const std::string& name) {
  std::size_t end = name.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
  if (end == name.size()) return name;
  while (end > 0 && std::string_view("#_:-/ ").find(name[end - 1]) != std::string::npos) --end;
  return end == 0 ? name : name.substr(0, end);
}

using Track = std::pair<std::string, std::string>;  // process, thread

class Steps {
 public:
  Steps(const std::filesystem::path& file, std::string_view text, std::string name)
      : file_(file), text_(text), name_(std::move(name)) {}

  void take(const TraceEvent& event) {
    if (event.category == "gpu_user_annotation") return;
    const Track track{event.process, event.thread};
    if (event.phase == "X" && counted(event.name)) {
      add(track, event, event.begin, event.duration, "dur");
    } else if (event.phase == "B") {
      counted(event.name);
      open_[track].push_back(event);
    } else if (event.phase == "E" && !open_[track].empty()) {
      const TraceEvent begun = std::move(open_[track].back());
      open_[track].pop_back();
      if (is_step(begun.name)) add(track, begun, begun.begin, event.begin - begun.begin, "ts");
    }
  }

  /// By track, in the order of time.
  std::map<Track, std::vector<double>> times() {
    if (found_.empty()) refuse();
    std::map<Track, std::vector<double>> result;
    for (auto& [track, steps] : found_) {
      std::stable_sort(steps.begin(), steps.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [begin, duration] : steps) result[track].push_back(duration / second);
    }
    return result;
  }

 private:
  bool is_step(const std::string& name) const {
    return name == name_ || without_number(name) == name_;
  }

  bool counted(const std::string& name) {
    ++counts_[without_number(name)];
    return is_step(name);
  }

  void add(const Track& track, const TraceEvent& event, double begin, double duration,
           const std::string& key) {
    if (!std::isfinite(begin) || !std::isfinite(duration) || !(duration / second > 0)) {
      throw event_error(file_, text_, event.offset,
                        "event " + shown(event.name) + " must last, got " +
                            (std::isfinite(duration) ? short_number(duration) + " microseconds"
                                                     : "no number for \"" + key + "\""),
                        "\"ts\" and \"dur\" (or the \"ts\" of \"B\" and \"E\") in microseconds");
    }
    found_[track].emplace_back(begin, duration);
  }

  [[noreturn]] void refuse() const {
    constexpr std::size_t most = 12;
    std::vector<std::pair<std::size_t, std::string>> known;
    for (const auto& [name, count] : counts_) known.emplace_back(count, name);
    std::sort(known.begin(), known.end(), [](const auto& a, const auto& b) {
      return std::pair(b.first, a.second) < std::pair(a.first, b.second);
    });
    std::string allowed;
    for (std::size_t i = 0; i < std::min(most, known.size()); ++i) {
      allowed +=
          (i > 0 ? ", " : "") + known[i].second + " (" + std::to_string(known[i].first) + ")";
    }
    if (known.size() > most) allowed += ", and " + std::to_string(known.size() - most) + " more";
    throw TraceError("step",
                     file_.string() + ": no event that lasts is called " + shown(name_) +
                         "; say --step NAME, the event that is one minibatch",
                     allowed.empty() ? "nothing: the file has no event that lasts" : allowed);
  }

  const std::filesystem::path& file_;
  const std::string_view text_;
  const std::string name_;
  std::map<std::string, std::size_t> counts_;
  std::map<Track, std::vector<TraceEvent>> open_;
  std::map<Track, std::vector<std::pair<double, double>>> found_;  // begin, duration
};

/// The shortest names that tell the tracks apart.
std::string track_name(const std::map<Track, std::vector<double>>& times, const Track& track) {
  const auto all_like_first = [&](auto part) {
    return std::all_of(times.begin(), times.end(), [&](const auto& each) {
      return each.first.*part == times.begin()->first.*part;
    });
  };
  if (all_like_first(&Track::first)) return track.second;
  if (all_like_first(&Track::second)) return track.first;
  return track.first + "/" + track.second;
}

}  // namespace

EventTimes step_events(const std::filesystem::path& file, std::string_view text,
                       const std::string& name) {
  const std::string wanted = name.empty() ? "ProfilerStep" : name;
  Steps steps(file, text, wanted);
  const TraceHeader header =
      read_events(file, text, [&](const TraceEvent& event) { steps.take(event); });
  EventTimes result;
  result.what = "event " + wanted;
  if (name.empty()) result.why = "the steps of PyTorch's profiler";
  const auto times = steps.times();
  for (const auto& [track, series] : times) {
    const std::string its_track = times.size() > 1 ? track_name(times, track) : "";
    const char* between = header.rank.empty() || its_track.empty() ? "" : "/";
    result.learners.push_back(header.rank + between + its_track);
    result.series.push_back(series);
  }
  return result;
}

}  // namespace gradrace
