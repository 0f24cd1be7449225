#include "models/linear.h"

namespace gradrace {
namespace {

constexpr Page page{
    "least-squares",
    "Linear regression of a real target y: F(w, b) = 1/2 mean (w . x + b - y)^2 + l2 ||w||^2 (b is "
    "not regularised), with w [features] and b starting at zero.  With X the rows (x, 1) and D the "
    "identity but for a 0 at b, the minimum solves (X^T X / n + 2 l2 D) w = X^T y / n, and the "
    "smoothness is the greatest eigenvalue of that matrix.  The test loss is the same on the test "
    "rows; there is no test error.",
    "Bishop, Pattern Recognition and Machine Learning, 2006, eq. 3.24 to 3.28",
    R"({"kind": "least-squares", "dataset": {"kind": "synthetic-regression"}})"};

ModelProduct read(Fields& fields, DataShelf& shelf) {
  LeastSquaresConfig config;
  visit(fields, config, "||w||^2", shelf);
  if (!fields.good()) return nullptr;
  return make_least_squares(config);
}

}  // namespace

ModelProduct make_least_squares(const LeastSquaresConfig& config) {
  return make_linear(config, LossKind::half_square, 0);
}

extern const ModelEntry least_squares_entry{page, read};

}  // namespace gradrace
