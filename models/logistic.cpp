#include "models/linear.h"

namespace gradrace {
namespace {

constexpr Page page{
    "logistic",
    "Logistic regression of two classes: s = w . x + b, with w [features] and b starting at zero.  "
    "Objective: F(w, b) = mean ln(1 + exp(-y s)) + l2 ||w||^2 (no factor 1/2; b is not "
    "regularised), y = 1 for class 1 and -1 for class 0.  The test loss is the same on the test "
    "rows; the test error is the fraction of rows with y s < 0, or s = 0 and y = 1.",
    "Bishop, Pattern Recognition and Machine Learning, 2006, eq. 4.87 to 4.91",
    R"({"kind": "logistic", "dataset": {"kind": "synthetic", "classes": 2}, "l2": 0.0001})"};

ModelProduct read(Fields& fields, DataShelf& shelf) {
  LogisticConfig config;
  visit(fields, config, "||w||^2", shelf);
  if (!fields.good()) return nullptr;
  return make_logistic(config);
}

}  // namespace

ModelProduct make_logistic(const LogisticConfig& config) {
  return make_linear(config, LossKind::logistic, 0);
}

extern const ModelEntry logistic_entry{page, read};

}  // namespace gradrace
