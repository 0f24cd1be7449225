#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sim/observer.h"
#include "sim/reading/fields.h"

namespace gradrace {

struct CsvPage;
struct EventFile;
struct Point;
class Spool;

/// Makes what follows a replica of the point and adds to `rows`, which outlive it, the cells
/// that the file has of the run, as it happens.  Null: the file has nothing of that run.
using MakeRecorder = std::function<std::unique_ptr<Observer>(std::uint32_t replica,
                                                             const Point& point, Spool& rows)>;

/// A file of results that `record` asks for.
struct Record {
  std::string_view key, meaning;  // of its flag in `record`
  std::string_view file;
  /// Visits its other keys; `wanted`: its flag is set.
  MakeRecorder (*read)(Fields& fields, bool wanted);
  const CsvPage* columns = nullptr;   // null: it is no CSV, but
  const EventFile* events = nullptr;  // these
};

/// All of them, in the order of their keys; they are in results/.
std::span<const Record* const> records();

}  // namespace gradrace
