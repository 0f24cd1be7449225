#include "models/layers/padded_convolution.h"

#include "models/layers/convolution_products.h"
#include "models/layers/cpu_layer.h"
#include "models/layers/layer_table.h"
#include "models/layers/map_sums.h"
#include "sim/check.h"

namespace gradrace {

namespace {

template <class Real>
class Padded final : public CpuLayer<Real> {
 public:
  explicit Padded(const LayerSpec& spec)
      : CpuLayer<Real>(spec),
        products_(this->images_, this->output_, spec.kernel.kernel, spec.kernel.padding,
                  spec.kernel.stride) {}

  void forward(const Real* w, const Units<Real>& x, Units<Real>& y) override {
    const Real* const b = this->spec_.kernel.bias ? this->b(w) : nullptr;
    products_.forward(x, w + this->spec_.kernel.first, b, y);
  }
  void backward(const Real* w, const Units<Real>& x, const Units<Real>& dy, Real* g,
                Units<Real>* dx) override {
    products_.add_up(x, dy, g + this->spec_.kernel.first);
    if (this->spec_.kernel.bias) sum_maps(dy, this->output_.channels, this->b(g));
    if (dx != nullptr) products_.backward(dy, w + this->spec_.kernel.first, *dx);
  }

 private:
  ConvolutionProducts<Real> products_;
};

std::size_t convolved(std::size_t length, const PaddedConvolution& shape) {
  GRADRACE_CHECK(length + 2 * shape.padding >= shape.kernel,
                 "a kernel finds room in the padded image");
  return (length + 2 * shape.padding - shape.kernel) / shape.stride + 1;
}

}  // namespace

LayerSpec padded_convolution(const ImageShape& images, const PaddedConvolution& shape, double sd) {
  kernels::Layer layer = kernel_layer<kernels::ConvolutionSteps>(
      images, {shape.outputs, convolved(images.height, shape), convolved(images.width, shape)});
  layer.bias = shape.bias;
  layer.kernel = static_cast<std::uint32_t>(shape.kernel);
  layer.padding = static_cast<std::uint32_t>(shape.padding);
  layer.stride = static_cast<std::uint32_t>(shape.stride);
  layer.depth = layer.channels * layer.kernel * layer.kernel;
  return computed_by<Padded>({layer, shape.outputs * (layer.depth + shape.bias), {}, sd});
}

}  // namespace gradrace
