#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/reading/document.h"
#include "sim/reading/fields.h"

namespace gradrace {

/// A key that the document has and that may say nothing: see Fields::idle().
struct ExaminedKey {
  std::string pointer;  // JSON pointer of its value
  Problem problem;      // if it says nothing
  bool says_nothing;
};

/// Reads a document into the structs whose fields are visited; notes every problem and goes on.
/// Writes down the resolved document on the way: the same with every default filled in, in the
/// order of visiting.  A value with a problem is left as it is.  The document must outlive the
/// reader.
class Reader : public Fields {
 public:
  /// `locator`: finds the files that the document names.
  explicit Reader(const Document& document, Locator locator = Locator());
  ~Reader() override;

  void visit(const Key& key, Variable variable) override;
  void path(std::string_view key, Location& location, Need need, std::string_view meaning) override;
  void pairs(std::string_view key, std::vector<std::array<double, 2>>& values, Need need,
             const PairPart& first, const PairPart& second, std::string_view meaning) override;
  void any_object(std::string_view key, std::string& json, std::string_view meaning) override;
  bool open(std::string_view key, Need need, std::string_view meaning) override;
  std::optional<std::size_t> open_kind(std::string_view key, const Kinds& kinds, Need need,
                                       std::string_view meaning) override;
  std::size_t open_kinds(std::string_view key, const Kinds& kinds, Need need,
                         std::string_view meaning) override;
  std::optional<std::size_t> next_kind(std::size_t index) override;
  std::size_t open_list(std::string_view key, Need need, std::string_view meaning) override;
  void open_item(std::size_t index) override;
  void close() override;
  void complain(std::string_view key, std::string what, std::string allowed = {}) override;
  void lacks(std::string_view key, const MissingPlace& place) override;
  void idle(std::string_view key, bool says_nothing, std::string what,
            std::string allowed = {}) override;
  bool has(std::string_view key) const override;
  bool is(std::string_view key, Form form) const override;
  bool good() const override;

  /// A key of the open object that is read elsewhere ("$schema", "sweep"): not unknown, copied to
  /// the resolved document.
  void pass(std::string_view key);

  /// Ends the root object.  All problems found, the document's own among them, sorted by place;
  /// empty when the document is fine.
  std::vector<Problem> finish();

  /// Not among the problems of finish().
  const std::vector<ExaminedKey>& examined() const;

  /// JSON pointers of the keys that are not there, and of the numbers, flags and words that are,
  /// with the value that they would have anyway.
  const std::vector<std::string>& defaults() const;

  /// Complete when finish() found nothing.
  const nlohmann::ordered_json& resolved() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gradrace
