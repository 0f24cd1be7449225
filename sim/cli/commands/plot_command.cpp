#include "sim/cli/commands/commands.h"
#include "sim/cli/python.h"
#include "sim/cli/usage_error.h"

namespace gradrace {

int plot_folders(const std::vector<std::filesystem::path>& folders) {
  std::vector<std::string> words;
  for (const auto& folder : folders) {
    if (!std::filesystem::exists(folder / "runs.csv") &&
        !std::filesystem::exists(folder / "fit.json")) {
      if (std::filesystem::exists(folder / "runs.parquet"))
        throw UsageError(folder.string() +
                         ": holds Parquet files, and plots are drawn from CSV; "
                         "gradrace collect " +
                         folder.string() + " writes them");
      throw UsageError(
          folder.string() +
          ": holds no runs.csv and no fit.json; give the output folder of a run or fit");
    }
    words.push_back(folder.string());
  }
  return run_python("plots/plot.py", std::move(words));
}

static int plot(const Words& words) {
  Syntax syntax{.positional = "folder"};
  const auto values = parse(plot_command, words, syntax);
  if (!values) return 0;
  return plot_folders(paths_of("plot", *values, "folder"));
}

extern const Command plot_command{
    "plot", "draws the plots of output folders, of runs or fits, into DIR/plots (PNG and SVG)",
    "  gradrace plot DIR...\n\n"
    "Example:\n"
    "  gradrace plot out/quickstart\n",
    plot};

}  // namespace gradrace
