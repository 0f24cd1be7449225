#pragma once

#include <algorithm>
#include <array>
#include <boost/circular_buffer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/distribution.h"
#include "sim/engine/code_history.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/learner_totals.h"
#include "sim/engine/machines.h"
#include "sim/engine/shard_links.h"
#include "sim/large_pages.h"
#include "sim/observer.h"
#include "sim/random.h"
#include "sim/step_exchange.h"

namespace gradrace {

struct Layers;

/// The way between the server and a learner.  A model that is pulled passes the server's outgoing
/// link and the learner's card, and takes the latency of the card and the time `pull` more; a
/// gradient takes that latency and the time `push`, and passes the card and the incoming link.
///
/// Where they overlap with computing, layers are computed as they come, and their gradients leave
/// as they are there.  With bytes as even as work, a forward pass, a third of a minibatch, begins
/// as the model's bytes do and ends no earlier than they; the rest is the backward pass, with which
/// the gradient's bytes begin, to be there no earlier than it has ended.
///
/// Of a model with layers these go one after another: computing goes on into a layer when that is
/// there, and its gradient leaves when it and the one before it are done.
struct ServerLinks {
  /// Of the learners in turn, what passes them in one direction.
  struct Cards {
    std::vector<double> bandwidths = {};  // empty: no limit
    std::vector<double> latencies{0};     // of a message
    double latency(std::uint32_t learner) const {
      if (latencies.size() == 1) return latencies.front();
      return latencies[learner % latencies.size()];
    }
  };

  std::shared_ptr<const Distribution> pull, push;  // null: no time
  std::optional<double> bandwidth;  // of each of the two links, bytes per unit of time
  double model_bytes = 0;
  Cards down, up;                             // of models, of gradients
  bool overlap = false;                       // with computing
  std::shared_ptr<const Layers> layers = {};  // null: not said

  /// Whether bytes take time.
  bool carries() const { return bandwidth || !down.bandwidths.empty() || !up.bandwidths.empty(); }
};

/// What passes between a learner and the server under a plan.
struct Carriage {
  double down = 0, up = 0;  // bytes of the model, and of what a gradient is sent as
  bool coded = false;       // it is a message,
  bool asked = false;       // whose bytes are not known before it leaves
  bool sends_back = false;  // updates, as messages of so many bytes
  bool back_asked = false;  // which are not known before the update is made
  double back = 0;
  double making_up = 0;     // time of a learner, of which its runtime ends
  double reading_up = 0;    // time of the server, for a gradient
  double making_back = 0;   // likewise, for an update
  double reading_back = 0;  // of a learner, for an update
};

/// What the server's work takes.  It does one thing at a time: gradients queue for it in the order
/// of their arrival, and models leave when what it does then is done, before gradients that wait.
///
/// A server in shards is as many servers, each with a part of the parameters, links of its own and
/// a queue of its own.  A message is divided among them, and so is the work: a gradient has been
/// taken up when each of them has taken its part up, a model is there when all parts are.
///
/// With a version each they make updates of the parts that they have taken up, and what they do is
/// told part by part.
struct ServerTimes {
  double per_gradient = 0, per_update = 0;
  std::vector<double> parts{1};  // of the shards; their sum is 1
  bool version_each = false;     // of the shards; else one of all

  std::uint32_t shards() const { return static_cast<std::uint32_t>(parts.size()); }
  /// How many shards one of them stands for: all where they are equal, as they do the same at the
  /// same times; else 1.
  std::uint32_t alike() const {
    const auto is_first = [this](double part) { return part == parts.front(); };
    return std::ranges::all_of(parts, is_first) ? shards() : 1;
  }
  /// Those that may differ.
  std::uint32_t versions() const { return version_each ? shards() / alike() : 1; }
};

struct TransitFacts {
  std::shared_ptr<const ServerLinks> network;  // null: no time
  std::optional<ServerTimes> server;
  std::shared_ptr<const Failures> failures;  // null: none fails

