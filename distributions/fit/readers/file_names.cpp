#include "distributions/fit/readers/file_names.h"

#include <algorithm>
#include <set>

#include "distributions/fit/table.h"

namespace gradrace {

namespace fs = std::filesystem;

static std::string stem_of(const fs::path& file) {
  fs::path name = file.filename();
  for (const char* ending :
       {".gz", ".json", ".csv", ".tsv", ".jsonl", ".log", ".txt", ".trace", ".pt"}) {
    if (name.extension() == ending) name = name.stem();
  }
  return name.string();
}

std::vector<std::string> names_of_files(const std::vector<TraceText>& files) {
  std::vector<fs::path> paths;
  std::set<fs::path> different;
  for (const auto& one : files) {
    std::error_code ignored;
    const fs::path place = fs::weakly_canonical(one.file, ignored);
    if (!different.insert(place).second)
      throw TraceError("path", one.file.string() + ": is given twice");
    paths.push_back(place);
  }
  std::vector<std::string> names;
  for (const auto& path : paths) names.push_back(stem_of(path));
  std::vector<fs::path> folders;
  for (const auto& path : paths) folders.push_back(path.parent_path());
  const auto all_different = [&] {
    return std::set<std::string>(names.begin(), names.end()).size() == names.size();
  };
  while (!all_different()) {
    const bool as_endings =
        std::ranges::all_of(folders, [](const auto& folder) { return !folder.has_filename(); });
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (as_endings) names[i] = paths[i].string();
      names[i] = folders[i].has_filename() && !as_endings
                     ? folders[i].filename().string() + "/" + names[i]
                     : names[i];
      folders[i] = folders[i].parent_path();
    }
  }
  return names;
}

}  // namespace gradrace
