#include "models/cpu/kernels/kernels.h"

#include <vector>

#include "sim/instruction_set.h"

namespace gradrace::kernels {

extern const Kernels avx512_kernels, avx2_kernels, neon_kernels, portable_kernels;

static const Kernels& kernels_for(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return avx512_kernels;
  if (set == InstructionSet::avx2) return avx2_kernels;
#elif defined(__aarch64__)
  if (set == InstructionSet::neon) return neon_kernels;
#endif
  return portable_kernels;
}

std::span<const Kernels* const> runnable_kernels() {
  static const std::vector<const Kernels*> found = [] {
    std::vector<const Kernels*> all;
    for (const InstructionSet set : runnable_instruction_sets()) all.push_back(&kernels_for(set));
    return all;
  }();
  return found;
}

const Kernels& chosen_kernels() { return kernels_for(chosen_instruction_set()); }

template <>
const ConvolutionKernels<float>& convolution_kernels<float>() {
  return chosen_kernels().convolutions;
}

}  // namespace gradrace::kernels
