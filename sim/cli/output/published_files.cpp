#include "sim/cli/output/published_files.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/cli/output/disk.h"
#include "sim/hash.h"
#include "sim/reading/foreign_json.h"
#include "sim/results/points_text.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

Json json_in(const fs::path& path) {
  if (fs::is_regular_file(path) && !opened_file(path).is_open()) fail_on_disk(path, "read");
  return foreign_json(without_points(text_of_file(path)));
}

/// Of gradrace.
bool is_record(const Json& found, const char* key) {
  return found.is_object() && found.contains(key) && found.contains("files") &&
         found["files"].is_object();
}

}  // namespace

std::string hash_of_file(const fs::path& file) {
  std::ifstream stream = opened_file(file);
  std::vector<std::uint64_t> words(1 << 13);
  Hash hash;
  std::uint64_t size = 0;
  while (stream) {
    words.back() = 0;
    auto* const bytes = reinterpret_cast<char*>(words.data());
    stream.read(bytes, static_cast<std::streamsize>(words.size() * sizeof words[0]));
    const auto count = static_cast<std::size_t>(stream.gcount());
    const std::size_t whole = (count + sizeof words[0] - 1) / sizeof words[0];
    std::memset(bytes + count, 0, whole * sizeof words[0] - count);
    for (std::size_t i = 0; i < whole; ++i) hash.add(words[i]);
    size += count;
  }
  hash.add(size);
  return stream.is_open() && !stream.bad() ? hash.hex() : "";
}

PublishedFiles::PublishedFiles(fs::path folder, const fs::path& aside)
    : folder_(std::move(folder)), note_(aside / "publishing.json") {
  for (const auto& [name, key, of] : record_files) {
    const Json found = json_in(folder_ / name);
    if (!record_.empty() || !is_record(found, key)) continue;
    record_ = name;
    for (const auto& [file, hash] : found["files"].items())
      if (hash.is_string()) named_.emplace(file, hash);
  }
  const Json note = json_in(note_);
  if (!note.is_object()) return;
  for (const auto& [file, hashes] : note.items())
    for (const auto& hash : hashes)
      if (hash.is_string()) noted_.emplace(file, hash);
}

bool PublishedFiles::has(const std::string& file) const {
  if (record_.empty()) return has_unchanged(file);
  return file == record_ || named_.contains(file);
}

bool PublishedFiles::has_unchanged(const std::string& file) const {
  if (!record_.empty())
    return named_.contains(file) && named_.at(file) == hash_of_file(folder_ / file);
  const auto [first, last] = noted_.equal_range(file);
  return first != last &&
         std::any_of(first, last, [hash = hash_of_file(folder_ / file)](const auto& noted) {
           return noted.second == hash;
         });
}

std::string PublishedFiles::changed() const {
  for (const auto& [file, hash] : named_)
    if (hash != hash_of_file(folder_ / file)) return file;
  return {};
}

void PublishedFiles::note(const Hashes& coming) const {
  Json note = Json::object();
  const auto add = [&](const auto& hashes) {
    for (const auto& [file, hash] : hashes) note[file].push_back(hash);
  };
  add(coming);
  if (record_.empty())
    add(noted_);
  else
    add(named_);
  fs::path aside = note_;
  aside += ".new";
  put_in_place(note.dump(), aside, note_);
  sync_folder(note_.parent_path());
}

void PublishedFiles::forget() const {
  std::error_code ignored;
  fs::remove(note_, ignored);
}

}  // namespace gradrace
