#include <stdexcept>

#include "models/gpu/cuda/cuda_device.h"

namespace gradrace {

std::string no_cuda_device() { return "this build of gradrace has no CUDA device"; }

void prepare_cuda() {}

template <class Real>
std::unique_ptr<Device> make_cuda_device(std::unique_ptr<Model<Real>>, const DeviceOptions&) {
  throw std::runtime_error(no_cuda_device());
}

template std::unique_ptr<Device> make_cuda_device(std::unique_ptr<Model<float>>,
                                                  const DeviceOptions&);
template std::unique_ptr<Device> make_cuda_device(std::unique_ptr<Model<double>>,
                                                  const DeviceOptions&);

}  // namespace gradrace
