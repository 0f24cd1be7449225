#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "models/datasets/dataset.h"
#include "models/model.h"

namespace gradrace {

/// The keys that every model of a data set has.
struct SupervisedConfig {
  static constexpr bool classifies = true;

  LoadDataset dataset;
  std::uint32_t minibatch = 32;       // m
  double l2 = 0;                      // lambda
  std::string sampling = "iid";       // or epoch
  std::string precision = "float32";  // or float64, tf32, bf16
  bool augment = false;               // the images of a minibatch; see augmentation.h
};

/// `norm`: what l2 is the factor of, as the model's page writes it.
void visit(Fields& fields, SupervisedConfig& config, std::string_view norm, DataShelf& shelf);

/// The keys that models of images have beside those.
void visit_images(Fields& fields, SupervisedConfig& config);

/// Makes the model; reads the data.
template <class Real, class Config>
using MakeModel = std::unique_ptr<Model<Real>> (*)(const Config& config);

/// The specification of a model of a data set; Config is a SupervisedConfig with more keys.
template <class Config>
class SupervisedSpec final : public ModelSpec {
 public:
  SupervisedSpec(Config config, MakeModel<float, Config> float32, MakeModel<double, Config> float64)
      : config_(std::move(config)), make_float32_(float32), make_float64_(float64) {}

  std::uint32_t minibatch() const override { return config_.minibatch; }
  std::uint64_t training_rows() const override { return config_.dataset()->train.count; }
  bool has_dataset() const override { return true; }
  bool has_test_error() const override { return Config::classifies; }
  std::string data_hash() const override { return config_.dataset()->hash; }

  std::unique_ptr<Model<float>> make_float32() const override { return make_float32_(config_); }
  std::unique_ptr<Model<double>> make_float64() const override { return make_float64_(config_); }
  const std::string& precision() const override { return config_.precision; }

 private:
  Config config_;
  MakeModel<float, Config> make_float32_;
  MakeModel<double, Config> make_float64_;
};

}  // namespace gradrace
