#include "tests/support/model_checks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "tests/support/reading.h"

namespace gradrace {

std::shared_ptr<const Dataset> made(const std::string& json) {
  DataShelf shelf(".", {});
  return read_dataset(json, shelf).product();
}

std::shared_ptr<const Dataset> synthetic(const std::string& keys) {
  return made(R"({"kind": "synthetic", )" + keys + "}");
}

Vector some_point(std::size_t d, double scale, double phase) {
  Vector w(d);
  for (std::size_t i = 0; i < d; ++i) w[i] = scale * std::sin(phase + static_cast<double>(i));
  return w;
}

double norm(const Vector& v) {
  double square = 0;
  for (const double x : v) square += x * x;
  return std::sqrt(square);
}

void check_start_is_named(Model<double>& model, const Vector& w) {
  Vector again(w.size()), seed(w.size()), replica(w.size());
  model.initialise(1, 0, again);
  model.initialise(2, 0, seed);
  model.initialise(1, 1, replica);
  CHECK(again == w);
  CHECK(seed != w);
  CHECK(replica != w);
}

Vector central_differences(Model<double>& model, Vector w, double h) {
  Vector g(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double at = w[i];
    w[i] = at + h;
    const double above = evaluate(model, w).loss;
    w[i] = at - h;
    g[i] = (above - evaluate(model, w).loss) / (2 * h);
    w[i] = at;
  }
  return g;
}

Vector solve(Vector A, Vector b) {
  const std::size_t n = b.size();
  const auto row = [&](std::size_t i) { return A.begin() + static_cast<std::ptrdiff_t>(i * n); };
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::abs(A[i * n + k]) > std::abs(A[pivot * n + k])) pivot = i;
    std::swap_ranges(row(k), row(k + 1), row(pivot));
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = A[i * n + k] / A[k * n + k];
      for (std::size_t j = k; j < n; ++j) A[i * n + j] -= factor * A[k * n + j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= A[k * n + j] * b[j];
    b[k] /= A[k * n + k];
  }
  return b;
}

double feature(const Dataset& data, const Rows& rows, std::size_t i, std::size_t j) {
  const std::size_t at = i * data.features + j;
  return rows.bytes.empty() ? static_cast<double>(rows.floats[at])
                            : rows.bytes[at] * static_cast<double>(data.byte_scale);
}

}  // namespace gradrace
