#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/observer.h"
#include "sim/reading/fields.h"

namespace gradrace {

struct CsvPage;
struct Point;
class Spool;

/// What stands in the text of a run for the number of its point, and for the point's label as JSON
/// has it: another scenario may number and name it otherwise.
inline constexpr std::string_view point_mark = "\1", label_mark = "\2";

/// Which run a row is of, in the text of the run.
struct OfRun {
  std::uint32_t replica;
  std::string_view point = point_mark;
};

/// Makes what follows a replica of the point and writes into `text`, which outlives it, what the
/// file has of the run, as it happens.  Null: the file has nothing of that run.
using MakeRecorder = std::function<std::unique_ptr<Observer>(std::uint32_t replica,
                                                             const Point& point, Spool& text)>;

/// A file of results that `record` asks for.
struct Record {
  std::string_view key, meaning;  // of its flag in `record`
  std::string_view file;
  std::string begin, between, end;  // what stands before, between and after the texts of runs
  /// Visits its other keys; `wanted`: its flag is set.
  MakeRecorder (*read)(Fields& fields, bool wanted);
  const CsvPage* columns = nullptr;  // null: it is no CSV
};

/// All of them, in the order of their keys; they are in results/.
std::span<const Record* const> records();

}  // namespace gradrace
