#include "models/python/python_worker.h"

#include <algorithm>
#include <utility>

namespace gradrace {

static constexpr std::size_t alignment = 64;  // of w and g, bytes

PythonWorker::PythonWorker(const PythonClass& of)
    : process_(of),
      parameters_(static_cast<std::size_t>(process_.sizes()[0])),
      rows_(static_cast<std::uint64_t>(process_.sizes()[1])) {
  const std::size_t bytes = of.words.front() == "float64" ? sizeof(double) : sizeof(float);
  stride_ = (parameters_ * bytes + alignment - 1) / alignment * alignment;
  memory_ = process_.map_memory(2 * stride_);
}

void PythonWorker::initialise(std::uint32_t seed) { call(Call::initial, seed); }

void PythonWorker::gradient(std::span<const std::uint32_t> rows, std::uint32_t seed) {
  call(Call::gradient, seed, rows);
}

Evaluation PythonWorker::evaluate() {
  const auto [loss, test_loss, test_error] = call(Call::evaluate);
  return {.loss = loss, .test_loss = test_loss, .test_error = test_error};
}

std::array<double, 3> PythonWorker::call(Call kind, std::uint32_t seed,
                                         std::span<const std::uint32_t> rows) {
  const std::uint32_t head[] = {static_cast<std::uint32_t>(kind), seed,
                                static_cast<std::uint32_t>(rows.size())};
  request_.assign(reinterpret_cast<const char*>(head), sizeof head);
  request_.append(reinterpret_cast<const char*>(rows.data()), rows.size_bytes());
  PythonProcess::Answer answer = process_.call(static_cast<std::size_t>(kind), request_);
  note_ = std::exchange(answer.text, {});
  return std::to_array(answer.head.numbers);
}

}  // namespace gradrace
