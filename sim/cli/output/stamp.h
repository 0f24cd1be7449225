#pragma once

#include <filesystem>

namespace gradrace {

/// Whether gradrace drew the file (a plot or a page) and nobody has changed, copied or renamed it
/// since: it ends with a checksum of what stands before and of its name (analysis/plots/stamp.py).
bool is_stamped(const std::filesystem::path& file);

}  // namespace gradrace
