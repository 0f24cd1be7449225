#include "distributions/fit/rows/row_begins.h"

#include <algorithm>
#include <utility>

#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/readers/time_column.h"

namespace gradrace {

RowBegins::RowBegins(const FoundTable& found, const TraceColumns& columns,
                     const TraceRequest& request) {
  const Table& table = found.table;
  const auto named = [&](const auto& says, const std::string& other) -> std::string {
    const auto its = std::ranges::find_if(table.names, [&](const std::string& name) {
      return says(name) && name != other &&
             std::ranges::find(columns.times, name) == columns.times.end();
    });
    return its == table.names.end() ? "" : *its;
  };
  const bool given = !request.begin.empty();
  std::string begin = given ? request.begin : named(says_begin, "");
  if (begin.empty()) begin = named(says_stamp, "");
  const std::string end = given ? request.end : named(says_end, begin);
  if (begin.empty()) return;
  try {
    TimeColumn from = time_column(found, begin, false);
    if (!end.empty()) {
      TimeColumn to = time_column(found, end, false);
      if (to.stamps == from.stamps) ends_ = std::move(to.values);
    }
    if (ends_.empty() && from.stamps) return;
    begins_ = std::move(from.values);
    column_ = begin;
  } catch (const TraceError&) {  // a column that nobody asked for
    ends_.clear();
  }
}

}  // namespace gradrace
