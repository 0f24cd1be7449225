#include <algorithm>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/cli/output/spool.h"
#include "sim/cli/results/run_tables.h"
#include "sim/cli/scenario/point.h"
#include "sim/cli/scenario/record.h"
#include "sim/message_text.h"

namespace gradrace {
namespace {

/// The timeline of one run as Chrome trace events: a process for the point, a track for the server
/// (tid 0; its slices are the versions) and one for each learner (tid learner + 1; its slices are
/// the minibatches).  Without a server track 0 has the updates, and each learner a second track
/// below its own (tid P + learner + 1) for its exchanges, which overlap with what it computes;
/// slices of one exchange have its number.  With a server that takes time to reach, a minibatch's
/// slice is from its dispatch to its end, with the pull and the push inside.  A minibatch whose
/// gradient was not used has its fate in its name, since viewers colour slices by names.  One unit
/// of simulated time is drawn as one second. Times are rounded to whole nanoseconds, so slices of a
/// track that touch do not overlap.  Names of tracks come first, a slice when its end and its fate
/// are known.
class TraceRecorder final : public Observer {
 public:
  TraceRecorder(const Point& of, std::optional<std::uint64_t> updates, Spool& rows);

  void on_start() override;
  void on_end(const GradientFacts& gradient, double begin, double time, Ending ending) override;
  void on_trip(const TripFacts& trip) override;
  void on_update(const UpdateFacts& update) override;
  void on_step(const GradientFacts& gradient) override;
  void on_exchange(const ExchangeFacts& exchange) override;
  void on_in_flight(const GradientFacts& gradient, double begin, double time) override;
  void on_finish(double time) override;

 private:
  struct Minibatch {
    GradientFacts gradient;
    double begin, end;
  };

  bool open() const { return !updates_ || version_ < *updates_; }
  void write_cut(const Minibatch& minibatch, const char* fate);
  void write(const Minibatch& minibatch, const char* fate, const std::string& more = "");
  void write_version(double end);
  void write_slice(const std::string& name, const char* category, double begin, double end,
                   std::size_t tid, const std::string& arguments);
  void write_tracks();
  void write_track(const char* what, std::size_t tid, const std::string& arguments);
  void add(std::initializer_list<Cell> event);
  std::string name_of(const ExchangeFacts& exchange) const;
  std::string arguments_of(const ExchangeFacts& exchange) const;

