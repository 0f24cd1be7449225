#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cli/output/compressed_file.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

using Words = std::vector<std::string>;

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

/// What a command was called with.  UsageError, in its name, where the words are wrong.
class Arguments {
 public:
  using Values = boost::program_options::variables_map;
  Arguments(std::string_view command, Values values)
      : command_(command), values_(std::move(values)) {}

  bool has(const std::string& name) const { return values_.count(name) != 0; }
  /// What stands there; empty where it is not given.
  std::string text(const std::string& name) const;
  Words words(const std::string& name) const;
  double number(const std::string& name) const;
  /// A number from 0 to 1.
  double fraction(const std::string& name) const;
  /// A number from 1, or the default where it is not given.
  std::uint32_t count(const std::string& name, std::uint32_t otherwise) const;
  /// Threads; 0 where it is not given.
  unsigned jobs() const { return count("jobs", 0); }
  /// A file or folder; empty where it is not given.
  std::filesystem::path path(const std::string& name) const;
  /// At least one.
  std::vector<std::filesystem::path> paths(const std::string& name) const;

  /// The only one of those.
  std::filesystem::path scenario_file() const;

  [[noreturn]] void refuse(const std::string& what) const;

 private:
  std::string command_;
  Values values_;
};

/// None if help was asked for, which is printed.  UsageError, in the command's name, where the
/// words are wrong.
std::optional<Arguments> parse(const Command& command, const Words& words, Syntax& syntax);

/// How files of results are to be compressed: its option, and what that says.
void add_compress_option(Syntax& syntax);
Compression compression_of(const Arguments& call);

/// What changes a scenario that a command runs by a plan of its own.
void add_change_options(Syntax& syntax);

/// These, and what else changes a scenario.
void add_scenario_options(Syntax& syntax);

/// What these options say.
ScenarioChanges changes_of(const Arguments& call);

}  // namespace gradrace
