#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "sim/check.h"
#include "sim/run_error.h"
#include "sim/tape.h"

namespace gradrace {

/// Writes a run's tape, segment by segment, and is the only maker of its ids: gradients are
/// numbered in the order of dispatch, values in the order of writing, whoever's they are; 0 is the
/// initial model.  Without `taped` it makes the ids alone.
class TapeWriter {
 public:
  explicit TapeWriter(bool taped) : taped_(taped) {}

  /// Of a run.
  static constexpr GradientId most_gradients = std::numeric_limits<GradientId>::max();

  bool taped() const { return taped_; }
  /// Gradients, uses, terms and messages of the segment; without a tape gradients alone.
  std::uint64_t size() const { return next_gradient_ - segment_.first_gradient + parts_; }

  /// Gradients of the run so far.
  GradientId gradients() const { return next_gradient_; }

  /// Begins the next segment.
  void begin() {
    segment_.clear();
    segment_.first_gradient = next_gradient_;
    parts_ = 0;
  }

  /// The learner's draw-th minibatch is computed at that value.
  GradientId gradient(ValueId at, std::uint32_t learner, std::uint32_t draw, std::uint16_t recipe) {
    if (next_gradient_ == most_gradients) [[unlikely]]
      refuse_more();
    if (taped_) segment_.gradients.push_back({at, learner, draw, recipe, Fate::open});
    return next_gradient_++;
  }

  /// `base` moved by the uses, or a range of it.  Without a tape they may be left out.
  ValueId update(ValueId base, std::uint16_t rule, std::span<const Use> uses,
                 std::uint16_t range = no_range) {
    for (const Use& use : uses) {
      if (taped_ && use.gradient >= segment_.first_gradient) fate(use.gradient) = Fate::used;
    }
    const ValueId out = value(Op::Kind::update, rule, base, segment_.uses, uses);
    if (taped_) segment_.ops.back().range = range;
    return out;
  }

  /// Range i is that of term i, whose weight is 1.  Without a tape the terms after the first may be
  /// left out.
  ValueId assemble(std::span<const Term> terms) {
    const ValueId out = value(Op::Kind::average, 0, terms.front().value, segment_.terms, terms);
    if (taped_) segment_.ops.back().summed = Summed::ranges;
    return out;
  }

  /// A later segment may use it, though this one does.  To be said before the cut.
  void stay_open(GradientId gradient) { segment_.open.push_back(gradient); }

  /// They add to 1, to rounding.
  static void check_weights(std::span<const Term> terms) {
    double sum = 0, size = 0;
    for (const Term& term : terms) sum += term.weight, size += std::abs(term.weight);
    GRADRACE_CHECK(std::abs(sum - 1) <= 1e-15 * static_cast<double>(terms.size()) * size,
                   "the weights of an average's terms add to 1");
  }

  /// The sum of the terms, in what is said; the rest is that of `base`.  The terms' weights add to
  /// 1.  Without a tape the terms may be left out.
  ValueId average(ValueId base, std::span<const Term> terms, Summed summed = Summed::parameters) {
    if (taped_ || !terms.empty()) check_weights(terms);
    const ValueId out = value(Op::Kind::average, 0, base, segment_.terms, terms);
    if (taped_) segment_.ops.back().summed = summed;
    return out;
  }

  /// terms: whose disagreement with the value is asked for, if any; their weights add to 1.
  void evaluate(ValueId value, std::span<const Term> terms = {}) {
    if (!terms.empty()) check_weights(terms);
    if (taped_) write({Op::Kind::evaluate, 0, value, value, 0, 0}, segment_.terms, terms);
  }

  /// Nothing will use the open gradient.  Not in a segment that uses it: that one uses it up.
  void die(GradientId gradient) {
    if (!taped_) return;
    withdraw(gradient);
    if (gradient >= segment_.first_gradient) {
      fate(gradient) = Fate::dead;
    } else {
      segment_.dead.push_back(gradient);
    }
  }

  /// The learner sends an open gradient, later than those that were dispatched before.
  /// `remembers`: it keeps what the message leaves out.
  void send(std::uint32_t learner, bool remembers, const Sent& sent) {
    if (!taped_) return;
    const auto [before, after] = remember(learner, remembers);
    write({Op::Kind::send, 0, after, before, 0, 0}, segment_.sent, std::span(&sent, 1));
  }

