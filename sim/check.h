#pragma once

#include <stdexcept>
#include <string>

namespace gradrace {

/// An invariant of ours that does not hold; never the user's fault.
class BrokenInvariant : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn, gnu::cold, gnu::noinline]] inline void broken_invariant(const char* file, int line,
                                                                    const std::string& what) {
  throw BrokenInvariant(std::string(file) + ":" + std::to_string(line) +
                        ": broken invariant: " + what);
}

/// Apart from the above so that a check that holds takes no stack space.
[[noreturn, gnu::cold, gnu::noinline]] inline void broken_invariant(const char* file, int line,
                                                                    const char* what) {
  broken_invariant(file, line, std::string(what));
}

}  // namespace gradrace

/// Always on, also in Release.  `what` is only built when the condition is false.
#define GRADRACE_CHECK(condition, what) \
  ((condition) ? void() : ::gradrace::broken_invariant(__FILE__, __LINE__, (what)))
