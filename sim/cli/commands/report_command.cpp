#include "sim/cli/commands/commands.h"
#include "sim/cli/output/locks.h"
#include "sim/cli/python.h"
#include "sim/cli/results/manifest.h"

namespace gradrace {

static int report(const Words& words) {
  namespace po = boost::program_options;
  Syntax syntax{.positional = "folder"};
  syntax.options.add_options()                                                //
      ("out", po::value<std::string>()->value_name("FILE"),                   //
       "the page (default DIR/report.html; of several folders report.html)")  //
      ("plot",
       "write its figures too, as PNG, SVG and PDF, as wide as a column of a paper and as "
       "a page, into a folder of the page's name and -figures");
  const auto call = parse(report_command, words, syntax);
  if (!call) return 0;
  Words asked;
  const auto out = call->path("out");
  if (!out.empty()) asked.push_back("--out=" + out.string());
  if (call->has("plot")) asked.emplace_back("--plot");
  asked.emplace_back("--");  // folders follow, whatever they begin with
  const auto folders = call->paths("folder");
  const FilesLock lock(folders);
  for (const auto& folder : folders) {
    if (note_if_mixed(folder)) asked.insert(asked.begin(), "--changed=" + folder.string());
    asked.push_back(folder.string());
  }
  return run_python("report/report.py", std::move(asked));
}

extern const Command report_command{
    "report", "answers which point is best, by how much and how sure: one HTML page",
    "  gradrace report DIR... [--out FILE] [--plot]\n\n"
    "Of several output folders that differ in protocol, learning rate, optimiser or minibatch\n"
    "alone all points are compared with each other; others stand side by side.\n\n"
    "Examples:\n"
    "  gradrace report out/quickstart\n"
    "  gradrace report out/my out/eta-0.1 --out compared.html --plot\n",
    report};

}  // namespace gradrace
