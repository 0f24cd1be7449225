#include "models/layers/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "models/layers/functions.h"

namespace gradrace {
namespace {

template <class Real>
class CrossEntropy final : public Loss<Real> {
 public:
  std::size_t outputs(const Dataset& data) const override {
    if (data.classes == 0)
      throw std::runtime_error("the model needs classes, and the data set has targets");
    return data.classes;
  }

  void add(const Batch<Real>& batch, Units<Real>& s, LossSum& sum) override {
    sum.wrong += wrong(batch, s);
    find_top(s);
    loss_.resize(s.rows());
    for (Eigen::Index i = 0; i < s.rows(); ++i) loss_[i] = top_[i] - s(i, own(batch, i));
    exponentiate(s);
    logarithms({total_.data(), static_cast<std::size_t>(total_.size())});
    loss_ += total_;
    for (const Real loss : loss_) sum.loss += static_cast<double>(loss);
  }

  /// s = (p - onehot) / n.
  void differentiate(const Batch<Real>& batch, Units<Real>& s) override {
    find_top(s);
    exponentiate(s);
    s.array().colwise() /= total_;
    for (Eigen::Index i = 0; i < s.rows(); ++i) s(i, own(batch, i)) -= 1;
    s *= 1 / static_cast<Real>(s.rows());
  }

 private:
  static Eigen::Index own(const Batch<Real>& batch, Eigen::Index i) {
    return batch.classes[static_cast<std::size_t>(i)];
  }

  /// The greatest of each row.
  void find_top(const Units<Real>& s) {
    top_ = s.col(0);
    for (Eigen::Index c = 1; c < s.cols(); ++c) top_ = top_.max(s.col(c).array());
  }

  /// s = exp(s - top), total = its sum over each row.
  void exponentiate(Units<Real>& s) {
    s.array().colwise() -= top_;
    exponentials({s.data(), static_cast<std::size_t>(s.size())});
    total_ = s.col(0);
    for (Eigen::Index c = 1; c < s.cols(); ++c) total_ += s.col(c).array();
  }

  static double wrong(const Batch<Real>& batch, const Units<Real>& s) {
    std::size_t count = 0;
    for (Eigen::Index i = 0; i < s.rows(); ++i) {
      Eigen::Index best = 0;
      for (Eigen::Index c = 1; c < s.cols(); ++c)
        if (s(i, c) > s(i, best)) best = c;
      count += best != own(batch, i);
    }
    return static_cast<double>(count);
  }

  Eigen::Array<Real, Eigen::Dynamic, 1> top_, total_, loss_;  // [n]
};

template <class Real>
class Logistic final : public Loss<Real> {
 public:
  std::size_t outputs(const Dataset& data) const override {
    if (data.classes != 2)
      throw std::runtime_error(
          "the model needs two classes, and the data set has " +
          (data.classes == 0 ? "targets" : std::to_string(data.classes) + " classes"));
    return 1;
  }

  void add(const Batch<Real>& batch, Units<Real>& s, LossSum& sum) override {
    for (Eigen::Index i = 0; i < s.rows(); ++i) {
      const Real x = s(i, 0);
      const bool one = is_one(batch, i);
      const Real loss = std::max(one ? -x : x, Real{0}) + std::log1p(std::exp(-std::abs(x)));
      sum.loss += static_cast<double>(loss);
      sum.wrong += one != (x > 0);
    }
  }

  /// s = (p(1 | x) - class) / n.
  void differentiate(const Batch<Real>& batch, Units<Real>& s) override {
    for (Eigen::Index i = 0; i < s.rows(); ++i) {
      const Real x = s(i, 0), e = std::exp(-std::abs(x));
      s(i, 0) = is_one(batch, i) ? -(x > 0 ? e : 1) / (1 + e) : (x > 0 ? 1 : e) / (1 + e);
    }
    s *= 1 / static_cast<Real>(s.rows());
  }

 private:
  static bool is_one(const Batch<Real>& batch, Eigen::Index i) {
    return batch.classes[static_cast<std::size_t>(i)] == 1;
  }
};

template <class Real>
class HalfSquare final : public Loss<Real> {
 public:
  std::size_t outputs(const Dataset& data) const override {
    if (data.classes > 0)
      throw std::runtime_error("the model needs targets, and the data set has classes");
    return 1;
  }

  void add(const Batch<Real>& batch, Units<Real>& s, LossSum& sum) override {
    for (Eigen::Index i = 0; i < s.rows(); ++i) {
      const Real residual = s(i, 0) - target(batch, i);
      sum.loss += static_cast<double>(residual * residual / 2);
    }
    sum.wrong = std::numeric_limits<double>::quiet_NaN();
  }

  /// s = (s - target) / n.
  void differentiate(const Batch<Real>& batch, Units<Real>& s) override {
    for (Eigen::Index i = 0; i < s.rows(); ++i) s(i, 0) -= target(batch, i);
    s *= 1 / static_cast<Real>(s.rows());
  }

 private:
  static Real target(const Batch<Real>& batch, Eigen::Index i) {
    return batch.targets[static_cast<std::size_t>(i)];
  }
};

template <class Real>
class Hinge final : public Loss<Real> {
 public:
  explicit Hinge(std::uint32_t positive) : positive_(positive) {}

  std::size_t outputs(const Dataset& data) const override {
    if (data.classes <= positive_)
      throw std::runtime_error(
          "the model needs a class " + std::to_string(positive_) + ", and the data set has " +
          (data.classes == 0 ? "targets" : std::to_string(data.classes) + " classes, from 0"));
    return 1;
  }

  void add(const Batch<Real>& batch, Units<Real>& s, LossSum& sum) override {
    for (Eigen::Index i = 0; i < s.rows(); ++i) {
      const Real y = label(batch, i);
      sum.loss += static_cast<double>(beyond(0, 1 - y * s(i, 0)));
      sum.wrong += (y > 0) != (s(i, 0) > 0);
    }
  }

  /// s = -y / n where the margin is too narrow.
  void differentiate(const Batch<Real>& batch, Units<Real>& s) override {
    const Real share = 1 / static_cast<Real>(s.rows());
    for (Eigen::Index i = 0; i < s.rows(); ++i) {
      const Real y = label(batch, i);
      s(i, 0) = y * s(i, 0) >= 1 ? 0 : -y * share;
    }
  }

 private:
  /// NaN propagates.
  static Real beyond(Real least, Real x) { return x < least ? least : x; }
  Real label(const Batch<Real>& batch, Eigen::Index i) const {
    return static_cast<Real>(batch.classes[static_cast<std::size_t>(i)] == positive_ ? 1 : -1);
  }

  const std::uint32_t positive_;
};

}  // namespace

template <class Real>
std::unique_ptr<Loss<Real>> make_loss(LossKind kind, std::uint32_t positive) {
  if (kind == LossKind::hinge) return std::make_unique<Hinge<Real>>(positive);
  if (kind == LossKind::cross_entropy) return std::make_unique<CrossEntropy<Real>>();
  if (kind == LossKind::logistic) return std::make_unique<Logistic<Real>>();
  return std::make_unique<HalfSquare<Real>>();
}

template std::unique_ptr<Loss<float>> make_loss(LossKind, std::uint32_t);
template std::unique_ptr<Loss<double>> make_loss(LossKind, std::uint32_t);

}  // namespace gradrace
