#pragma once

#include <string>

#include "sim/cli/output/spool.h"

namespace gradrace {

inline std::string text_of(const Spool& spool) {
  std::string text;
  spool.read([&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace gradrace
