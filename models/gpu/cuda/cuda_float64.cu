#include "models/gpu/block_device.h"
#include "models/gpu/cuda/cuda_device.h"
#include "models/gpu/cuda/cuda_stream.h"

namespace gradrace {

template <class Real>
std::unique_ptr<Device> make_cuda_device(std::unique_ptr<Model<Real>> model,
                                         const DeviceOptions& options) {
  return make_block_device(std::move(model), CudaStream(), options);
}

template std::unique_ptr<Device> make_cuda_device(std::unique_ptr<Model<double>>,
                                                  const DeviceOptions&);

}  // namespace gradrace
