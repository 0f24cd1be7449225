#pragma once

#include "models/gpu/kernels/gradient_replay.h"
#include "models/gpu/kernels/sums.h"
#include "sim/block_code.h"

/// Messages that learners make of the gradients of a pass, and updates by messages.
namespace gradrace::kernels {

/// A gradient of a pass that its learner sends.
struct SentJob {
  std::uint32_t message;        // of the run's
  std::uint32_t place;          // of the message
  std::uint32_t before, after;  // slots of the learner's memory, as Step has them
  std::uint64_t number;         // of the wave's messages
  bool lost;
};

/// A message of an update; use: of the wave.
struct MessageUse {
  std::uint32_t run, place;
  std::uint64_t use;
};

/// The words of a stream by number, as Stream gives them.
struct NumberedWords {
  StreamName name;

  GRADRACE_HD std::uint32_t operator()(std::uint64_t number) const {
    return philox_block(name, static_cast<std::uint32_t>(number / 4))[3 - number % 4];
  }
};

/// What a message says is so far from what was to be sent: ||C(p) - p||^2 and ||p||^2.
struct MessageError {
  double squared = 0, of = 0;
};

/// A row [n] becomes the message of a code, in the order and with the words of the compressor on
/// the CPU; sums are made in the order of sum().
template <class Real>
class Coder {
 public:
  GRADRACE_HD Coder(const BlockCode& code, const std::uint32_t* tensors, const StreamName& name)
      : code_(code), tensors_(tensors), words_{name} {}

  template <class Block>
  GRADRACE_HD MessageError operator()(const Block& block, Real* row, std::uint32_t n) const {
    switch (code_.kind) {
      case BlockCode::Kind::levels:
      case BlockCode::Kind::signs:
        return by_parts(block, row, n);
      case BlockCode::Kind::largest:
        return keep_largest(block, row, n);
      case BlockCode::Kind::drawn:
        return keep_drawn(block, row, n);
      case BlockCode::Kind::whole:
        break;
    }
    return change(block, row, n, [](Real x, std::uint32_t) { return x; });
  }

 private:
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;

  /// Each number j becomes to(number, j).
  template <class Block, class To>
  GRADRACE_HD static MessageError change(const Block& block, Real* row, std::uint32_t n,
                                         const To& to) {
    const double of = sum(block, n, [=](std::uint32_t j) {
      const double x = row[j];
      return x * x;
    });
    const double squared = sum(block, n, [&](std::uint32_t j) {
      const Real before = row[j];
      row[j] = to(before, j);
      const double apart = static_cast<double>(row[j] - before);
      return apart * apart;
    });
    return {squared, of};
  }

  template <class Block>
  GRADRACE_HD MessageError by_parts(const Block& block, Real* row, std::uint32_t n) const {
    MessageError error;
    std::uint64_t drawn = 0;
    std::uint32_t length = 0;
    for (std::uint32_t first = 0, part = 0; first < n; first += length, ++part) {
      const std::uint64_t longest = code_.bucket > 0 ? code_.bucket : tensors_[part];
      length = longest < n - first ? static_cast<std::uint32_t>(longest) : n - first;
      const MessageError more = change_part(block, row + first, length, drawn);
      error.squared += more.squared, error.of += more.of;
    }
    return error;
  }

  template <class Block>
  GRADRACE_HD MessageError change_part(const Block& block, Real* v, std::uint32_t n,
                                       std::uint64_t& drawn) const {
    const Real most = cut_off(block, v, n);
    const auto cut = [most](Real x) {
      return most > 0 && std::abs(x) > most ? std::copysign(most, x) : x;
    };
    const auto scale =
        static_cast<Real>(scale_of(block, n, [=](std::uint32_t j) { return cut(v[j]); }));
    if (code_.kind == BlockCode::Kind::signs)
      return change(block, v, n, [=](Real x, std::uint32_t) { return std::copysign(scale, x); });
    if (scale == 0) return {};
    if (!(scale - scale == 0))
      return change(block, v, n, [=](Real, std::uint32_t) { return scale - scale; });
    const RoundToLevel<Real> round(scale, static_cast<Real>(code_.levels));
    const std::uint64_t before = drawn;
    if (code_.at_random) drawn += n;
    return change(block, v, n, [&, before](Real x, std::uint32_t j) {
      return round(cut(x), code_.at_random ? words_(before + j) : half_word);
    });
  }

