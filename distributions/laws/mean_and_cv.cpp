#include "distributions/laws/mean_and_cv.h"

#include <string>

namespace gradrace {

std::optional<MeanAndCv> visit_mean_and_cv(Fields& fields,
                                           const std::array<std::string_view, 2>& own,
                                           double greatest_cv) {
  const std::array<std::string_view, 2> moments{"mean", "cv"};
  const std::string own_pair = std::string(own[0]) + " and " + std::string(own[1]);
  MeanAndCv read;
  fields.real("mean", read.mean, Need::none, between(1e-100, 1e100),
              "E[X], with cv in place of " + own_pair);
  fields.real("cv", read.cv, Need::none, between(1e-6, greatest_cv),
              "coefficient of variation, standard deviation / mean");
  const auto has_any = [&](const auto& keys) { return fields.has(keys[0]) || fields.has(keys[1]); };
  const bool by_moments = has_any(moments);
  if (by_moments && has_any(own)) {
    fields.complain(fields.has("mean") ? "mean" : "cv",
                    "mean and cv stand in place of " + own_pair + "; one of the pairs is too much",
                    own_pair + ", or mean and cv");
    return {};
  }
  for (const auto key : by_moments ? moments : own) {
    if (fields.has(key)) continue;
    fields.complain(key, "required key is missing",
                    by_moments ? "mean and cv" : own_pair + "; or mean and cv");
  }
  if (!by_moments) return {};
  return read;
}

}  // namespace gradrace
