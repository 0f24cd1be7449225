#include "models/layers/dense.h"

#include <algorithm>
#include <vector>

#include "models/cpu/kernels/kernels.h"
#include "models/layers/convolution_products.h"
#include "models/layers/cpu_layer.h"
#include "models/layers/layer_table.h"
#include "models/layers/map_sums.h"

namespace gradrace {

namespace {

template <class Real>
class Dense final : public CpuLayer<Real> {
 public:
  using CpuLayer<Real>::CpuLayer;

  void forward(const Real* w, const Units<Real>& x, Units<Real>& y) override { multiply(w, x, y); }
  void backward(const Real* w, const Units<Real>& x, const Units<Real>& dy, Real* g,
                Units<Real>* dx) override {
    add_up(x, dy, g);
    if (dx == nullptr) return;
    dx->resize(dy.rows(), x.cols());
    dx->noalias() = dy * this->W(w);
  }
  void forward_rows(const Real* w, const RowMajor<Real>& rows, Units<Real>& y) override {
    multiply(w, rows, y);
  }
  void backward_rows(const Real*, const RowMajor<Real>& rows, const Units<Real>& dy,
                     Real* g) override {
    add_up(rows, dy, g);
  }

 private:
  /// Eigen adds up the numbers of a small product in an order that depends on where in memory the
  /// result begins; up to this many weights it begins where it always does.
  static constexpr Eigen::Index most_small = 1024;

  template <class X>
  void multiply(const Real* w, const X& x, Units<Real>& y) const {
    const auto W = this->W(w);
    RowMajor<Real> product(x.rows(), W.rows());
    product.noalias() = x * W.transpose();
    if (!this->spec_.kernel.bias) return void(y = product);
    const Eigen::Map<const Eigen::Matrix<Real, 1, Eigen::Dynamic>> b(this->b(w), W.rows());
    y = product.rowwise() + b;
  }

  template <class X>
  void add_up(const X& x, const Units<Real>& dy, Real* g) const {
    Eigen::Map<RowMajor<Real>> dW(g + this->spec_.kernel.first, dy.cols(), x.cols());
    if (dW.size() <= most_small) {
      dW = RowMajor<Real>(dy.transpose() * x);
    } else {
      dW.noalias() = dy.transpose() * x;
    }
    if (!this->spec_.kernel.bias) return;
    Real* const db = this->b(g);
    for (Eigen::Index c = 0; c < dy.cols(); ++c) db[c] = dy.col(c).sum();
  }
};

/// In float32 the sums are those of the kernels, in one order on every instruction set.
template <>
class Dense<float> final : public CpuLayer<float> {
 public:
  explicit Dense(const LayerSpec& spec)
      : CpuLayer(spec),
        inputs_(spec.kernel.depth),
        outputs_(spec.kernel.outputs),
        products_({inputs_, 1, 1}, {outputs_, 1, 1}, 1, 0, 1) {}

  void forward(const float* w, const Units<float>& x, Units<float>& y) override {
    products_.forward(x, w + spec_.kernel.first, spec_.kernel.bias ? b(w) : nullptr, y);
  }
  void backward(const float* w, const Units<float>& x, const Units<float>& dy, float* g,
                Units<float>* dx) override {
    add_up(x, dy, g + spec_.kernel.first);
    if (spec_.kernel.bias) sum_maps(dy, outputs_, b(g));
    if (dx != nullptr) products_.backward(dy, w + spec_.kernel.first, *dx);
  }

 private:
  /// dW^T = (dy^T x)^T is what a kernel makes of the weights of a layer that looks at dy.
  void add_up(const Units<float>& x, const Units<float>& dy, float* dW) {
    const auto n = static_cast<std::size_t>(x.rows());
    const std::size_t columns = kernels::in_lanes(inputs_);
    rows_of_x_.setZero(x.rows(), static_cast<Eigen::Index>(columns));
    rows_of_x_.leftCols(x.cols()) = x;
    constexpr auto beyond =
        static_cast<Eigen::Index>(kernels::lane_count);  // the kernels read past them
    rows_of_dy_.setZero(dy.rows() + beyond, dy.cols());
    rows_of_dy_.topRows(dy.rows()) = dy;
    sums_.resize((outputs_ + 1) * columns);
    const kernels::InputRows rows{
        .n = n, .inputs = outputs_, .dense = rows_of_dy_.data(), .stride = outputs_};
    kernels_.backward(rows, rows_of_x_.data(), columns,
                      {{1, nullptr, nullptr, sums_.data()}, 0, nullptr});
    for (std::size_t o = 0; o < outputs_; ++o)
      std::copy_n(sums_.data() + o * columns, inputs_, dW + o * inputs_);
  }

  const kernels::Kernels& kernels_ = kernels::chosen_kernels();
  const std::size_t inputs_, outputs_;
  ConvolutionProducts<float> products_;  // of maps of one pixel
  RowMajor<float> rows_of_x_, rows_of_dy_;
  std::vector<float> sums_;
};

}  // namespace

LayerSpec dense(const ImageShape& x, std::size_t outputs, double sd, bool bias) {
  kernels::Layer kernel = kernel_layer<kernels::DenseSteps>({x.numbers(), 1, 1}, {outputs, 1, 1});
  kernel.depth = kernel.channels;
  kernel.bias = bias;
  return computed_by<Dense>({kernel, outputs * (x.numbers() + bias), {}, sd});
}

void add_dense_layers(NetworkSpec& network, std::span<const std::uint64_t> widths, Activation f,
                      std::size_t outputs) {
  const auto next = [&](std::size_t width) {
    return dense(network.output(), width, initial_sd(f, network.output().numbers(), width));
  };
  for (const std::uint64_t width : widths) network.add(next(width), f);
  network.add(next(outputs));
}

}  // namespace gradrace
