#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "compression/catalog.h"
#include "sim/reading/document.h"
#include "sim/reading/problem.h"
#include "sim/reading/reader.h"

namespace gradrace {

/// What that `compression` of a scenario says, without an error.
inline Message message_from(const std::string& json) {
  const Document document = Document::parse(R"({"compression": )" + json + "}", "test");
  Reader reader(document);
  Message message;
  read_kind(reader, "compression", compression_catalog(), message, Need::required, "");
  for (const Problem& problem : reader.finish())
    throw std::runtime_error(problem.path + ": " + problem.what);
  return message;
}

/// What is said of a scenario that is refused; empty: it is not.
template <class Read>
std::string refusal_of(const Read& read) {
  try {
    read();
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

inline void says(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CHECK(text.find(part) != std::string::npos);
}

inline Stream words_of(std::uint32_t draw) { return stream({7, 0, Purpose::compression, 0, draw}); }

/// N(0, 1).
template <class Real>
std::vector<Real> normal_numbers(std::size_t count, std::uint32_t draw = 0) {
  Stream words = stream({11, 0, Purpose::gradient_noise, 0, draw});
  std::vector<Real> numbers(count);
  const auto uniform = [&] { return (words() + 0.5) * 0x1p-32; };
  for (Real& x : numbers) {
    const double length = std::sqrt(-2 * std::log(uniform()));
    x = static_cast<Real>(length * std::cos(2 * M_PI * uniform()));
  }
  return numbers;
}

/// What the receiver reads of the row, of those tensors.
template <class Real>
std::vector<Real> passed(const Message& message, std::vector<Real> row, std::uint32_t draw = 0,
                         const std::vector<Tensor>& tensors = {}) {
  message.compressor->of_tensors(tensors)->pass(row, words_of(draw));
  return row;
}

}  // namespace gradrace
