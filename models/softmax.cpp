#include "models/softmax.h"

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
  return std::make_shared<SupervisedSpec<SoftmaxConfig>>(config, make_softmax<float>,
                                                         make_softmax<double>);
}

}  // namespace

template <class Real>
std::unique_ptr<Model<Real>> make_softmax(const SoftmaxConfig& config) {
  return make_linear(config, cross_entropy<Real>(), config.init_sd);
}

template std::unique_ptr<Model<float>> make_softmax(const SoftmaxConfig&);
template std::unique_ptr<Model<double>> make_softmax(const SoftmaxConfig&);

extern const ModelEntry softmax_entry{page, read};

}  // namespace gradrace