  /// The same where it may be withdrawn: it leaves no memory where the gradient dies before it has
  /// arrived.
  void send_off(std::uint32_t learner, bool remembers, const Sent& sent) {
    under_way_.push_back({sent.gradient, learner, memory_of(learner)});
    send(learner, remembers, sent);
  }
  void arrive(GradientId gradient) {
    std::erase_if(under_way_, [=](const UnderWay& one) { return one.gradient == gradient; });
  }

  /// The segment is to end after this event: what it asks for comes before the next one.
  void want_answers() { parts_ += std::uint64_t{1} << 40; }

  /// The learner sends how far its value is from `base`; what the receivers make of it.  Not
  /// without a tape.
  ValueId send_model(ValueId base, ValueId value, std::uint32_t learner, bool remembers,
                     std::uint32_t number, std::uint16_t message) {
    const ValueId out = next_value_++;
    const auto [before, after] = remember(learner, remembers);
    const SentModel sent{value, before, after, learner, number, message};
    write({Op::Kind::send_model, 0, out, base, 0, 0}, segment_.models, std::span(&sent, 1));
    return out;
  }

  /// Ends the segment.  `live`: values that a later one may name, apart from memories and those at
  /// which open gradients are computed.
  const Segment& cut(std::span<const ValueId> live, End end) {
    segment_.live.assign(live.begin(), live.end());
    std::ranges::remove_copy(memories_, std::back_inserter(segment_.live), no_value);
    for (const UnderWay& one : under_way_)
      if (one.before != no_value) segment_.live.push_back(one.before);
    segment_.end = end;
    return segment_;
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse_more() {
    throw RunError("a run ends with its 2^32nd minibatch; ask for less time or fewer updates");
  }

  /// A message, and its learner's memory before it.
  struct UnderWay {
    GradientId gradient;
    std::uint32_t learner;
    ValueId before;
  };

  void withdraw(GradientId gradient) {
    const auto of_it = std::ranges::find(under_way_, gradient, &UnderWay::gradient);
    if (of_it == under_way_.end()) return;
    if (memory_of(of_it->learner) != no_value) memories_[of_it->learner] = of_it->before;
    under_way_.erase(of_it);
  }
  ValueId memory_of(std::uint32_t learner) const {
    return learner < memories_.size() ? memories_[learner] : no_value;
  }

  /// The learner's memory before a message and after it.
  std::pair<ValueId, ValueId> remember(std::uint32_t learner, bool remembers) {
    if (!remembers) return {no_value, no_value};
    if (learner >= memories_.size()) memories_.resize(learner + 1, no_value);
    const ValueId before = memories_[learner];
    return {before, memories_[learner] = next_value_++};
  }

  Fate& fate(GradientId gradient) {
    return segment_.gradients[gradient - segment_.first_gradient].fate;
  }

  template <class Part>
  ValueId value(Op::Kind kind, std::uint16_t rule, ValueId base, std::vector<Part>& written,
                std::span<const Part> parts) {
    GRADRACE_CHECK(base < next_value_, "a value is made of one that is not there yet");
    const ValueId out = next_value_++;
    if (taped_) write({kind, rule, out, base, 0, 0}, written, parts);
    return out;
  }

  /// The operation has those parts.
  template <class Part>
  void write(Op op, std::vector<Part>& written, std::span<const Part> parts) {
    op.first = static_cast<std::uint32_t>(written.size());
    op.count = static_cast<std::uint32_t>(parts.size());
    segment_.ops.push_back(op);
    written.insert(written.end(), parts.begin(), parts.end());
    parts_ += parts.size();
  }

  const bool taped_;
  Segment segment_;
  std::uint64_t parts_ = 0;          // uses, terms and messages of the segment
  std::vector<ValueId> memories_;    // [learner], of those who have sent; no_value: nothing yet
  std::vector<UnderWay> under_way_;  // where they may be withdrawn
  GradientId next_gradient_ = 0;
  ValueId next_value_ = 1;
};

}  // namespace gradrace
