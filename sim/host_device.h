#pragma once

/// Marks a function that a GPU may call too; nothing where no GPU is compiled for.  Such a function
/// needs of the standard library only what is constexpr.
#ifdef __CUDACC__
#define GRADRACE_HD __host__ __device__
#else
#define GRADRACE_HD
#endif
