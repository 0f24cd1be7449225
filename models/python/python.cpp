#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "models/model/model.h"
#include "models/python/python_worker.h"
#include "sim/random.h"

namespace gradrace {
namespace {

constexpr Page page{
    "python",
    R"(A class of a Python file, by NumPy, PyTorch or whatever that Python has.  An object of it is made
once in each process, of which every thread that trains has its own:

    class Net:
        def __init__(self, **arguments): ...  # sets self.rows, the size of the training set
        def initial(self, seed): ...          # w: all parameters, one array of one axis
        def gradient(self, w, rows): ...      # of the mean loss of those rows at w; as long as w
        def evaluate(self, w): ...            # loss, or (loss, test_loss, test_error)

w is an array of NumPy in the model's precision; rows are the numbers, below self.rows, of the
minibatch, which gradrace draws as for models of its own.  A gradient(self, w, rows, seed) gets a
number too that the minibatch's name gives, for what it draws itself.  What a call gives must depend
on its arguments alone: runs are then the same for any --jobs, and go on after an interruption.

The file is run only where it is below the scenario's own folder, or with --allow-python; from a
manifest only with that.  validate, theory, report, plot and collect never import it.  Its hash, without
files that it imports, is in the manifest.  An exception, a wrong shape, a fork, an end of the
process or a call that takes longer than timeout fails the run, with the file's line; numbers that
are not finite make it diverge.  What is imported is what was hashed, whatever becomes of the file.  To
compression the parameters are one vector, of which kinds that go by tensors (power, sign, terngrad)
make one part.  Libraries get one thread (OMP_NUM_THREADS and its like, unless set).)",
    "the user's", R"({"kind": "python", "file": "model.py", "class": "Net", "minibatch": 32})"};

struct PythonConfig {
  PythonClass python;
  PerLearner minibatch = 32;
  Sampling sampling = Sampling::iid;
  std::function<void(const std::string& note)> note;  // from any thread
};

/// The workers of a model, each made when one is first wanted.  Of those that nobody uses, of all
/// models, the last few are kept.
class PythonWorkers {
 public:
  explicit PythonWorkers(const PythonConfig& config) : config_(config) {}
  ~PythonWorkers() {
    const std::lock_guard lock(mutex_);
    std::erase_if(idle_, [this](const Idle& one) { return one.of == this; });
  }

  bool may_start() const { return config_.python.may_run(); }

  std::unique_ptr<PythonWorker> take() {
    if (!config_.python.missing.empty()) throw MissingData(config_.python.missing);
    if (config_.python.setting.use != PythonUse::run)
      throw std::runtime_error(config_.python.file.string() + ": is not imported by this command");
    {
      const std::lock_guard lock(mutex_);
      const auto one = std::ranges::find(idle_, this, &Idle::of);
      if (one != idle_.end()) {
        auto worker = std::move(one->worker);
        idle_.erase(one);
        return worker;
      }
    }
    return std::make_unique<PythonWorker>(config_.python);
  }

  void give_back(std::unique_ptr<PythonWorker> worker) {
    const std::size_t most = 2 * std::max(1u, std::thread::hardware_concurrency());
    Idle oldest;
    const std::lock_guard lock(mutex_);
    idle_.push_back({this, std::move(worker)});
    if (idle_.size() <= most) return;
    oldest = std::move(idle_.front());
    idle_.pop_front();
  }

  /// {parameters, rows}
  std::pair<std::size_t, std::uint64_t> sizes() {
    const std::lock_guard lock(sizes_mutex_);
    if (!sizes_) {
      auto worker = take();
      sizes_ = {worker->parameters(), worker->rows()};
      give_back(std::move(worker));
    }
    return *sizes_;
  }

 private:
  struct Idle {
    const PythonWorkers* of = nullptr;
    std::unique_ptr<PythonWorker> worker = {};
  };
  inline static std::mutex mutex_;
  inline static std::deque<Idle> idle_;  // the oldest first

  const PythonConfig config_;
  std::mutex sizes_mutex_;
  std::optional<std::pair<std::size_t, std::uint64_t>> sizes_;
};

template <class Real>
class PythonModel final : public Model<Real> {
 public:
  PythonModel(const PythonConfig& config, std::shared_ptr<PythonWorkers> workers)
      : config_(config), workers_(std::move(workers)) {
    if (workers_->may_start()) std::tie(parameters_, rows_) = workers_->sizes();
  }
  ~PythonModel() override {
    if (worker_) workers_->give_back(std::move(worker_));
  }

  std::size_t parameters() const override { return parameters_; }

