#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "sim/evaluation.h"
#include "sim/reading/python_setting.h"

namespace gradrace {

/// The class that computes gradients, and how long a call of it may take.
struct PythonClass {
  PythonSetting setting;
  std::filesystem::path file;
  std::string source;  // its bytes
  std::string name;
  std::string arguments = "{}";  // of its constructor, JSON
  std::string precision = "float32";
  double timeout = 600;  // seconds of the machine's clock
};

/// A process that has imported the user's file and made an object of the class.  What goes wrong
/// there is a std::runtime_error with the file's line; the worker is of no use then.
class PythonWorker {
 public:
  explicit PythonWorker(const PythonClass& of);
  ~PythonWorker();
  PythonWorker(const PythonWorker&) = delete;
  PythonWorker& operator=(const PythonWorker&) = delete;

  /// What is wrong with the file, or lacks for it, as far as is seen without importing it; empty
  /// where nothing is.
  static std::string fault_of(const PythonClass& of);

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
  struct Answer;

  void start(const PythonClass& of, std::span<const std::string> words);
  void map_memory(std::size_t bytes_of_number);
  Answer call(Call kind, std::uint32_t seed = 0, std::span<const std::uint32_t> rows = {});
  void send(std::string_view bytes);
  Answer receive();
  bool receive(char* to, std::size_t count);
  [[noreturn]] void fail_at(const std::string& what);
  std::string place_in_stack() const;
  std::string end_of_process();
  void kill();

  std::string file_, name_;
  double timeout_;
  int socket_ = -1, shared_ = -1, stack_ = -1, source_ = -1;  // descriptors
  pid_t process_ = -1;
  std::byte* memory_ = nullptr;
  std::size_t parameters_ = 0, stride_ = 0;
  std::uint64_t rows_ = 0;
  std::array<std::string, 3> places_;  // [call]: of its function
  std::size_t called_ = 0;             // call
  bool made_ = false;                  // the object
  std::string request_, note_;
};

}  // namespace gradrace
