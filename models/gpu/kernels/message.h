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

/// What a message says is so far from what was to be sent: ||C(p) - p||^2 and ||p||^2; bits: that
/// it has by Elias's code.
struct MessageError {
  double squared = 0, of = 0, bits = 0;

  GRADRACE_HD void add(const MessageError& more) {
    squared += more.squared, of += more.of, bits += more.bits;
  }
  GRADRACE_HD double bytes() const { return std::ceil(bits / 8); }
};

/// What a message is made with besides its row; of factors: those that go on [BlockCode::carried],
/// from the message before, and memory for the others [BlockCode::work].
template <class Real>
struct CodeTools {
  const Tensor* tensors;
  StreamName name;  // of its words
  const Ziggurat* ziggurat = nullptr;
  Real* carried = nullptr;
  double* work = nullptr;
};

/// A row [n] becomes the message of a code, in the order and with the words of the compressor on
/// the CPU; sums are made in the order of sum().
template <class Real>
class Coder {
 public:
  GRADRACE_HD Coder(const BlockCode& code, const CodeTools<Real>& tools)
      : code_(code), tools_(tools), words_{tools.name} {}

  template <class Block>
  GRADRACE_HD MessageError operator()(const Block& block, Real* row, std::uint32_t n) const {
    switch (code_.kind) {
      case BlockCode::Kind::levels:
      case BlockCode::Kind::signs:
      case BlockCode::Kind::chunks:
        return by_parts(block, row, n);
      case BlockCode::Kind::largest:
        return keep_largest(block, row, n);
      case BlockCode::Kind::drawn:
        return keep_drawn(block, row, n);
      case BlockCode::Kind::factors:
        return make_factors(block, row, n);
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
      const std::uint64_t longest =
          code_.bucket > 0 ? code_.bucket : tools_.tensors[part].numbers();
      length = longest < n - first ? static_cast<std::uint32_t>(longest) : n - first;
      error.add(code_.kind == BlockCode::Kind::chunks
                    ? change_chunks(block, row + first, length)
                    : change_part(block, row + first, length, drawn));
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
    if (scale == 0) return {0, 0, EliasBits().shorter()};
    if (!(scale - scale == 0)) {
      MessageError error = change(block, v, n, [=](Real, std::uint32_t) { return scale - scale; });
      error.bits = EliasBits().shorter();
      return error;
    }
    const RoundToLevel<Real> round(scale, static_cast<Real>(code_.levels));
    const std::uint64_t before = drawn;
    if (code_.at_random) drawn += n;
    MessageError error = change(block, v, n, [&, before](Real x, std::uint32_t j) {
      return round(cut(x), code_.at_random ? words_(before + j) : half_word);
    });
    if (code_.elias) error.bits = elias_bits_of(block, v, n, round);
    return error;
  }

  /// Of levels after rounding.
  template <class Block>
  GRADRACE_HD static double elias_bits_of(const Block& block, const Real* v, std::uint32_t n,
                                          const RoundToLevel<Real>& round) {
    const auto bits_of = [&](std::uint32_t j) {
      const std::uint32_t level = round.level(v[j]);
      std::uint32_t places = 1;
      while (level > 0 && places <= j && round.level(v[j - places]) == 0) ++places;
      EliasBits bits;
      bits.add(level, places);
      return bits;
    };
    EliasBits bits;
    bits.sparse = sum(block, n, [&](std::uint32_t j) { return bits_of(j).sparse; });
    bits.dense = sum(block, n, [&](std::uint32_t j) { return bits_of(j).dense; });
    return bits.shorter();
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

  static constexpr std::uint32_t digits = 16, no_digit = digits;

  /// counts [digit, lanes], in scratch memory: the first of each are how many j < n have the digit.
  template <class Block, class DigitOf>
  GRADRACE_HD static const std::uint32_t* count(const Block& block, std::uint32_t n,
                                                const DigitOf& digit_of) {
    std::uint32_t* const counts = block.template scratch<std::uint32_t>();
    each(block, lanes, [&](std::uint32_t lane) {
      for (std::uint32_t digit = 0; digit < digits; ++digit) counts[digit * lanes + lane] = 0;
      for (std::uint32_t j = lane; j < n; j += lanes) {
        const std::uint32_t digit = digit_of(j);
        if (digit != no_digit) ++counts[digit * lanes + lane];
      }
    });
    for (std::uint32_t half = lanes / 2; half > 0; half /= 2) {
      block.sync();
      each(block, digits * half, [=](std::uint32_t i) {
        const std::uint32_t at = i / half * lanes + i % half;
        counts[at] += counts[at + half];
      });
    }
    block.sync();
    return counts;
  }

  /// The k-th largest digit by digit, from the first on: how many numbers begin as it does, and go
  /// on with each digit.  Of those that are as large the last among the k likewise, by its place.
  template <class Block>
  GRADRACE_HD MessageError keep_largest(const Block& block, Real* row, std::uint32_t n) const {
    std::uint64_t k = code_.kept, alike = n;
    if (k >= n) return change(block, row, n, [](Real x, std::uint32_t) { return x; });
    const auto next = [&](const auto& digit_of) {
      const std::uint32_t* const counts = count(block, n, digit_of);
      std::uint32_t digit = 0;
      while (counts[digit * lanes] < k) k -= counts[digit++ * lanes];
      alike = counts[digit * lanes];
      block.sync();
      return digit;
    };
    Bits last = 0, known = 0;  // its first bits, and which these are
    for (int shift = 8 * sizeof(Real) - 4; shift >= 0; shift -= 4) {
      const Bits digit = 15 - next([=](std::uint32_t j) {
                           const Bits m = magnitude(row[j]);
                           return (m & known) == last
                                      ? 15 - static_cast<std::uint32_t>(m >> shift & 15)
                                      : no_digit;
                         });
      last |= digit << shift, known |= Bits{15} << shift;
    }
    std::uint64_t place = 0, beyond = n;
    for (int shift = 28; alike > k; shift -= 4) {
      place |= std::uint64_t{next([=](std::uint32_t j) {
                 const bool is_one = magnitude(row[j]) == last && (j ^ place) >> shift < digits;
                 return is_one ? j >> shift & 15 : no_digit;
               })}
               << shift;
      beyond = place + (std::uint64_t{1} << shift);
    }
    return change(block, row, n, [=](Real x, std::uint32_t j) {
      const Bits m = magnitude(x);
      return m > last || (m == last && j < beyond) ? x : Real{0};
    });
  }

  /// The largest of each chunk stay, and become means of bins.
  template <class Block>
  GRADRACE_HD MessageError change_chunks(const Block& block, Real* v, std::uint32_t n) const {
    MessageError error;
    for (std::uint64_t at = 0; at < n; at += code_.chunk)
      error.add(keep_largest(
          block, v + at, static_cast<std::uint32_t>(code_.chunk < n - at ? code_.chunk : n - at)));
    if (code_.bins > 0) error.squared += round_to_bins(block, v, n);
    return error;
  }

  /// Those that are not 0; the sum of (C(v) - v)^2.
  template <class Block>
  GRADRACE_HD double round_to_bins(const Block& block, Real* v, std::uint32_t n) const {
    const auto sum_of = [&](const auto& term) {
      return sum(block, n, [&](std::uint32_t j) { return v[j] != 0 ? term(double{v[j]}) : 0.0; });
    };
    const double count = sum_of([](double) { return 1.0; });
    const double mean = sum_of([](double x) { return x; }) / count;
    const double squares = sum_of([=](double x) { return (x - mean) * (x - mean); });
    const double width = 6 * std::sqrt(squares / count) / code_.bins, none = width - width;
    if (count == 0 || width == 0) return 0;
    const auto bin_of = [=, bins = code_.bins](double x) {
      const double place = std::floor((x - mean) / width + bins / 2);
      return static_cast<std::uint32_t>(place < 0 ? 0 : place < bins ? place : bins - 1);
    };
    double* const means = block.template scratch<double>() + lanes;  // after what sums need
    for (std::uint32_t bin = 0; none == 0 && bin < code_.bins; ++bin) {
      const double in_it = sum_of([&](double x) { return bin_of(x) == bin ? 1.0 : 0.0; });
      const double total = sum_of([&](double x) { return bin_of(x) == bin ? x : 0.0; });
      if (block.thread() == 0) means[bin] = total / in_it;
    }
    block.sync();
    return sum(block, n, [&](std::uint32_t j) {
      const double before = v[j];
      if (none == 0 && before != 0) v[j] = static_cast<Real>(means[bin_of(before)]);
      if (!(none == 0)) v[j] = static_cast<Real>(none);
      return (v[j] - before) * (v[j] - before);
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

  /// Matrices become products of their factors, where these are less.
  template <class Block>
  GRADRACE_HD MessageError make_factors(const Block& block, Real* row, std::uint32_t n) const {
    MessageError error;
    Normal normal(*tools_.ziggurat, tools_.name);  // of the first thread
    Real* Q = tools_.carried;
    std::uint32_t length = 0;
    for (std::uint32_t first = 0, part = 0; first < n; first += length, ++part) {
      const Tensor tensor = tools_.tensors[part];
      length = tensor.numbers();
      if (code_.rank * (std::uint64_t{tensor.rows} + tensor.columns) < length) {
        draw_columns(block, Q, tensor.columns, normal);
        error.add(multiply_factors(block, row + first, Q, tensor));
        Q += code_.rank * tensor.columns;
      } else {
        error.add(change(block, row + first, length, [](Real x, std::uint32_t) { return x; }));
      }
    }
    return error;
  }

  template <class Block>
  GRADRACE_HD void draw_columns(const Block& block, Real* Q, std::uint32_t m,
                                Normal& normal) const {
    for (std::uint32_t k = 0; k < code_.rank; ++k, Q += m) {
      if (code_.goes_on &&
          sum(block, m, [=](std::uint32_t j) { return Q[j] != 0 ? 1.0 : 0.0; }) > 0)
        continue;
      if (block.thread() == 0)
        for (std::uint32_t j = 0; j < m; ++j) Q[j] = static_cast<Real>(normal.next());
      block.sync();
    }
  }

  /// M becomes P Q'^T, and Q becomes Q'.
  template <class Block>
  GRADRACE_HD MessageError multiply_factors(const Block& block, Real* M, Real* Q,
                                            const Tensor& tensor) const {
    const std::uint32_t n = tensor.rows, m = tensor.columns;
    const auto rank = static_cast<std::uint32_t>(code_.rank);
    double* const P = tools_.work;
    each(block, rank * n, [=](std::uint32_t at) {
      const Real *const row = M + at % n * m, *const q = Q + at / n * m;
      double along = 0;
      for (std::uint32_t j = 0; j < m; ++j) along += double{row[j]} * q[j];
      P[at] = static_cast<Real>(along);
    });
    block.sync();
    make_orthonormal(block, P, n);
    each(block, rank * m, [=](std::uint32_t at) {
      const double* const p = P + at / m * n;
      double along = 0;
      for (std::uint32_t i = 0; i < n; ++i) along += p[i] * M[i * m + at % m];
      Q[at] = static_cast<Real>(along);
    });
    block.sync();
    return change(block, M, n * m, [=](Real, std::uint32_t at) {
      double product = 0;
      for (std::uint32_t k = 0; k < rank; ++k) product += P[k * n + at / m] * Q[k * m + at % m];
      return static_cast<Real>(product);
    });
  }

  template <class Block>
  GRADRACE_HD void make_orthonormal(const Block& block, double* P, std::uint32_t n) const {
    constexpr double rounding = 1e-12;
    const auto norm = [&](const double* p) {
      return std::sqrt(sum(block, n, [=](std::uint32_t i) { return p[i] * p[i]; }));
    };
    double* column = P;
    for (std::uint32_t k = 0; k < code_.rank; ++k, column += n) {
      const double before = norm(column);
      for (int pass = 0; pass < 2; ++pass) {
        for (const double* q = P; q < column; q += n) {
          const double along = sum(block, n, [=](std::uint32_t i) { return q[i] * column[i]; });
          each(block, n, [=](std::uint32_t i) { column[i] -= along * q[i]; });
          block.sync();
        }
      }
      const double left = norm(column), factor = left <= rounding * before ? 0 : 1 / left;
      each(block, n, [=](std::uint32_t i) { column[i] *= factor; });
      block.sync();
    }
  }

  BlockCode code_;
  CodeTools<Real> tools_;
  NumberedWords words_;
};

/// What a message is made of and with: a row [n], of which sent(j) is what is to be sent; the
/// memory [parameters] before and after it, null where there is none, or it is 0 before.
template <class Real>
struct MessageRow {
  std::uint32_t n, parameters;
  Real* row;
  const Real* before;
  Real* after;
};

/// The row becomes the message, and the memory goes on, as Message says; what is not learnt, and
/// stays in the row, is no part of either.
template <class Block, class Real, class ToSend>
GRADRACE_HD MessageError make_message(const Block& block, const KernelMessage& message,
                                      const CodeTools<Real>& tools, bool lost,
                                      const MessageRow<Real>& of, const ToSend& sent) {
  const std::uint32_t n = of.n;
  Real *const m = of.row, *const after = of.after;
  const Real* const before = of.before;
  const auto kept = static_cast<Real>(message.follows ? -1 : message.decay);
  each(block, after != nullptr ? of.parameters : n, [&](std::uint32_t j) {
    if (j < n) m[j] = sent(j) + (before != nullptr ? kept * before[j] : 0);
    if (after != nullptr) after[j] = j < n ? m[j] : 0;
  });
  block.sync();
  if (lost && message.takes_back) return {};
  const MessageError error = Coder<Real>(message.code, tools)(block, m, n);
  if (after == nullptr) return error;
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
  return error;
}

constexpr std::uint32_t no_slot_at = ~std::uint32_t{0};

/// The learner's memory in that slot.
template <class Real>
GRADRACE_HD Real* memory_at(const Cohort<Real>& cohort, std::uint32_t run, std::uint32_t slot) {
  return slot == no_slot_at ? nullptr : cohort.values.at(cohort.runs[run], run, slot).w;
}

/// The gradients of a pass become messages; a block for each.
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
  double* bytes;           // likewise, where they vary; null: nobody asks

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return scratch_numbers; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const GradientJob job = jobs[number];
    const SentJob to = sent[number];
    const std::uint32_t in = job.update.run;
    const RunAt run = cohort.runs[in];
    const KernelUse use = uses[job.use];
    const KernelMessage message = cohort.messages[run.first_message + to.message];
    const std::uint32_t n = cohort.values.learnt, all = cohort.values.parameters;
    const Real* const g = gradients[number];
    Real* const m = places.at(run, in, to.place).w;
    const double clip = cohort.recipes[run.first_recipe + use.recipe].clip;
    const auto weight =
        static_cast<Real>(clip > 0 ? use.weight * clip_factor(block, clip, n, g) : use.weight);
    each(block, all - n, [=](std::uint32_t j) { m[n + j] = g[n + j]; });
    const MessageError error =
        make_message(block, message,
                     CodeTools<Real>{cohort.tensors,
                                     {run.seed, run.replica, Purpose::compression,
                                      message.shares_words ? 0 : use.learner, use.draw}},
                     to.lost,
                     MessageRow<Real>{n, all, m, memory_at(cohort, in, to.before),
                                      memory_at(cohort, in, to.after)},
                     [=](std::uint32_t j) { return weight * g[j]; });
    if (block.thread() != 0) return;
    errors[to.number] = error.squared / error.of;
    if (bytes != nullptr) bytes[to.number] = error.bytes();
  }
};

/// A model that a learner sends: slots of its value, of the model that all have, and of what the
/// receivers make of it; the rest as of a gradient.
struct ModelJob {
  std::uint32_t run, at, base, out;
  std::uint32_t before, after;
  std::uint32_t message, learner, draw;
  std::uint64_t number;
};

/// What learners send of their models, as Op::send_model has it; a block for each.
template <class Number>
struct SendModelKernel {
  using Real = Number;

  Cohort<Real> cohort;
  const ModelJob* jobs;
  double* work;  // [runs, work_stride]
  std::uint64_t work_stride;
  double *errors, *bytes;  // as of gradients

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return scratch_numbers; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const ModelJob job = jobs[number];
    const RunAt run = cohort.runs[job.run];
    const Values<Real>& values = cohort.values;
    const std::uint32_t n = values.learnt;
    const Real* const value = values.at(run, job.run, job.at).w;
    const Real* const base = values.at(run, job.run, job.base).w;
    Real* const out = values.at(run, job.run, job.out).w;
    const KernelMessage message = cohort.messages[run.first_message + job.message];
    const auto numbers = static_cast<std::uint32_t>(run.layout.numbers);
    each(block, numbers - n, [=](std::uint32_t j) { out[n + j] = value[n + j]; });
    const auto difference = [=](std::uint32_t j) { return value[j] - base[j]; };
    const Real* const before = memory_at(cohort, job.run, job.before);
    Real *const after = memory_at(cohort, job.run, job.after), *carried = nullptr;
    if (run.carried > 0 && after != nullptr) {
      carried = after + run.carried;
      each(block, numbers - static_cast<std::uint32_t>(run.carried),
           [=](std::uint32_t j) { carried[j] = before != nullptr ? before[run.carried + j] : 0; });
    }
    if (!message.remembers && after != nullptr)
      each(block, values.parameters, [=](std::uint32_t j) { after[j] = 0; });
    const MessageError error = make_message(
        block, message,
        CodeTools<Real>{cohort.tensors,
                        {run.seed, run.replica, Purpose::compression,
                         message.shares_words ? 0 : job.learner, job.draw},
                        cohort.ziggurat,
                        carried,
                        work + job.run * work_stride},
        false,
        MessageRow<Real>{n, values.parameters, out, message.remembers ? before : nullptr,
                         message.remembers ? after : nullptr},
        difference);
    each(block, n,
         [=](std::uint32_t j) { out[j] = out[j] != difference(j) ? base[j] + out[j] : value[j]; });
    if (block.thread() == 0) errors[job.number] = error.squared / error.of;
    if (block.thread() == 0 && bytes != nullptr) bytes[job.number] = error.bytes();
    block.sync();
  }
};

/// An update by a step whose norm is asked for, or of which the server makes its message number
/// `draw`; rate: of one that is the mean of what learners send, who make it together.
struct StepJob {
  UpdateJob update;
  std::uint32_t draw;
  double rate;
};

/// Norms of the gradients whose sum steps are, and what servers send back of these; a block for
/// each.
template <class Number>
struct StepKernel {
  using Real = Number;

  Cohort<Real> cohort;
  const StepJob* jobs;
  UseWeight* weights;  // [uses]
  Real* steps;         // [runs, parameters]
  double* work;        // [runs, work_stride]
  std::uint64_t work_stride;
  double *norms, *errors, *bytes;  // [jobs]: of the mean of the gradients; as of gradients

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return scratch_numbers; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    constexpr std::uint32_t server = ~std::uint32_t{0};  // no learner's number
    const StepJob job = jobs[number];
    const UpdateJob update = job.update;
    const RunAt run = cohort.runs[update.run];
    const Values<Real>& values = cohort.values;
    const std::uint32_t n = values.learnt;
    Real* const step = steps + std::uint64_t{update.run} * values.parameters;
    double rate = 0;
    for (std::uint64_t use = update.first; use < update.first + update.count; ++use)
      rate += weights[use].carried;
    const double squares =
        sum(block, n, [=](std::uint32_t j) { return static_cast<double>(step[j]) * step[j]; });
    if (block.thread() == 0) norms[number] = std::sqrt(squares) / rate;
    if (block.thread() == 0 && bytes != nullptr) bytes[number] = 0;
    const KernelRule rule = cohort.rules[run.first_rule + update.rule];
    const Real* const base = values.at(run, update.run, update.base).w;
    Real* const out = values.at(run, update.run, update.out).w;
    const bool makes = rule.back != KernelRule::no_back;
    const std::uint64_t kept_end =
        makes && run.memory_back > 0 ? run.memory_back : run.layout.numbers;
    if (run.kept_back > 0)
      each(block, static_cast<std::uint32_t>(kept_end - run.kept_back),
           [=](std::uint32_t j) { out[run.kept_back + j] = base[run.kept_back + j]; });
    if (makes) {
      const KernelMessage message = cohort.messages[rule.back];
      const bool remembers = run.memory_back > 0;
      const MessageError error = make_message(
          block, message,
          CodeTools<Real>{cohort.tensors,
                          {run.seed, run.replica, Purpose::compression, server, job.draw},
                          cohort.ziggurat,
                          out + run.kept_back,
                          work + update.run * work_stride},
          false,
          MessageRow<Real>{n, values.parameters, step, remembers ? base + run.memory_back : nullptr,
                           remembers ? out + run.memory_back : nullptr},
          [=](std::uint32_t j) { return step[j]; });
      if (block.thread() == 0) errors[number] = error.squared / error.of;
      if (block.thread() == 0 && bytes != nullptr) bytes[number] = error.bytes();
      if (message.votes)
        each(block, n, [=](std::uint32_t j) { step[j] *= static_cast<Real>(rate); });
      if (message.joint) {
        each(block, values.parameters,
             [=](std::uint32_t j) { step[j] *= static_cast<Real>(job.rate); });
        UseWeight* const of_update = weights + update.first;
        each(block, update.count, [=](std::uint32_t i) { of_update[i].carried *= job.rate; });
      }
    }
    block.sync();
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
