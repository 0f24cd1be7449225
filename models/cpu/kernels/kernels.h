#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "models/cpu/kernels/convolution_kernels.h"
#include "models/cpu/kernels/fold.h"
#include "models/cpu/kernels/map_kernels.h"
#include "models/datasets/entries.h"
#include "models/datasets/groups.h"
#include "models/layers/base/loss_kind.h"

/// The products of dense layers in float32, and what is between them, for each instruction set that
/// a machine may have; the best that it has is chosen when the program runs.
///
/// Every number of a product is one chain of fused multiply-adds, in the order of what is summed
/// (inputs, or rows of a minibatch), from the bias or from 0; of forward_few(), 16 chains, each of
/// the inputs in one lane, then their sum, always by the same tree, and the bias.  So its bits
/// depend neither on the instruction set nor on how many rows, outputs or values are computed
/// beside it, and a term whose factor from the rows is 0 may be left out or put in: where the other
/// factor is finite that changes nothing but the sign of a zero; where a weight is not, the loss is
/// NaN in any case.  A machine without fused multiply-adds rounds each product before it is added,
/// and differs in the last digits.
namespace gradrace::kernels {

/// Memory that will be read.
struct Soon {
  const char* begin;
  std::size_t bytes;
};

/// Scratch in which a gradient turns entries round: those of an input beside each other.
struct TurnedEntry {
  std::uint32_t row;
  float x;
};
struct TurnedEntries {
  std::uint32_t* ends;   // [inputs] of an input's entries
  TurnedEntry* entries;  // [those of all rows]
};

/// How far a product has come in a row.
struct Reached {
  std::uint32_t fours, place;
};

/// Rows x [n, inputs]: all numbers, or their entries (entries.h).
struct InputRows {
  std::size_t n = 0, inputs = 0;
  const float* dense = nullptr;  // [n, stride]; null: the entries of one kind
  std::size_t stride = 0;
  const FourBytes* const* bytes = nullptr;    // [n] where a row begins
  const FourFloats* const* floats = nullptr;  // [n] likewise
  const std::uint32_t* counts = nullptr;      // [n] fours of a row
  const float* of_byte = nullptr;             // [256] the numbers that bytes stand for
  Reached* reached = nullptr;                 // [n] scratch
  TurnedEntries turned = {};
  std::span<const Soon> soon = {};  // fetched meanwhile, one with each row
};

/// Rows x [n, places], places a multiple of lane_count: their groups, in the order of their places,
/// without those whose numbers are all 0.
struct InputGroups {
  std::size_t n = 0, places = 0;
  const ByteGroup* const* bytes = nullptr;    // [n] where a row begins; null: of floats
  const FloatGroup* const* floats = nullptr;  // [n] likewise
  const std::uint32_t* counts = nullptr;      // [n] groups of a row
  float scale = 1;                            // of bytes
  // Scratch: the rows that have a group, bit r % 64 of word r / 64; the next group of each row;
  // sums of a row between blocks of its groups.
  std::uint64_t* rows_of = nullptr;  // [places / lane_count, words_of(n)]
  const void** next = nullptr;       // [n]
  float* sums = nullptr;             // [n, lane_count, lane_count]
  std::span<const Soon> soon = {};   // fetched meanwhile, one with each row
};
/// A bit for each of n rows.
constexpr std::size_t words_of(std::size_t n) { return (n + 63) / 64; }
/// Outputs up to which a model has inputs as lanes: of more, lanes that are outputs are as fast or
/// faster at most shapes (bench/results).  The kernels take up to lane_count.
inline constexpr std::size_t most_few = 12;
/// How far apart two rows' outputs are then: one output is not padded.
constexpr std::size_t columns_of_few(std::size_t outputs) {
  return outputs == 1 ? 1 : in_lanes(outputs);
}

/// What a gradient of W does beside: g + decay W, then the fold.
struct WeightFold {
  Fold<float> into;
  float decay;
  const float* w;  // at which it is computed
  /// Its chains over earlier rows of the minibatch, which these go on with; null: 0.  May be where
  /// the numbers go.
  const float* before = nullptr;
};

/// What the rows of scores s [n] are compared with.
struct RowLabels {
  const std::uint8_t* classes;  // [n], or null
  const float* targets;         // [n], or null
};

struct Kernels {
  std::string_view name;  // of the instruction set
  bool fused;

  /// y [n, columns] = x W + b of W [inputs, columns] with b [columns] after it, columns a multiple
  /// of lane_count.
  void (*forward)(const InputRows& x, const float* w, std::size_t columns, float* y);
  /// dW = x^T dy and db.
  void (*backward)(const InputRows& x, const float* dy, std::size_t columns, const WeightFold& g);
  /// dx [n, in_lanes(inputs)] = dy W^T over the first `outputs` columns.  scratch
  /// [(inputs + outputs) in_lanes(n)].
  void (*backward_input)(const float* dy, std::size_t n, std::size_t columns, std::size_t outputs,
                         const float* w, std::size_t inputs, float* dx, float* scratch);
  /// y [n, columns] = x W + b of up to lane_count outputs, columns = columns_of_few(outputs), of
  /// W [places / lane_count, outputs, lane_count] with b [columns] after it.  Columns beyond the
  /// outputs are not written.
  void (*forward_few)(const InputGroups& x, const float* w, std::size_t outputs, float* y);
  /// dW and db, after forward_few() of the same x.  dy is 0 beyond the outputs.
  void (*backward_few)(const InputGroups& x, const float* dy, std::size_t outputs,
                       const WeightFold& g);

  /// to [count] = scale times the bytes.
  void (*convert)(const std::uint8_t* bytes, std::size_t count, float scale, float* to);
  void (*exponentials)(float* x, std::size_t lanes);
  void (*logarithms)(float* x, std::size_t lanes);
  void (*tanhs)(float* x, std::size_t lanes);
  void (*relu)(float* x, std::size_t lanes);
  /// dy = dy f'(z) from y = f(z).
  void (*tanh_slopes)(const float* y, float* dy, std::size_t lanes);
  void (*relu_slopes)(const float* y, float* dy, std::size_t lanes);

  /// s [n, columns] becomes share times the derivative of each row's cross-entropy by the first
  /// `outputs` columns, and 0 in the others.
  void (*softmax_slopes)(float* s, std::size_t n, std::size_t columns, std::size_t outputs,
                         const std::uint8_t* classes, float share);
  /// Cross-entropy of each row; 1 where the answer is wrong, else 0.  [in_lanes(n)] each.
  void (*softmax_losses)(const float* s, std::size_t n, std::size_t columns, std::size_t outputs,
                         const std::uint8_t* classes, float* losses, float* wrong);
  /// Of scores of up to lane_count values side by side: s [n, in_lanes(outputs * values)], of a row
  /// [outputs, values], and lane_count numbers after it; losses and wrong [n, lane_count].
  void (*losses_of_values)(LossKind loss, const float* s, std::size_t n, std::size_t outputs,
                           std::size_t values, const RowLabels& labels, float* losses,
                           float* wrong);
  /// s [n] of one output becomes share times the derivative of each row's loss; there is room for
  /// in_lanes(n).
  void (*slopes_of_one)(LossKind loss, float* s, std::size_t n, const RowLabels& labels,
                        float share);

  ConvolutionKernels<float> convolutions;
  MapKernels maps;
};

/// Those that this machine runs, the best one first.
std::span<const Kernels* const> runnable_kernels();

/// Those of chosen_instruction_set().
const Kernels& chosen_kernels();

}  // namespace gradrace::kernels
