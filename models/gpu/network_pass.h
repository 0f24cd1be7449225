#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "models/gpu/kernels/product.h"
#include "models/gpu/mirror.h"
#include "models/layers/layer_table.h"

namespace gradrace {

/// Takes minibatches through a network and back, layer by layer, many at a time: each layer is some
/// launches and products for all of them.
///
/// What becomes of a minibatch does not depend on those beside it: sums are cut into parts by the
/// sizes of the network and of the minibatch alone.
///
/// What a gradient must do, of n rows: a layer of W [outputs, depth] that looks at s windows a row
/// (dense: one) multiplies n s outputs depth times forward and twice as often back, but the first
/// layer once.  What that reads and writes is said at the kernels of each kind.
template <class Real, class Launcher>
class NetworkPass {
 public:
  using Network = kernels::Network<Real>;
  using Pass = kernels::Pass<Real>;

  /// layers: laid out, in the host's memory, as long as this lives; per_row: what lay_out() said.
  void start(std::span<const kernels::Layer> layers, std::uint32_t per_row,
             const Network& network) {
    layers_ = layers;
    const bool reads_rows = is_dense(layers.front()) && !network.augments;
    features_ = reads_rows ? 0 : network.train.features;
    per_row_ = std::uint64_t{per_row} + features_ + 2;
    parameters_ = kernels::in_fours(network.parameters);
    moving_ = static_cast<std::uint32_t>(layers.size());
    while (moving_ > 0 && layers[moving_ - 1].depth > 0) --moving_;
  }

