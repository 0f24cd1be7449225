#include "distributions/cluster/some_learners.h"

#include <algorithm>

namespace gradrace {

void visit_some_learners(Fields& fields, std::vector<std::uint32_t>& learners, std::uint32_t count,
                         Need need, std::string_view meaning) {
  std::vector<std::uint64_t> numbers;
  fields.integers(
      "learners", numbers, need,
      {.low = 0, .high = double(count), .high_allowed = false, .high_name = "cluster.learners"},
      meaning);
  if (fields.has("learners") && numbers.empty() && fields.good())
    fields.complain("learners", "must be at least one");
  learners.assign(numbers.begin(), numbers.end());
  std::ranges::sort(learners);
  learners.erase(std::unique(learners.begin(), learners.end()), learners.end());
}

}  // namespace gradrace
