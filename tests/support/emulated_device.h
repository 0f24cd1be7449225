#pragma once

#include "models/gpu/block_device.h"
#include "tests/support/emulated_blocks.h"

namespace gradrace {

// Compiled once, in emulated_device.cpp: it takes half a minute.
extern template std::unique_ptr<Device> make_block_device(std::unique_ptr<Model<float>>,
                                                          EmulatedBlocks, const DeviceOptions&);
extern template std::unique_ptr<Device> make_block_device(std::unique_ptr<Model<double>>,
                                                          EmulatedBlocks, const DeviceOptions&);

}  // namespace gradrace
