#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "models/gpu/kernels/product.h"
#include "models/gpu/mirror.h"
#include "models/layers/kernels/batch_normalisation.h"
#include "models/layers/kernels/convolution.h"
#include "models/layers/kernels/dense.h"
#include "models/layers/kernels/padded_convolution.h"
#include "models/layers/kernels/pixel_mean.h"
#include "models/layers/kernels/pooling.h"
#include "models/layers/kernels/response_normalisation.h"
#include "models/layers/kernels/shortcut.h"

namespace gradrace {

/// Takes minibatches through a network and back, layer by layer, many at a time: each layer is some
/// launches and products for all of them.
///
/// What becomes of a minibatch does not depend on those beside it: sums are cut into parts by the
/// sizes of the network and of the minibatch alone.
///
/// What a gradient must do, of n rows: a layer of W [outputs, depth] that looks at s windows a row
/// (dense: one) multiplies n s outputs depth times forward and twice as often back, but the first
/// layer once.  What that reads and writes is said at the kernels of each kind; of a dense layer x,
/// W and y, on the way back x, W, dz, dx and dW.
template <class Real, class Launcher>
class NetworkPass {
 public:
  using Network = kernels::Network<Real>;
  using Pass = kernels::Pass<Real>;

  /// layers: laid out, in the host's memory, as long as this lives; per_row: what lay_out() said;
  /// features: of a row.
  void start(std::span<const kernels::Layer> layers, std::uint32_t per_row,
             std::uint32_t features) {
    layers_ = layers;
    per_row_ = std::uint64_t{per_row} + features + 2;
  }

