#include "models/supervised.h"

namespace gradrace {

void visit(Fields& fields, SupervisedConfig& config, std::string_view norm, DataShelf& shelf) {
  constexpr std::string_view samplings[] = {"iid", "epoch"};
  constexpr std::string_view precisions[] = {"float32", "float64"};
  read_kind<LoadDataset, DataShelf&>(fields, "dataset", dataset_catalog(), config.dataset,
                                     Need::required, "what is learnt", shelf);
  fields.integer("minibatch", config.minibatch, Need::defaulted, at_least(1),
                 "samples m of one gradient");
  fields.real("l2", config.l2, Need::defaulted, at_least(0),
              "factor of " + std::string(norm) + "; a weight decay of lambda is l2 = lambda / 2");
  fields.choice("sampling", config.sampling, samplings, Need::defaulted,
                "rows with replacement, or each once in a learner's epoch");
  fields.choice("precision", config.precision, precisions, Need::defaulted,
                "of all numbers; float64 is for checking");
}

void visit_images(Fields& fields, SupervisedConfig& config) {
  fields.flag("augment", config.augment, Need::defaulted,
              "a gradient sees its images padded with 4 zeros, cropped anywhere, half of them "
              "mirrored");
}

}  // namespace gradrace
