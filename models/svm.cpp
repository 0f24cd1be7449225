#include "models/layers/dense.h"
#include "models/linear.h"

namespace gradrace {
namespace {

constexpr Page page{
    "svm",
    "Linear support vector machine: s = w . x, with w [features] starting at zero and no bias.  "
    "Objective: F(w) = mean max(0, 1 - y s) + l2 ||w||^2 (no factor 1/2: lambda = 2 l2), y = 1 for "
    "the class `positive` and -1 for all others.  Gradients are subgradients, 0 of a row with y s "
    ">= 1.  The test loss is the same on the test rows; the test error is the fraction of rows "
    "with y s < 0, or s = 0 and y = 1.  It alone has the dual that protocol cocoa ascends.  Only "
    "the CPU computes it.",
    "Shalev-Shwartz, Singer, Srebro, ICML 2007 (Pegasos), eq. 1 and 2",
    R"({"kind": "svm", "dataset": {"kind": "synthetic", "classes": 2}, "l2": 0.0005})"};

ModelProduct read(Fields& fields, DataShelf& shelf) {
  SvmConfig config;
  visit(fields, config, "||w||^2", shelf, true);
  fields.integer("positive", config.positive, Need::defaulted, between(0, 255),
                 "the class whose rows have y = 1");
  if (!fields.good()) return nullptr;
  return make_svm(config);
}

}  // namespace

ModelProduct make_svm(const SvmConfig& config) {
  return make_supervised(config, LossKind::hinge, [](const Dataset& data, std::size_t outputs) {
    NetworkSpec network({data.features, 1, 1});
    network.add(dense(network.output(), outputs, 0, false));
    return network;
  });
}

extern const ModelEntry svm_entry{page, read};

}  // namespace gradrace
