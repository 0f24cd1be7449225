#pragma once

#include <stdexcept>

namespace gradrace {

/// A run cannot go on, of no fault of ours: what its scenario says leads beyond what can be
/// computed.  Its text says why; the other runs go on.
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace gradrace
