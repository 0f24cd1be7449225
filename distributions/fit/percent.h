#pragma once

#include <string>

#include "sim/message_text.h"

namespace gradrace {

/// "33 %": two digits of a share, one below 9.5 %, three from 99.5 % on.
inline std::string percent(double share) {
  return short_number(100 * share, share < 0.095 ? 1 : share < 0.995 ? 2 : 3) + " %";
}

}  // namespace gradrace
