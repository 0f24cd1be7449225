#pragma once

#include <stdexcept>

namespace gradrace {

/// The disk refuses what is to be written or read; its text names the file.
struct DiskError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace gradrace
