#pragma once

#include <string>
#include <string_view>

#include "sim/make_protocol.h"
#include "sim/message_text.h"

namespace gradrace {

/// Complains about a time between two looks at the loss that is so short that a run would seem to
/// stand still: less than a thousandth of a minibatch of the fastest learner.
inline void check_loss_interval(Fields& fields, std::string_view key, double interval,
                                const Setting& setting) {
  constexpr double most = 1000;  // looks in that time
  if (!fields.good() || interval * most >= setting.fastest) return;
  fields.complain(key,
                  "asks for the loss " + short_number(setting.fastest / interval, 3) +
                      " times in a minibatch of the fastest learner, which takes " +
                      short_number(setting.fastest, 3),
                  ">= " + short_number(setting.fastest / most, 3));
}

}  // namespace gradrace