  bool any() const { return network || server || failures; }
};

/// What an event is for those who order minibatches.
struct Happening {
  enum class Kind : std::uint8_t {
    passage,   // nothing
    arrival,   // the learner's gradient is there, and taken up if there is a server
    part,      // a part of it is, by taker(); not the last, with which it arrives
    message,   // the learner's message leaves, and its bytes are asked for
    loss,      // the learner fails and its gradient with it
    back,      // the learner is back and begins a minibatch that is due
    exchange,  // an event of that exchange, whose number stands for the learner
    timer,
    evaluation,
    look,
    end,
  };
  Kind kind;
  std::uint32_t learner = 0;
};

/// Where the gradients of one run are between dispatch and arrival, where that takes more than
/// computing.
class Transit {
 public:
  /// Time of the learner's last dispatched minibatch if its computation begins then.
  using Runtime = std::function<double(std::uint32_t learner, double begin)>;

  /// codes: of gradients under plans that make messages; null: bytes are what is carried.
  /// Events of a learner's gradient have its slot, the others those from `first_slot` on.  carried
  /// [plan]: under which a minibatch is dispatched.
  Transit(const TransitFacts& facts, std::vector<Carriage> carried, const CodeHistory* codes,
          std::uint32_t learners, std::uint64_t seed, std::uint32_t replica, EventQueue& queue,
          std::uint32_t first_slot, Runtime runtime);

  /// Slots that it needs besides the learners'.
  static std::uint32_t slots(const TransitFacts& facts, std::uint32_t learners);

  /// The time of the first failures is drawn.
  void start();

  Happening on_event(std::uint32_t slot, double now);
  /// The learner has an event soon.
  void prefetch(std::uint32_t learner) const {
    fetch(learner);
    if (incoming_) incoming_->prefetch(learner);
  }
  /// The learner's message leaves that was Kind::message, before any other event.
  void send_off(std::uint32_t learner, double bytes, double now);
  /// The timer queues as a gradient does, and is taken up in no time.
  Happening on_timer(double now);
  /// It does not queue any more, if it did.
  void forget_timer(double now);

  /// The learner's draw-th minibatch is dispatched, at that version of the model.  Where updates
  /// are sent back it pulls those that it lacks, and the model where that is less or it has none.
  void depart(std::uint32_t learner, std::uint32_t draw, std::uint32_t version, std::uint16_t plan,
              double now);
  /// Bytes of the next update, where they are asked for.  A learner that pulls it waits for that,
  /// until go_on().
  void hear_back(double bytes) { backs_.push_back(backs_.back() + bytes); }
  bool waits() const { return !departing_.empty(); }
  void go_on(double now);
  /// Learners that are down now.
  std::uint32_t count_down() const { return machines_ ? machines_->count_down() : 0; }
  /// True if the learner is down: its next minibatch is due when it is back.
  bool postpone(std::uint32_t learner);
  /// Whether a minibatch was due when the learner is back; now none is.
  bool call_off(std::uint32_t learner) { return std::exchange(ways_[learner].due, false); }

  /// The learner's gradient has ended: where it was until then.
  TripFacts end(std::uint32_t learner, double now);
  /// It will end, and is not taken up.
  void withdraw(std::uint32_t learner);
  /// All will.
  void clear_roads(double now);

  /// The server makes an update, under that plan.
  void on_update(std::uint16_t plan, double now) {
    const double length = times_.per_update + carried_[plan].making_back;
    for (Shard& shard : shards_) order(shard, now, length * shard.part);
  }
  /// That shard does.
  void on_update_of(std::uint32_t shard, double now) {
    order(shards_[shard], now, times_.per_update * shards_[shard].part);
  }
  /// The shard that took a part up last.
  std::uint32_t taker() const { return taker_; }
  /// The server is busy for so long, from when it is done with what was ordered before.
  void pause(double now, double length);
  /// The server has done what it had to do with a gradient or the timer.
  void take_next(double now) {
    for (Shard& shard : shards_) take_next(shard, now);
  }

