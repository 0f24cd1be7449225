#include "sim/reading/document.h"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "sim/reading/json_text.h"

namespace gradrace {

using nlohmann::ordered_json;

struct Document::Content {
  std::string origin;
  ordered_json root;
  Places places;
  std::vector<Problem> problems;

  void put(std::string_view path, ordered_json value, const Places& value_places);
};

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
  if (std::filesystem::is_directory(file)) refuse("it is a folder");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) refuse(std::generic_category().message(errno));
  return parse(text, file.string());
}

Document Document::parse(std::string_view text, std::string origin) {
  ParsedJson parsed = parse_json(text, origin);
  Document document;
  *document.content_ = {std::move(origin), std::move(*parsed.root), std::move(parsed.places),
                        std::move(parsed.problems)};
  return document;
}

void Document::Content::put(std::string_view path, ordered_json value, const Places& value_places) {
  const auto refuse = [&](std::string where, std::string what) {
    throw ScenarioError({problem_at(value_places.at(""), origin, std::move(where), what)});
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
        places[pointer] = value_places.at("");
      }
      at = &(*at)[key];
    } else {
      refuse(dotted_path(pointer), "expected an object, got " + at->dump());
    }
  }
  *at = std::move(value);
  put_subtree(places, pointer, value_places);
}

void Document::set(std::string_view path, const ordered_json& value, std::string origin) {
  content_->put(path, value, {{"", JsonPlace{0, 0, std::move(origin)}}});
}

void Document::set(std::string_view path, std::string_view pointer_to_value) {
  const ordered_json::json_pointer source{std::string(pointer_to_value)};
  Places places = subtree(content_->places, pointer_to_value);
  places.try_emplace("", place_of(content_->places, pointer_to_value));
  content_->put(path, content_->root.at(source), places);
}

Document Document::part(std::string_view key) const {
  const std::string pointer = child_pointer("", key);
  Document document;
  *document.content_ = {content_->origin,
                        content_->root.at(std::string(key)),
                        subtree(content_->places, pointer),
                        {}};
  return document;
}

Problem Document::problem(std::string_view pointer, std::string what) const {
  return problem_at(place_of(content_->places, pointer), content_->origin, dotted_path(pointer),
                    std::move(what));
}

}  // namespace gradrace
