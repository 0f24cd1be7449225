#include "distributions/fit/readers/step_events.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/rows/row_choice.h"
#include "sim/message_text.h"

namespace gradrace {
namespace {

constexpr const char* steps_thread = "Steps";  // of a device, in OpenXLA's profiles

using Track = std::pair<std::string, std::string>;  // process, thread

/// An event that lasts.
struct Lasting {
  std::size_t name;  // in names_
  const Track* track;
  double begin, duration;
  std::size_t offset;
};

/// All events that last, and the names of tracks.
class Events {
 public:
  void take(TraceEvent& event) {
    if (event.phase == "M" && event.name == "process_name")
      process_names_[event.process] = event.named;
    if (event.phase == "M" && event.name == "thread_name")
      thread_names_[{event.process, event.thread}] = event.named;
    if (event.category == "gpu_user_annotation") return;
    const Track* track = &*tracks_.emplace(event.process, event.thread).first;
    if (event.phase == "X") {
      add(event, track, event.duration);
    } else if (event.phase == "B" || event.phase == "E") {
      begin_or_end(event, "B", open_[track], track);
    } else if (event.phase == "b" || event.phase == "e") {
      begin_or_end(event, "b",
                   asynchronous_[{event.process, event.category, event.identity, event.name}],
                   track);
    }
  }

  const std::vector<Lasting>& all() const { return all_; }
  const std::string& name(const Lasting& event) const { return names_[event.name].first; }
  const std::string& category(const Lasting& event) const { return names_[event.name].second; }
  std::string process(const Track& track) const {
    const auto named = process_names_.find(track.first);
    return named == process_names_.end() ? "" : named->second;
  }
  std::string thread(const Track& track) const {
    const auto named = thread_names_.find(track);
    return named == thread_names_.end() ? "" : named->second;
  }

 private:
  void begin_or_end(TraceEvent& event, std::string_view begin, std::vector<TraceEvent>& open,
                    const Track* track) {
    if (event.phase == begin) {
      open.push_back(std::move(event));
    } else if (!open.empty()) {
      const TraceEvent begun = std::move(open.back());
      open.pop_back();
      add(begun, track, event.begin - begun.begin);
    }
  }

  void add(const TraceEvent& event, const Track* track, double duration) {
    const auto [found, is_new] =
        places_.emplace(std::pair(event.name, event.category), names_.size());
    if (is_new) names_.push_back(found->first);
    all_.push_back({found->second, track, event.begin, duration, event.offset});
  }

  std::vector<Lasting> all_;
  std::vector<std::pair<std::string, std::string>> names_;  // and category
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
  std::set<Track> tracks_;
  std::map<const Track*, std::vector<TraceEvent>> open_;
  std::map<std::array<std::string, 4>, std::vector<TraceEvent>> asynchronous_;
  std::map<std::string, std::string> process_names_;
  std::map<Track, std::string> thread_names_;
};

class Steps {
 public:
  Steps(const TraceText& file, const TraceRequest& request)
      : file_(file),
        request_(request),
        wanted_(request.step.empty() && request.where.empty() ? "ProfilerStep" : request.step) {
    for (const auto& pattern : request.where) {
      if (!is_part(pattern.column)) {
        throw TraceError("where", file.file.string() + ": events have no " + shown(pattern.column),
                         "name, category, process or thread");
      }
    }
    header_ = read_events(file.file, file.text, [&](TraceEvent& event) { events_.take(event); });
    for (const auto& event : events_.all()) {
      if (is_chosen(event)) chosen_.push_back(event);
    }
  }

  EventTimes times() {
    if (chosen_.empty()) refuse_none();
    check_durations();
    check_tracks();
    check_kinds();
    std::map<Track, std::vector<Lasting>> by_track;
    for (const auto& event : chosen_) by_track[*event.track].push_back(event);
    EventTimes result{header_.rank, {}, {}, "event " + wanted_, "", false, header_.notes};
    if (wanted_.empty()) result.what = "events of the chosen tracks";
    if (request_.step.empty() && !wanted_.empty()) result.why = "the steps of PyTorch's profiler";
    for (auto& [track, events] : by_track) {
      std::ranges::stable_sort(events, {}, &Lasting::begin);
      check_nesting(events);
      result.learners.push_back(by_track.size() > 1 ? track_name(by_track, track) : "");
      result.series.emplace_back();
      for (const auto& event : events)
        result.series.back().push_back(event.duration / microseconds_a_second);
    }
    return result;
  }

