#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/output/compressed_file.h"
#include "sim/cli/output/locks.h"
#include "sim/cli/output/published_files.h"
#include "sim/cli/output/spool.h"

namespace gradrace {

/// What a command writes into a folder.
struct Files {
  std::string record;                       // comes last, and names the others
  std::set<std::string> names;              // of the others, all that there may be
  std::set<std::string> compressible = {};  // some of these
  bool takes_unknown = false;               // those that no record names are replaced

  /// With the record, and with the endings of compressed files.
  std::set<std::string> forms() const;
  /// The first of forms() that is in the folder; empty: none.
  std::string first_in(const std::filesystem::path& folder) const;
};

/// Of files aside that a call removes which another one left.
inline constexpr std::string_view temporary_ending = ".new";

/// The files of results of an output folder, which is locked.  They are written aside, in a hidden
/// folder, and moved to their places by publish(): a file appears whole or not at all, and what was
/// there stays until then.
class OutputFolder {
 public:
  /// UsageError when another process has the folder, or this shard of it.
  OutputFolder(std::filesystem::path folder, Files files, const std::string& shard = "");
  /// UsageError, too, when the folder holds results of another command, or files of these names
  /// that gradrace did not make, or results that may not be overwritten; those that a call had half
  /// published may.
  OutputFolder(std::filesystem::path folder, Files files, bool overwrite);
  ~OutputFolder();

  const std::filesystem::path& path() const { return folder_; }
  /// The folder, wherever its path has come to lead.
  const std::filesystem::path& place() const { return in_; }

  /// Of the files that may be compressed; before the first append().
  void compress(Compression compression) { compression_ = compression; }
  /// Whether the folder has a file that append() would now name otherwise.
  bool has_other_forms() const;

  /// Adds text to a file, whose name gets the ending of its compression; std::runtime_error if the
  /// disk refuses.
  void append(const std::string& file, std::string_view text);

  /// Ends the files so far; their names, with the endings of their compression.
  const std::set<std::string>& close();
  /// A file aside takes the place of one that has ended, which is removed.
  void replace(const std::string& file, const std::string& with);
  /// Hashes of the files so far, to which nothing is added any more: [name with its ending].
  PublishedFiles::Hashes finish();

  /// For what comes before its place in a file; ends with the folder.
  SpoolFile& spool_file() { return spool_file_; }
  /// Where files are that are not whole.
  const std::filesystem::path& aside() const { return aside_; }

  /// UsageError where append() and publish(), of such files, would take the place of one that is
  /// not of the results of runs in the folder.
  void refuse_others(const std::set<std::string>& files) const;

  /// Moves every file to its place and makes sure that it is on disk, the manifest last; removes
  /// the other results that the manifest before names, and what was drawn of them, except files
  /// that were changed since.  What takes their place gives these, and files that nothing names,
  /// other names, and the user is told.  Whether anything was drawn.  UsageError, as above, and
  /// nothing is changed.
  bool publish();

 private:
  PublishedFiles published() const;
  std::vector<std::string> old_results(const PublishedFiles& there) const;
  void keep_others(const PublishedFiles& there, const PublishedFiles::Hashes& coming) const;
  void remove_unfinished();
  bool remove_drawings() const;
  Compression compression_of(const std::string& file) const;

  const std::filesystem::path folder_;
  const Files of_;
  const bool is_shard_;
  const FolderLock lock_;
  const std::filesystem::path &in_ = lock_.place(), &aside_ = lock_.aside();
  Compression compression_ = Compression::none;
  std::map<std::string, CompressedFile> files_;  // open: [name without the ending]
  std::set<std::string> closed_;                 // names
  PublishedFiles::Hashes hashes_;                // of those that finish() has told
  SpoolFile spool_file_;
};

}  // namespace gradrace
