#pragma once

#include <string>

namespace gradrace {

/// Softmax regression in double precision, 8 learners with minibatches of 5, 100 updates: the
/// largest relative difference of the protocol's loss after an update from that of a serial loop,
/// which computes one gradient over the 40 rows that the learners draw for it.
double difference_from_serial(const std::string& protocol);

}  // namespace gradrace