  /// Minibatches of n rows that go together at most, with their gradients.
  std::uint32_t together(std::uint32_t n) const {
    const std::uint64_t numbers = per_row_ * n + parameters_;
    const std::uint64_t fitting = Launcher::pass_bytes / (numbers * sizeof(Real));
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fitting, 1, 1024));
  }

  /// The parameters that a pass can move by itself: those of layers with W behind all others.
  kernels::NumberRange moved() const {
    if (moving_ == layers_.size()) return {};
    const kernels::Layer& last = layers_.back();
    const std::uint32_t first = layers_[moving_].first;
    return {first, last.first + last.learnt() - first};
  }

  /// Of memory, for one minibatch of n rows.
  std::uint64_t numbers(std::uint32_t n) const {
    const Sizes sizes = sizes_of(n);
    return sizes.work + sizes.parts;
  }

  /// Of memory, for what goes together of minibatches of up to n rows.
  std::uint64_t bytes(std::uint32_t n) const {
    const Room room = room_for(n);
    return (room.work + room.parts) * sizeof(Real) + room.rows * sizeof(std::uint32_t);
  }

  /// Makes that room.
  void make_room(Launcher& launcher, std::uint32_t n) {
    const Room room = room_for(n);
    const std::uint32_t most = together(1);
    reserve(launcher, numbers_, room.rows);
    reserve(launcher, w_, most);
    reserve(launcher, g_, most);
    reserve(launcher, moves_, most);
    reserve(launcher, work_, room.work);
    reserve(launcher, parts_, room.parts);
  }

  /// Of minibatches of n rows of that split, for which there is room; passes of other sizes are
  /// lost.  moves: states are moved().
  Pass of_rows(const Network& network, const kernels::Split& split, std::uint32_t n,
               bool moves = false) const {
    const Sizes sizes = sizes_of(n);
    return {network,
            split,
            features_,
            sizes.together,
            n,
            numbers_.data(),
            w_.data(),
            g_.data(),
            moves ? moves_.data() : nullptr,
            work_.data(),
            parts_.data(),
            sizes.work,
            sizes.parts};
  }

  /// x of the first `count` jobs, where the first layer does not look at the rows themselves.
  void read_rows(Launcher& launcher, const Pass& pass, std::uint32_t count) const {
    const kernels::RowsKernel<Real> kernel{pass};
    launch_all(launcher, kernel, count * kernel.blocks());
  }

  /// From the rows to the scores of the first `count` jobs.  learning: batch normalisations take
  /// the statistics of the minibatch, which then stand in its gradient.
  void forward(Launcher& launcher, const Pass& pass, std::uint32_t count, bool learning) const {
    for (std::uint32_t l = 0; l < layers_.size(); ++l)
      kernels::with_steps(layers_[l].kind, [&](auto steps) {
        steps.forward(Jobs{launcher, pass, layers_[l], l, count, false}, learning);
      });
  }

  /// From the derivatives by the scores, which stand in their places, to the gradients, or to the
  /// states that the pass moves.
  void backward(Launcher& launcher, const Pass& pass, std::uint32_t count) const {
    for (auto l = static_cast<std::uint32_t>(layers_.size()); l-- > 0;) {
      const bool moves = pass.moves != nullptr && l >= moving_;
      const Jobs jobs{launcher, pass, layers_[l], l, count, moves};
      kernels::with_steps(layers_[l].kind, [&](auto steps) { steps.backward(jobs); });
    }
  }

  /// A layer of the first jobs of a pass.
  struct Jobs {
    using Number = Real;

    Launcher& launcher;
    const Pass& pass;
    const kernels::Layer& layer;
    std::uint32_t number, count;  // of the layer, and of the jobs
    bool moves;                   // on the way back: the layer's parameters, in place of g

    /// A kernel that has so many blocks for each job.
    template <class Kernel>
    void launch(const Kernel& kernel) const {
      launch_all(launcher, kernel, count * kernel.blocks());
    }
    /// Whether it is the first, which looks at the split's rows.
    bool reads_rows() const { return number == 0 && pass.features == 0; }
    /// Numbers that the layer gives.
    std::uint32_t units() const { return pass.n * layer.units(); }

    /// With each number below `numbers` of each job.
    template <class Each>
    void each(std::uint32_t numbers) const {
      launch(kernels::EachKernel<Real, Each>{pass, layer, numbers});
    }
    /// With a block for each of `blocks` sums of each job.
    template <class Sums>
    void add_up(std::uint32_t blocks) const {
      const kernels::SumsKernel<Real, Sums> kernel{pass, layer, blocks};
      launch_all(launcher, kernel, count * blocks);
    }
    /// With each number that the layer looks at; not of the first, which looks at rows.
    template <class Each>
    void propagate() const {
      if (number > 0) each<Each>(pass.n * layer.inputs());
    }
    /// With sums over each channel that the layer gives, and with the numbers of each.
    template <class Sums>
    void add_up_channels() const {
      launch(kernels::ChannelPartsKernel<Real, Sums>{pass, layer});
      each<kernels::StoreChannelSums<Sums>>(layer.outputs);
    }
    template <class Each>
    void each_of_channels() const {
      launch(kernels::EachOfChannelsKernel<Real, Each>{pass, layer});
    }
    /// Of a kernels::ProductKernel: in tiles that leave no multiprocessor without work.
    template <class Product>
    void multiply(const Product& product) const {
      using Large = kernels::ProductKernel<Product, typename Product::Tile>;
      using Small = kernels::ProductKernel<Product, typename Product::SmallTile>;
      if (pass.network.tf32x3) return multiply_tf32(product);
      if (product.few() || std::uint64_t{count} * Large{product}.blocks() < launcher.blocks())
        launch(Small{product});
      else
        launch(Large{product});
    }

   private:
    /// The sums' bits depend on the tile, which may then not depend on how many jobs there are.
    template <class Product>
    void multiply_tf32(const Product& product) const {
      using kernels::ProductKernel, kernels::Tf32Sums;
      if constexpr (std::is_same_v<Real, float>) {
        if (product.few())
          launch(ProductKernel<Product, typename Product::SmallTile, Tf32Sums>{product});
        else
          launch(ProductKernel<Product, typename Product::Tile, Tf32Sums>{product});
      }
    }
  };

 private:
  template <class T>
  using Memory = typename Launcher::template Memory<T>;

  /// Numbers of each job.
  struct Sizes {
    std::uint32_t together;
    std::uint64_t work, parts;
  };

  /// Numbers of all jobs.
  struct Room {
    std::uint64_t rows = 0, work = 0, parts = 0;
  };

  /// The most that minibatches of up to n rows need; fewer rows may need more, as more go together.
  Room room_for(std::uint32_t n) const {
    Room room;
    for (std::uint32_t m = 1; m <= n; ++m) {
      const Sizes sizes = sizes_of(m);
      const std::uint64_t jobs = sizes.together;
      room.rows = std::max(room.rows, jobs * m);
      room.work = std::max(room.work, jobs * sizes.work);
      room.parts = std::max(room.parts, jobs * sizes.parts);
    }
    return room;
  }

  Sizes sizes_of(std::uint32_t n) const {
    Sizes sizes{together(n), kernels::in_fours(per_row_ * n), 0};
    for (const kernels::Layer& layer : layers_)
      kernels::with_steps(layer.kind, [&](auto steps) {
        if constexpr (requires { steps.template parts<Real>(layer, n); })
          sizes.parts =
              std::max(sizes.parts, kernels::in_fours(steps.template parts<Real>(layer, n)));
      });
    return sizes;
  }

  static bool is_dense(const kernels::Layer& layer) {
    return layer.kind == kernels::kind_of<kernels::DenseSteps>;
  }

  std::span<const kernels::Layer> layers_;
  std::uint64_t per_row_ = 0;  // numbers of work memory
  std::uint64_t parameters_ = 0;
  std::uint32_t features_ = 0;
  std::uint32_t moving_ = 0;  // the first of the layers whose parameters a pass can move
  Memory<std::uint32_t> numbers_;
  Memory<const Real*> w_;
  Memory<Real*> g_;
  Memory<kernels::PlainMove<Real>> moves_;
  Memory<Real> work_, parts_;
};

}  // namespace gradrace
