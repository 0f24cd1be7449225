#include "sim/cli/commands/commands.h"
#include "sim/cli/output/locks.h"
#include "sim/cli/python.h"
#include "sim/cli/results/manifest.h"

namespace gradrace {

namespace po = boost::program_options;

namespace {

/// An option of the drawing, and what it takes.
struct DrawingOption {
  const char* name;
  const char* allowed;
  const char* meaning;
  bool repeatable = true;
};

constexpr DrawingOption drawing_options[] = {
    {"x", "time|updates|gradients|epochs|bytes|cost",
     "what curves are drawn against (default time); repeatable"},
    {"format", "png|svg|pdf", "of the files (default png and svg); repeatable"},
    {"size", "page|column",
     "what figures are as wide as: a page (7 inches, the default) or a column (3.5)", false}};

bool allows(const DrawingOption& option, const std::string& word) {
  return !word.empty() && word.find('|') == std::string::npos &&
         ("|" + std::string(option.allowed) + "|").find("|" + word + "|") != std::string::npos;
}

/// The words of the drawing's options, as plot.py takes them.
Words drawing_words(const Arguments& call) {
  Words words;
  for (const auto& option : drawing_options) {
    const std::string flag = "--" + std::string(option.name);
    const Words given = call.words(option.name);
    if (given.size() > 1 && !option.repeatable) call.refuse(flag + " is given twice");
    for (const auto& word : given) {
      if (!allows(option, word))
        call.refuse(flag + " takes " + option.allowed + ", got \"" + word + "\"");
      words.push_back(flag + "=" + word);
    }
  }
  return words;
}

}  // namespace

int plot_folders(const std::vector<std::filesystem::path>& folders, Words options) {
  options.emplace_back("--");  // folders follow, whatever they begin with
  const FilesLock lock(folders);
  for (const auto& folder : folders) {
    note_if_mixed(folder);
    options.push_back(folder.string());
  }
  return run_python("plots/plot.py", std::move(options));
}

static int plot(const Words& words) {
  Syntax syntax{.positional = "folder"};
  for (const auto& option : drawing_options)
    syntax.options.add_options()(
        option.name, po::value<Words>()->composing()->value_name(option.allowed), option.meaning);
  const auto call = parse(plot_command, words, syntax);
  if (!call) return 0;
  return plot_folders(call->paths("folder"), drawing_words(*call));
}

extern const Command plot_command{
    "plot", "draws the plots of output folders, of runs, fits or searches, into DIR/plots",
    "  gradrace plot DIR... [options]\n\n"
    "Bands and bars are 95 % intervals of means over replicas (Student's t).  Of a sweep of more\n"
    "than twelve points the best are shown, in colour or a panel each, and the figure says which\n"
    "are left out: who reaches the strictest target first, else who ends lowest, is the best.\n\n"
    "Examples:\n"
    "  gradrace plot out/quickstart\n"
    "  gradrace plot out/quickstart --x updates --x epochs\n"
    "  gradrace plot out/quickstart --format pdf --size column     for a paper of two columns\n",
    plot};

}  // namespace gradrace