 private:
  static bool is_part(const std::string& name) {
    return name == "name" || name == "category" || name == "cat" || name == "process" ||
           name == "thread" || name == "pid" || name == "tid";
  }

  bool holds(const RowPattern& pattern, const Lasting& event) const {
    const auto either = [&](const std::string& called, const std::string& number) {
      return (matches(called, pattern.pattern) || matches(number, pattern.pattern)) !=
             pattern.unlike;
    };
    if (pattern.column == "name") return pattern.holds(events_.name(event));
    if (pattern.column.starts_with("cat")) return pattern.holds(events_.category(event));
    if (pattern.column.starts_with("p"))
      return either(events_.process(*event.track), event.track->first);
    return either(events_.thread(*event.track), event.track->second);
  }

  bool is_chosen(const Lasting& event) const {
    const std::string& name = events_.name(event);
    return (wanted_.empty() || name == wanted_ || without_number(name) == wanted_) &&
           std::ranges::all_of(request_.where,
                               [&](const auto& pattern) { return holds(pattern, event); });
  }

  void check_durations() const {
    for (const auto& event : chosen_) {
      if (std::isfinite(event.begin) && std::isfinite(event.duration) &&
          event.duration / microseconds_a_second > 0)
        continue;
      throw event_error(
          file_.file, file_.text, event.offset,
          "event " + shown(events_.name(event)) + " must last, got " +
              (!std::isfinite(event.begin)      ? "no number for \"ts\""
               : !std::isfinite(event.duration) ? "no number for \"dur\""
                                                : short_number(event.duration) + " microseconds"),
          "\"ts\" and \"dur\" (or the \"ts\" of \"B\" and \"E\") in microseconds");
    }
  }

  /// "thread Steps of process /device:TPU:0"
  std::string told(const Track& track) const {
    const auto named = [](const std::string& name, const std::string& number) {
      return name.empty() ? (number.empty() ? "none" : number) : name;
    };
    return "thread " + named(events_.thread(track), track.second) + " of process " +
           named(events_.process(track), track.first);
  }

  /// Its process and thread without numbers: of a device's, of a host's.
  std::string kind_of(const Track& track) const {
    return without_number(events_.process(track)) + "\n" + without_number(events_.thread(track));
  }

  struct Sum {
    double count = 0, time = 0;
  };
  static std::map<const Track*, Sum> sums_of(const std::vector<Lasting>& events) {
    std::map<const Track*, Sum> sums;
    for (const auto& event : events)
      ++sums[event.track].count, sums[event.track].time += event.duration;
    return sums;
  }

  bool is_of_device(const Track& track) const {
    constexpr std::string_view words[] = {"device", "gpu", "tpu", "stream", "cuda"};
    return has_word(words_of(events_.process(track) + " " + events_.thread(track)), words);
  }

  /// Those that may have a device's steps: OpenXLA's line of them, and a device's that have about
  /// as many events as a chosen track that has none, and longer ones.
  std::set<const Track*> tracks_of_steps() const {
    std::set<const Track*> tracks;
    const auto chosen = sums_of(chosen_);
    for (const auto& [track, sum] : sums_of(events_.all())) {
      const auto is_like = [&, &device = sum](const auto& one) {
        const Sum& host = one.second;
        return !is_of_device(*one.first) &&
               std::abs(device.count - host.count) <= 0.1 * host.count &&
               device.time > 1.5 * host.time;
      };
      if (events_.thread(*track) == steps_thread ||
          (is_of_device(*track) && std::ranges::any_of(chosen, is_like)))
        tracks.insert(track);
    }
    return tracks;
  }

  /// That the tracks are alike, and none has a device's steps while others were chosen.
  void check_tracks() const {
    if (!request_.where.empty()) return;
    std::map<std::string, std::vector<const Lasting*>> kinds;
    bool steps_of_device = false;
    for (const auto& event : chosen_) kinds[kind_of(*event.track)].push_back(&event);
    const auto tracks = tracks_of_steps();
    for (const auto& event : events_.all()) {
      if (!tracks.contains(event.track)) continue;
      const auto [its, is_new] = kinds.try_emplace(kind_of(*event.track));
      if (is_new || steps_of_device) {
        steps_of_device = true;
        its->second.push_back(&event);
      }
    }
    if (kinds.size() < 2) return;
    const auto text_of = [this](const auto& kind) {
      const auto& events = kind.second;
      double sum = 0;
      for (const auto* event : events) sum += event->duration / microseconds_a_second;
      return told(*events.front()->track) + " (" + count_text(events.size(), "event") + ", mean " +
             short_number(sum / static_cast<double>(events.size()), 3) + " s)";
    };
    throw TraceError(
        "where",
        file_.file.string() + ": which of these are minibatches?  " + joined(kinds, "; ", text_of),
        "--where thread=NAME or --where process=NAME (* is any text; for all as they are, "
        "process=*), and --step NAME for the events of a name");
  }

