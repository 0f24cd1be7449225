#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <memory>
#include <type_traits>
#include <vector>

#include "models/cuda_check.h"

namespace gradrace {

/// Work of a stream that comes again and again, as graphs: one launch for all of it.
class CudaGraphs {
 public:
  using Key = std::vector<std::uint32_t>;

  /// Does what body() asks the stream for.  For equal keys that must be the same, number by number,
  /// and no memory may be asked for when it comes again.  The first time it is done as it is, since
  /// libraries set themselves up; then it is captured.
  template <class Body>
  void repeat(cudaStream_t stream, const Key& key, const Body& body) {
    if (known_.size() >= most && !known_.contains(key)) known_.clear();
    const auto [known, fresh] = known_.try_emplace(key);
    if (fresh) return body();
    if (!known->second) known->second = captured(stream, body);
    check(cudaGraphLaunch(known->second.get(), stream), "launch of a graph");
  }

  /// What the work looks at is no longer where it was.
  void forget() { known_.clear(); }

 private:
  struct Destroy {
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
  };
  using Executable = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy>;

  static constexpr std::size_t most = 64;

  template <class Body>
  Executable captured(cudaStream_t stream, const Body& body) {
    // Other threads may ask for memory meanwhile.
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture of a graph");
    try {
      body();
    } catch (...) {
      cudaGraph_t broken = nullptr;
      if (cudaStreamEndCapture(stream, &broken) == cudaSuccess) cudaGraphDestroy(broken);
      throw;
    }
    cudaGraph_t made = nullptr;
    check(cudaStreamEndCapture(stream, &made), "capture of a graph");
    const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, decltype(&cudaGraphDestroy)> graph(
        made, cudaGraphDestroy);
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph.get(), 0), "a graph");
    return Executable(executable);
  }

  std::map<Key, Executable> known_;  // null: seen once
};

}  // namespace gradrace
