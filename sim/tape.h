#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace gradrace {

/// The tape: what the timing plane decided, in the order in which the numerics plane must replay
/// it. Static single assignment over model states: a *value* is one immutable model state
/// (parameters and the optimiser's state), written once.  Value 0 is the initial model.  What a
/// learner remembers of its messages is a value too, of numbers like parameters.

using ValueId = std::uint32_t;     // dense in a run
using GradientId = std::uint32_t;  // order of dispatch; dense in a run

/// What is known of a gradient when its segment ends: a later segment may use it, none will, or
/// none ever does.
enum class Fate : std::uint8_t { open, used, dead };

/// The gradient of the learner's draw-th minibatch at a value.  Its id is Segment::first_gradient +
/// index.
struct Gradient {
  ValueId at;
  std::uint32_t learner;
  std::uint32_t draw;    // n-th dispatch of the learner, whatever became of the others
  std::uint16_t recipe;  // index into Tape::recipes
  Fate fate;
};

/// A gradient enters an update.  `weight` holds learning rate, schedule, staleness rule and the 1/K
/// of the average.  A gradient may enter several.
struct Use {
  GradientId gradient;
  std::uint32_t staleness;  // updates between the read of a version and this use
  double weight;
};

/// A value enters an average or a disagreement.  The weight is not 0.
struct Term {
  ValueId value;
  double weight;
};

inline constexpr ValueId no_value = ~ValueId{0};

/// A gradient that its learner sends.  Learners send in the order of dispatch.  One that dies on
/// the way, and was not lost, leaves the learner's memory as it was before.
struct Sent {
  GradientId gradient;
  bool lost;                  // the server has dropped the message: no update uses it
  double weight;              // of the gradient in the message; see Message
  std::uint16_t message = 0;  // index into Tape::messages
};

/// A learner sends how far its value is from one that the receivers have.  Of a message that all
/// make together the value is the mean of theirs, and the memory that of all, beside which stands
/// what the compressor carries.
struct SentModel {
  ValueId value;
  ValueId before, after;  // its memory; no_value: 0, or none
  std::uint32_t learner;
  std::uint32_t number;   // of its models that were sent before
  std::uint16_t message;  // index into Tape::messages
};

/// What of a value an average sums.
enum class Summed : std::uint8_t { learnt, parameters, whole, ranges };

/// Of an operation on a whole value.
inline constexpr std::uint16_t no_range = 0xffff;

/// update: out = base moved by uses [first, first + count), in that order; with a range (of
/// Tape::ranges) that one alone, with its part of the optimiser's state: the rest of out is not
/// defined.
///
/// average: out = base, but what is `summed` is the sum of weight times that of terms [first, first
/// + count): its parameters, statistics included; the learnt ones alone; or the whole value,
/// everything that an optimiser keeps beside the parameters, an ema's average too.  A number's sum
/// is made in double, from the first term on, in the order of the terms, and rounded once.
/// Learners' terms stand in the order of the learners.  Of ranges nothing is summed: range i of the
/// parameters, and of an ema's average, is that of term i; such a value is read and evaluated, and
/// never moved.
///
/// send: sent [first] becomes a message, which is what its uses mean from then on; out and base are
/// the learner's memories after and before it, or no_value: base, where it has sent nothing yet and
/// its memory is 0; both, where it has none.
///
/// send_model: model [first] becomes a message; out is its value, but what is learnt is what the
/// receivers make of it: base + C(p), p = value - base + decay memory, and a number whose
/// difference passes as it is arrives as it is.
///
/// evaluate: loss and error at out = base; with terms the disagreement as well: the sum over terms
/// [first, first + count) of weight times ||x - x_base||^2, where x are the numbers that an average
/// sums: all parameters, statistics included, and never an ema's average.  Each
/// number's share is summed in double in the order of the terms, and the shares in that of the
/// numbers.
///
/// The weights of the terms of one operation add to 1; of ranges each is 1.
struct Op {
  enum class Kind : std::uint8_t { update, average, send, send_model, evaluate };
  Kind kind;
  std::uint16_t rule;  // index into Tape::rules
  ValueId out, base;
  std::uint32_t first, count;
  Summed summed = Summed::parameters;  // by an average
  std::uint16_t range = no_range;      // of an update
};

/// Why a segment ended.
enum class End : std::uint8_t {
  limit,     // it grew long enough, or bytes of its messages are asked for
  verdict,   // its last evaluation decides whether the run goes on
  feedback,  // its last evaluation is what the protocol asked for
  finished,  // the run is over
};

