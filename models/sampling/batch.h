#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "models/datasets/dataset.h"

namespace gradrace {

template <class Real>
using RowMajor = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// [n, units]: one number of each of n rows, a unit beside itself.
template <class Real>
using Units = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;

/// Some rows of a data set; n rows, d features.
template <class Real>
struct Batch {
  RowMajor<Real> x;                   // [n, d]
  std::vector<std::uint8_t> classes;  // [n], or empty
  std::vector<Real> targets;          // [n], or empty

  void gather(const Dataset& data, const Rows& split, std::span<const std::uint32_t> rows);
};

}  // namespace gradrace
