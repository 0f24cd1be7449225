#include "distributions/cluster/outliers.h"

#include <algorithm>
#include <boost/random/generate_canonical.hpp>

namespace gradrace {

namespace {

double probability_of(const Outliers& outliers, StreamName name) {
  if (outliers.probability) return *outliers.probability;
  name.purpose = Purpose::outlier_probability;
  name.learner = 0;
  return std::min(1.0, outliers.probability_law->draw(name));
}

}  // namespace

void visit_outliers(Fields& fields, Outliers& outliers) {
  fields.real("probability", outliers.probability, between(0, 1), "of each minibatch by itself");
  read_kind(
      fields, "probability_law", distribution_catalog(), outliers.probability_law, Need::none,
      "law of the probability, cut off at 1: drawn for each draw index, one for all learners");
  read_kind(fields, "runtime", distribution_catalog(), outliers.runtime, Need::required,
            "law of the X of an outlier; its draws are numbered as the minibatches are");
  fields.real("most", outliers.most, positive(), "the longest X of an outlier (default: any)");
  if (fields.has("probability") == fields.has("probability_law")) {
    fields.complain("probability", "exactly one of the two is needed",
                    "probability, probability_law");
  }
}

std::optional<double> draw_outlier(const Outliers& outliers, StreamName name) {
  name.purpose = Purpose::outlier;
  Stream words = stream(name);
  const double u = boost::random::generate_canonical<double, 53>(words);
  if (!(u < probability_of(outliers, name))) return {};
  name.purpose = Purpose::outlier_runtime;
  const double time = outliers.runtime->draw(name);
  return outliers.most ? std::min(time, *outliers.most) : time;
}

}  // namespace gradrace
