#include "models/resnet.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/layers/activation.h"
#include "models/layers/batch_normalisation.h"
#include "models/layers/padded_convolution.h"
#include "models/supervised_model.h"
#include "sim/random.h"

namespace gradrace {
namespace {

constexpr Page page{
    "resnet",
    "Residual network for small images: a convolution of 3 x 3, padding 1, to `width` channels, "
    "then three stages of n blocks, depth = 6 n + 2, with width, 2 width and 4 width channels; the "
    "mean of each channel; scores s = W y + b, softmax and cross-entropy.  A block is relu(x + "
    "N(W2 * relu(N(W1 * x)))); the first of the second and of the third stage takes every other "
    "pixel (stride 2), and its x likewise, with zeros for the channels that x has not (option A).  "
    "N is batch normalisation, y = gamma (x - mean) / sqrt(variance + 1e-5) + b, channel by "
    "channel, also after the first convolution.  A gradient takes mean and variance of its own "
    "minibatch (the variance divides by the number of pixels).  An evaluation takes those that the "
    "value carries: an update makes them decay x old + (1 - decay) x (mean of its gradients', by "
    "their weights), decay = statistics_decay, whatever their staleness; an update whose weights "
    "vanish leaves them.  They are no parameters that are learnt: momentum, RMSProp, clipping, "
    "distance and l2 do not see them; an ema averages them as it does the others, and the hash has "
    "them.  Objective: mean cross-entropy + l2 sum ||W||_F^2 over all layers (no factor 1/2; b and "
    "gamma are not regularised).  Every W starts as N(0, 2 / inputs), layer after layer in one "
    "stream; b and mean at 0, gamma and variance at 1.  Of 32 x 32 x 3 depth 20 has 269,722 "
    "parameters to learn, 32 has 464,154 and 56 has 853,018.",
    "He, Zhang, Ren, Sun, CVPR 2016, sec. 4.2; Ioffe, Szegedy, ICML 2015; start: He et al., ICCV "
    "2015, eq. 10",
    R"({"kind": "resnet", "dataset": {"kind": "synthetic", "features": 192, "height": 8, "width": 8},
        "depth": 8, "width": 4})"};

/// A convolution of 3 x 3 and its normalisation.  Parameters and statistics: w and g are those that
/// are learnt, s the statistics.
template <class Real>
class Normalised {
 public:
  Normalised(const ImageShape& images, std::size_t outputs, std::size_t stride, std::size_t first,
             std::size_t first_statistic)
      : convolution_(
            images,
            {.outputs = outputs, .kernel = 3, .padding = 1, .stride = stride, .bias = false},
            first),
        normalisation_(convolution_.output(), first + layer().weights(), first_statistic) {}

  const Dense& layer() const { return convolution_.layer(); }
  const ImageShape& output() const { return convolution_.output(); }
  std::size_t end() const { return normalisation_.end(); }
  std::size_t end_statistics() const { return normalisation_.end_statistics(); }

  /// The same for a kernel, after those that are there.
  void add_kernel_layers(kernels::Function f, std::size_t learnt,
                         std::vector<kernels::Layer>& layers) const {
    layers.push_back(convolution_.kernel_layer(kernels::Function::identity));
    layers.push_back(normalisation_.kernel_layer(f, learnt));
  }

  void initialise(Stream& words, Real* w, Real* s) const {
    layer().initialise(initial_sd(Activation::relu, layer().inputs, layer().outputs), words, w);
    normalisation_.initialise(w, s);
  }

  void forward(const Real* w, const Real* s, const Units<Real>& x, Units<Real>& y) {
    convolution_.forward(w, x, z_);
    normalisation_.forward(w, s, z_, y);
  }
  void learn(const Real* w, const Units<Real>& x, Units<Real>& y) {
    convolution_.forward(w, x, z_);
    normalisation_.learn(w, z_, y);
  }
  /// After learn() of the same w and x.
  void backward(const Real* w, const Units<Real>& x, const Units<Real>& dy, Real* g, Real* s,
                Units<Real>* dx) {
    normalisation_.backward(w, z_, dy, g, s, by_z_);
    convolution_.backward(w, x, by_z_, g, dx);
  }

 private:
  PaddedConvolution<Real> convolution_;
  BatchNormalisation<Real> normalisation_;
  Units<Real> z_, by_z_;
};

template <class Real>
class Block {
 public:
  Block(const ImageShape& images, std::size_t outputs, std::size_t stride, std::size_t first,
        std::size_t first_statistic)
      : images_(images),
        stride_(stride),
        inner_(images, outputs, stride, first, first_statistic),
        outer_(inner_.output(), outputs, 1, inner_.end(), inner_.end_statistics()) {}

  const Normalised<Real>& inner() const { return inner_; }
  const Normalised<Real>& outer() const { return outer_; }

