#include "sim/cli/output/files_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <set>
#include <system_error>

#include "sim/cli/output/disk.h"
#include "sim/cli/standard_streams.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

void lock(int descriptor, const fs::path& folder) {
  const auto is_held_by_another = [&] {
    return try_to_lock(descriptor, LOCK_EX, folder) == LockResult::held_by_another;
  };
  if (!is_held_by_another()) return;
  tell_note(folder.string() + ": waits for another call that publishes or draws there");
  while (is_held_by_another())
    if (::usleep(20'000) != 0) throw WaitEnded();
}

}  // namespace

FilesLock::FilesLock(const std::vector<fs::path>& folders) {
  std::set<fs::path> places;  // each once, and in one order for all calls
  std::error_code ignored;
  for (const auto& folder : folders) places.insert(fs::weakly_canonical(folder, ignored));
  for (const auto& place : places) {
    const int descriptor = ::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) continue;
    descriptors_.push_back(descriptor);
    lock(descriptor, place);
  }
}

FilesLock::~FilesLock() {
  for (const int descriptor : descriptors_) ::close(descriptor);
}

}  // namespace gradrace
