#include "models/model/model.h"

namespace gradrace {

template <class Real>
static ValueLayout layout_of_value(const Model<Real>& model) {
  return {model.packing().numbers(), model.statistics(), sizeof(Real)};
}

ValueLayout ModelSpec::value_layout() const {
  if (precision() == "float64") return layout_of_value(*make_float64());
  return layout_of_value(*make_float32());
}

std::vector<Tensor> ModelSpec::tensors() const {
  return precision() == "float64" ? make_float64()->tensors() : make_float32()->tensors();
}

}  // namespace gradrace
