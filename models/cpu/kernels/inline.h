#pragma once

/// Forces inlining: a call would spill the vector registers.
#define GRADRACE_INLINE inline __attribute__((always_inline))
/// The same of a lambda, after its parameters.
#define GRADRACE_ALWAYS __attribute__((always_inline))