  /// Of gradients that have ended: communicating, encoding, down, bytes.
  ExchangeTotals exchanged(std::uint32_t learner, double now) const;
  Utilisation utilisation(double now) const;

 private:
  enum class Place : std::uint8_t { nowhere, leaving, outgoing, away, incoming, queued };
  struct Way {
    double left = 0;                // when the pull began, once outgoing
    double begin = 0, runtime = 0;  // of the computation, once away
    double reached = 0;             // the server, once queued
    std::uint32_t draw = 0;
    std::uint32_t version = 0;   // of its model, as it is pulled whole
    std::uint32_t reads = 0;     // the version that it pulls, or pulled last
    std::uint32_t lacks = none;  // updates sent back, to pull; none: it pulls the model
    std::uint32_t coming = 0;    // parts of the model or the gradient that are not there yet
    std::uint16_t plan = 0;
    Place place = Place::nowhere;
    bool due = false;
    bool follows = false;  // it has a model to which updates are sent

    static constexpr std::uint32_t none = ~std::uint32_t{0};
  };

  /// A minibatch that overlaps with its transfers.
  struct Overlap {
    double there = 0;                      // when the model is
    double backward = 0, end = 0;          // of its computation
    double leaves = 0;                     // the earliest time at which the gradient is there
    std::vector<std::uint32_t> held = {};  // shards to which its part has come before that

    // By layers.
    std::uint32_t next = 0;  // of those that are pulled, or pushed
    double bytes = 0;        // of all of them
    double waits = 0;        // computing that is done when it waits for the last one to come
    double before = 0;       // how long it has waited in all until then,
    double late = 0;         // and will have when that is there
    double since = 0;        // the next gradient is there, and the one before it gone
    double hidden = 0;       // by computing: time of transfers
  };
  static constexpr double backward_pass = 2.0 / 3;
  static double forward(const Way& way) { return way.runtime / 3; }

  /// A part of the server.
  struct Shard {
    double part = 1;
    boost::circular_buffer<std::uint32_t> waiting;  // learners' gradients and the timer, whose part
                                                    // is not taken up
    double free_at = 0;                             // when it has done all that it has begun,
    double ordered = 0;                             // and how long that takes in all
    bool receiving = false;                         // the first of waiting,
    double takes_at = 0, taken_at = 0;              // from then to then

    /// When a model leaves that is asked for now: it waits for what has been begun, and for what
    /// was ordered since the first of waiting was.
    double leaves(double now) const {
      return receiving && now < takes_at && free_at == taken_at ? takes_at : free_at;
    }
  };

  enum Slot : std::uint32_t { server, outgoing, incoming, machines };  // of the shards; learners
  std::uint32_t slot(Slot what) const { return slots_[what]; }
  std::uint32_t shards() const { return count_; }
  /// The timer's place among the learners that wait.
  std::uint32_t timer() const { return static_cast<std::uint32_t>(ways_.size()); }
  /// In place of one that was withdrawn while a shard took it up.
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};

