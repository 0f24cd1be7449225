#pragma once

#include "models/supervised.h"

namespace gradrace {

/// Logistic regression; see the page in logistic.cpp.  Parameters: w [features], then b.
struct LogisticConfig : SupervisedConfig {};

ModelProduct make_logistic(const LogisticConfig& config);

}  // namespace gradrace
