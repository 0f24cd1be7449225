#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <set>

#include "sim/cli/commands/commands.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/results/pages.h"
#include "sim/cli/results/publish.h"
#include "sim/cli/results/table.h"
#include "sim/cli/standard_streams.h"
#include "sim/cli/usage_error.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

namespace {

/// What is said of a folder's folders that hold stores; empty: none do.
std::string folders_within(const fs::path& parent) {
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(parent)) {
    if (entry.is_directory() && !stores_in(entry.path()).empty())
      found.insert(entry.path().filename().string());
  }
  if (found.empty()) return {};
  const auto text = [](const std::string& name) { return name; };
  const auto whole = [&](const std::string& name) { return (parent / name).string(); };
  return "; its folders " + joined(found, ", ", text) +
         " do: where they are shards of one sweep, gradrace collect " + joined(found, " ", whole) +
         " --out DIR, else one call for each";
}

/// The stores that are collected, and what is amiss among them.
class Sources {
 public:
  /// UsageError for a folder without a store, and where stores are of other sweeps.
  explicit Sources(const std::vector<fs::path>& folders) {
    std::set<fs::path> seen;
    for (const auto& folder : folders) {
      if (!fs::is_directory(folder))
        throw UsageError("collect: " + folder.string() + ": there is no such folder");
      const auto files = stores_in(folder);
      if (files.empty())
        throw UsageError("collect: " + folder.string() +
                         ": holds no store of runs (runs.store, runs.I-of-N.store)" +
                         folders_within(folder));
      const bool has_shards = files.size() > 1 || files.front().filename() != "runs.store";
      for (const auto& file : files) {
        const bool counts = !has_shards || file.filename() != "runs.store";
        if (seen.insert(fs::weakly_canonical(file)).second) add(file, counts);
      }
    }
    if (stores_.empty())
      throw UsageError("collect: " + (complaints_.empty()
                                          ? folders.front().string() + ": its stores are empty"
                                          : complaints_.front()));
  }

  /// Of the scenario whose runs are collected.
  const RunHeader& header() const { return *header_; }
  const std::vector<fs::path>& stores() const { return stores_; }
  /// UsageError where stores say that they are of far more runs than are in them: what a stranger's
  /// header says is nothing to make room for.
  void check_size(const Scenario& scenario) const {
    constexpr std::size_t any = 1'000'000, times = 100;
    if (scenario.runs() <= any + times * runs_) return;
    throw UsageError("collect: " + header_file_.string() + ": says that it is of " +
                     count_text(scenario.runs(), "run") + ", and the stores have " +
                     std::to_string(runs_) + " of them; gradrace run FILE makes those that lack");
  }
  /// What is to be said of shards.
  const std::vector<std::string>& complaints() const { return complaints_; }

  /// Shards that are not there, or lack runs.
  void complain_of_missing_shards() {
    if (counts_.size() > 1) {
      const auto text = [](unsigned of) { return std::to_string(of); };
      complaints_.push_back(
          "shards are of different numbers of parts: " + joined(counts_, ", ", text) +
          "; a call without --shard makes what lacks");
    } else if (!counts_.empty()) {
      const unsigned of = *counts_.begin();
      constexpr unsigned most_told = 20;
      unsigned told = 0;
      std::string missing;
      for (unsigned number = 1; number <= of && told < most_told; ++number) {
        const std::string shard = Shard{number, of}.text();
        if (shards_.contains(shard)) continue;
        missing += (missing.empty() ? "" : ", ") + shard;
        ++told;
      }
      const std::size_t more = of - shards_.size() - told;
      if (!missing.empty())
        complaints_.push_back("missing: shard " + missing +
                              (more > 0 ? " and " + std::to_string(more) + " more" : ""));
    }
    for (const auto& [shard, of] : shards_)
      if (of.found < of.wanted)
        complaints_.push_back("incomplete: shard " + shard + ": " + std::to_string(of.found) +
                              " of " + count_text(of.wanted, "run") + " (" + of.file + ")");
  }

 private:
  struct OfShard {
    std::string file;
    std::size_t found, wanted;
  };

