#pragma once

#include <stdexcept>

namespace gradrace {

/// The command line asks for what cannot be; exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gradrace
