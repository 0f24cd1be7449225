#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

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
    reserve(launcher, pointers_, (5 * layers_.size() + 1) * most);
    reserve(launcher, work_, room.work);
    reserve(launcher, parts_, room.parts);
  }

  /// Of minibatches of n rows, for which there is room; passes of other sizes are lost.
  Pass of_rows(const Network& network, std::uint32_t n) const {
    const Sizes sizes = sizes_of(n);
    return {network,      sizes.together, n,          numbers_.data(), w_.data(),       g_.data(),
            work_.data(), parts_.data(),  sizes.work, sizes.parts,     pointers_.data()};
  }

  /// From the rows to the scores of the first `count` jobs.  learning: batch normalisations take
  /// the statistics of the minibatch, which then stand in its gradient.
  void forward(Launcher& launcher, const Pass& pass, std::uint32_t count, bool learning) const {
    for (std::uint32_t l = 0; l < layers_.size(); ++l)
      kernels::with_steps(layers_[l].kind, [&](auto steps) {
        steps.forward(Jobs{launcher, pass, layers_[l], l, count}, learning);
      });
  }

  /// From the derivatives by the scores, which stand in their places, to the gradients.
  void backward(Launcher& launcher, const Pass& pass, std::uint32_t count) const {
    for (auto l = static_cast<std::uint32_t>(layers_.size()); l-- > 0;) {
      const Jobs jobs{launcher, pass, layers_[l], l, count};
      kernels::with_steps(layers_[l].kind, [&](auto steps) { steps.backward(jobs); });
      if (pass.network.l2 > 0 && layers_[l].depth > 0)
        jobs.template each<kernels::Decay>(layers_[l].weights());
    }
  }

  /// A layer of the first jobs of a pass.
  struct Jobs {
    Launcher& launcher;
    const Pass& pass;
    const kernels::Layer& layer;
    std::uint32_t number, count;  // of the layer, and of the jobs

    /// A kernel that has so many blocks for each job.
    template <class Kernel>
    void launch(const Kernel& kernel) const {
      launch_all(launcher, kernel, count * kernel.blocks());
    }
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
    /// C = A B, or added to what was there.
    void multiply(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth,
                  const kernels::Matrices<Real>& a, const kernels::Matrices<Real>& b, Real** c,
                  bool added = false) const {
      launch(kernels::ProductKernel<Real>{rows, columns, depth, a, b, c, columns, added});
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

  std::span<const kernels::Layer> layers_;
  std::uint64_t per_row_ = 0;  // numbers of work memory
  Memory<std::uint32_t> numbers_;
  Memory<const Real*> w_;
  Memory<Real*> g_, pointers_;
  Memory<Real> work_, parts_;
};

}  // namespace gradrace
