#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/reading/problem.h"

namespace gradrace {

/// A JSON text that knows where each of its values stands, also after parts of it were replaced.
/// Copies share the text's places.
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
  void set(std::string_view path, const nlohmann::ordered_json& value, std::string origin);

  /// The same with a value of this document, found by its JSON pointer, which keeps its place: one
  /// value of a sweep.
  void set(std::string_view path, std::string_view pointer_to_value);

  /// Another value in place of the one with that JSON pointer: it, and all that is in it, stands
  /// where that stood.
  void replace(std::string_view pointer, nlohmann::ordered_json value);

  /// The value with that JSON pointer as a document of its own, whose pointers start there.
  Document part(std::string_view pointer) const;

  /// From now on root() has an empty object at this key, which it has already: set() still takes
  /// values of the one that stood there, which copies of the document share.
  void set_aside(std::string_view key);

  /// A problem at the key of the value with that JSON pointer (at the nearest value above if there
  /// is none).
  Problem problem(std::string_view pointer, std::string what) const;
  /// The same at a dotted path in a file, or without a line where that is none, as standard input.
  static Problem problem_in(const std::filesystem::path& file, std::string path, std::string what);

 private:
  Document();
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace gradrace
