#pragma once

#include "models/supervised.h"

namespace gradrace {

/// Scores s = W x + b.  Parameters: W [outputs, features], row-major, then b [outputs]; they start
/// as N(0, init_sd^2), one after the other from the stream initial_weights.
ModelProduct make_linear(const SupervisedConfig& config, LossKind loss, double init_sd);

/// Linear regression; see the page in least_squares.cpp.  Parameters: w [features], then b.
struct LeastSquaresConfig : SupervisedConfig {};

ModelProduct make_least_squares(const LeastSquaresConfig& config);

/// Logistic regression; see the page in logistic.cpp.  Parameters: w [features], then b.
struct LogisticConfig : SupervisedConfig {};

ModelProduct make_logistic(const LogisticConfig& config);

/// Linear support vector machine; see the page in svm.cpp.  Parameters: w [features].
struct SvmConfig : SupervisedConfig {};

ModelProduct make_svm(const SvmConfig& config);

/// Softmax regression; see the page in softmax.cpp.  Parameters: W [classes, features], row-major,
/// then b [classes].
struct SoftmaxConfig : SupervisedConfig {
  double init_sd = 0;  // of W and b at the start
};

ModelProduct make_softmax(const SoftmaxConfig& config);

}  // namespace gradrace
