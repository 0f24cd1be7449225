#include "sim/reading/foreign_json.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "sim/reading/json_text.h"

namespace gradrace {

using Json = nlohmann::ordered_json;

nlohmann::ordered_json foreign_json(std::string_view text) {
  constexpr int deepest_nesting = 210;  // a scenario's 200, and what it stands in
  struct TooMuch {};
  std::vector<std::size_t> keys(1);  // [depth], of the object that is open there
  try {
    return Json::parse(
        text,
        [&](int depth, Json::parse_event_t event, Json&) {
          if (depth > deepest_nesting) throw TooMuch();
          keys.resize(static_cast<std::size_t>(depth) + 1);
          if (event == Json::parse_event_t::key && ++keys.back() > most_keys_of_an_object)
            throw TooMuch();
          return true;
        },
        false);
  } catch (const TooMuch&) {
    return Json(Json::value_t::discarded);
  }
}

}  // namespace gradrace
