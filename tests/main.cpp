#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>

#include "tests/skip.h"

namespace gradrace {

static bool skipped = false;

void note_skip(const std::string& reason) {
  std::cout << "skipped: " << reason << '\n';
  skipped = true;
}

std::filesystem::path data_folder(const std::string& name) {
  const char* root = std::getenv("GRADRACE_DATA");
  if (root == nullptr) return {};
  const auto folder = std::filesystem::absolute(root) / name;
  return std::filesystem::exists(folder) ? folder : std::filesystem::path{};
}

}  // namespace gradrace

int main(int argc, char** argv) {
  const int failures = doctest::Context(argc, argv).run();
  if (failures != 0) return failures;
  return gradrace::skipped ? 77 : 0;
}