  void check_kinds() const {
    if (std::ranges::find(request_.where, "name", &RowPattern::column) != request_.where.end())
      return;
    std::vector<std::string_view> names;
    std::vector<double> times;
    std::set<const Track*> tracks;
    for (const auto& event : chosen_) {
      names.push_back(events_.name(event));
      times.push_back(event.duration / microseconds_a_second);
      tracks.insert(event.track);
    }
    const auto kinds = kinds_of(names, tracks.size());
    const bool stray = kinds.names.size() == 2 && kinds.counts[1] == 1;
    if (kinds.names.size() < 2 || stray || is_all_numbered(kinds)) return;
    throw TraceError("where",
                     file_.file.string() + ": the events are of " +
                         std::to_string(kinds.names.size()) +
                         " kinds, and a law is fitted to minibatches: " + kinds_text(kinds, times),
                     "--where name=PATTERN for those that are minibatches (* is any text)");
  }

  /// "step" and "step#12" are alike where the one is the other without its number.
  bool is_all_numbered(const NameKinds& kinds) const {
    return !wanted_.empty() && kinds.names.size() == 2 &&
           without_number(kinds.names[0]) == without_number(kinds.names[1]) &&
           (kinds.names[0] == wanted_ || kinds.names[1] == wanted_);
  }

  void check_nesting(const std::vector<Lasting>& events) const {
    for (std::size_t i = 1; i < events.size(); ++i) {
      const double end = events[i - 1].begin + events[i - 1].duration;
      if (events[i].begin + events[i].duration / 2 >= end) continue;
      throw event_error(
          file_.file, file_.text, events[i].offset,
          "event " + shown(events_.name(events[i])) + " lies within " +
              shown(events_.name(events[i - 1])) + " on its track",
          "minibatches one after the other: choose by --step NAME, --where name=PATTERN");
    }
  }

  [[noreturn]] void refuse_none() const {
    std::vector<std::string_view> names;
    std::set<Track> steps;
    for (const auto& event : events_.all()) {
      names.push_back(events_.name(event));
      if (events_.thread(*event.track) == steps_thread) steps.insert(*event.track);
    }
    constexpr std::size_t most = 12;
    std::map<std::string, std::size_t> counts;
    for (const auto name : names) ++counts[without_number(std::string(name))];
    std::vector<std::pair<std::string, std::size_t>> known(counts.begin(), counts.end());
    std::ranges::stable_sort(known, std::ranges::greater(),
                             [](const auto& one) { return one.second; });
    std::string its_names = joined(known | std::views::take(most), ", ", [](const auto& one) {
      return one.first + " (" + std::to_string(one.second) + ")";
    });
    if (known.size() > most) its_names += ", and " + std::to_string(known.size() - most) + " more";
    if (!steps.empty())
      its_names += "; or, of " + told(*steps.begin()) + ", --where thread=" + steps_thread;
    throw TraceError("step",
                     file_.file.string() + ": no event that lasts is " +
                         (wanted_.empty() ? "chosen" : "called " + shown(wanted_)) +
                         (request_.where.empty() ? "" : " where --where says") +
                         "; say --step NAME, the event that is one minibatch",
                     its_names.empty() ? "nothing: the file has no event that lasts" : its_names);
  }

  /// The shortest names that tell the tracks apart.
  static std::string track_name(const std::map<Track, std::vector<Lasting>>& tracks,
                                const Track& track) {
    const auto all_like_first = [&](auto part) {
      return std::ranges::all_of(tracks, [&](const auto& each) {
        return each.first.*part == tracks.begin()->first.*part;
      });
    };
    if (all_like_first(&Track::first)) return track.second;
    if (all_like_first(&Track::second)) return track.first;
    return track.first + "/" + track.second;
  }

  const TraceText& file_;
  const TraceRequest& request_;
  const std::string wanted_;
  TraceHeader header_;
  Events events_;
  std::vector<Lasting> chosen_;
};

}  // namespace

EventTimes step_events(const TraceText& file, const TraceRequest& request) {
  return Steps(file, request).times();
}

}  // namespace gradrace
