#include "sim/cli/command_line.h"

#include <cstdlib>
#include <iostream>

#include "sim/cli/usage_error.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace po = boost::program_options;

std::optional<Values> parse(const Command& command, const Words& words, Syntax& syntax) {
  syntax.options.add_options()("help,h", "this text");
  po::options_description all;
  all.add(syntax.options);
  po::positional_options_description positional;
  if (!syntax.positional.empty()) {
    all.add_options()(syntax.positional.c_str(), po::value<Words>());
    positional.add(syntax.positional.c_str(), -1);
  }
  Values values;
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
  if (values.count("help") == 0) return values;
  std::cout << "gradrace " << command.name << ": " << command.summary << "\n\n"
            << command.usage << syntax.more << '\n'
            << syntax.options;
  return {};
}

Words words_of(const Values& values, const std::string& name) {
  return values.count(name) != 0 ? values[name].as<Words>() : Words{};
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
  const std::string control = control_character(word);
  if (control.empty()) return path;
  throw UsageError(where + ": names a file or folder, and has " + control + ", got \"" + word +
                   "\"");
}

std::filesystem::path path_of(std::string_view command, const Values& values,
                              const std::string& name) {
  if (values.count(name) == 0) return {};
  return as_path(std::string(command) + ": --" + name, values[name].as<std::string>());
}

std::vector<std::filesystem::path> paths_of(std::string_view command, const Values& values,
                                            const std::string& name) {
  const Words words = words_of(values, name);
  if (words.empty()) {
    throw UsageError(std::string(command) + ": needs a " +
                     (name == "folder"  ? "folder"
                      : name == "trace" ? "CSV file"
                                        : "scenario file") +
                     "; see gradrace " + std::string(command) + " --help");
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& word : words) paths.push_back(as_path(std::string(command), word));
  return paths;
}

void add_compress_option(Syntax& syntax) {
  syntax.options.add_options()                                         //
      ("compress", po::value<std::string>()->value_name("zstd|gzip"),  //
       "write curve.csv.zst, trace.json.zst ... or .gz in place of curve.csv, trace.json ...; "
       "runs.csv and manifest.json stay as they are");
}

Compression compression_of(std::string_view command, const Values& values) {
  if (values.count("compress") == 0) return Compression::none;
  const auto& format = values["compress"].as<std::string>();
  if (format == "zstd") return Compression::zstd;
  if (format == "gzip") return Compression::gzip;
  throw UsageError(std::string(command) + ": --compress takes zstd or gzip, got \"" + format +
                   "\"; without it files are not compressed");
}

void add_change_options(Syntax& syntax) {
  syntax.options.add_options()                                                                   //
      ("set", po::value<Words>()->composing()->value_name("PATH=VALUE"),                         //
       "change a key: dotted path, JSON value; repeatable")                                      //
      ("seed", po::value<std::string>()->value_name("N"), "change seed")                         //
      ("device", po::value<std::string>()->value_name("D"), "change device: auto, cpu or cuda")  //
      ("quick", "the scenario's own quick form: what its key quick says")                        //
      ("data", po::value<std::string>()->value_name("DIR"),                                      //
       "where data sets are looked for that are not at their path (else GRADRACE_DATA)");
}

void add_scenario_options(Syntax& syntax) {
  add_change_options(syntax);
  syntax.options.add_options()                                                    //
      ("replicas", po::value<std::string>()->value_name("N"), "change replicas")  //
      ("timing-only", "leave the model out: times and staleness, no gradients");
}

static std::filesystem::path data_folder_of(std::string_view command, const Values& values) {
  if (values.count("data") == 0) {
    const char* environment = std::getenv("GRADRACE_DATA");
    if (environment == nullptr || *environment == '\0') return {};
    return as_path("GRADRACE_DATA", environment);
  }
  const std::filesystem::path folder = path_of(command, values, "data");
  if (!std::filesystem::is_directory(folder))
    throw UsageError("--data: there is no folder " + folder.string());
  return folder;
}

ScenarioChanges changes_of(std::string_view command, const Values& values) {
  ScenarioChanges changes;
  for (const auto& set : words_of(values, "set")) {
    const auto equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(std::string(command) + ": --set takes PATH=VALUE, got \"" + set + "\"");
    }
    if (!is_utf8(set)) throw UsageError(std::string(command) + ": --set " + set + ": is not UTF-8");
    changes.sets.push_back({set.substr(0, equals), set.substr(equals + 1), "--set " + set});
  }
  for (const char* key : {"seed", "replicas", "device"}) {
    if (values.count(key) == 0) continue;
    const auto& value = values[key].as<std::string>();
    changes.sets.push_back({key, value, std::string("--") + key + " " + value});
  }
  changes.quick = values.count("quick") != 0;
  if (values.count("timing-only") != 0)
    changes.sets.push_back({"timing_only", "true", "--timing-only"});
  changes.data_folder = data_folder_of(command, values);
  return changes;
}

std::uint32_t count_of(std::string_view command, const Values& values, const std::string& name,
                       std::uint32_t otherwise) {
  if (values.count(name) == 0) return otherwise;
  const int count = values[name].as<int>();
  constexpr int most = 1 << 24;  // of learners, and of replicas
  if (count >= 1 && count <= most) return static_cast<std::uint32_t>(count);
  throw UsageError(std::string(command) + ": --" + name + " must be " +
                   (count < 1 ? ">= 1" : "<= " + std::to_string(most)) + ", got " +
                   std::to_string(count));
}

double fraction_of(std::string_view command, const Values& values, const std::string& name) {
  const double fraction = values[name].as<double>();
  if (fraction >= 0 && fraction <= 1) return fraction;
  throw UsageError(std::string(command) + ": --" + name + " must be 0 to 1, got " +
                   short_number(fraction, 17));
}

unsigned jobs_of(std::string_view command, const Values& values) {
  return count_of(command, values, "jobs", 0);
}

}  // namespace gradrace
