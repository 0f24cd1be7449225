#include "tests/support/temporary_folder.h"

#include <stdlib.h>
#include <zlib.h>

#include <fstream>
#include <stdexcept>

namespace gradrace {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "gradrace-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = fs::canonical(name);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void TemporaryFolder::write(const std::string& name, const std::string& content) const {
  fs::create_directories((path_ / name).parent_path());
  std::ofstream(path_ / name, std::ios::binary) << content;
}

void TemporaryFolder::write_gz(const std::string& name, const std::string& content) const {
  const gzFile file = gzopen((path_ / name).c_str(), "wb");
  const int written = gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  if (gzclose(file) != Z_OK || written != static_cast<int>(content.size()))
    throw std::runtime_error("gzip");
}

}  // namespace gradrace
