#pragma once

#include <memory>
#include <optional>

#include "models/supervised.h"

namespace gradrace {

/// Logistic regression; see the page in logistic.cpp.  Parameters: w [features], then b.
struct LogisticConfig : SupervisedConfig {};

template <class Real>
std::unique_ptr<Model<Real>> make_logistic(const LogisticConfig& config);

}  // namespace gradrace
