#include "distributions/fit/readers/aligned_table.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "distributions/fit/readers/cell_time.h"
#include "distributions/fit/table.h"

namespace gradrace {

namespace {

using Cells = std::vector<std::string_view>;

/// What `width` blanks or more separate, behind the # of a comment.
Cells cells_in(std::string_view line, std::size_t width) {
  line.remove_prefix(std::min(line.find_first_not_of("# "), line.size()));
  line = trimmed(line);
  Cells cells;
  for (std::size_t begin = 0, at = 0; at < line.size();) {
    const std::size_t blank = std::min(line.find(' ', at), line.size());
    const std::size_t end = std::min(line.find_first_not_of(' ', blank), line.size());
    if (end - blank >= width || end == line.size()) {
      cells.push_back(line.substr(begin, blank - begin));
      begin = end;
    }
    at = end;
  }
  return cells;
}

bool is_rule(std::string_view line) {
  return line.find("---") != line.npos && line.find_first_not_of("-+ \r") == line.npos;
}

bool is_value(std::string_view cell) {
  return is_number(cell) || cell_time(cell, DecimalMark::point).has_value();
}

/// Columns of a line in which a cell stands.
struct Place {
  std::size_t begin, end;

  Place(std::string_view line, std::string_view cell)
      : begin(static_cast<std::size_t>(cell.data() - line.data())), end(begin + cell.size()) {}
  bool overlaps(const Place& other) const { return begin < other.end && other.begin < end; }
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Writes a table with tabs, line by line.
class Aligned {
 public:
  explicit Aligned(std::size_t width) : width_(width) {}

  /// False where the line has other cells than those above it.
  bool add(std::string_view line) {
    const Cells cells = cells_in(line, width_);
    if (is_rule(line)) {
      ended_ = rows_ > 0 && ruled_;
      ruled_ = ruled_ || rows_ == 0;
    } else if (line.starts_with('#')) {
      write("# ", cells);
      comments_.insert(cells.size());
    } else if (!cells.empty() && names_ == 0) {
      const auto values = std::ranges::count_if(cells, is_value);
      names_ = cells.size();
      for (const auto& cell : cells) places_.emplace_back(line, cell);
      is_aligned_ =
          cells_in(line, 2).size() > 1 && cells_in(line, 1).size() > cells_in(line, 2).size();
      write("", cells);
      const bool are_mixed = values > 0 && values < std::ssize(cells);
      if (names_ < 2 || (are_mixed && !comments_.contains(names_))) return false;
    } else if (!cells.empty()) {
      const bool is_row = add_row(line, cells);
      if (!is_row && ended_) write("# ", cells);
      if (!is_row && !ended_) return false;
    }
    text += '\n';
    return true;
  }

  bool has_rows() const { return rows_ > 0; }

  std::string text;

 private:
  bool add_row(std::string_view line, Cells cells) {
    if (rows_ == 0) index_ = cells.size() == names_ + 1;
    if (index_) {
      const bool counts = cells.front().find_first_not_of("0123456789") == cells.front().npos;
      if (!counts || cells.front() == last_) return false;
      last_ = cells.front();
      cells.erase(cells.begin());
    }
    if (cells.size() != names_ || std::ranges::none_of(cells, is_value)) return false;
    for (std::size_t i = 0; i < names_ && is_aligned_; ++i)
      if (!places_[i].overlaps({line, cells[i]})) return false;
    write("", cells);
    ++rows_;
    return true;
  }

  void write(std::string_view before, const Cells& cells) {
    text += before;
    for (const auto& cell : cells) {
      if (&cell != &cells.front()) text += '\t';
      text += cell;
    }
  }

  const std::size_t width_;
  std::size_t names_ = 0, rows_ = 0;
  std::set<std::size_t> comments_;  // cells of those before the names
  std::vector<Place> places_;       // of names
  bool is_aligned_ = false;         // names have blanks, and cells stand below them
  bool index_ = false;              // a number before each row, and no name for it
  std::string last_;                // of these
  bool ruled_ = false;              // a rule stands above the rows
  bool ended_ = false;              // and one below
};

/// None where one of the first lines has other cells; later ones stay as they are.
std::optional<std::string> with_tabs(std::string_view text, std::size_t width) {
  constexpr std::size_t looked_at = 100;
  Aligned table(width);
  const auto lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t begin = table.text.size();
    if (table.add(lines[i])) continue;
    const bool last = i + 1 == lines.size();
    if (i < looked_at && !(last && table.has_rows() && !text.ends_with('\n'))) return {};
    table.text.resize(begin);
    for (const auto& cell : cells_in(lines[i], width)) table.text.append(cell).append(1, '\t');
    table.text.back() = '\n';
  }
  if (!text.ends_with('\n')) table.text.pop_back();
  if (!table.has_rows()) return {};
  return std::move(table.text);
}

}  // namespace

std::optional<std::string> aligned_table(std::string_view text) {
  text = without_mark(text);
  for (const std::size_t width : {2U, 1U})
    if (auto table = with_tabs(text, width)) return table;
  return {};
}

}  // namespace gradrace