  /// The same for a kernel, after those that are there.
  void add_kernel_layers(std::size_t learnt, std::vector<kernels::Layer>& layers) const {
    using kernels::Function;
    const auto from = static_cast<std::uint32_t>(layers.size() - 1);
    inner_.add_kernel_layers(Function::relu, learnt, layers);
    outer_.add_kernel_layers(Function::identity, learnt, layers);
    layers.push_back(
        kernel_layer(kernels::LayerKind::shortcut, images_, outer_.output(), Function::relu));
    layers.back().stride = static_cast<std::uint32_t>(stride_);
    layers.back().from = from;
  }

  void forward(const Real* w, const Real* s, const Units<Real>& x, Units<Real>& y) {
    inner_.forward(w, s, x, map_);
    activate(Activation::relu, map_);
    outer_.forward(w, s, map_, y);
    add_shortcut(x, y);
  }
  void learn(const Real* w, const Units<Real>& x, Units<Real>& y) {
    inner_.learn(w, x, map_);
    activate(Activation::relu, map_);
    outer_.learn(w, map_, y);
    add_shortcut(x, y);
  }
  /// dx from dy, which becomes the derivative by the sum under the last relu.
  void backward(const Real* w, const Units<Real>& x, const Units<Real>& y, Units<Real>& dy, Real* g,
                Real* s, Units<Real>& dx) {
    times_slope(Activation::relu, y, dy);
    outer_.backward(w, map_, dy, g, s, &by_map_);
    times_slope(Activation::relu, map_, by_map_);
    inner_.backward(w, x, by_map_, g, s, &dx);
    each_shortcut([&](Eigen::Index from, Eigen::Index to, Eigen::Index count) {
      dx.middleCols(from, count) += dy.middleCols(to, count);
    });
  }

 private:
  void add_shortcut(const Units<Real>& x, Units<Real>& y) const {
    each_shortcut([&](Eigen::Index from, Eigen::Index to, Eigen::Index count) {
      y.middleCols(to, count) += x.middleCols(from, count);
    });
    activate(Activation::relu, y);
  }

  /// Calls use(number of x, number of y, how many beside them) for all that pass by the
  /// convolutions.
  template <class Use>
  void each_shortcut(const Use& use) const {
    const auto numbers = static_cast<Eigen::Index>(images_.numbers());
    if (stride_ == 1) return use(0, 0, numbers);
    const auto [channels, height, width] = outer_.output();
    for (std::size_t c = 0; c < images_.channels; ++c)
      for (std::size_t i = 0; i < height; ++i)
        for (std::size_t j = 0; j < width; ++j)
          use(static_cast<Eigen::Index>((c * images_.height + stride_ * i) * images_.width +
                                        stride_ * j),
              static_cast<Eigen::Index>((c * height + i) * width + j), 1);
  }

  ImageShape images_;
  std::size_t stride_;
  Normalised<Real> inner_, outer_;
  Units<Real> map_, by_map_;  // between the two
};

template <class Real>
class Resnet final : public Supervised<Real> {
 public:
  explicit Resnet(const ResnetConfig& config)
      : Supervised<Real>(config, cross_entropy<Real>(), block_rows),
        decay_(config.statistics_decay),
        first_(this->images("resnet"), config.width, 1, 0, 0) {
    const Normalised<Real>* last = &first_;
    layers_.push_back(first_.layer());
    const std::size_t n = (config.depth - 2) / 6;
    blocks_.reserve(3 * n);
    for (std::size_t b = 0; b < 3 * n; ++b) {
      const std::size_t stride = b > 0 && b % n == 0 ? 2 : 1;
      blocks_.emplace_back(last->output(), config.width << (b / n), stride, last->end(),
                           last->end_statistics());
      layers_.push_back(blocks_.back().inner().layer());
      layers_.push_back(blocks_.back().outer().layer());
      last = &blocks_.back().outer();
    }
    maps_.resize(blocks_.size() + 1);
    const ImageShape& maps = last->output();
    pixels_ = static_cast<Eigen::Index>(maps.height * maps.width);
    layers_.push_back({maps.channels, this->outputs(), last->end()});
  }

  Statistics statistics() const override {
    return {blocks_.back().outer().end_statistics(), decay_};
  }

  void initialise(std::uint64_t seed, std::uint32_t replica, std::span<Real> w) override {
    Stream words = stream({seed, replica, Purpose::initial_weights, 0, 0});
    Real* const s = w.data() + layers_.back().end();
    first_.initialise(words, w.data(), s);
    for (const auto& block : blocks_) {
      block.inner().initialise(words, w.data(), s);
      block.outer().initialise(words, w.data(), s);
    }
    const Dense& last = layers_.back();
    last.initialise(initial_sd(Activation::relu, last.inputs, last.outputs), words, w.data());
  }

