#include "sim/cli/results/cells.h"

#include <cmath>
#include <cstring>

#include "sim/message_text.h"

namespace gradrace {

namespace {

constexpr std::uint32_t longest_text = 1 << 24;

template <class Number>
bool take_bytes(std::string_view& bytes, Number& number) {
  if (bytes.size() < sizeof number) return false;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return true;
}

void add_csv_text(std::string& text, std::string_view value) {
  if (value.find_first_of(",\"\n\r") == std::string_view::npos) {
    text += value;
    return;
  }
  text += '"';
  for (const char c : value) text += c == '"' ? "\"\"" : std::string(1, c);
  text += '"';
}

}  // namespace

void add_cell(std::string& bytes, const Cell& cell) {
  bytes += static_cast<char>(cell.type);
  switch (cell.type) {
    case CellType::number:
      return add_bytes(bytes, cell.number);
    case CellType::integer:
      return add_bytes(bytes, cell.integer);
    case CellType::text:
      add_bytes(bytes, static_cast<std::uint32_t>(cell.text.size()));
      bytes += cell.text;
      return;
    case CellType::none:
      return;
  }
}

bool take_cell(std::string_view& bytes, Cell& cell) {
  cell = Cell();
  if (!take_bytes(bytes, cell.type)) return false;
  std::uint32_t size = 0;
  switch (cell.type) {
    case CellType::number:
      return take_bytes(bytes, cell.number);
    case CellType::integer:
      return take_bytes(bytes, cell.integer);
    case CellType::text:
      if (!take_bytes(bytes, size)) return false;
      if (size > longest_text) break;
      cell.text = bytes.substr(0, size);
      bytes.remove_prefix(cell.text.size());
      return cell.text.size() == size;
    case CellType::none:
      return true;
  }
  throw NoCell();
}

bool RowReader::take_row(std::string_view& bytes) {
  std::string_view rest = bytes;
  for (Cell& cell : row_)
    if (!take_cell(rest, cell)) return false;
  bytes = rest;
  return true;
}

void add_csv_line(std::string& text, CellRow row) {
  bool is_first = true;
  for (const Cell& cell : row) {
    if (!is_first) text += ',';
    is_first = false;
    if (cell.type == CellType::integer) text += std::to_string(cell.integer);
    if (cell.type == CellType::text) add_csv_text(text, cell.text);
    if (cell.type == CellType::number)
      text += std::isnan(cell.number) ? "nan" : number_text(cell.number);
  }
  text += '\n';
}

}  // namespace gradrace
