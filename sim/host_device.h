#pragma once

/// Marks a function that a GPU may call too; nothing where no GPU is compiled for.  Such a function
/// needs of the standard library only what is constexpr, and gives it objects that are made: where
/// the library would make one by a constructor of ours that is not constexpr (a variant in place,
/// say), nvcc leaves that out of the GPU's code without a word.  So it does with the initialisers
/// of an array of classes whose type is named by a template alias: such an array is a member of a
/// class.
#ifdef __CUDACC__
#define GRADRACE_HD __host__ __device__
#else
#define GRADRACE_HD
#endif
