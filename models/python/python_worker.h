#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sim/evaluation.h"
#include "sim/python/python_process.h"

namespace gradrace {

/// That computes gradients.
inline constexpr PythonKind python_model{"model", "model_worker.py", "initial,gradient,evaluate",
                                         "NumPy"};

/// A process with an object of such a class.
class PythonWorker {
 public:
  /// The only word of the class is the precision.
  explicit PythonWorker(const PythonClass& of);

  std::size_t parameters() const { return parameters_; }  // d
  std::uint64_t rows() const { return rows_; }            // of the training set

  /// w [d] of the calls, and g [d] of the last gradient: memory that both processes have.
  template <class Real>
  std::span<Real> w() const {
    return {reinterpret_cast<Real*>(memory_), parameters_};
  }
  template <class Real>
  std::span<const Real> g() const {
    return {reinterpret_cast<const Real*>(memory_ + stride_), parameters_};
  }

  /// Sets w to an initial model.
  void initialise(std::uint32_t seed);
  /// Sets g to the gradient at w of those rows.  seed: for what the class draws.
  void gradient(std::span<const std::uint32_t> rows, std::uint32_t seed);
  /// At w.
  Evaluation evaluate();

  /// What a user should know of the last call, a sentence; mostly empty.
  const std::string& note() const { return note_; }

 private:
  enum class Call : std::uint32_t { initial, gradient, evaluate };

  std::array<double, 3> call(Call kind, std::uint32_t seed = 0,
                             std::span<const std::uint32_t> rows = {});

  PythonProcess process_;
  std::size_t parameters_, stride_;
  std::uint64_t rows_;
  std::byte* memory_;
  std::string request_, note_;
};

}  // namespace gradrace
