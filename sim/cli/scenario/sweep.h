#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/reading/document.h"
#include "sim/reading/locator.h"
#include "sim/results/swept_value.h"

namespace gradrace {

/// Whether a dotted path is that one, or goes on where it ends.
bool is_within(std::string_view path, std::string_view part);

/// Whether the path is in one of the parts of a scenario that can be swept.
bool is_sweepable(std::string_view path);

/// What `list` says of the key "sweep": paragraphs, and lines that begin with a space.
extern const std::string_view sweep_page;

/// The points that the key "sweep" of a document makes: dotted path -> list of values, the
/// Cartesian product of them, the first path slowest; the lists in "zip" walk in parallel, as one.
/// A list may be written by its ends: SpacedValues.
class Sweep {
 public:
  /// The document and the locator of its files must outlive it.
  Sweep(const Document& base, const Locator& locator);

  /// What is wrong with the sweep itself; then points() is 1 or counts what is right.
  const std::vector<Problem>& problems() const { return problems_; }

  /// 1 without a sweep.
  std::size_t points() const;

  std::vector<std::string> paths() const;

  /// The document of one point; `settings`: what paths() are there.
  Document document(std::size_t number, std::vector<SweptValue>& settings) const;

  /// Where the value stands (its JSON pointer) that would be at the path if the sweep did not set
  /// it nor what is further in: that of the file or a part of what an earlier path sets.  None if
  /// there is none.
  std::optional<std::string> covered(const std::string& path, std::size_t number) const;

  /// The document of the point with that value.
  Document without(const std::string& path, std::size_t number) const;

  /// The swept path that sets what is at the path, at every point; null: none does.
  const std::string* covers(std::string_view path) const;

  /// A scenario that makes the same points, from the first point's resolved document: what the
  /// sweep sets is put back as it was written (the defaults of a part that a sweep chooses differ
  /// between points); paths are absolute.
  nlohmann::ordered_json resolved(const nlohmann::ordered_json& first) const;

 private:
  /// One path, or several that walk in parallel.
  struct Axis {
    std::vector<std::string> paths;
    std::vector<std::string> pointers;  // of the lists
    std::size_t length = 0;
  };

  /// A path at one point, and the JSON pointer of the value that it is set to.
  struct Place {
    std::string path, pointer;
  };
  std::vector<Place> places(std::size_t number) const;

  /// The length of the list at the pointer, after it was written out; 0 if it is none.
  std::size_t length_of(const std::string& pointer, const nlohmann::ordered_json& list);
  void add_axis(const std::string& where, const nlohmann::ordered_json& lists, bool zip);
  bool is_set_already(const std::string& path, const Axis& axis) const;
  bool has_keys_above(const std::string& path, const Axis& axis) const;
  bool allowed(const std::string& path, const std::string& pointer, const Axis& axis);
  void complain(const std::string& pointer, std::string what, std::string allowed = {});

  const Document& base_;
  Document whole_;  // with every list written out
  Document frame_;  // without them
  const Locator& locator_;
  std::vector<Axis> axes_;
  std::vector<Problem> problems_;
};

}  // namespace gradrace
