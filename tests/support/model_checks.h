#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/model/model.h"

namespace gradrace {

/// Parameters or a gradient in float64.
using Vector = std::vector<double>;

/// The data set of that JSON, or of kind synthetic with those keys.
std::shared_ptr<const Dataset> made(const std::string& json);
std::shared_ptr<const Dataset> synthetic(const std::string& keys);

/// A config of that data set, the rest as it is by default.
template <class Config>
Config on(std::shared_ptr<const Dataset> data) {
  Config config;
  config.dataset = [data] { return data; };
  return config;
}

/// Numbers between -scale and scale, of no pattern that a model would see.
Vector some_point(std::size_t d, double scale = 0.3, double phase = 1);

/// The same for the parameters of the model; the statistics among them are between 0.5 and 1.5.
template <class Real>
Vector some_value(const Model<Real>& model, double scale = 0.3, double phase = 1) {
  Vector w = some_point(model.parameters(), scale, phase);
  for (double& s : carried(std::span(w), model.statistics())) s = 1 + s / (2 * scale);
  return w;
}

double norm(const Vector& v);

/// Of a - b.
template <class Real>
double distance(const Vector& a, const std::vector<Real>& b) {
  Vector difference(a);
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] -= static_cast<double>(b[i]);
  return norm(difference);
}

/// By so much of b; NaN is near NaN.
inline bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::abs(b) || (std::isnan(a) && std::isnan(b));
}

template <class Real>
Evaluation evaluate(Model<Real>& model, const std::vector<Real>& w) {
  const Real* value = w.data();
  Evaluation result;
  model.evaluate({&value, 1}, {&result, 1});
  return result;
}

template <class Real>
std::vector<Real> gradient(Model<Real>& model, const std::vector<Real>& w,
                           const MinibatchName& name) {
  std::vector<Real> g(w.size(), std::numeric_limits<Real>::quiet_NaN());
  model.gradient(w, name, g);
  return g;
}

/// w is the start of seed 1, replica 0, and another seed or replica has another one.
void check_start_is_named(Model<double>& model, const Vector& w);

/// The gradient of the training loss by central differences of step h.
Vector central_differences(Model<double>& model, Vector w, double h);

/// The solution of A x = b by elimination with pivoting; A [n, n], row-major.
Vector solve(Vector A, Vector b);

/// A feature as the models see it.
double feature(const Dataset& data, const Rows& rows, std::size_t i, std::size_t j);

}  // namespace gradrace