  /// Of |v|; 0: nowhere.
  template <class Block>
  GRADRACE_HD Real cut_off(const Block& block, const Real* v, std::uint32_t n) const {
    if (code_.clip == 0) return 0;
    const double mean =
        sum(block, n, [=](std::uint32_t j) { return static_cast<double>(v[j]); }) / n;
    const double squared = sum(block, n, [=](std::uint32_t j) {
      const double apart = v[j] - mean;
      return apart * apart;
    });
    const double most = code_.clip * std::sqrt(squared / n);
    return most > 0 ? static_cast<Real>(most) : 0;
  }

  template <class Block, class Numbers>
  GRADRACE_HD double scale_of(const Block& block, std::uint32_t n, const Numbers& v) const {
    const auto size = [&](std::uint32_t j) { return static_cast<double>(std::abs(v(j))); };
    switch (code_.scale) {
      case BlockCode::Scale::largest:
        return greatest(block, n, size);
      case BlockCode::Scale::mean:
        return sum(block, n, size) / n;
      case BlockCode::Scale::norm:
      case BlockCode::Scale::root_mean_square: {
        const double norm =
            std::sqrt(sum(block, n, [&](std::uint32_t j) { return size(j) * size(j); }));
        return code_.scale == BlockCode::Scale::norm ? norm
                                                     : norm / std::sqrt(static_cast<double>(n));
      }
      case BlockCode::Scale::one:
        break;
    }
    return 1;
  }

  /// Ordered as |x| is, NaN above all others.
  GRADRACE_HD static Bits magnitude(Real x) { return std::bit_cast<Bits>(x) & (~Bits{0} >> 1); }

  /// Of the first n numbers.
  template <class Block, class Holds>
  GRADRACE_HD static std::uint64_t count(const Block& block, std::uint32_t n, const Holds& holds) {
    return static_cast<std::uint64_t>(
        sum(block, n, [&](std::uint32_t j) { return holds(j) ? 1.0 : 0.0; }));
  }

  /// The k-th largest bit by bit, then before which place those that are as large are among the k.
  template <class Block>
  GRADRACE_HD MessageError keep_largest(const Block& block, Real* row, std::uint32_t n) const {
    if (code_.kept >= n) return change(block, row, n, [](Real x, std::uint32_t) { return x; });
    Bits last = 0;
    for (Bits bit = Bits{1} << (8 * sizeof(Real) - 2); bit > 0; bit >>= 1) {
      const Bits tried = last | bit;
      const auto as_large = [=](std::uint32_t j) { return magnitude(row[j]) >= tried; };
      if (count(block, n, as_large) >= code_.kept) last = tried;
    }
    const std::uint64_t equal =
        code_.kept - count(block, n, [=](std::uint32_t j) { return magnitude(row[j]) > last; });
    std::uint32_t places = 0, beyond = n;  // fewer are before `places`, enough before `beyond`
    while (beyond - places > 1) {
      const std::uint32_t middle = places + (beyond - places) / 2;
      const auto is_last = [=](std::uint32_t j) { return magnitude(row[j]) == last; };
      (count(block, middle, is_last) < equal ? places : beyond) = middle;
    }
    return change(block, row, n, [=](Real x, std::uint32_t j) {
      const Bits m = magnitude(x);
      return m > last || (m == last && j < beyond) ? x : Real{0};
    });
  }

  /// Number after number, each with the share of those to come that are to be sent.
  template <class Block>
  GRADRACE_HD MessageError keep_drawn(const Block& block, Real* row, std::uint32_t n) const {
    const auto factor = static_cast<Real>(code_.factor);
    MessageError error;
    if (block.thread() == 0) {
      std::uint64_t left = code_.kept;
      for (std::uint32_t j = 0; j < n && code_.kept < n; ++j) {
        const bool is_sent = ((n - j) * std::uint64_t{words_(j)}) >> 32 < left;
        left -= is_sent;
        const double before = row[j];
        row[j] *= is_sent ? factor : Real{0};
        error.squared += (row[j] - before) * (row[j] - before), error.of += before * before;
      }
    }
    block.sync();
    return error;
  }