  /// Bytes.
  double up(const Way& way) const {
    const Carriage& carried = carried_[way.plan];
    return codes_ && carried.coded ? codes_->bytes(way.version) : carried.up;
  }
  /// Of the updates that it pulls.
  double time_of_reading(const Way& way) const {
    return way.lacks == Way::none ? 0 : way.lacks * carried_[way.plan].reading_back;
  }
  /// Of the learner, or none.
  void fetch(std::uint32_t learner) const {
    if (learner == CappedLink::none) [[likely]]
      return;
    __builtin_prefetch(&ways_[learner], 1);
    __builtin_prefetch(&totals_[learner].communicating, 1);
    __builtin_prefetch(&totals_[learner].messages, 1);
  }
  void set_off(std::uint32_t learner, double now);
  double bytes_lacking(const Way& way) const {
    if (carried_[way.plan].back_asked) return backs_[way.reads] - backs_[way.version];
    return (way.reads - way.version) * carried_[way.plan].back;
  }
  void leave(std::uint32_t learner, double now);
  void pull(std::uint32_t learner, std::uint32_t shard, double now);
  double latency(std::uint32_t learner, Purpose purpose) const;
  void travel(std::uint32_t learner, double from);
  Happening push(std::uint32_t learner, double now);
  Happening reach_all(std::uint32_t who, double now);
  Happening reach(Shard& shard, std::uint32_t who, double now);
  Happening on_shard(Shard& shard, double now);
  Happening take_up(std::uint32_t who);
  void schedule(const Shard& shard, double time);
  double service(std::uint32_t who) const {
    return who == timer() ? 0 : times_.per_gradient + carried_[ways_[who].plan].reading_up;
  }
  /// What it takes up meanwhile comes first.
  static void order(Shard& shard, double now, double length) {
    shard.free_at = std::max(now, shard.free_at) + length;
    shard.ordered += length;
  }
  void take_next(Shard& shard, double now) {
    if (!shard.receiving && !shard.waiting.empty()) [[unlikely]]
      receive(shard, now);
  }
  void receive(Shard& shard, double now);
  void withdraw(Shard& shard, std::uint32_t who);
  Happening change(std::uint32_t learner, double now);
  TripFacts trip(std::uint32_t learner, double now) const;

  // Where messages overlap with computing; cold, so that they cost the others nothing.
  [[gnu::cold]] void begin_computing(std::uint32_t learner);
  [[gnu::cold]] void travel_while_computing(std::uint32_t learner, double from);
  [[gnu::cold]] Happening come(std::uint32_t shard, double now);
  bool is_by_layer() const { return overlaps_computing_ && !pulls_.empty(); }
  /// When the learner's computing is at the next layer that it pushes.
  double is_there(std::uint32_t learner) const;
  [[gnu::cold]] void pull_layer(std::uint32_t learner, double now);
  [[gnu::cold]] bool take_layer(std::uint32_t learner, double now);
  [[gnu::cold]] void await_layer(std::uint32_t learner, double now);
  [[gnu::cold]] void push_layer(std::uint32_t learner, double now);
  [[gnu::cold]] void note_hidden(std::uint32_t learner, double now);
  [[gnu::cold]] TripFacts trip_by_layer(std::uint32_t learner, double now) const;
  [[gnu::cold]] Happening release(std::uint32_t learner, double now);
  [[gnu::cold]] void note_more(const TripFacts& ended);
  [[gnu::cold]] TripFacts trip_while_computing(std::uint32_t learner, double now) const;

  const TransitFacts& facts_;
  const ServerLinks& links_;                        // of no time, where there is no network
  const std::vector<Carriage> carried_;             // [plan]
  const std::vector<StepExchange> pulls_, pushes_;  // of layers; none: the whole
  const bool overlaps_computing_;                   // its transfers
  const bool plain_;  // neither that, nor take messages a learner's time
  const CodeHistory* const codes_;
  const ServerTimes times_;
  const std::uint64_t seed_;
  const std::uint32_t replica_;
  EventQueue& queue_;
  const std::uint32_t alike_ = times_.alike(), count_ = times_.shards() / alike_;
  const bool tells_parts_ = times_.versions() > 1;
  const std::array<std::uint32_t, machines + 1> slots_;  // the first of each kind
  const Runtime runtime_;
  LargeVector<Way> ways_;               // of the learners
  std::vector<Overlap> overlaps_;       // likewise; none where there is none
  LargeVector<ExchangeTotals> totals_;  // likewise
  std::vector<Shard> shards_;           // count_, each of which stands for alike_
  std::uint32_t taker_ = 0;             // of them
  std::optional<ShardLinks> outgoing_, incoming_;
  std::vector<double> backs_{0};          // [version]: bytes of the updates in it, if asked for
  std::vector<std::uint32_t> departing_;  // learners that wait for the next
  std::vector<double> leaves_;            // [learner, shard]: when a part of a model will leave
  std::vector<std::uint32_t> untaken_;    // parts of the learners' gradients and the timer
  std::optional<Machines> machines_;      // empty: none fails
};

}  // namespace gradrace
