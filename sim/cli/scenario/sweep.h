#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/reading/document.h"
#include "sim/reading/locator.h"

namespace gradrace {

/// The points that the key "sweep" of a document makes: dotted path -> list of values, the
/// Cartesian product of them, the first path slowest; the lists in "zip" walk in parallel, as one.
class Sweep {
 public:
  /// The document and the locator of its files must outlive it.
  Sweep(const Document& base, const Locator& locator);

  /// What is wrong with the sweep itself; then points() is 1 or counts what is right.
  const std::vector<Problem>& problems() const { return problems_; }

  /// 1 without a sweep.
  std::size_t points() const;

  std::vector<std::string> paths() const;

  /// The document of one point; `values`: what paths() are there, as CSV has it.
  Document document(std::size_t number, std::vector<std::string>& values) const;

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

  void add_axis(const std::string& where, const nlohmann::ordered_json& lists, bool zip);
  bool is_set_already(const std::string& path, const Axis& axis) const;
  bool allowed(const std::string& path, const std::string& pointer, const Axis& axis);
  void complain(const std::string& pointer, std::string what);

  const Document& base_;
  const Locator& locator_;
  std::vector<Axis> axes_;
  std::vector<Problem> problems_;
};

}  // namespace gradrace