  /// Minibatches of n rows that go together at most.
  std::uint32_t together(std::uint32_t n) const {
    const std::uint64_t fitting = Launcher::pass_bytes / (per_row_ * n * sizeof(Real));
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fitting, 1, 64));
  }

  /// Of memory, for one minibatch of n rows.
  std::uint64_t numbers(std::uint32_t n) const {
    const Sizes sizes = sizes_of(n);
    return sizes.work + sizes.patches + sizes.maps;
  }

  /// Of memory, for what goes together of minibatches of up to n rows.
  std::uint64_t bytes(std::uint32_t n) const {
    const Room room = room_for(n);
    return (room.work + room.patches + room.maps) * sizeof(Real) +
           room.rows * sizeof(std::uint32_t);
  }

  /// Makes that room.
  void make_room(Launcher& launcher, std::uint32_t n) {
    const Room room = room_for(n);
    const std::uint32_t most = together(1);
    reserve(launcher, numbers_, room.rows);
    reserve(launcher, w_, most);
    reserve(launcher, g_, most);
    reserve(launcher, pointers_, (5 * layers_.size() + 2) * most);
    reserve(launcher, work_, room.work);
    reserve(launcher, patches_, room.patches);
    reserve(launcher, maps_, room.maps);
  }

  /// Of minibatches of n rows, for which there is room; passes of other sizes are lost.
  Pass of_rows(const Network& network, std::uint32_t n) const {
    const Sizes sizes = sizes_of(n);
    return {network,         sizes.together,  n,
            numbers_.data(), w_.data(),       g_.data(),
            work_.data(),    patches_.data(), maps_.data(),
            sizes.work,      sizes.patches,   sizes.maps,
            pointers_.data()};
  }

  /// From the rows to the scores of the first `count` jobs.  learning: batch normalisations take
  /// the statistics of the minibatch, which then stand in its gradient.
  void forward(Launcher& launcher, const Pass& pass, std::uint32_t count, bool learning) const {
    for (std::uint32_t l = 0; l < layers_.size(); ++l) {
      const Jobs jobs{launcher, pass, layers_[l], count};
      switch (layers_[l].kind) {
        case Kind::dense:
          dense_forward(jobs, l);
          break;
        case Kind::convolution:
        case Kind::padded_convolution:
          convolution_forward(jobs, l);
          break;
        case Kind::batch_normalisation:
          if (learning) jobs.template add_up<kernels::BatchStatistics>();
          jobs.template each<kernels::BatchNormalisationForward>(units(jobs));
          break;
        case Kind::response_normalisation:
          jobs.template each<kernels::ResponseNormalisationForward>(units(jobs));
          break;
        case Kind::shortcut:
          jobs.template each<kernels::ShortcutForward>(units(jobs));
          break;
        case Kind::pixel_mean:
          jobs.template each<kernels::PixelMeanForward>(units(jobs));
          break;
        case Kind::greatest_pooling:
        case Kind::mean_pooling:
          jobs.template each<kernels::PoolingForward>(units(jobs));
      }
    }
  }

  /// From the derivatives by the scores, which stand in their places, to the gradients.
  void backward(Launcher& launcher, const Pass& pass, std::uint32_t count) const {
    for (auto l = static_cast<std::uint32_t>(layers_.size()); l-- > 0;) {
      const Jobs jobs{launcher, pass, layers_[l], count};
      switch (layers_[l].kind) {
        case Kind::dense:
          dense_backward(jobs, l);
          break;
        case Kind::convolution:
        case Kind::padded_convolution:
          convolution_backward(jobs, l);
          break;
        case Kind::batch_normalisation:
          jobs.template add_up<kernels::BatchNormalisationSums>();
          propagate<kernels::BatchNormalisationPropagate>(jobs, l);
          break;
        case Kind::response_normalisation:
          propagate<kernels::ResponseNormalisationPropagate>(jobs, l);
          break;
        case Kind::shortcut:
          propagate<kernels::ShortcutPropagate>(jobs, l);
          break;
        case Kind::pixel_mean:
          propagate<kernels::PixelMeanPropagate>(jobs, l);
          break;
        case Kind::greatest_pooling:
        case Kind::mean_pooling:
          propagate<kernels::PoolingPropagate>(jobs, l);
      }
      if (pass.network.l2 > 0 && layers_[l].depth > 0)
        jobs.template each<kernels::Decay>(layers_[l].weights());
    }
  }

 private:
  using Kind = kernels::LayerKind;
  template <class T>
  using Memory = typename Launcher::template Memory<T>;

  /// Numbers of each job.
  struct Sizes {
    std::uint32_t together;
    std::uint64_t work, patches, maps;
  };

  /// A layer of the first jobs of a pass.
  struct Jobs {
    Launcher& launcher;
    const Pass& pass;
    const kernels::Layer& layer;
    std::uint32_t count;

    /// With each number below `numbers` of each job.
    template <class Each>
    void each(std::uint32_t numbers, const kernels::Strip& strip = {}) const {
      const kernels::EachKernel<Real, Each> kernel{pass, layer, strip, numbers};
      launch_all(launcher, kernel, count * kernel.blocks());
    }
    template <class Sums>
    void add_up() const {
      const kernels::SumsKernel<Real, Sums> kernel{pass, layer};
      launch_all(launcher, kernel, count * kernel.blocks());
    }
    /// C = A B, or added to what was there.
    void multiply(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth,
                  const kernels::Matrices<Real>& a, const kernels::Matrices<Real>& b, Real** c,
                  bool added = false) const {
      const kernels::ProductKernel<Real> kernel{rows, columns, depth, a, b, c, columns, added};
      launch_all(launcher, kernel, count * kernel.blocks());
    }
  };

  static std::uint32_t units(const Jobs& jobs) { return jobs.pass.n * jobs.layer.units(); }

  /// Numbers of all jobs.
  struct Room {
    std::uint64_t rows = 0, work = 0, patches = 0, maps = 0;
  };

  /// The most that minibatches of up to n rows need; fewer rows may need more, as more go together.
  Room room_for(std::uint32_t n) const {
    Room room;
    for (std::uint32_t m = 1; m <= n; ++m) {
      const Sizes sizes = sizes_of(m);
      const std::uint64_t jobs = sizes.together;
      room.rows = std::max(room.rows, jobs * m);
      room.work = std::max(room.work, jobs * sizes.work);
      room.patches = std::max(room.patches, jobs * sizes.patches);
      room.maps = std::max(room.maps, jobs * sizes.maps);
    }
    return room;
  }

  Sizes sizes_of(std::uint32_t n) const {
    Sizes sizes{together(n), kernels::in_fours(per_row_ * n), 0, 0};
    for (const kernels::Layer& layer : layers_) {
      if (layer.depth == 0) continue;
      const bool dense = layer.kind == Kind::dense;
      const std::uint64_t columns = dense ? n : columns_of(layer, strip_of(layer, n));
      sizes.patches = std::max(sizes.patches, kernels::in_fours(columns * layer.depth));
      if (dense) continue;
      sizes.maps = std::max(sizes.maps, kernels::in_fours(columns * layer.outputs));
    }
    return sizes;
  }

  /// Rows of a strip.
  std::uint32_t strip_of(const kernels::Layer& layer, std::uint32_t n) const {
    const std::uint64_t row = std::uint64_t{layer.depth} * kernels::Windows(layer).count();
    const std::uint64_t fitting = Launcher::patch_numbers / together(n) / row;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fitting, 1, n));
  }
  static std::uint32_t columns_of(const kernels::Layer& layer, std::uint32_t rows) {
    return rows * kernels::Windows(layer).count();
  }

  template <class Function>
  void each_strip(const Jobs& jobs, const Function& f) const {
    const std::uint32_t n = jobs.pass.n, together = strip_of(jobs.layer, n);
    for (std::uint32_t first = 0; first < n; first += together)
      f(kernels::Strip{first, std::min(together, n - first)});
  }

  template <class Each>
  static void propagate(const Jobs& jobs, std::uint32_t l) {
    if (l > 0) jobs.template each<Each>(jobs.pass.n * jobs.layer.inputs());
  }

  static void dense_forward(const Jobs& jobs, std::uint32_t l) {
    const kernels::Layer& layer = jobs.layer;
    const Pass& pass = jobs.pass;
    jobs.multiply(pass.n, layer.outputs, layer.depth, {pass.to_x(l), layer.depth},
                  {pass.to_weights(l), layer.depth, true}, pass.to_y(l));
    jobs.template each<kernels::DenseUnits>(units(jobs));
  }

  static void dense_backward(const Jobs& jobs, std::uint32_t l) {
    const kernels::Layer& layer = jobs.layer;
    const Pass& pass = jobs.pass;
    jobs.multiply(layer.outputs, layer.depth, pass.n, {pass.to_by_y(l), layer.outputs, true},
                  {pass.to_x(l), layer.depth}, pass.to_gradients(l));
    jobs.template each<kernels::DenseBias>(layer.outputs);
    if (l == 0) return;
    jobs.multiply(pass.n, layer.depth, layer.outputs, {pass.to_by_y(l), layer.outputs},
                  {pass.to_weights(l), layer.depth}, pass.to_patches());
    propagate<kernels::DensePropagate>(jobs, l);
  }

  void convolution_forward(const Jobs& jobs, std::uint32_t l) const {
    const kernels::Layer& layer = jobs.layer;
    const Pass& pass = jobs.pass;
    each_strip(jobs, [&](const kernels::Strip& strip) {
      const std::uint32_t columns = columns_of(layer, strip.rows);
      jobs.template each<kernels::Patches>(layer.channels * columns, strip);
      jobs.multiply(layer.outputs, columns, layer.depth, {pass.to_weights(l), layer.depth},
                    {pass.to_patches(), columns}, pass.to_maps());
      if (layer.kind == Kind::convolution)
        jobs.template each<kernels::PooledMaps>(strip.rows * layer.units(), strip);
      else
        jobs.template each<kernels::Maps>(strip.rows * layer.units(), strip);
    });
  }

  void convolution_backward(const Jobs& jobs, std::uint32_t l) const {
    const kernels::Layer& layer = jobs.layer;
    const Pass& pass = jobs.pass;
    if (layer.bias) jobs.template add_up<kernels::BiasSums>();
    each_strip(jobs, [&](const kernels::Strip& strip) {
      const std::uint32_t columns = columns_of(layer, strip.rows);
      jobs.template each<kernels::Patches>(layer.channels * columns, strip);
      if (layer.kind == Kind::convolution)
        jobs.template each<kernels::PooledMapsPropagate>(layer.outputs * columns, strip);
      else
        jobs.template each<kernels::MapsPropagate>(layer.outputs * columns, strip);
      jobs.multiply(layer.outputs, layer.depth, columns, {pass.to_maps(), columns},
                    {pass.to_patches(), columns, true}, pass.to_gradients(l), strip.first > 0);
      if (l == 0) return;
      jobs.multiply(layer.depth, columns, layer.outputs, {pass.to_weights(l), layer.depth, true},
                    {pass.to_maps(), columns}, pass.to_patches());
      jobs.template each<kernels::PatchesPropagate>(strip.rows * layer.inputs(), strip);
    });
  }

  std::span<const kernels::Layer> layers_;
  std::uint64_t per_row_ = 0;  // numbers of work memory
  Memory<std::uint32_t> numbers_;
  Memory<const Real*> w_;
  Memory<Real*> g_, pointers_;
  Memory<Real> work_, patches_, maps_;
};

}  // namespace gradrace
