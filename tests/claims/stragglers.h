#pragma once

#include <cmath>

namespace gradrace {

/// Seconds a minibatch, fitted to the measurements of Pan et al. 2017, sec. 3.1: 1.6 +- 0.08, and
/// with probability 0.0146 a straggler of at least 2, Pareto with shape 2.  The fit has two caps
/// that are left out: normal times of at least 1.2 (5 sd, changes nothing) and no time above 310
/// (lowers the mean of the last of 100 from 4.33 to 4.31, less than its standard error here).
inline const char* const stragglers =
    R"({"distribution": "mixture", "weights": [0.9854, 0.0146], "parts": [
  {"distribution": "normal", "mean": 1.6, "sd": 0.08},
  {"distribution": "pareto", "scale": 2, "shape": 2}]})";

/// The same in crowds, keys of a cluster: the probability of a straggler is drawn for each
/// iteration of the cluster, of mean 0.0146 and shape 3.2, and none takes more than 310.
inline const char* const crowds_of_stragglers =
    R"("runtime": {"distribution": "normal", "mean": 1.6, "sd": 0.08},
  "outliers": {"probability_law": {"distribution": "gamma", "shape": 3.2, "scale": 0.0045625},
               "runtime": {"distribution": "pareto", "scale": 2, "shape": 2}, "most": 310})";

/// Iterations to convergence with N gradients an update: through the 137.5e3 at N = 50 and 76.2e3
/// at 100 of fig. 5, by a power law or on a straight line.
inline double iterations(double n) { return 76.2e3 * std::pow(100 / n, 0.852); }
inline double iterations_on_a_line(double n) {
  return 137.5e3 + (76.2e3 - 137.5e3) * (n - 50) / 50;
}

}  // namespace gradrace
