#pragma once

#include <span>

namespace gradrace {

/// Of each number, in its place; in float32 by the kernels.
void exponentials(std::span<float> x);
void exponentials(std::span<double> x);
void logarithms(std::span<float> x);
void logarithms(std::span<double> x);
void tanhs(std::span<float> x);
void tanhs(std::span<double> x);

}  // namespace gradrace
