#pragma once

#include <limits>

namespace gradrace {

/// Loss and errors at one value.  NaN where the model, or the evaluation, has no such thing.
struct Evaluation {
  double loss =
      std::numeric_limits<double>::quiet_NaN();  // training objective, regulariser included
  double test_loss = std::numeric_limits<double>::quiet_NaN();
  double test_error = std::numeric_limits<double>::quiet_NaN();  // fraction of wrong answers
  double disagreement =
      std::numeric_limits<double>::quiet_NaN();  // of the terms of Op::Kind::evaluate with it
  double compression_error =
      std::numeric_limits<double>::quiet_NaN();  // ||C(p) - p||^2 / ||p||^2 of a message, mean over
                                                 // those since the evaluation before
  double duality_gap =
      std::numeric_limits<double>::quiet_NaN();  // loss - the dual objective, of dual ascent
};

}  // namespace gradrace
