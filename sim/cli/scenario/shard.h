#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradrace {

/// A part of a scenario's runs: number `number` of `of`, from 1.
struct Shard {
  unsigned number = 1, of = 1;

  /// "3/7" as --shard has it; none where it is none.
  static std::optional<Shard> from(std::string_view text);
  /// "3-of-7" in the name of a file.
  static std::optional<Shard> from_file_name(std::string_view text);

  std::string text() const { return std::to_string(number) + "/" + std::to_string(of); }
  std::string file_name() const { return std::to_string(number) + "-of-" + std::to_string(of); }
};

/// The shard's runs, in order.  work: estimated, [run].  Each run, the longest first, goes to the
/// shard that has the least to do so far (Graham, 1969); work is rounded to a quarter of a power of
/// two before, so that last digits of estimates, which may differ between machines, hardly matter.
std::vector<std::size_t> runs_of(const Shard& shard, const std::vector<double>& work);

}  // namespace gradrace