  const std::uint32_t learners_;
  const bool server_;
  const std::optional<std::uint64_t> updates_;
  Spool& rows_;
  std::uint64_t version_ = 0;
  double version_begin_ = 0;
  std::map<GradientId, Minibatch> waiting_;  // accepted, not applied yet
};

TraceRecorder::TraceRecorder(const Point& of, std::optional<std::uint64_t> updates, Spool& rows)
    : learners_(of.cluster.learners),
      server_(of.make_protocol().has_server()),
      updates_(updates),
      rows_(rows) {}

void TraceRecorder::on_start() {
  rows_.restart();
  version_ = 0;
  version_begin_ = 0;
  waiting_.clear();
  write_tracks();
}

void TraceRecorder::on_end(const GradientFacts& gradient, double begin, double time,
                           Ending ending) {
  const Minibatch minibatch{gradient, begin, time};
  if (open() && ending == Ending::accepted) {
    waiting_.emplace(gradient.gradient, minibatch);
    return;
  }
  constexpr const char* fates[] = {"waiting", "dropped", "cancelled", "lost"};
  write_cut(minibatch, fates[static_cast<std::size_t>(ending)]);
}

void TraceRecorder::on_trip(const TripFacts& trip) {
  const auto write_transfer = [&](const char* name, double begin, double end) {
    if (!open()) end = std::min(end, version_begin_);
    if (begin < end) write_slice(name, "transfer", begin, end, trip.learner + 1, "");
  };
  write_transfer("pull", trip.left, trip.begin);
  write_transfer("push", trip.end, trip.reached);
}

void TraceRecorder::on_update(const UpdateFacts& update) {
  if (!open()) return;
  for (const auto& gradient : update.gradients) on_step(gradient);
  write_version(update.time);
  ++version_;
  version_begin_ = update.time;
}

void TraceRecorder::on_step(const GradientFacts& gradient) {
  const auto found = waiting_.find(gradient.gradient);
  if (found == waiting_.end()) return;
  write(found->second, "used", ",\"staleness\":" + std::to_string(gradient.staleness));
  waiting_.erase(found);
}

void TraceRecorder::on_exchange(const ExchangeFacts& exchange) {
  if (!open() && exchange.begin >= version_begin_) return;
  const double end = open() ? exchange.end : std::min(exchange.end, version_begin_);
  const std::string name = name_of(exchange), arguments = arguments_of(exchange);
  for (const std::uint32_t member : exchange.members)
    write_slice(name, "exchange", exchange.begin, end, learners_ + member + 1, arguments);
}

void TraceRecorder::on_in_flight(const GradientFacts& gradient, double begin, double time) {
  write_cut({gradient, begin, time}, "in flight");
}

void TraceRecorder::on_finish(double time) {
  write_version(open() ? time : version_begin_);
  for (const auto& [gradient, minibatch] : waiting_) write(minibatch, "waiting");
}

/// Up to the end of the trace, which may be before that of the run.
void TraceRecorder::write_cut(const Minibatch& minibatch, const char* fate) {
  if (open()) return write(minibatch, fate);
  const auto& [gradient, begin, end] = minibatch;
  if (begin >= version_begin_) return;
  if (end <= version_begin_) return write(minibatch, fate);
  write({gradient, begin, version_begin_}, "in flight");
}

void TraceRecorder::write(const Minibatch& minibatch, const char* fate, const std::string& more) {
  const GradientFacts& gradient = minibatch.gradient;
  const std::string version = std::to_string(gradient.version);
  const bool was_used = std::string_view(fate) == "used";
  write_slice("at w" + version + (was_used ? "" : std::string(", ") + fate), "gradient",
              minibatch.begin, minibatch.end, gradient.learner + 1,
              "\"version\":" + version + ",\"draw\":" + std::to_string(gradient.draw) +
                  ",\"fate\":\"" + fate + "\"" + more);
}

void TraceRecorder::write_version(double end) {
  const std::string number = std::to_string(version_);
  write_slice("w" + number, "version", version_begin_, end, 0, "\"version\":" + number);
}

void TraceRecorder::write_slice(const std::string& name, const char* category, double begin,
                                double end, std::size_t tid, const std::string& arguments) {
  const auto nanoseconds = [](double time) { return std::llround(time * 1e9); };
  const long long from = nanoseconds(begin), length = nanoseconds(end) - from;
  add({name, category, from, length, tid, arguments});
}

void TraceRecorder::write_tracks() {
  const auto name_track = [this](std::size_t tid, const std::string& name) {
    write_track("thread_name", tid, R"("name":")" + name + '"');
  };
  const auto place_track = [this](std::size_t tid, std::size_t place) {
    write_track("thread_sort_index", tid, R"("sort_index":)" + std::to_string(place));
  };
  name_track(0, server_ ? "server" : "updates");
  for (std::uint32_t learner = 0; learner < learners_; ++learner) {
    const std::string name = "learner " + std::to_string(learner);
    name_track(learner + 1, name);
    if (server_) continue;
    name_track(learners_ + learner + 1, name + ", exchanges");
    place_track(learner + 1, 2 * learner + 1);
    place_track(learners_ + learner + 1, 2 * learner + 2);
  }
}

void TraceRecorder::write_track(const char* what, std::size_t tid, const std::string& arguments) {
  add({what, {}, {}, {}, tid, arguments});
}

void TraceRecorder::add(std::initializer_list<Cell> event) {
  std::string& cells = rows_.end();
  for (const Cell& cell : event) add_cell(cells, cell);
}

std::string TraceRecorder::name_of(const ExchangeFacts& exchange) const {
  if (exchange.kind == ExchangeKind::copy) return "copy";
  if (exchange.kind == ExchangeKind::push) return "push";
  if (exchange.kind == ExchangeKind::pull) return "pull";
  if (exchange.kind != ExchangeKind::collective) return "exchange";
  return exchange.members.size() == learners_ ? "all-reduce" : "group";
}

/// Without a list of all learners.
std::string TraceRecorder::arguments_of(const ExchangeFacts& exchange) const {
  const auto listed = [](std::span<const std::uint32_t> learners) {
    return nlohmann::json(std::vector(learners.begin(), learners.end())).dump();
  };
  const auto& members = exchange.members;
  std::string text = "\"exchange\":" + std::to_string(exchange.number) +
                     ",\"learners\":" + std::to_string(members.size() + exchange.heard.size());
  if (exchange.kind == ExchangeKind::copy) {
    text += ",\"copies\":" + listed(exchange.heard);
  } else if (exchange.kind == ExchangeKind::gossip) {
    text += ",\"hears\":" + listed(exchange.heard);
  } else if (members.size() < learners_) {
    text += ",\"members\":" + listed(members);
  }
  return text + ",\"bytes\":" + number_text(exchange.bytes);
}

MakeRecorder read(Fields& fields, bool wanted) {
  std::optional<std::uint64_t> updates;
  fields.integer("trace_updates", updates, at_least(1),
                 "the trace ends after so many updates (default: the whole run)");
  if (updates && !wanted) {
    fields.complain("trace_updates", "says where the trace ends, and there is none", "trace: true");
  }
  return [updates](std::uint32_t replica, const Point& point,
                   Spool& rows) -> std::unique_ptr<Observer> {
    if (replica > 0) return nullptr;
    return std::make_unique<TraceRecorder>(point, updates, rows);
  };
}

void add_microseconds(std::string& text, const char* key, std::uint64_t nanoseconds) {
  char number[48];
  std::snprintf(number, sizeof number, ",\"%s\":%llu.%03llu", key,
                static_cast<unsigned long long>(nanoseconds / 1000),
                static_cast<unsigned long long>(nanoseconds % 1000));
  text += number;
}

/// Of name, category (none: metadata), begin and length in nanoseconds, track, arguments.
void add_event(std::string& text, std::size_t point, CellRow event) {
  text.append(R"({"name":")").append(event[0].text);
  if (event[1].text.empty()) {
    text += R"(","ph":"M","ts":0)";
  } else {
    text.append(R"(","cat":")").append(event[1].text).append(R"(","ph":"X")");
    add_microseconds(text, "ts", event[2].integer);
    add_microseconds(text, "dur", event[3].integer);
  }
  text.append(R"(,"pid":)").append(std::to_string(point));
  text.append(R"(,"tid":)").append(std::to_string(event[4].integer));
  text.append(R"(,"args":{)").append(event[5].text).append("}}");
}

void add_process(std::string& text, std::size_t point, const std::string& label) {
  const std::string name = "\"name\":" + nlohmann::json(label).dump();
  add_event(text, point, std::vector<Cell>{"process_name", {}, {}, {}, 0, name});
}

constexpr CellType types[] = {CellType::text,    CellType::text,    CellType::integer,
                              CellType::integer, CellType::integer, CellType::text};
const EventFile trace_json{"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n",
                           ",\n",
                           "\n]}\n",
                           types,
                           add_process,
                           add_event};

}  // namespace

extern const Record trace_record{
    "trace", "write trace.json, replica 0 of each point", "trace.json", read, nullptr, &trace_json};

}  // namespace gradrace
