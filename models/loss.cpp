#include "models/loss.h"

namespace gradrace {
namespace {

template <class Real>
class CrossEntropy final : public Loss<Real> {
 public:
  std::size_t outputs(const Dataset& data) const override { return data.classes; }

  void add(const Batch<Real>& batch, Units<Real>& s, LossSum& sum) override {
    sum.wrong += wrong(batch, s);
    find_top(s);
    loss_.resize(s.rows());
    for (Eigen::Index i = 0; i < s.rows(); ++i) loss_[i] = top_[i] - s(i, own(batch, i));
    exponentiate(s);
    loss_ += total_.log();
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
    s = s.array().exp();
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

}  // namespace

template <class Real>
std::unique_ptr<Loss<Real>> cross_entropy() {
  return std::make_unique<CrossEntropy<Real>>();
}

template std::unique_ptr<Loss<float>> cross_entropy();
template std::unique_ptr<Loss<double>> cross_entropy();

}  // namespace gradrace
