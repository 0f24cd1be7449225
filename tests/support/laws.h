#pragma once

#include <string>
#include <vector>

#include "distributions/catalog.h"
#include "sim/reading/document.h"

namespace gradrace {

/// What a scenario's reader makes of {"runtime": json} in scenarios/: the law, or what is wrong
/// with it.
struct ReadLaw {
  DistributionProduct law;
  std::vector<Problem> problems;
};
ReadLaw read_law(const std::string& json);

/// The law of valid JSON; anything else fails the test.
DistributionProduct law_of(const std::string& json);

/// The examples of the whole catalog, and more parameters of every family.
const std::vector<std::string>& many_laws();

}  // namespace gradrace
