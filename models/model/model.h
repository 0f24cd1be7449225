#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/cpu/kernels/fold.h"
#include "models/datasets/shelf.h"
#include "models/model/blueprint.h"
#include "models/model/packing.h"
#include "models/optimiser/statistics.h"
#include "models/sampling/minibatch.h"
#include "sim/catalog.h"
#include "sim/device.h"
#include "sim/per_learner.h"
#include "sim/tape.h"
#include "sim/tensor.h"

namespace gradrace {

class Crew;
template <class Real>
class HingeDual;

/// Rows used by an evaluation: the first n of a fixed shuffle; all if unset.
struct EvaluatedRows {
  std::optional<std::uint64_t> train = {}, test = {};
};

/// The definition of a model's numbers, on the CPU, for Real = float or double.
///
/// One instance belongs to one thread and keeps its scratch memory.  What a call gives depends on
/// its arguments alone.
template <class Real>
class Model {
 public:
  virtual ~Model() = default;

  /// d, statistics included.
  virtual std::size_t parameters() const = 0;

  /// Which of them are statistics, and how an update merges them.
  virtual Statistics statistics() const { return {}; }

  /// Of what is learnt, in its order.
  virtual std::vector<Tensor> tensors() const {
    return {{static_cast<std::uint32_t>(parameters() - statistics().count)}};
  }

  /// w [d]: the initial model of a run.
  virtual void initialise(std::uint64_t seed, std::uint32_t replica, std::span<Real> w) = 0;

  /// g [d]: gradient of the mean loss over the minibatch at w [d], regulariser included;
  /// at the places of the statistics, those of the minibatch.
  virtual void gradient(std::span<const Real> w, const MinibatchName& name, std::span<Real> g) = 0;

  /// Makes what it shares with other models of the same data, which is made when it is first wanted
  /// otherwise.
  virtual void prepare() {}

  /// Evaluations use those rows from now on; a new model's use all.
  virtual void look_at(const EvaluatedRows&) {}

  /// Loss and errors at each of the values [d].
  virtual void evaluate(std::span<const Real* const> values, std::span<Evaluation> results) = 0;

  /// How the next two have their numbers; the calls above are in the definition's order.
  virtual Packing packing() const { return Packing(parameters()); }

  /// Of which minibatch a gradient will be wanted after the next one: what it needs may be fetched
  /// meanwhile.
  virtual void expect(const MinibatchName&) {}

  /// A gradient at w [numbers of the packing], which goes where `into` says.
  virtual void gradient_of_packed(const Real* w, const MinibatchName& name,
                                  const Fold<Real>& into) {
    gradient_.resize(parameters());
    gradient({w, parameters()}, name, gradient_);
    for (std::size_t j = 0; j < gradient_.size(); ++j) into.out[j] = folded(into, j, gradient_[j]);
  }

  virtual void evaluate_packed(std::span<const Real* const> values, std::span<Evaluation> results) {
    evaluate(values, results);
  }

  /// Its dual problem, where it has one and learners have shards; else null.
  virtual HingeDual<Real>* dual() { return nullptr; }

  /// The same numbers, for a device that computes them in its own way.
  virtual Blueprint blueprint() const { return NoBlueprint{}; }

 private:
  std::vector<Real> gradient_;
};

/// What a device needs to know beside the model.
struct DeviceOptions {
  std::string device = "auto";  // auto, cpu or cuda; auto is cpu where nobody has chosen
  EvaluatedRows rows = {};
  std::uint32_t learners = 1;    // P of its runs
  std::uint32_t minibatch = 1;   // the greatest of its runs
  bool averages = false;         // of states, in its runs
  bool messages = false;         // of gradients, in its runs
  unsigned devices = 1;          // made beside it, itself included
  Crew* crew = nullptr;          // whose members help it, on the CPU
  std::size_t member = 0;        // its own number there
  std::vector<Rule> rules = {};  // of its runs: what their states have beside the parameters
};

/// Of a model whose numbers are float32, and which the CPU does not compute.
inline constexpr std::string_view only_gpu_precision = "tf32x3";

/// A value as a device on the CPU keeps it.
struct ValueLayout {
  std::size_t numbers = 0;  // padding included
  Statistics statistics;
  std::size_t bytes_of_number = 0;
};

struct QuadraticConfig;

/// Of a model's key `minibatch`.
inline constexpr std::string_view minibatch_of_learners =
    "of each learner: in a mean of gradients (an update of a server, a step of all-reduce) one of "
    "m_i samples then counts m_i / sum m; means of values stay unweighted";

/// Of models of data, without that key.
inline constexpr std::uint32_t usual_minibatch = 32;

/// The model of a scenario, before any device holds it.
class ModelSpec {
 public:
  virtual ~ModelSpec() = default;

  /// m.  In an update, as in a step of all learners together, the mean of gradients is by rows: one
  /// of m_i rows counts m_i / sum m.
  virtual const PerLearner& minibatch() const = 0;

  /// Size of the training set, 0 if there is none.  Reads the data.
  virtual std::uint64_t training_rows() const = 0;
  virtual bool has_dataset() const = 0;
  /// Whether learners draw from shards of it, which differ by the number of learners and the seed.
  virtual bool has_shards() const { return false; }
  /// Whether an evaluation may look at some of the rows.
  virtual bool looks_at_rows() const { return has_dataset(); }
  /// Whether answers on the test set are right or wrong.
  virtual bool has_test_error() const = 0;

  /// Whether dual ascent can train it.
  virtual bool has_dual() const { return false; }

  /// Of the data's rows, where they are made here; 0: known once they are read.  Reads nothing.
  virtual double data_bytes() const { return 0; }

  /// As many times the rows that were read the data stand for: more than 1 where a part was made.
  /// Reads the data.
  virtual double data_parts() const { return 1; }

  /// Hash of the data's content, empty if there are none.  Reads the data.
  virtual std::string data_hash() const = 0;

  /// Whether gradients move it by a learning rate and an optimiser.
  virtual bool has_parameters() const { return true; }

  /// Replays it on the CPU where it has no parameters; else null.
  virtual std::unique_ptr<Device> make_own_device() const { return nullptr; }

  /// Its definition where it is a quadratic, of which theory knows more; else null.
  virtual const QuadraticConfig* quadratic() const { return nullptr; }

  /// Its definition on the CPU.  Reads the data.
  virtual std::unique_ptr<Model<float>> make_float32() const = 0;
  virtual std::unique_ptr<Model<double>> make_float64() const = 0;
  /// float32, float64 or only_gpu_precision.
  virtual const std::string& precision() const = 0;

  /// Reads the data, and makes the model, for both.
  ValueLayout value_layout() const;
  std::vector<Tensor> tensors() const;
};

using ModelProduct = std::shared_ptr<const ModelSpec>;
using ModelEntry = Entry<ModelProduct, DataShelf&>;
using ModelCatalog = Catalog<ModelProduct, DataShelf&>;

const ModelCatalog& model_catalog();

}  // namespace gradrace
