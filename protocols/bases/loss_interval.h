#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "sim/message_text.h"
#include "sim/protocol.h"

namespace gradrace {

/// Complains about a time between two looks at the loss that is so short that a run would seem to
/// stand still: less than a thousandth of the mean minibatch, where one law says how long that is.
inline void check_loss_interval(Fields& fields, std::string_view key, double interval,
                                const Setting& setting) {
  constexpr double most = 1000;  // looks in a minibatch's mean time
  if (!fields.good() || !setting.runtime) return;
  const double mean = setting.runtime->mean();
  if (!std::isfinite(mean) || interval * most >= mean) return;
  fields.complain(key,
                  "asks for the loss " + short_number(mean / interval, 3) +
                      " times in the mean time of a minibatch, which is " + short_number(mean, 3),
                  ">= " + short_number(mean / most, 3));
}

}  // namespace gradrace