 private:
  static constexpr std::size_t block_rows = 32;

  std::span<const Dense> layers() const override { return layers_; }

  std::vector<kernels::Layer> kernel_layers() const override {
    using kernels::Function;
    const std::size_t learnt = layers_.back().end();
    std::vector<kernels::Layer> layers;
    first_.add_kernel_layers(Function::relu, learnt, layers);
    for (const auto& block : blocks_) block.add_kernel_layers(learnt, layers);
    const ImageShape& maps = blocks_.back().outer().output();
    layers.push_back(kernel_layer(kernels::LayerKind::pixel_mean, maps, {maps.channels, 1, 1},
                                  Function::identity));
    layers.push_back(layers_.back().kernel_layer(Function::identity));
    return layers;
  }

  void forward(const Real* w, const Batch<Real>& batch, Units<Real>& scores) override {
    const Real* const s = w + layers_.back().end();
    images_ = batch.x;
    first_.forward(w, s, images_, maps_[0]);
    activate(Activation::relu, maps_[0]);
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      blocks_[b].forward(w, s, maps_[b], maps_[b + 1]);
    classify(w, scores);
  }

  void learn(const Real* w, const Batch<Real>& batch, Units<Real>& scores) override {
    images_ = batch.x;
    first_.learn(w, images_, maps_[0]);
    activate(Activation::relu, maps_[0]);
    for (std::size_t b = 0; b < blocks_.size(); ++b) blocks_[b].learn(w, maps_[b], maps_[b + 1]);
    classify(w, scores);
  }

  void backward(const Real* w, const Batch<Real>&, const Units<Real>& by_scores, Real* g) override {
    Real* const s = g + layers_.back().end();
    layers_.back().backward(means_, by_scores, g);
    layers_.back().propagate(w, by_scores, by_means_);
    Units<Real>*dy = &by_maps_[0], *dx = &by_maps_[1];
    dy->resize(maps_.back().rows(), maps_.back().cols());
    for (Eigen::Index c = 0; c < by_means_.cols(); ++c)
      dy->middleCols(c * pixels_, pixels_).colwise() =
          by_means_.col(c) / static_cast<Real>(pixels_);
    for (std::size_t b = blocks_.size(); b-- > 0;) {
      blocks_[b].backward(w, maps_[b], maps_[b + 1], *dy, g, s, *dx);
      std::swap(dy, dx);
    }
    times_slope(Activation::relu, maps_[0], *dy);
    first_.backward(w, images_, *dy, g, s, nullptr);
  }

  /// Scores from the last maps.
  void classify(const Real* w, Units<Real>& scores) {
    const Units<Real>& maps = maps_.back();
    means_.resize(maps.rows(), maps.cols() / pixels_);
    for (Eigen::Index c = 0; c < means_.cols(); ++c)
      means_.col(c) = maps.middleCols(c * pixels_, pixels_).rowwise().mean();
    layers_.back().forward(w, means_, scores);
  }

  double decay_;
  Normalised<Real> first_;
  std::vector<Block<Real>> blocks_;
  std::vector<Dense> layers_;
  Eigen::Index pixels_;  // of a channel of the last maps

  Units<Real> images_;             // [n, features]
  std::vector<Units<Real>> maps_;  // what each block looks at, and the last one's
  Units<Real> means_, by_means_;   // [n, channels]
  Units<Real> by_maps_[2];
};

ModelProduct read(Fields& fields, DataShelf& shelf) {
  ResnetConfig config;
  visit(fields, config, "sum ||W||_F^2", shelf);
  visit_images(fields, config);
  fields.integer("depth", config.depth, Need::defaulted, between(8, 1202),
                 "layers with weights, 6 n + 2");
  fields.integer("width", config.width, Need::defaulted, between(1, 1e3),
                 "channels of the first stage; the next have twice and four times as many");
  fields.real("statistics_decay", config.statistics_decay, Need::defaulted, from_below(0, 1),
              "what an update leaves of mean and variance");
  if (!fields.good()) return nullptr;
  if (config.depth % 6 != 2) {
    fields.complain("depth", "must be 6 n + 2, got " + std::to_string(config.depth),
                    "8, 14, 20, 26, 32, ...");
    return nullptr;
  }
  return std::make_shared<SupervisedSpec<ResnetConfig>>(config, make_resnet<float>,
                                                        make_resnet<double>);
}

}  // namespace

template <class Real>
std::unique_ptr<Model<Real>> make_resnet(const ResnetConfig& config) {
  return std::make_unique<Resnet<Real>>(config);
}

template std::unique_ptr<Model<float>> make_resnet(const ResnetConfig&);
template std::unique_ptr<Model<double>> make_resnet(const ResnetConfig&);

extern const ModelEntry resnet_entry{page, read};

}  // namespace gradrace
