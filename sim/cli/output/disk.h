#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gradrace {

/// The disk refuses what is to be written or read; its text names the file.
struct DiskError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// path, as shown(): cannot be `what`: as errno says.
[[noreturn]] void fail_on_disk(const std::filesystem::path& path, const char* what);

/// A file or a folder that is open.  DiskError where the disk refuses.
class File {
 public:
  enum class Lock { held, held_by_another, none };  // none: the file system has no locks

  /// flags: of ::open, O_CLOEXEC is added.  Not open where that refuses: errno says why.
  File(std::filesystem::path path, int flags, unsigned mode = 0666);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  std::uint64_t size() const;
  /// Where the first byte is, from there on, that is in no hole of the file; its size where there
  /// is none.
  std::uint64_t next_data(std::uint64_t place) const;
  void read(std::uint64_t place, char* bytes, std::size_t count) const;
  std::string text(std::uint64_t place, std::size_t count) const;
  void write(std::uint64_t place, std::string_view bytes);
  void cut(std::uint64_t size);
  void sync();

  /// operation: of ::flock, LOCK_NB is added; again where a signal interrupts it.  Where there are
  /// no locks, errno says how the system told that.
  Lock lock(int operation) const;

  /// Whether its path leads to it still; of a link, only where `follows`.
  bool is_in_place(bool follows = false) const;

  [[noreturn]] void fail(const char* what) const { fail_on_disk(path_, what); }

 private:
  const std::filesystem::path path_;
  const int descriptor_;
};

/// A folder that is open: what is below place() is in it, whatever its name has come to lead to.
class Folder : public File {
 public:
  /// Not open where the system refuses, or where it is a link and not `follows`: errno says why.
  Folder(const std::filesystem::path& path, bool follows);
  ~Folder();

  const std::filesystem::path& place() const { return place_; }

 private:
  std::filesystem::path place_;
};

/// As the user knows it: a path below the place of a Folder by that folder's own path.
std::filesystem::path shown(const std::filesystem::path& path);

/// A file is on disk; the names in a folder are, or it is left to the system, where the folder may
/// not be read or its file system cannot do that.
void sync_file(const std::filesystem::path& file);
void sync_folder(const std::filesystem::path& folder);

/// UsageError: results are not written through a link there.
[[noreturn]] void refuse_link(const std::filesystem::path& file);

/// The first of file.1, file.2 ... that is not there.
std::filesystem::path free_name(const std::filesystem::path& file);

/// To read from its start; not open where it is no file, as a pipe, which would not end.
std::ifstream opened_file(const std::filesystem::path& file);
/// All of it; empty where it is no file.
std::string text_of_file(const std::filesystem::path& file);

/// A file takes the place of another one of the same file system, whole; of a link, the place of
/// the link.  DiskError where it cannot, here and below.
void move_to_place(const std::filesystem::path& file, const std::filesystem::path& place);

/// The text takes the place of a file, whole, by way of a file of the same file system.
void put_in_place(std::string_view text, const std::filesystem::path& aside,
                  const std::filesystem::path& place);

/// On disk, with its holes; no copy stays where that fails.
void copy_whole(const File& from, const std::filesystem::path& copy);

/// Removes a file, if it is there; of a link, the link.
void remove_file(const std::filesystem::path& file);

}  // namespace gradrace
