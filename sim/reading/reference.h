#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/reading/fields.h"

namespace gradrace {

/// One key as the reference knows it, or one form of it: those of a key follow one another.
struct FieldPage {
  enum class Type {
    real,
    integer,
    flag,
    text,
    choice,
    reals,
    pairs,
    any_object,
    object,
    list,
    kind,
    kinds
  };
  std::string key;
  Type type;
  Need need;
  Range range = {};
  std::string default_value = {};  // as JSON text; empty without one
  std::string meaning = {};
  std::vector<std::string> allowed = {};  // of a choice; of pairs, what the two are
  std::vector<Range> ranges = {};         // of pairs
  std::string instead = {};               // of a number: of Key
  std::string catalog = {};               // of a kind and of kinds: "distributions"
  std::vector<FieldPage> fields = {};     // of an object, and of a list's items
};

/// Writes down the fields that a config visits: no values, no products.
class Reference : public Fields {
 public:
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
  void idle(std::string_view, bool, std::string, std::string) override {}
  bool has(std::string_view) const override { return false; }
  bool is(std::string_view, Form) const override { return true; }
  bool good() const override { return false; }

  const std::vector<FieldPage>& fields() const { return fields_; }

 private:
  FieldPage& add(std::string_view key, FieldPage::Type type, Need need, std::string_view meaning);
  void open(std::string_view key, FieldPage::Type type, Need need, std::string_view meaning);
  std::vector<FieldPage>& open_fields();
  std::vector<FieldPage> fields_;
  static constexpr auto item =
      static_cast<std::size_t>(-1);  // of a list: its fields are the list's
  std::vector<std::size_t> path_;    // indices of what is open
};

/// A number as JSON, whole ones without a fraction: "0", "0.1", "1e-05".
std::string json_number(double value);

/// "> 0", ">= 1", "1 to 8"; empty if anything is allowed.  `high`: what to write for the upper end,
/// else the number.  The largest 32-bit number is no upper end: it only says how the value is kept.
std::string range_text(const Range& range, std::string_view high = {});

/// mean (> 0), k (1 to cluster.learners, default 1): one line of a kind's parameters for `list`; of
/// a list's items the keys alone.
std::string parameters_line(const std::vector<FieldPage>& fields);

/// The JSON Schema (draft 7) of an object with these fields and no others; kinds refer to
/// "#/definitions/<catalog>". With a discriminator, the object also has that key with the constant
/// `kind`; it may lack it where it is the kind `otherwise`.
nlohmann::ordered_json object_schema(const std::vector<FieldPage>& fields,
                                     std::string_view discriminator = {},
                                     std::string_view kind = {}, std::string_view otherwise = {});

}  // namespace gradrace
