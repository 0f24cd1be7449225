#include <algorithm>

#include "sim/cli/results/run_files.h"
#include "sim/cli/results/spool.h"

namespace gradrace {
namespace {

struct UpdateRow : OfRun, UpdateFacts {};

double mean_staleness(const UpdateRow& row) {
  std::uint64_t sum = 0;
  for (const GradientFacts& gradient : row.gradients) sum += gradient.staleness;
  return static_cast<double>(sum) / static_cast<double>(row.gradients.size());
}

std::uint32_t max_staleness(const UpdateRow& row) {
  return std::ranges::max(row.gradients, {}, &GradientFacts::staleness).staleness;
}

const CsvFile<UpdateRow> updates_csv{
    "updates.csv",
    "one update of a run (record.updates)",
    {{"point", "", point_meaning, &UpdateRow::point, CellType::integer, Role::run},
     {"replica", "", replica_meaning, &UpdateRow::replica, Role::run},
     {"update", "updates", "its number, from 1", &UpdateRow::update, Role::run},
     {"time", "time", "simulated", &UpdateRow::time},
     {"iteration_time",
      "time",
      {"since the update before, or the start", "time - time of the update before"},
      &UpdateRow::iteration_time},
     {"gradients", "minibatches", "in it", [](auto& row) { return row.gradients.size(); },
      Role::count},
     {"mean_staleness",
      "updates",
      {staleness_meaning, "sum of staleness / gradients"},
      mean_staleness},
     {"max_staleness", "updates", staleness_meaning, max_staleness},
     {"learning_rate", "", "of a fresh gradient", &UpdateRow::learning_rate}}};

class UpdatesRecorder final : public Observer {
 public:
  UpdatesRecorder(std::uint32_t replica, Spool& rows) : run_{replica}, rows_(rows) {}

  void on_start() override { rows_.restart(); }
  void on_update(const UpdateFacts& update) override {
    updates_csv.add(rows_.end(), {run_, update});
  }

 private:
  const OfRun run_;
  Spool& rows_;
};

MakeRecorder read(Fields&, bool) {
  return [](std::uint32_t replica, const Point&, Spool& rows) {
    return std::make_unique<UpdatesRecorder>(replica, rows);
  };
}

const CsvPage page = updates_csv.page();

}  // namespace

extern const Record updates_record{
    "updates", "write updates.csv", updates_csv.name, updates_csv.header(), "", "", read, &page};

}  // namespace gradrace
