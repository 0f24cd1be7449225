#include "sim/reading/document.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "sim/reading/json_text.h"
#include "sim/reading/no_text.h"
#include "sim/reading/rest_of.h"

namespace gradrace {

using nlohmann::ordered_json;

namespace {

/// What a file or the command line says.
struct Text {
  std::string origin;
  Places places;
};

/// A value that is not where the text has it.
struct Put {
  std::string pointer = {};  // where it is
  std::string origin = {};   // of a value from outside, which has no lines; else empty
  std::string source = {};   // where the value stands that it is a copy of
  bool made = false;         // it is no copy: all that is in it stands there, too
};

struct Standing {
  JsonPlace place;
  const std::string* origin;
};

}  // namespace

struct Document::Content {
  std::shared_ptr<const Text> text;
  ordered_json root;
  std::vector<Problem> problems = {};
  std::vector<Put> puts = {};  // a later one replaces earlier ones further in
  std::string aside_key = {};
  std::shared_ptr<const ordered_json> aside = {};  // what stood at that key

  /// Where a value stands, or the nearest above, after the first `count` puts.
  Standing standing(std::string_view pointer, std::size_t count) const;
  const ordered_json& value_at(std::string_view pointer) const;
  /// `value`: what stands there, all but its pointer.
  void put(std::string_view path, ordered_json value, Put at);
};

Standing Document::Content::standing(std::string_view pointer, std::size_t count) const {
  while (count-- > 0) {
    const Put& put = puts[count];
    if (!is_at(pointer, put.pointer)) continue;
    if (!put.origin.empty()) return {{}, &put.origin};
    if (put.made) return standing(put.source, count);
    return standing(put.source + std::string(pointer.substr(put.pointer.size())), count);
  }
  return {place_of(text->places, pointer), &text->origin};
}

const ordered_json& Document::Content::value_at(std::string_view pointer) const {
  const std::string aside_pointer = child_pointer("", aside_key);
  if (!aside || !is_at(pointer, aside_pointer))
    return root.at(ordered_json::json_pointer(std::string(pointer)));
  return aside->at(ordered_json::json_pointer(std::string(pointer.substr(aside_pointer.size()))));
}

Document::Document() : content_(std::make_unique<Content>()) {}
Document::Document(const Document& other) : content_(std::make_unique<Content>(*other.content_)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(const Document& other) {
  if (this != &other) content_ = std::make_unique<Content>(*other.content_);
  return *this;
}
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

const ordered_json& Document::root() const { return content_->root; }
const std::vector<Problem>& Document::problems() const { return content_->problems; }

Document Document::read(const std::filesystem::path& file) {
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error("cannot read " + file.string() + ": " + why);
  };
  std::error_code ignored;
  const auto status = std::filesystem::status(file, ignored);
  if (std::filesystem::is_directory(status)) refuse("it is a folder");
  // What a shell makes of <(...) stands in /dev or /proc, and somebody writes to it.
  const std::string name = file.string();
  if (std::filesystem::is_fifo(status) && !name.starts_with("/dev/") && !name.starts_with("/proc/"))
    refuse("it is a pipe, and not a file; a scenario from a pipe is read by the name -");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text = rest_of(stream);
  if (!stream.is_open() || stream.bad()) refuse(std::generic_category().message(errno));
  return parse(text, file.string());
}

Document Document::parse(std::string_view text, std::string origin) {
  if (const auto other = no_text(text, origin))
    throw ScenarioError(
        {{.origin = origin, .path = {}, .what = other->what, .allowed = other->allowed}});
  ParsedJson parsed = parse_json(text, origin);
  Document document;
  document.content_->text =
      std::make_shared<const Text>(Text{std::move(origin), std::move(parsed.places)});
  document.content_->root = std::move(*parsed.root);
  document.content_->problems = std::move(parsed.problems);
  return document;
}

void Document::Content::put(std::string_view path, ordered_json value, Put put) {
  const std::size_t before = puts.size();
  const auto refuse = [&](std::string where, std::string what) {
    const Standing of_value =
        put.origin.empty() ? standing(put.source, before) : Standing{{}, &put.origin};
    throw ScenarioError({problem_at(of_value.place, *of_value.origin, std::move(where), what)});
  };
  ordered_json* at = &root;
  std::string pointer;
  for (const auto token : split(path, '.')) {
    if (token.empty()) refuse("", "\"" + std::string(path) + "\" is no path of keys");
    if (at->is_array()) {
      const auto index = array_index(token);
      if (!index || *index >= at->size())
        refuse(dotted_path(pointer), "has no item " + std::string(token) + ", its length is " +
                                         std::to_string(at->size()));
      pointer += "/" + std::to_string(*index);
      at = &(*at)[*index];
    } else if (at->is_object()) {
      pointer = child_pointer(pointer, token);
      const std::string key(token);
      if (!at->contains(key)) {
        (*at)[key] = ordered_json::object();
        puts.push_back({pointer, put.origin, put.source, true});
      }
      at = &(*at)[key];
    } else {
      refuse(dotted_path(pointer), "expected an object, got " + at->dump());
    }
  }
  *at = std::move(value);
  put.pointer = std::move(pointer);
  puts.push_back(std::move(put));
}

void Document::set(std::string_view path, const ordered_json& value, std::string origin) {
  content_->put(path, value, {.origin = std::move(origin)});
}

void Document::set(std::string_view path, std::string_view pointer_to_value) {
  content_->put(path, content_->value_at(pointer_to_value),
                {.source = std::string(pointer_to_value)});
}

void Document::replace(std::string_view pointer, ordered_json value) {
  const std::string at(pointer);
  content_->root.at(ordered_json::json_pointer(at)) = std::move(value);
  content_->puts.push_back({.pointer = at, .source = at, .made = true});
}

Document Document::part(std::string_view pointer) const {
  const std::string source(pointer);
  Document part;
  part.content_->text = content_->text;
  part.content_->root = content_->value_at(pointer);
  part.content_->puts = content_->puts;
  part.content_->puts.push_back({.source = source});
  return part;
}

void Document::set_aside(std::string_view key) {
  ordered_json& value = content_->root.at(std::string(key));
  content_->aside_key = key;
  content_->aside =
      std::make_shared<const ordered_json>(std::exchange(value, ordered_json::object()));
}

Problem Document::problem(std::string_view pointer, std::string what) const {
  const Standing found = content_->standing(pointer, content_->puts.size());
  return problem_at(found.place, *found.origin, dotted_path(pointer), std::move(what));
}

Problem Document::problem_in(const std::filesystem::path& file, std::string path,
                             std::string what) {
  if (std::filesystem::is_regular_file(file))
    return read(file).problem(pointer_along(path), std::move(what));
  return {.origin = file.string(), .path = std::move(path), .what = std::move(what)};
}

}  // namespace gradrace
