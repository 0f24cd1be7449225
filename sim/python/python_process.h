#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/python/python_class.h"

namespace gradrace {

/// A process that has imported the user's file and made an object of the class.  What goes wrong
/// there is a RunError with the file's line; the process is of no use then.
class PythonProcess {
 public:
  explicit PythonProcess(const PythonClass& of);
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  /// As PythonFiles::fault_of() has it.
  static std::string fault_of(const PythonClass& of);

  /// To a call.
  struct Answer {
    struct Head {
      std::uint32_t status, length;  // 0 it went well, 1 it did not, 2 well, but for a note
      double numbers[3];
    } head;
    std::string text;
  };
  /// To the first, that made the object.
  std::span<const double> sizes() const { return sizes_; }
  /// `function`: the number of the one that is called, for messages.
  Answer call(std::size_t function, std::string_view request);
  /// A call that has asked back has taken longer than it may.
  [[noreturn]] void fail_as_late();

  /// So many bytes that both processes have, until this one ends; null: none.
  std::byte* map_memory(std::size_t bytes);

 private:
  PythonProcess(const PythonClass& of, std::string_view script, std::string_view arguments,
                const std::vector<std::string>& words);
  void start(const PythonClass& of, std::string_view script, std::string_view arguments,
             const std::vector<std::string>& words);
  void send(std::string_view bytes);
  Answer receive();
  bool receive(char* to, std::size_t count);
  [[noreturn]] void fail_at(const std::string& what);
  std::string place_in_stack() const;
  std::string end_of_process();
  void kill();

  const std::string key_, file_, name_;
  const double timeout_;
  int socket_ = -1, shared_ = -1, stack_ = -1, source_ = -1;  // descriptors
  pid_t process_ = -1;
  std::byte* memory_ = nullptr;
  std::size_t memory_bytes_ = 0;
  double sizes_[3] = {};
  std::vector<std::string> places_;  // [function]; empty: the object is not made
  std::size_t called_ = 0;           // function
};

}  // namespace gradrace
