#pragma once

#include <algorithm>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "models/gpu/in_place_layout.h"
#include "models/gpu/kernels/quadratic.h"
#include "models/gpu/work_layout.h"
#include "models/layers/layer_table.h"
#include "models/model/blueprint.h"
#include "sim/evaluation.h"

namespace gradrace {

/// A data set in the memory of a device, shared by all that use it there.
template <class Launcher>
class ResidentDataset {
 public:
  /// Copied at the first call and kept as long as it is shared.  Safe from several threads.
  static std::shared_ptr<const ResidentDataset> of(std::shared_ptr<const Dataset> data) {
    static std::mutex mutex;
    static std::map<const Dataset*, std::weak_ptr<const ResidentDataset>> all;
    const std::lock_guard lock(mutex);
    auto& slot = all[data.get()];
    auto resident = slot.lock();
    if (!resident) slot = resident = std::make_shared<const ResidentDataset>(std::move(data));
    return resident;
  }

  explicit ResidentDataset(std::shared_ptr<const Dataset> data)
      : data_(std::move(data)),
        train_(data_->train, data_->features),
        test_(data_->test, data_->features) {}

  kernels::Split train() const { return view(train_, data_->train); }
  kernels::Split test() const { return view(test_, data_->test); }

 private:
  template <class T>
  using Memory = typename Launcher::template Memory<T>;

  struct Copy {
    Copy(const Rows& rows, std::size_t features)
        : bytes(copied(rows.bytes, features)),
          floats(copied(rows.floats, features)),
          classes(rows.classes),
          targets(rows.targets) {
      if (!rows.listed.empty())
        throw std::runtime_error(
            "rows of which only the numbers that are not 0 are kept are for the CPU; take "
            "--device cpu");
    }
    Memory<std::uint8_t> bytes;
    Memory<float> floats;
    Memory<std::uint8_t> classes;
    Memory<float> targets;
  };

  static std::uint32_t stride_of(std::size_t features) {
    return static_cast<std::uint32_t>((features + kernels::row_unit - 1) / kernels::row_unit *
                                      kernels::row_unit);
  }

  /// Rows padded with zeros to the stride.
  template <class T, class Allocator>
  static Memory<T> copied(const std::vector<T, Allocator>& rows, std::size_t features) {
    const std::size_t stride = stride_of(features);
    if (stride == features) return Memory<T>(std::vector<T>(rows.begin(), rows.end()));
    std::vector<T> result;
    result.reserve(rows.size() / features * stride);
    for (auto row = rows.begin(); row != rows.end(); row += static_cast<std::ptrdiff_t>(features)) {
      result.insert(result.end(), row, row + static_cast<std::ptrdiff_t>(features));
      result.insert(result.end(), stride - features, T{0});
    }
    return Memory<T>(result);
  }

  kernels::Split view(const Copy& copy, const Rows& rows) const {
    return {copy.bytes.data(),
            copy.floats.data(),
            copy.classes.data(),
            copy.targets.data(),
            static_cast<std::uint32_t>(rows.count),
            static_cast<std::uint32_t>(data_->features),
            stride_of(data_->features),
            data_->byte_scale};
  }

  std::shared_ptr<const Dataset> data_;
  Copy train_, test_;
};

/// A network in the memory of a device.
template <class Real, class Launcher>
class ResidentNetwork {
 public:
  /// shared_memory: of a block, in bytes.
  ResidentNetwork(const NetworkBlueprint& blueprint, std::size_t shared_memory)
      : data_(ResidentDataset<Launcher>::of(blueprint.data)),
        layers_(blueprint.layers),
        per_row_(lay_out(layers_)),
        layers_on_device_(layers_),
        train_rows_(blueprint.train_rows),
        test_rows_(blueprint.test_rows),
        train_count_(static_cast<double>(blueprint.train_rows.size())),
        test_count_(static_cast<double>(blueprint.test_rows.size())),
        wrong_counts_(blueprint.loss != LossKind::half_square) {
    network_.layers = layers_on_device_.data();
    network_.depth = static_cast<std::uint32_t>(layers_.size());
    network_.parameters = blueprint.parameters;
    network_.loss = blueprint.loss;
    network_.sampling = blueprint.sampling;
    network_.l2 = blueprint.l2;
    network_.train = data_->train();
    network_.test = data_->test();
    network_.train_rows = {train_rows_.data(), static_cast<std::uint32_t>(train_rows_.size())};
    network_.test_rows = {test_rows_.data(), static_cast<std::uint32_t>(test_rows_.size())};
    network_.tf32x3 = blueprint.tf32x3;
    network_.augments = blueprint.augments;
    if (network_.augments) network_.images = *blueprint.data->image;
    if constexpr (std::same_as<Real, float>) make_dense(shared_memory);
  }

