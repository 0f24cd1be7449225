#pragma once

/// For functions that a kernel must not call.
#define GRADRACE_INLINE inline __attribute__((always_inline))
/// The same of a lambda, after its parameters.
#define GRADRACE_ALWAYS __attribute__((always_inline))
