#include <algorithm>

#include "sim/cli/output/spool.h"
#include "sim/cli/results/run_files.h"

namespace gradrace {
namespace {

double mean_staleness(const UpdateFacts& row) {
  std::uint64_t sum = 0;
  for (const GradientFacts& gradient : row.gradients) sum += gradient.staleness;
  return static_cast<double>(sum) / static_cast<double>(row.gradients.size());
}

std::uint32_t max_staleness(const UpdateFacts& row) {
  return std::ranges::max(row.gradients, {}, &GradientFacts::staleness).staleness;
}

const CsvFile<UpdateFacts> updates_csv{
    "updates.csv",
    "one update of a run (record.updates)",
    {{"point", point_meaning},
     {"replica", replica_meaning},
     {"update", "updates", "its number, from 1", &UpdateFacts::update, Role::run},
     {"time", "time", "simulated", &UpdateFacts::time},
     {"iteration_time",
      "time",
      {"since the update before, or the start", "time - time of the update before"},
      &UpdateFacts::iteration_time},
     {"gradients", "minibatches", "in it", [](auto& row) { return row.gradients.size(); },
      Role::count},
     {"mean_staleness",
      "updates",
      {staleness_meaning, "sum of staleness / gradients"},
      mean_staleness},
     {"max_staleness", "updates", staleness_meaning, max_staleness},
     {"learning_rate", "", "of a fresh gradient", &UpdateFacts::learning_rate}}};

class UpdatesRecorder final : public Observer {
 public:
  explicit UpdatesRecorder(Spool& rows) : rows_(rows) {}

  void on_start() override { rows_.restart(); }
  void on_update(const UpdateFacts& update) override { updates_csv.add(rows_.end(), update); }

 private:
  Spool& rows_;
};

MakeRecorder read(Fields&, bool) {
  return [](std::uint32_t, const Point&, Spool& rows) {
    return std::make_unique<UpdatesRecorder>(rows);
  };
}

const CsvPage page = updates_csv.page();

}  // namespace

extern const Record updates_record{"updates", "write updates.csv", updates_csv.name, read, &page};

}  // namespace gradrace
