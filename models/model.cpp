#include "models/model.h"

#include <stdexcept>

#include "models/cpu/cpu_device.h"
#include "models/gpu/cuda/cuda_device.h"

namespace gradrace {

template <class Real>
static std::unique_ptr<Device> make_chosen(std::function<std::unique_ptr<Model<Real>>()> make,
                                           const DeviceOptions& options) {
  const auto looking = [make, rows = options.rows] {
    auto model = make();
    model->look_at(rows);
    return model;
  };
  if (options.device == "cuda") return make_cuda_device(looking(), options);
  return make_cpu_device(CrewedModel<Real>{looking, options.crew, options.member});
}

template <class Real>
static ValueLayout layout_of_value(const Model<Real>& model) {
  return {model.packing().numbers(), model.statistics(), sizeof(Real)};
}

ValueLayout ModelSpec::value_layout() const {
  if (precision() == "float64") return layout_of_value(*make_float64());
  return layout_of_value(*make_float32());
}

std::vector<std::uint32_t> ModelSpec::tensors() const {
  return precision() == "float64" ? make_float64()->tensors() : make_float32()->tensors();
}

std::unique_ptr<Device> ModelSpec::make_device(const DeviceOptions& options) const {
  if (options.device == "cuda" && !no_cuda_device().empty())
    throw std::runtime_error("cuda: " + no_cuda_device() + "; use --device cpu");
  if (options.device != "cuda" && precision() == only_gpu_precision)
    throw std::runtime_error("cpu: only a GPU computes in tf32x3; use --device cuda");
  if (precision() == "float64")
    return make_chosen<double>([this] { return make_float64(); }, options);
  return make_chosen<float>([this] { return make_float32(); }, options);
}

}  // namespace gradrace
