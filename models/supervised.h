#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "models/datasets/shelf.h"
#include "models/layers/base/row_loss.h"
#include "models/layers/network_spec.h"
#include "models/model/model.h"

namespace gradrace {

/// The keys that every model of a data set has.
struct SupervisedConfig {
  LoadDataset dataset;
  LoadShards shards;                       // empty: every learner draws from all rows
  double data_bytes = 0;                   // of data that are made; 0: of others
  PerLearner minibatch = usual_minibatch;  // m
  double l2 = 0;                           // lambda
  std::string sampling = "iid";            // or epoch
  std::string precision = "float32";       // or float64, tf32x3
  bool augment = false;                    // the images of a minibatch; see augmentation.h
  std::uint32_t positive = 1;              // class of a hinge loss; see loss.h
};

/// `norm`: what l2 is the factor of, as the model's page writes it.
void visit(Fields& fields, SupervisedConfig& config, std::string_view norm, DataShelf& shelf,
           bool needs_l2 = false);

/// The keys that models of images have beside those.
void visit_images(Fields& fields, SupervisedConfig& config);

/// The layers from the rows of those data to so many scores.
using MakeNetwork = std::function<NetworkSpec(const Dataset& data, std::size_t outputs)>;

/// A model of a data set: F(w) = mean loss of the rows + l2 sum of ||W||_F^2 over its layers (no
/// factor 1/2; biases are not regularised).  The data are read when it is made.
///
/// block_rows: rows of one product in an evaluation; what is computed of them stays in the L2 cache
/// while every value is tried.
ModelProduct make_supervised(const SupervisedConfig& config, LossKind loss, MakeNetwork network,
                             std::size_t block_rows = 256);

/// What the rows are images of; std::runtime_error, in the model's name, where they are none.
const ImageShape& images_of(const Dataset& data, std::string_view model);
/// Of a model of images.
constexpr std::size_t image_block_rows = 32;

}  // namespace gradrace
