#include "sim/cli/commands/commands.h"
#include "sim/cli/python.h"
#include "sim/cli/usage_error.h"

namespace gradrace {

int plot_command(const std::vector<std::filesystem::path>& folders) {
  std::vector<std::string> words;
  for (const auto& folder : folders) {
    if (!std::filesystem::exists(folder / "runs.csv") &&
        !std::filesystem::exists(folder / "fit.json")) {
      throw UsageError(
          folder.string() +
          ": holds no runs.csv and no fit.json; give the output folder of a run or fit");
    }
    words.push_back(folder.string());
  }
  return run_python("plots/plot.py", std::move(words));
}

}  // namespace gradrace
