#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/output/compressed_file.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

using Words = std::vector<std::string>;
using Values = boost::program_options::variables_map;

/// A command of the program: its line in the help, its usage with examples, and what it does with
/// its words, which returns the exit status.
struct Command {
  std::string_view name, summary, usage;
  int (*run)(const Words& words);
};

/// Options of a command, the name that words without a dash go to, and what its help says besides
/// its usage.
struct Syntax {
  boost::program_options::options_description options{"Options"};
  std::string positional = {}, more = {};
};

/// None if help was asked for, which is printed.  UsageError, in the command's name, here and below
/// where the words are wrong.
std::optional<Values> parse(const Command& command, const Words& words, Syntax& syntax);

/// What stands there; empty where it is not given.
Words words_of(const Values& values, const std::string& name);

/// A file or folder; empty where it is not given.
std::filesystem::path path_of(std::string_view command, const Values& values,
                              const std::string& name);

/// At least one.
std::vector<std::filesystem::path> paths_of(std::string_view command, const Values& values,
                                            const std::string& name);

/// A number from 1, or the default where it is not given.
std::uint32_t count_of(std::string_view command, const Values& values, const std::string& name,
                       std::uint32_t otherwise);

/// A number from 0 to 1.
double fraction_of(std::string_view command, const Values& values, const std::string& name);

/// 0 where it is not given.
unsigned jobs_of(std::string_view command, const Values& values);

/// How files of results are to be compressed: its option, and what that says.
void add_compress_option(Syntax& syntax);
Compression compression_of(std::string_view command, const Values& values);

/// What changes a scenario that a command runs by a plan of its own.
void add_change_options(Syntax& syntax);

/// These, and what else changes a scenario.
void add_scenario_options(Syntax& syntax);

/// What these options say.
ScenarioChanges changes_of(std::string_view command, const Values& values);

}  // namespace gradrace
