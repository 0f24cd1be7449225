#include "sim/reading/locator.h"

#include <doctest/doctest.h>

#include "tests/support/temporary_folder.h"

namespace gradrace::locator_test {

TEST_CASE("locator: a path starts at the scenario, then its last one or two parts at the data") {
  const TemporaryFolder folder;
  folder.write("scenarios/x.json", "");
  folder.write("data/mnist/a", "");
  folder.write("elsewhere/digits/a", "");
  folder.write("elsewhere/traces/a.csv", "");
  const Locator locator(folder.path() / "scenarios", folder.path() / "elsewhere");
  const auto found = [&](const std::string& name) { return locator.find(name).found; };
  CHECK(found("../data/mnist") == folder.path() / "data/mnist");
  CHECK(found("../data/mnist/") == folder.path() / "data/mnist");
  CHECK(found("../data/digits") == folder.path() / "elsewhere/digits");
  CHECK(found("../data/digits/") == folder.path() / "elsewhere/digits");
  CHECK(found("/nowhere/digits") == folder.path() / "elsewhere/digits");
  CHECK(found("../data/traces/a.csv") == folder.path() / "elsewhere/traces/a.csv");
  CHECK(found("a.csv").empty());
  CHECK(found((folder.path() / "data/mnist").string()) == folder.path() / "data/mnist");
  CHECK(found("../data/cifar").empty());
  CHECK(found("..") == folder.path());
  CHECK(found("").empty());
  const Location location = locator.find("../cifar");
  CHECK(location.name == "../cifar");
  CHECK(location.looked_at ==
        (folder.path() / "cifar").string() + ", " + (folder.path() / "elsewhere/cifar").string());
  CHECK(locator.find("../data/cifar").looked_at.ends_with("elsewhere/data/cifar"));
}

TEST_CASE("locator: without a data folder there is one place, without any it is the working one") {
  const TemporaryFolder folder;
  const Location location = Locator(folder.path()).find("x");
  CHECK(location.found.empty());
  CHECK(location.looked_at ==
        (folder.path() / "x").string() + "; --data or GRADRACE_DATA name a data folder");
  CHECK(Locator().find("scenarios").found == std::filesystem::canonical("scenarios"));
}

}  // namespace gradrace::locator_test
