#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace gradrace {

/// The kernels of that name are chosen while it is there.
class Forced {
 public:
  explicit Forced(std::string_view name) { ::setenv("GRADRACE_CPU", std::string(name).c_str(), 1); }
  ~Forced() { ::unsetenv("GRADRACE_CPU"); }
};

}  // namespace gradrace
