#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "models/gpu/batched_product.h"
#include "models/gpu/cuda/cuda_check.h"
#include "models/model.h"

namespace gradrace {

/// CUDA's library of matrix products.  It is opened when the first product is asked for, so that
/// the program starts where it is not there.
class CublasLibrary {
 public:
  /// std::runtime_error where it is not found.  Safe from several threads.
  static const CublasLibrary& opened() {
    static const CublasLibrary library;
    return library;
  }

  // As cublas_v2.h has them.
  decltype(cublasCreate_v2)* create;
  decltype(cublasDestroy_v2)* destroy;
  decltype(cublasSetStream_v2)* set_stream;
  decltype(cublasSetWorkspace_v2)* set_workspace;
  decltype(cublasGetStatusString)* status_string;
  cublasStatus_t (*gemm_batched)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                 int, const void*, const void* const[], cudaDataType, int,
                                 const void* const[], cudaDataType, int, const void*, void* const[],
                                 cudaDataType, int, int, cublasComputeType_t, cublasGemmAlgo_t);

  void check(cublasStatus_t status, const char* what) const {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error(std::string("CUDA: ") + what + ": " + status_string(status));
  }

 private:
  CublasLibrary() {
    const std::string versioned = "libcublas.so." + std::to_string(CUDART_VERSION / 1000);
    library_ = dlopen(versioned.c_str(), RTLD_NOW | RTLD_LOCAL);
    const std::string error = library_ ? "" : dlerror();
    if (!library_) library_ = dlopen("libcublas.so", RTLD_NOW | RTLD_LOCAL);
    if (!library_)
      throw std::runtime_error("CUDA: libcublas is not found: " + error +
                               "; install it, or name its folder in LD_LIBRARY_PATH, or use "
                               "--device cpu");
    take(create, "cublasCreate_v2");
    take(destroy, "cublasDestroy_v2");
    take(set_stream, "cublasSetStream_v2");
    take(set_workspace, "cublasSetWorkspace_v2");
    take(status_string, "cublasGetStatusString");
    take(gemm_batched, "cublasGemmBatchedEx");
  }

  template <class Symbol>
  void take(Symbol& symbol, const char* name) {
    symbol = reinterpret_cast<Symbol>(dlsym(library_, name));
    if (!symbol) throw std::runtime_error(std::string("CUDA: libcublas has no ") + name);
  }

  void* library_;  // stays open
};

inline cublasComputeType_t compute_type(Products products) {
  if (products == Products::tf32) return CUBLAS_COMPUTE_32F_FAST_TF32;
  return products == Products::bf16 ? CUBLAS_COMPUTE_32F_FAST_16BF : CUBLAS_COMPUTE_32F;
}

/// Products on a stream.
class CublasHandle {
 public:
  /// So much is what NVIDIA advises for Hopper.
  static constexpr std::size_t workspace_bytes = 32 << 20;

  /// The workspace is this handle's as long as it lives: with that products have the same bits
  /// however many streams there are.
  CublasHandle(cudaStream_t stream, void* workspace) : library_(CublasLibrary::opened()) {
    const std::unique_lock lock(cuda_captures());
    cublasHandle_t handle = nullptr;
    library_.check(library_.create(&handle), "a handle of libcublas");
    handle_.reset(handle);
    library_.check(library_.set_stream(handle, stream), "the stream of libcublas");
    // Last: a stream takes the workspace away.
    library_.check(library_.set_workspace(handle, workspace, workspace_bytes),
                   "the workspace of libcublas");
  }

  /// The library's matrices stand column after column: it is given C' = B' A'.
  template <class Real>
  void multiply(const BatchedProduct<Real>& product, cublasComputeType_t compute) const {
    const cudaDataType type = std::is_same_v<Real, double> ? CUDA_R_64F : CUDA_R_32F;
    const BatchedFactors<Real>&a = product.a, &b = product.b;
    library_.check(
        library_.gemm_batched(
            handle_.get(), operation(b), operation(a), number(product.columns),
            number(product.rows), number(product.depth), &product.alpha, pointers(b.at), type,
            number(b.stride), pointers(a.at), type, number(a.stride), &product.beta,
            reinterpret_cast<void* const*>(product.c), type, number(product.c_stride),
            number(product.count), compute, CUBLAS_GEMM_DEFAULT),
        "products of matrices");
  }

 private:
  struct Destroy {
    void operator()(cublasHandle_t handle) const {
      const std::unique_lock lock(cuda_captures());  // it waits for the device
      CublasLibrary::opened().destroy(handle);
    }
  };

  template <class Real>
  static cublasOperation_t operation(const BatchedFactors<Real>& factors) {
    return factors.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  }
  template <class Real>
  static const void* const* pointers(const Real* const* at) {
    return reinterpret_cast<const void* const*>(at);
  }
  static int number(std::uint32_t number) { return static_cast<int>(number); }

  const CublasLibrary& library_;
  std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, Destroy> handle_;
};

}  // namespace gradrace
