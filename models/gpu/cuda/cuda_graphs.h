#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <vector>

#include "models/gpu/cuda/cuda_check.h"

namespace gradrace {

/// Work of a stream that is launched again and again, captured as graphs: one launch each.  With
/// GRADRACE_CUDA_GRAPHS=0 in the environment nothing is captured.
class CudaGraphs {
 public:
  using Key = std::vector<std::uint32_t>;

  /// Does what body() launches on the stream.  Equal keys must launch identical work and allocate
  /// nothing.  The first time it runs as it is, since kernels are loaded then; the second time it
  /// is captured, and where that fails it runs as it is again.
  template <class Body>
  void repeat(cudaStream_t stream, const Key& key, const Body& body) {
    if (off_) return body();
    if (known_.size() >= most && !known_.contains(key)) {
      check(cudaStreamSynchronize(stream), "work of the device");  // of the graphs
      known_.clear();
    }
    const auto [known, fresh] = known_.try_emplace(key);
    if (!fresh && !known->second) known->second = captured(stream, body);
    if (!known->second) return body();
    check(cudaGraphLaunch(known->second.get(), stream), "launch of a graph");
  }

  /// Drops all graphs, since memory that they use has moved.
  void forget() { known_.clear(); }

 private:
  struct Destroy {
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
  };
  using Executable = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy>;

  struct DestroyGraph {
    void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
  };

  static constexpr std::size_t most = 64;

  /// Null where the capture failed: nothing has run yet.
  template <class Body>
  static Executable captured(cudaStream_t stream, const Body& body) {
    // Other threads may ask for memory meanwhile.
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture of a graph");
    bool asked = true;
    try {
      body();
    } catch (const std::runtime_error&) {
      asked = false;
    }
    cudaGraph_t made = nullptr;
    const bool ended = cudaStreamEndCapture(stream, &made) == cudaSuccess;
    const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph> graph(made);
    cudaGraphExec_t executable = nullptr;
    if (asked && ended && cudaGraphInstantiate(&executable, made, 0) != cudaSuccess)
      executable = nullptr;
    cudaGetLastError();  // is not the next launch's
    return Executable(executable);
  }

  static bool switched_off() {
    const char* const asked = std::getenv("GRADRACE_CUDA_GRAPHS");
    return asked != nullptr && std::string_view(asked) == "0";
  }

  const bool off_ = switched_off();
  std::map<Key, Executable> known_;  // null: no graph yet
};

}  // namespace gradrace
