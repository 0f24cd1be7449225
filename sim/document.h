#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gradrace {

/// One complaint about a scenario.
struct Problem {
  std::string origin;    // "scenarios/bad.json", or "--set protocol.k=9"
  std::size_t line = 0;  // from 1; 0 where the origin has no lines
  std::size_t column = 0;
  std::string path;        // dotted: "protocol.k", "parts[0].mean"; empty for the whole file
  std::string what;        // "must be >= 1, got 0"
  std::string allowed;     // empty, or what would be right
  std::string suggestion;  // empty, or the nearest right name

  /// origin:line:column: error: path: what, then a line each for `allowed` and `did you mean
  /// "..."?`, both indented.
  std::string text() const;
};

/// Sorts by place, what has no line last, and keeps one of equals.
void sort_by_place(std::vector<Problem>& problems);

/// The user's mistakes, all of them, sorted by place.  what() is their texts, a line break between.
class ScenarioError : public std::runtime_error {
 public:
  explicit ScenarioError(std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

/// A JSON text that knows where each of its values stands, also after parts of it were replaced.
class Document {
 public:
  /// Throws ScenarioError for a syntax error, std::runtime_error if the file cannot be read.
  static Document read(const std::filesystem::path& file);
  static Document parse(std::string_view text, std::string origin);

  Document(const Document&);
  Document(Document&&) noexcept;
  Document& operator=(const Document&);
  Document& operator=(Document&&) noexcept;
  ~Document();

  const nlohmann::ordered_json& root() const;

  /// Keys that the text gives twice; a Reader tells them with its own problems.
  const std::vector<Problem>& problems() const;

  /// Replaces or adds the value at a dotted path ("cluster.runtime.mean"; a number selects from an
  /// array), making the objects on the way.  Its place is `origin`, without lines.  Throws
  /// ScenarioError if the path leads through something that is no object.
  void set(std::string_view dotted_path, const nlohmann::ordered_json& value, std::string origin);

  /// The same with a value of this document, found by its JSON pointer, which keeps its place: one
  /// value of a sweep.
  void set(std::string_view dotted_path, std::string_view pointer_to_value);

  /// Takes the value at a JSON pointer away, if it is there.
  void remove(std::string_view pointer);

  /// A problem at the key of the value with that JSON pointer (at the nearest value above if there
  /// is none).
  Problem problem(std::string_view pointer, std::string what) const;

  /// "/parts/0/mean" as "parts[0].mean".
  static std::string dotted(std::string_view pointer);

  /// The pointer to a key of the object at `pointer`: escapes "~" and "/".
  static std::string child(std::string_view pointer, std::string_view key);

 private:
  Document();
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace gradrace