  /// `counts`: for the sweep and the replicas, as a store of all runs beside shards does not.
  void add(const fs::path& file, bool counts) {
    const RunStore store(file, RunStore::Use::read);
    if (store.header().empty()) {
      if (!store.runs().empty())
        complaints_.push_back("damaged, left out: " + file.string() +
                              ": what says of which scenario its runs are cannot be read");
      return;
    }
    const RunHeader header = RunHeader::from(store.header(), file.string());
    const std::string differs = header_ ? difference(store.header(), header_text_) : "";
    if (!differs.empty()) {
      complaints_.push_back("foreign, left out: " + file.string() + ": " + differs);
      return;
    }
    agree(header, file, counts);
    if (store.damaged() > 0)
      complaints_.push_back("damaged: " + file.string() + ": " +
                            count_text(store.damaged(), "record") + " left out");
    stores_.push_back(file);
    runs_ += store.runs().size();
    if (!header.shard) return;
    const std::string shard = header.shard->text();
    const auto [known, is_new] =
        shards_.try_emplace(shard, OfShard{file.string(), store.runs().size(), header.runs});
    if (!is_new)
      complaints_.push_back("doubled: shard " + shard + ": " + known->second.file + " and " +
                            file.string() + " (the same runs are taken once)");
    counts_.insert(header.shard->of);
  }

  void agree(const RunHeader& header, const fs::path& file, bool counts) {
    if (header_ && counts && !make_same_runs(header, *header_))
      throw UsageError("collect: " + file.string() + " and " + header_file_.string() +
                       " were made for different sweeps or numbers of replicas; run the one that "
                       "is behind again with the scenario of the other");
    if (header_ && (header_->shard || !header.shard)) return;
    header_ = header;
    header_file_ = file;
    header_text_ = header.text();
  }

  std::optional<RunHeader> header_;
  fs::path header_file_;
  std::string header_text_;
  std::vector<fs::path> stores_;
  std::size_t runs_ = 0;
  std::map<std::string, OfShard> shards_;  // [I/N]
  std::set<unsigned> counts_;              // N
  std::vector<std::string> complaints_;
};

/// UsageError where the folder's files are whole, and the stores have fewer runs than they.
void keep_whole(const fs::path& out, const Scenario& scenario, const Sources& sources) {
  if (!is_published(out, scenario)) return;
  std::set<RunKey> found;
  for (const auto& file : sources.stores()) {
    RunStore store(file, RunStore::Use::read);
    keep_sound(store, scenario);
    for (const StoredRun& run : store.runs()) found.insert(run.key);
  }
  std::size_t there = 0;
  for (const Point& point : scenario.points)
    for (std::uint32_t replica = 0; replica < scenario.replicas(); ++replica)
      there += found.contains(run_key(point.key, replica));
  if (there >= scenario.runs()) return;
  throw UsageError("collect: " + out.string() + ": its files have all of " +
                   count_text(scenario.runs(), "run") + ", and the stores " +
                   std::to_string(there) +
                   " of them: damaged, or not all shards.  Nothing is changed; gradrace run FILE "
                   "--out " +
                   out.string() + " makes those that lack");
}

/// Its runs into the folder; UsageError where one is there with another result.
void add(const Sources& sources, RunFolder& folder) {
  for (const auto& file : sources.stores()) {
    if (fs::equivalent(file.parent_path(), folder.path())) continue;
    RunStore store(file, RunStore::Use::read);
    keep_sound(store, folder.scenario());
    folder.note(store.notes());
    for (const StoredRun& run : store.runs()) folder.add(store, run);
  }
}

}  // namespace

/// UsageError where other words go ill with it.
static Format format_of(const Arguments& call) {
  const std::string format = call.has("format") ? call.text("format") : "csv";
  if (format == "csv") return Format::csv;
  if (format != "parquet" && format != "sqlite")
    call.refuse("--format takes csv, parquet or sqlite, got \"" + format + "\"");
  if (call.has("compress"))
    call.refuse("--compress is of CSV files; take one of --compress and --format " + format);
  if (call.has("plot"))
    call.refuse("--plot draws from CSV files; take one of --plot and --format " + format);
  const Format wanted = format == "sqlite" ? Format::sqlite : Format::parquet;
  check_format(wanted);
  return wanted;
}

