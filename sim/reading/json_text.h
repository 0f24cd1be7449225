#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/reading/json_places.h"

namespace gradrace {

/// What is asked of keys takes time for each other key of the object.
inline constexpr std::size_t most_keys_of_an_object = 10'000;

/// What a JSON text says, and where.  nlohmann-json 3.11 keeps no places itself.
struct ParsedJson {
  ParsedJson();
  ~ParsedJson();
  ParsedJson(ParsedJson&&) noexcept;

  std::unique_ptr<nlohmann::ordered_json> root;
  Places places;
  std::vector<Problem> problems;  // keys given twice
};

/// Throws ScenarioError for a syntax error.
ParsedJson parse_json(std::string_view text, const std::string& origin);

}  // namespace gradrace
