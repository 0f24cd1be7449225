#include "models/linear.h"

namespace gradrace {
namespace {

constexpr Page page{
    "softmax",
    "Multinomial logistic regression: p(c | x) = exp(s_c) / sum_k exp(s_k), s = W x + b, with W "
    "[classes, features] and b [classes].  Objective: F(W, b) = -mean ln p(class | x) + l2 "
    "||W||_F^2 (no factor 1/2; b is not regularised).  The test loss is the same on the test "
    "rows; the test error is the fraction of rows whose class has not the greatest s_c, the "
    "lowest class winning ties.",
    "Bishop, Pattern Recognition and Machine Learning, 2006, eq. 4.104 to 4.109",
    R"({"kind": "softmax", "dataset": {"kind": "synthetic"}, "minibatch": 32, "l2": 0.0001})"};

ModelProduct read(Fields& fields, DataShelf& shelf) {
  SoftmaxConfig config;
  visit(fields, config, "||W||_F^2", shelf);
  fields.real("init_sd", config.init_sd, Need::defaulted, at_least(0),
              "W and b start as N(0, init_sd^2); 0: at zero");
  if (!fields.good()) return nullptr;
  return make_softmax(config);
}

}  // namespace

ModelProduct make_softmax(const SoftmaxConfig& config) {
  return make_linear(config, LossKind::cross_entropy, config.init_sd);
}

extern const ModelEntry softmax_entry{page, read};

}  // namespace gradrace