static int collect(const Words& words) {
  Syntax syntax{.positional = "folder"};
  syntax.options.add_options()                              //
      ("out", po::value<std::string>()->value_name("DIR"),  //
       "output folder (default: that of the shards, where they have one together)");
  add_compress_option(syntax);
  syntax.options.add_options()("format", po::value<std::string>()->value_name("csv|parquet|sqlite"),
                               "of tables (default csv): runs.parquet, curve.parquet ..., or one "
                               "database, results.sqlite, in place of runs.csv, curve.csv ...");
  syntax.options.add_options()               //
      ("plot", "draw the plots afterwards")  //
      ("quiet", "no table");
  const auto call = parse(collect_command, words, syntax);
  if (!call) return 0;
  const auto folders = call->paths("folder");
  const Compression compression = compression_of(*call);
  const Format format = format_of(*call);
  fs::path out = call->path("out");
  if (out.empty() && folders.size() > 1)
    call->refuse("several folders need --out DIR for what is in all of them");
  if (out.empty()) out = folders.front();

  Sources sources(folders);
  ScenarioChanges changes;
  changes.data_may_lack = true;
  changes.python = PythonUse::leave;
  RunHeader header = sources.header();
  header.shard.reset();
  const Scenario scenario = read_scenario_text(header.scenario, header.file, changes);
  if (header.data_of_points.size() != 1 && header.data_of_points.size() != scenario.points.size())
    throw UsageError("collect: " + folders.front().string() +
                     ": its stores do not say which data their points have; move them away");
  sources.check_size(scenario);
  keep_whole(out, scenario, sources);
  if (!files_of_runs().first_in(out).empty()) note_if_mixed(out);
  const std::vector<Theory> theories = theories_of(scenario);
  RunFolder folder(out, scenario, header);
  folder.files().compress(compression);
  refuse_others(folder, theories, format);
  add(sources, folder);
  folder.sync();
  const std::size_t left = folder.size() - folder.present();
  const std::size_t of_shards = stores_in(out).size();
  if (left == 0) folder.put_in_order();
  const Summary summary = publish(folder, theories, {}, {}, format);
  if (left > 0) sources.complain_of_missing_shards();
  std::ranges::for_each(folder.notes(), tell_note);
  for (const auto& complaint : sources.complaints())
    std::cerr << "gradrace: " << printable(complaint) << '\n';
  const bool will_plot = call->has("plot");
  if (summary.drawings_went && !call->has("quiet")) std::cout << note_of_drawings(will_plot);
  if (!call->has("quiet"))
    std::cout << closing_table(scenario, theories, summary.runs, {}, terminal_width());
  std::cout << printable(scenario.first().name) << ": " << folder.size() - left << " of "
            << count_text(folder.size(), "run") << " are there"
            << (left > 0
                    ? "; run the shards that lack, or what lacks of all: gradrace run FILE --out " +
                          printable(folder.path().string())
                    : "")
            << (left == 0 && of_shards > 1 && stores_in(out).size() == 1
                    ? "; their stores are one now, runs.store"
                    : "")
            << "\nresults: " << printable((folder.path() / "").string()) << '\n'
            << std::flush;
  if (left > 0) return 1;
  return will_plot ? plot_folders({folder.path()}) : 0;
}

extern const Command collect_command{
    "collect", "puts the shards of a sweep together",
    "  gradrace collect DIR... [options]\n\n"
    "The folders are those of run --shard I/N: one for all shards, or one for each.  The files of\n"
    "results are then those of a run without shards, byte for byte.  Shards that lack, lack runs,\n"
    "are there twice or are of another scenario are named; exit status 1 where a run lacks.\n"
    "Another --compress or --format, or none, writes the files of a folder anew, and\n"
    "removes what was drawn of those before.\n\n"
    "Examples:\n"
    "  gradrace collect out/sweep                        where shards had one --out\n"
    "  gradrace collect out/shard-* --out out/sweep      where each had its own\n"
    "  gradrace collect out/sweep --format parquet       other files of the same runs\n"
    "  gradrace collect out/sweep --format sqlite        a database of them: sqlite3, pandas\n",
    collect};

}  // namespace gradrace