  const kernels::Network<Real>& network() const { return network_; }
  /// Laid out, in the host's memory; per_row: the numbers that a row's take.
  std::span<const kernels::Layer> layers() const { return layers_; }
  std::uint32_t per_row() const { return per_row_; }

  /// Null unless it is dense, without a regulariser, and its rows fit into so much memory of a
  /// block.
  const kernels::InPlaceNetwork* in_place() const { return dense_ ? &*dense_ : nullptr; }

  Evaluation evaluation(const kernels::EvaluationSums& sums) const {
    return {
        .loss = sums.train_loss / train_count_ + sums.penalty,
        .test_loss = sums.test_loss / test_count_ + sums.penalty,
        .test_error = wrong_counts_ ? sums.test_wrong / test_count_
                                    : std::numeric_limits<double>::quiet_NaN(),
    };
  }

 private:
  template <class T>
  using Memory = typename Launcher::template Memory<T>;

  void make_dense(std::size_t shared_memory) {
    InPlaceLayout layout(layers_, network_);
    if (!layout.fits(shared_memory)) return;
    dense_on_device_ = Memory<kernels::InPlaceLayer>(layout.layers);
    layout.network.layers = dense_on_device_.data();
    dense_ = layout.network;
  }

  std::shared_ptr<const ResidentDataset<Launcher>> data_;
  std::vector<kernels::Layer> layers_;
  std::uint32_t per_row_;
  Memory<kernels::Layer> layers_on_device_;
  Memory<std::uint32_t> train_rows_, test_rows_;
  double train_count_, test_count_;
  bool wrong_counts_;
  kernels::Network<Real> network_{};
  Memory<kernels::InPlaceLayer> dense_on_device_;
  std::optional<kernels::InPlaceNetwork> dense_;
};

inline kernels::Ziggurat ziggurat() {
  using namespace boost::random::detail;
  kernels::Ziggurat table;
  std::ranges::copy(normal_table<double>::table_x, table.normal_x);
  std::ranges::copy(normal_table<double>::table_y, table.normal_y);
  std::ranges::copy(exponential_table<double>::table_x, table.exponential_x);
  std::ranges::copy(exponential_table<double>::table_y, table.exponential_y);
  return table;
}

/// A quadratic in the memory of a device.
template <class Real, class Launcher>
class ResidentQuadratic {
 public:
  explicit ResidentQuadratic(const QuadraticBlueprint& blueprint)
      : curvatures_(blueprint.curvatures), ziggurat_(std::vector{ziggurat()}) {
    quadratic_ = {static_cast<std::uint32_t>(blueprint.dimensions), curvatures_.data(),
                  static_cast<std::uint32_t>(blueprint.curvatures.size()), blueprint.noise,
                  ziggurat_.data()};
  }

  const kernels::Quadratic<Real>& quadratic() const { return quadratic_; }

  Evaluation evaluation(const kernels::EvaluationSums& sums) const {
    return {.loss = sums.train_loss};
  }

 private:
  template <class T>
  using Memory = typename Launcher::template Memory<T>;

  Memory<double> curvatures_;
  Memory<kernels::Ziggurat> ziggurat_;
  kernels::Quadratic<Real> quadratic_{};
};

}  // namespace gradrace
