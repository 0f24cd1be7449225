#pragma once

#include <cstddef>
#include <thread>
#include <vector>

#include "models/cpu/crew.h"

namespace gradrace {

/// work(crew) by member 0 of so many, while the others help.
template <class Work>
void with_helpers(std::size_t members, const Work& work) {
  Crew crew(members);
  std::vector<std::jthread> others;
  for (std::size_t member = 1; member < members; ++member)
    others.emplace_back([&crew, member] { crew.help(member); });
  while (crew.helpers() < members - 1) std::this_thread::yield();
  work(crew);
  crew.help(0);
}

}  // namespace gradrace
