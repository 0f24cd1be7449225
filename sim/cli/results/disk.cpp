#include "sim/cli/results/disk.h"

#include <fcntl.h>
#include <unistd.h>

namespace gradrace {

bool sync_to_disk(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool synced = ::fsync(descriptor) == 0;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return synced;
}

}  // namespace gradrace
