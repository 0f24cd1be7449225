#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "distributions/fit/table.h"

namespace gradrace {

/// Of names that differ by a number alone: what is before it, and how many digits they have.
struct Numbered {
  std::string stem;
  std::map<std::size_t, std::size_t> names;  // [digits] how many
};

/// The first of several such among the names; an empty stem: there are none.
Numbered numbered_in(const std::vector<std::string>& names);

/// --column options that choose these among the names, and no other.
std::string options_for(const Numbered& numbered, const std::vector<std::string>& names);

/// Where no column of times is found by its name: "; or, ..." for each option that may find them.
std::string hints_of_times(const Table& table);

}  // namespace gradrace
