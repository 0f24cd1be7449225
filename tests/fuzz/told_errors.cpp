#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/reading/problem.h"
#include "tests/fuzz/target.h"

namespace gradrace {

void unexpected(const std::string& what) { throw std::logic_error(what); }

void allow_told_errors(void (*read)(std::string_view bytes), std::string_view bytes) {
  try {
    read(bytes);
  } catch (const ScenarioError& error) {
    if (error.problems().empty()) unexpected("an error without a problem");
  } catch (const nlohmann::json::exception& error) {
    unexpected(std::string("an exception of the JSON library: ") + error.what());
  } catch (const std::runtime_error& error) {
    if (std::string_view(error.what()).empty()) unexpected("an error without words");
  }
}

void allow_out_of_memory(void (*read)(std::string_view bytes), std::string_view bytes) {
  try {
    read(bytes);
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace gradrace