  BlockCode code_;
  const std::uint32_t* tensors_;  // numbers of each
  NumberedWords words_;
};

/// The gradients of a pass become messages, and the memories of their learners go on, as Message
/// says; a block for each.
///
/// Memory traffic of a message of d numbers: the gradient is read and the message written, 2 d, a
/// memory read and written, 2 d, and both once more; what a code reads is said by its sums.
template <class Number>
struct SendKernel {
  using Real = Number;

  Cohort<Real> cohort;
  Values<Real> places;
  const GradientJob* jobs;
  const SentJob* sent;  // [jobs]
  const KernelUse* uses;
  Real* const* gradients;  // [jobs]
  double* errors;          // of the wave's messages: ||C(p) - p||^2 / ||p||^2

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return scratch_numbers; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const GradientJob job = jobs[number];
    const SentJob to = sent[number];
    const RunAt run = cohort.runs[job.update.run];
    const KernelUse use = uses[job.use];
    const KernelMessage message = cohort.messages[run.first_message + to.message];
    const std::uint32_t n = cohort.values.learnt;
    const Real* const g = gradients[number];
    const auto memory_at = [&](std::uint32_t slot) {
      return slot == no_slot ? nullptr : cohort.values.at(run, job.update.run, slot).w;
    };
    const Real* const before = memory_at(to.before);
    Real *const after = memory_at(to.after), *const m = places.at(run, job.update.run, to.place).w;
    const double clip = cohort.recipes[run.first_recipe + use.recipe].clip;
    const auto weight =
        static_cast<Real>(clip > 0 ? use.weight * clip_factor(block, clip, n, g) : use.weight);
    const auto kept = static_cast<Real>(message.follows ? -1 : message.decay);
    each(block, cohort.values.parameters, [=](std::uint32_t j) {
      m[j] = j < n ? weight * g[j] + (before != nullptr ? kept * before[j] : 0) : g[j];
      if (after != nullptr) after[j] = j < n ? m[j] : 0;
    });
    block.sync();
    if (to.lost && message.takes_back) return tell(block, to, {0, 0});
    const StreamName name{run.seed, run.replica, Purpose::compression,
                          message.shares_words ? 0 : use.learner, use.draw};
    tell(block, to, Coder<Real>(message.code, cohort.tensors, name)(block, m, n));
    if (after == nullptr) return;
    const auto lambda = static_cast<Real>(message.lambda), nu = static_cast<Real>(message.nu);
    each(block, n, [=](std::uint32_t j) {
      if (!message.follows) {
        after[j] -= m[j];
        return;
      }
      const Real estimate = before != nullptr ? before[j] : 0, said = m[j];
      m[j] = estimate + nu * said;
      after[j] = estimate + lambda * said;
    });
    block.sync();
  }

 private:
  static constexpr std::uint32_t no_slot = ~std::uint32_t{0};

  template <class Block>
  GRADRACE_HD void tell(const Block& block, const SentJob& to, const MessageError& error) const {
    if (block.thread() == 0) errors[to.number] = error.squared / error.of;
  }
};

/// Adds messages to the steps of their runs, each run's in the order of its uses; a block for each
/// chunk of each, of which those of each run's first do the work.
template <class Number>
struct AddMessagesKernel {
  using Real = Number;

  Cohort<Real> cohort;
  Values<Real> places;
  const MessageUse* messages;  // [count], those of a run beside each other
  std::uint32_t count;
  const KernelUse* uses;
  UseWeight* weights;  // [uses]
  Real* steps;         // [runs, parameters]

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return 0; }
  GRADRACE_HD std::uint32_t blocks() const { return chunks(cohort.values.parameters); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const std::uint32_t first = number / blocks(), run = messages[first].run;
    if (number % blocks() == 0 && block.thread() == 0) {
      const std::uint64_t use = messages[first].use;
      weights[use] = {uses[use].weight, uses[use].weight};
    }
    if (first > 0 && messages[first - 1].run == run) return;
    Real* const step = steps + std::uint64_t{run} * cohort.values.parameters;
    each_of_chunk(block, number % blocks(), cohort.values.parameters, [&](std::uint64_t j) {
      Real sum = step[j];
      for (std::uint32_t i = first; i < count && messages[i].run == run; ++i) {
        const auto weight = static_cast<Real>(uses[messages[i].use].weight);
        sum += weight * places.at(cohort.runs[run], run, messages[i].place).w[j];
      }
      step[j] = sum;
    });
  }
};

}  // namespace gradrace::kernels
