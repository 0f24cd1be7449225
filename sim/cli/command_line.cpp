#include "sim/cli/command_line.h"

#include <cmath>
#include <cstdlib>
#include <iostream>

#include "distributions/fit/table.h"
#include "sim/cli/usage_error.h"
#include "sim/reading/characters.h"
#include "sim/reading/elsewhere.h"

namespace gradrace {

namespace po = boost::program_options;

std::optional<Arguments> parse(const Command& command, const Words& words, Syntax& syntax) {
  syntax.options.add_options()("help,h", "this text");
  po::options_description all;
  all.add(syntax.options);
  po::positional_options_description positional;
  if (!syntax.positional.empty()) {
    all.add_options()(syntax.positional.c_str(), po::value<Words>());
    positional.add(syntax.positional.c_str(), -1);
  }
  Arguments::Values values;
  try {
    const int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(words).options(all).positional(positional).style(style).run(),
              values);
    po::notify(values);
  } catch (const po::error& error) {
    const std::string name(command.name);
    throw UsageError(name + ": " + error.what() + "; see gradrace " + name + " --help");
  }
  if (values.count("help") == 0) return Arguments(command.name, std::move(values));
  std::cout << "gradrace " << command.name << ": " << command.summary << "\n\n"
            << command.usage << syntax.more << '\n'
            << syntax.options;
  return {};
}

void Arguments::refuse(const std::string& what) const { throw UsageError(command_ + ": " + what); }

std::string Arguments::text(const std::string& name) const {
  return has(name) ? values_[name].as<std::string>() : "";
}

Words Arguments::words(const std::string& name) const {
  return has(name) ? values_[name].as<Words>() : Words();
}

double Arguments::number(const std::string& name) const {
  double number = 0;
  if (parse_number(text(name).substr(text(name).starts_with('+') ? 1 : 0), number)) return number;
  refuse("--" + name + " takes a number, got \"" + text(name) + "\"");
}

double Arguments::fraction(const std::string& name) const {
  const double fraction = number(name);
  if (fraction >= 0 && fraction <= 1) return fraction;
  refuse("--" + name + " must be 0 to 1, got " + text(name));
}

std::uint32_t Arguments::count(const std::string& name, std::uint32_t otherwise) const {
  if (!has(name)) return otherwise;
  const double count = number(name);
  constexpr int most = 1 << 24;  // of learners, and of replicas
  const bool is_whole = count == std::floor(count);
  if (is_whole && count >= 1 && count <= most) return static_cast<std::uint32_t>(count);
  const std::string wanted = !is_whole   ? "a whole number"
                             : count < 1 ? ">= 1"
                                         : "<= " + std::to_string(most);
  refuse("--" + name + " must be " + wanted + ", got " + text(name));
}

/// A word that names a file or folder.
static std::filesystem::path as_path(const std::string& where, const std::string& word) {
  constexpr std::size_t longest = 255;  // bytes of a name, for most file systems
  const std::filesystem::path path = word;
  if (path.empty()) throw UsageError(where + ": names a file or folder, and is empty");
  for (const auto& name : path) {
    if (name.native().size() > longest)
      throw UsageError(where + ": has a name of more than " + std::to_string(longest) + " bytes");
  }
  if (const std::string hint = why_elsewhere(word); !hint.empty())
    throw UsageError(where + ": " + hint);
  const std::string control = control_character(word);
  if (control.empty()) return path;
  throw UsageError(where + ": names a file or folder, and has " + control + ", got \"" + word +
                   "\"");
}

std::filesystem::path Arguments::path(const std::string& name) const {
  return has(name) ? as_path(command_ + ": --" + name, text(name)) : std::filesystem::path();
}

std::vector<std::filesystem::path> Arguments::paths(const std::string& name) const {
  std::vector<std::filesystem::path> paths;
  for (const auto& word : words(name)) paths.push_back(as_path(command_, word));
  if (!paths.empty()) return paths;
  const char* const what = name == "folder"  ? "folder"
                           : name == "trace" ? "CSV file"
                                             : "scenario file";
  refuse(std::string("needs a ") + what + "; see gradrace " + command_ + " --help");
}

std::filesystem::path Arguments::scenario_file() const {
  const auto files = paths("file");
  if (files.size() != 1) refuse("takes one scenario file");
  return files.front();
}

void add_compress_option(Syntax& syntax) {
  syntax.options.add_options()                                         //
      ("compress", po::value<std::string>()->value_name("zstd|gzip"),  //
       "write curve.csv.zst, trace.json.zst ... or .gz in place of curve.csv, trace.json ...; "
       "runs.csv and manifest.json stay as they are");
}

Compression compression_of(const Arguments& call) {
  if (!call.has("compress")) return Compression::none;
  const std::string format = call.text("compress");
  if (format == "zstd") return Compression::zstd;
  if (format == "gzip") return Compression::gzip;
  call.refuse("--compress takes zstd or gzip, got \"" + format +
              "\"; without it files are not compressed");
}

void add_change_options(Syntax& syntax) {
  syntax.options.add_options()                                                            //
      ("set", po::value<Words>()->composing()->value_name("PATH=VALUE"),                  //
       "change a key: dotted path, JSON value; repeatable")                               //
      ("seed", po::value<std::string>()->value_name("N"), "change seed")                  //
      ("device", po::value<std::string>()->value_name("auto|cpu|cuda"), "change device")  //
      ("quick", "the scenario's own quick form: what its key quick says")                 //
      ("data", po::value<std::string>()->value_name("DIR"),                               //
       "where data sets are looked for that are not at their path (else GRADRACE_DATA)")  //
      ("allow-python",
       "run the Python of model python from anywhere, and of a manifest; it may do what you may");
}

void add_scenario_options(Syntax& syntax) {
  add_change_options(syntax);
  syntax.options.add_options()                                                    //
      ("replicas", po::value<std::string>()->value_name("N"), "change replicas")  //
      ("timing-only", "leave the model out: times and staleness, no gradients");
}

static std::filesystem::path data_folder_of(const Arguments& call) {
  if (!call.has("data")) {
    const char* environment = std::getenv("GRADRACE_DATA");
    if (environment == nullptr || *environment == '\0') return {};
    return as_path("GRADRACE_DATA", environment);
  }
  const std::filesystem::path folder = call.path("data");
  if (!std::filesystem::is_directory(folder))
    throw UsageError("--data: there is no folder " + folder.string());
  return folder;
}

ScenarioChanges changes_of(const Arguments& call) {
  ScenarioChanges changes;
  for (const auto& set : call.words("set")) {
    const auto equals = set.find('=');
    if (equals == std::string::npos || equals == 0)
      call.refuse("--set takes PATH=VALUE, got \"" + set + "\"");
    if (!is_utf8(set)) call.refuse("--set " + set + ": is not UTF-8");
    changes.sets.push_back({set.substr(0, equals), set.substr(equals + 1), "--set " + set});
  }
  for (const char* key : {"seed", "replicas", "device"}) {
    if (!call.has(key)) continue;
    const std::string value = call.text(key);
    changes.sets.push_back({key, value, std::string("--") + key + " " + value});
  }
  changes.quick = call.has("quick");
  if (call.has("timing-only")) changes.sets.push_back({"timing_only", "true", "--timing-only"});
  changes.data_folder = data_folder_of(call);
  changes.allow_python = call.has("allow-python");
  return changes;
}

}  // namespace gradrace
