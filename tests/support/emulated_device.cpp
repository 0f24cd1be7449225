#include "tests/support/emulated_device.h"

namespace gradrace {

template std::unique_ptr<Device> make_block_device(std::unique_ptr<Model<float>>, EmulatedBlocks,
                                                   const DeviceOptions&);
template std::unique_ptr<Device> make_block_device(std::unique_ptr<Model<double>>, EmulatedBlocks,
                                                   const DeviceOptions&);

}  // namespace gradrace
