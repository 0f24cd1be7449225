#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "sim/cli/output/output_folder.h"
#include "sim/cli/results/run_tables.h"

namespace gradrace {

/// Of tables: files of text, of Parquet, or one database.
enum class Format { csv, parquet, sqlite };
inline constexpr const char* database = "results.sqlite";

/// Throws std::runtime_error where the Python environment cannot write them.
void check_format(Format format);

/// Writes a table's columns, with their types, for convert().
std::unique_ptr<TableWriter> column_writer(TableWriter::Append append, const CsvPage& page,
                                           std::size_t columns);

/// Puts files of a format in the place of those columns, which are whole.  A type of a column is
/// the same in all folders, but of a swept path's: integer, number or text as its values are.
/// Throws std::runtime_error where that cannot be.
void convert(OutputFolder& files, const std::vector<CsvPage>& tables, Format format);

}  // namespace gradrace
