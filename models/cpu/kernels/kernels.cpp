#include "models/cpu/kernels/kernels.h"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace gradrace::kernels {

extern const Kernels avx512_kernels, avx2_kernels, neon_kernels, portable_kernels;

namespace {

std::vector<const Kernels*> found_kernels() {
  std::vector<const Kernels*> found;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    found.push_back(&avx512_kernels);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    found.push_back(&avx2_kernels);
#elif defined(__aarch64__)
  found.push_back(&neon_kernels);
#endif
  found.push_back(&portable_kernels);
  return found;
}

}  // namespace

std::span<const Kernels* const> runnable_kernels() {
  static const std::vector<const Kernels*> found = found_kernels();
  return found;
}

const Kernels& chosen_kernels() {
  const char* const name = std::getenv("GRADRACE_CPU");
  if (name == nullptr) return *runnable_kernels().front();
  std::string allowed;
  for (const Kernels* kernels : runnable_kernels()) {
    if (kernels->name == name) return *kernels;
    allowed += (allowed.empty() ? "" : ", ") + std::string(kernels->name);
  }
  throw std::runtime_error("GRADRACE_CPU: \"" + std::string(name) + "\"; allowed: " + allowed);
}

template <>
const ConvolutionKernels<float>& convolution_kernels<float>() {
  return chosen_kernels().convolutions;
}

}  // namespace gradrace::kernels
