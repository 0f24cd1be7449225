#include "models/make_device.h"

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

std::unique_ptr<Device> make_device(const ModelSpec& model, const DeviceOptions& options) {
  if (options.device == "cuda" && !no_cuda_device().empty())
    throw std::runtime_error("cuda: " + no_cuda_device() + "; use --device cpu");
  if (options.device != "cuda" && model.precision() == only_gpu_precision)
    throw std::runtime_error("cpu: only a GPU computes in tf32x3; use --device cuda");
  if (options.device != "cuda")
    if (auto own = model.make_own_device()) return own;
  if (model.precision() == "float64")
    return make_chosen<double>([&model] { return model.make_float64(); }, options);
  return make_chosen<float>([&model] { return model.make_float32(); }, options);
}

}  // namespace gradrace