  void initialise(std::uint64_t seed, std::uint32_t replica, std::span<Real> w) override {
    Stream words = stream({seed, replica, Purpose::initial_weights, 0, 0});
    use([&](PythonWorker& worker) {
      worker.initialise(words());
      std::ranges::copy(worker.w<Real>(), w.begin());
    });
  }

  void gradient(std::span<const Real> w, const MinibatchName& name, std::span<Real> g) override {
    drawn_.resize(name.size);
    minibatch_rows(config_.sampling, name, static_cast<std::uint32_t>(rows_), drawn_);
    Stream words =
        stream({name.seed, name.replica, Purpose::gradient_noise, name.learner, name.draw});
    use([&](PythonWorker& worker) {
      std::ranges::copy(w, worker.w<Real>().begin());
      worker.gradient(drawn_, words());
      std::ranges::copy(worker.g<Real>(), g.begin());
    });
  }

  void evaluate(std::span<const Real* const> values, std::span<Evaluation> results) override {
    for (std::size_t v = 0; v < values.size(); ++v)
      use([&](PythonWorker& worker) {
        std::copy_n(values[v], parameters_, worker.w<Real>().begin());
        results[v] = worker.evaluate();
      });
  }

  Blueprint blueprint() const override { return NoBlueprint{"a Python program does"}; }

 private:
  /// A worker that has failed is not used again.
  template <class Call>
  void use(const Call& call) {
    if (!worker_) worker_ = workers_->take();
    try {
      call(*worker_);
    } catch (...) {
      worker_.reset();
      throw;
    }
    if (!worker_->note().empty()) config_.note(worker_->note());
  }

  const PythonConfig config_;
  const std::shared_ptr<PythonWorkers> workers_;
  std::unique_ptr<PythonWorker> worker_;
  std::size_t parameters_ = 0;
  std::uint64_t rows_ = 0;
  std::vector<std::uint32_t> drawn_;
};

class PythonSpec final : public ModelSpec {
 public:
  explicit PythonSpec(PythonConfig config)
      : config_(std::move(config)), workers_(std::make_shared<PythonWorkers>(config_)) {}

  const PerLearner& minibatch() const override { return config_.minibatch; }
  std::uint64_t training_rows() const override {
    return workers_->may_start() ? workers_->sizes().second : 1;  // for what runs nothing
  }
  bool has_dataset() const override { return true; }
  bool looks_at_rows() const override { return false; }
  bool has_test_error() const override { return true; }
  std::string data_hash() const override {
    if (!config_.python.missing.empty()) throw MissingData(config_.python.missing);
    return config_.python.hash;
  }
  std::unique_ptr<Model<float>> make_float32() const override { return make<float>(); }
  std::unique_ptr<Model<double>> make_float64() const override { return make<double>(); }
  const std::string& precision() const override { return config_.python.words.front(); }

 private:
  template <class Real>
  std::unique_ptr<Model<Real>> make() const {
    return std::make_unique<PythonModel<Real>>(config_, workers_);
  }

  PythonConfig config_;
  std::shared_ptr<PythonWorkers> workers_;
};

ModelProduct read(Fields& fields, DataShelf& shelf) {
  constexpr std::string_view samplings[] = {"iid", "epoch"};
  constexpr std::string_view precisions[] = {"float32", "float64"};
  PythonConfig config;
  config.note = [&shelf](const std::string& note) { shelf.note(note); };
  PythonClass& python = config.python;
  python.kind = &python_model;
  python.words = {"float32"};
  std::string sampling = "iid";
  const Location location = visit_python_class(fields, python);
  fields.per_learner("minibatch", config.minibatch, Need::defaulted, at_least(1),
                     "samples m of one gradient", minibatch_of_learners);
  fields.choice("sampling", sampling, samplings, Need::defaulted,
                "rows with replacement, or each once in a learner's epoch");
  fields.choice("precision", python.words.front(), precisions, Need::defaulted,
                "of w and gradients");
  visit_timeout(fields, python);
  if (!fields.good()) return nullptr;
  config.sampling = sampling == "epoch" ? Sampling::epoch : Sampling::iid;
  const auto missing =
      read_python_file(fields, python, location, shelf.python(), shelf.data_used());
  if (missing) {
    shelf.note_missing(*missing);
    if (shelf.data_needed()) fields.lacks("file", *missing);
  }
  if (!fields.good()) return nullptr;
  return std::make_shared<PythonSpec>(std::move(config));
}

}  // namespace

extern const ModelEntry python_entry{page, read};

}  // namespace gradrace
