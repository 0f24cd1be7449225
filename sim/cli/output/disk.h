#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace gradrace {

/// The disk refuses what is to be written or read; its text names the file.
struct DiskError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A file is on disk; false: errno says why it is not.
bool sync_to_disk(const std::filesystem::path& file);

/// The names in a folder are on disk, or it is left to the system, where the folder may not be read
/// or its file system cannot do that; false: errno says why they are not.
bool sync_folder(const std::filesystem::path& folder);

/// Of ::flock, which is called again where a signal interrupts it.
enum class LockResult { held, held_by_another, no_locks };
/// LOCK_NB is added.  DiskError, which names the file, where the disk refuses; no_locks where the
/// file system has none: errno says how it told that.
LockResult try_to_lock(int descriptor, int operation, const std::filesystem::path& file);

/// UsageError: results are not written through a link there.
[[noreturn]] void refuse_link(const std::filesystem::path& file);

/// The first of file.1, file.2 ... that is not there.
std::filesystem::path free_name(const std::filesystem::path& file);

/// To read from its start; not open where it is no file, as a pipe, which would not end.
std::ifstream opened_file(const std::filesystem::path& file);
/// All of it; empty where it is no file.
std::string text_of_file(const std::filesystem::path& file);

/// A file takes the place of another one of the same file system, whole; of a link, the place of
/// the link.  DiskError where it cannot.
void move_to_place(const std::filesystem::path& file, const std::filesystem::path& place);

/// Removes a file, if it is there; of a link, the link.  DiskError where it cannot.
void remove_file(const std::filesystem::path& file);

/// All bytes from or to a byte of the file, by ::pread or ::pwrite; false: errno says why not.
template <class Move, class Bytes>
bool move_all(Move move, int descriptor, Bytes* bytes, std::size_t count, std::uint64_t offset) {
  while (count > 0) {
    const ssize_t moved = move(descriptor, bytes, count, static_cast<off_t>(offset));
    if (moved < 0 && errno == EINTR) continue;
    if (moved == 0) errno = EIO;
    if (moved <= 0) return false;
    bytes += moved;
    offset += static_cast<std::uint64_t>(moved);
    count -= static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace gradrace
