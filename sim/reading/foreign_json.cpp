#include "sim/reading/foreign_json.h"

#include <nlohmann/json.hpp>

namespace gradrace {

using Json = nlohmann::ordered_json;

nlohmann::ordered_json foreign_json(std::string_view text) {
  constexpr int deepest_nesting = 210;  // a scenario's 200, and what it stands in
  struct TooDeep {};
  try {
    return Json::parse(
        text,
        [](int depth, Json::parse_event_t, Json&) {
          if (depth > deepest_nesting) throw TooDeep();
          return true;
        },
        false);
  } catch (const TooDeep&) {
    return Json(Json::value_t::discarded);
  }
}

}  // namespace gradrace