/// A stretch of the tape between two events.
struct Segment {
  GradientId first_gradient = 0;
  std::vector<Gradient> gradients;  // dispatched in this segment
  std::vector<Use> uses;
  std::vector<Term> terms;
  std::vector<Sent> sent;
  std::vector<SentModel> models;
  std::vector<Op> ops;
  std::vector<GradientId> dead;  // open gradients of earlier segments that no segment will use
  std::vector<GradientId> open;  // those that this one uses and a later one may use again
  std::vector<ValueId>
      live;  // values that later segments may name, apart from the `at` of open gradients; where
             // there are ranges the first has the parameters, and the others a range each
  End end = End::limit;

  void clear() {
    gradients.clear(), uses.clear(), terms.clear(), sent.clear(), ops.clear();
    models.clear();
    dead.clear(), open.clear(), live.clear();
  }
};

/// How a gradient is computed.
struct Recipe {
  std::uint32_t minibatch = 1;
  double clip = 0;  // its learner scales it down to this L2 norm at most; 0: never
};

class Compressor;  // sim/compressor.h

/// How an estimate of a learner's gradient, which it and the server keep, follows that gradient.
struct EstimateSteps {
  double lambda = 1, nu = 1;
};

/// What a learner keeps beside its messages: what they left out, or an estimate of its gradient.
struct Memory {
  double decay = 1;
  bool of_steps = false;    // in units of steps: gradients enter with the rate of their dispatch
  bool takes_back = false;  // what the server drops; else that is lost
  std::optional<EstimateSteps> estimate = {};  // then without the keys above
};

/// What a learner makes of a gradient g, after clipping, that it sends: the message C(g), or with a
/// memory of what was left out
///
///     (message, memory') = (C(p), p - C(p)),  p = weight g + decay memory,
///
/// where the weight is 1, or of steps the learning rate; or with an estimate h as memory
///
///     (message, memory') = (h + nu C(p), h + lambda C(p)),  p = g - h.
///
/// A message that is lost leaves memory' so, and one that is taken back leaves p.  Statistics pass
/// as they are.  A gradient that moves its own learner's value alone is no message.  Of models that
/// are averaged g is the difference that SentModel says.
struct Message {
  std::shared_ptr<const Compressor> compressor = {};  // C; null: g itself is sent, without memory
  std::optional<Memory> memory = {};

  bool of_steps() const { return compressor && memory && memory->of_steps; }
};

struct Optimiser;  // models/optimiser/optimiser.h

/// What a server makes of a gradient g, clipped, that was computed at w_at and moves w:
///
///     g + lambda g (*) g (*) (w - w_at),
///
/// number by number, statistics apart.  Adaptive: lambda / sqrt(m + 1e-7) in place of lambda, where
/// m = mean_square m + (1 - mean_square) g (*) g, from 0, gradient by gradient, is kept with the
/// value (DC-ASGD: Zheng et al., ICML 2017).
struct DelayCompensation {
  double lambda = 0;
  bool adaptive = false;
  double mean_square = 0.95;
};

/// What acts once per update: the optimiser on the sum of weight g and the state, sgd where there
/// is none.  With a distance the weight of a gradient computed at w_at is first multiplied by
/// min(1, distance / ||w - w_at||^2).  With ema, a' = ema a + (1 - ema) w' from a = w_0 is
/// evaluated in place of w'.  With `back` the optimiser acts on what learners read of the message
/// that a server makes of the sum; its memory, of what was left out, is part of the value, and so
/// is what its compressor carries.  One that is joint makes it of the mean of the gradients, which
/// weigh alike: its memory is the mean of theirs.
struct Rule {
  std::shared_ptr<const Optimiser> optimiser = {};
  double ema = 0;                            // 0: w' itself
  double distance = 0;                       // 0: none
  std::shared_ptr<const Message> back = {};  // null: the sum itself
  std::shared_ptr<const DelayCompensation> delay = {};
};

/// A learner's pass of dual ascent over the rows of its minibatch, which is its message in place of
/// one made of a gradient; its memory has the dual variables: HingeDual::ascend().
struct DualPass {
  std::uint32_t rows = 1;  // of the minibatch
  double step = 1;         // part of the variables' changes that is kept
  double sigma = 1;        // times its own change that a pass reckons with
};

/// What holds for a whole run.
struct Tape {
  std::uint64_t seed = 1;
  std::uint32_t replica = 0;
  std::vector<Recipe> recipes;         // one for each plan of the race
  std::vector<Rule> rules;             // likewise
  std::vector<Message> messages = {};  // likewise, then those of Race::codes; may be left out where
                                       // nothing is compressed
  bool wants_norms = false;            // Results::norms
  bool wants_bytes = false, wants_bytes_back = false;  // likewise
  double coded_numbers = 0;                            // of a message, where they are
  std::vector<double> ranges = {};    // their shares of the parameters, which follow each other in
                                      // the definition's order; none where values move whole
  std::optional<DualPass> dual = {};  // what all learners send; else gradients
};

}  // namespace gradrace
