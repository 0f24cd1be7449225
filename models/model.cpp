#include "models/model.h"

#include <stdexcept>
#include <utility>

#include "models/cpu/cpu_device.h"
#include "models/gpu/cuda/cuda_device.h"

namespace gradrace {

/// make: another equal model.
template <class Make>
static std::unique_ptr<Device> make_chosen(const Make& make, const DeviceOptions& options) {
  std::vector<decltype(make())> models;
  do {
    models.push_back(make());
    models.back()->look_at(options.rows);
    if (options.device == "cuda") return make_cuda_device(std::move(models.front()), options);
  } while (models.size() < options.threads);
  return make_cpu_device(std::move(models));
}

template <class Real>
static ValueLayout layout_of_value(const Model<Real>& model) {
  return {model.packing().numbers(), model.statistics(), sizeof(Real)};
}

ValueLayout ModelSpec::value_layout() const {
  if (precision() == "float64") return layout_of_value(*make_float64());
  return layout_of_value(*make_float32());
}

std::unique_ptr<Device> ModelSpec::make_device(const DeviceOptions& options) const {
  if (options.device == "cuda" && !no_cuda_device().empty())
    throw std::runtime_error("cuda: " + no_cuda_device() + "; use --device cpu");
  if (precision() == "float64") return make_chosen([&] { return make_float64(); }, options);
  return make_chosen([&] { return make_float32(); }, options);
}

}  // namespace gradrace
