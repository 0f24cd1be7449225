#pragma once

#include <vector>

#include "distributions/fit/trace_columns.h"

namespace gradrace {

/// Refuses rows that are no minibatches: those of several kinds by the texts of a column (which is
/// called name, op, phase or alike, or by which times differ beyond chance), and those of which
/// several are of one step of one learner, and those of which a column that nobody named may say
/// whose they are.  A column that rows were chosen by says enough, as does
/// a sum.  times: [row], NaN where there is none.  Throws TraceError, with the kinds and what to
/// say.
void check_rows(const Table& table, const TraceColumns& columns, const TraceRequest& request,
                const std::vector<double>& times);

}  // namespace gradrace
