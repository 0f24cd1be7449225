#include "models/table/measured_curves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "models/datasets/text_line.h"
#include "sim/hash.h"
#include "sim/message_text.h"

namespace gradrace {

static constexpr double of_all = std::numeric_limits<double>::quiet_NaN();

/// Of the stretch from the row before to this one.
double LearningCurve::between(std::size_t row, double samples) const {
  const double from = samples_[row - 1], to = samples_[row];
  return from == 0 ? samples / to : std::log(samples / from) / std::log(to / from);
}

double LearningCurve::level(double samples) const {
  if (samples >= end()) return levels_.back();
  const auto row =
      static_cast<std::size_t>(std::ranges::upper_bound(samples_, samples) - samples_.begin());
  return std::lerp(levels_[row - 1], levels_[row], between(row, samples));
}

double LearningCurve::samples(double level) const {
  if (level >= levels_.front()) return 0;
  if (level <= levels_.back()) return end();
  const auto found = std::ranges::upper_bound(levels_, level, std::ranges::greater());
  const auto row = static_cast<std::size_t>(found - levels_.begin());
  const double share = (levels_[row - 1] - level) / (levels_[row - 1] - levels_[row]);
  const double from = samples_[row - 1], to = samples_[row];
  return from == 0 ? share * to : from * std::pow(to / from, share);
}

double MeasuredCurves::test_error(double effective) const {
  return errors_ ? errors_->level(effective) : std::numeric_limits<double>::quiet_NaN();
}

/// Where `number` stands among those that rise; the nearest one where it is outside.
template <class Between, class Scale>
static Between place(const std::vector<double>& numbers, double number, Scale scale) {
  const auto above = std::ranges::upper_bound(numbers, number);
  if (above == numbers.begin()) return {0, 0, 0};
  const auto first = static_cast<std::size_t>(above - numbers.begin()) - 1;
  if (above == numbers.end() || number == numbers[first]) return {first, first, 0};
  const double low = scale(numbers[first]), high = scale(*above);
  return {first, first + 1, (scale(number) - low) / (high - low)};
}

double MeasuredCurves::advanced(double effective, const MeasuredStep& step, Beyond& beyond) const {
  Between late, batch;
  if (const auto& known = stalenesses_; !std::isnan(known.front())) {
    if (step.staleness > known.back()) beyond = Beyond::staleness;
    late = place<Between>(known, step.staleness, [](double x) { return x; });
  }
  if (const auto& known = batches_; !std::isnan(known.front())) {
    if (step.batch < known.front() || step.batch > known.back()) beyond = Beyond::batch;
    batch = place<Between>(known, step.batch, [](double x) { return std::log(x); });
  }
  const auto at_staleness = [&](std::size_t staleness) {
    const auto on = [&](std::size_t of_batch) {
      return advanced_on(curve(staleness, of_batch), effective, step.samples, beyond);
    };
    const double first = on(batch.first);
    return batch.share == 0 ? first : std::lerp(first, on(batch.second), batch.share);
  };
  const double first = at_staleness(late.first);
  const double result =
      late.share == 0 ? first : std::lerp(first, at_staleness(late.second), late.share);
  if (result > base().end()) beyond = Beyond::samples;
  return result;
}

double MeasuredCurves::advanced_on(const LearningCurve& curve, double effective, double samples,
                                   Beyond& beyond) const {
  if (&curve == &base()) return effective + samples;
  const auto effective_at = [&](double own) { return base().samples(curve.level(own)); };
  const double held = (effective_at(curve.end()) - effective_at(curve.before_end())) /
                      (curve.end() - curve.before_end());
  const double loss = base().level(effective);
  if (effective >= base().end() || loss <= curve.last_level()) {
    if (beyond == Beyond::nothing) beyond = Beyond::loss;
    return effective + held * samples;
  }
  const double own = curve.samples(loss) + samples;
  if (own <= curve.end()) return effective_at(own);
  if (beyond == Beyond::nothing) beyond = Beyond::loss;
  return effective_at(curve.end()) + held * (own - curve.end());
}

std::string MeasuredCurves::text(Beyond beyond) const {
  switch (beyond) {
    case Beyond::staleness:
      return "staleness above " + number_text(stalenesses_.back());
    case Beyond::batch:
      return "updates of fewer than " + number_text(batches_.front()) + " or more than " +
             number_text(batches_.back()) + " samples";
    case Beyond::samples:
      return "more than " + number_text(base().end()) +
             " effective samples, after which no row has a lower loss";
    case Beyond::loss: {
      double highest = base().last_level();
      for (const LearningCurve& one : curves_) highest = std::max(highest, one.last_level());
      return "losses below " + number_text(highest) + ", where the first curve ends";
    }
    case Beyond::nothing:
      break;
  }
  return "";
}

/// The columns of a table, in no order; others are passed over.
static constexpr std::array<std::string_view, 5> columns{"samples", "loss", "test_error",
                                                         "staleness", "minibatch"};
enum CurveColumn : std::size_t {
  samples_column,
  loss_column,
  error_column,
  late_column,
  batch_column
};

/// Reads one, line by line.
class CurveReader {
 public:
  explicit CurveReader(std::filesystem::path file) : file_(std::move(file)) {}

  MeasuredCurves read() {
    each_line(file_, [this](TextLine& line) {
      hash_.add_bytes(line.rest());
      hash_.add('\n');
      line.spaces();
      if (line.at_end()) return;
      if (header_.empty()) return read_header(line);
      read_row(line);
    });
    if (curves_.empty()) at(1, 1, "has no rows; columns are " + joined(columns));
    return made();
  }

 private:
  struct Rows {
    std::vector<double> samples, losses;  // of losses below all before them
    std::vector<double> all_samples, errors;
    std::size_t line = 0;  // of the first one
  };
  using Key = std::pair<double, double>;  // staleness, batch

  [[noreturn]] void at(std::size_t line, std::size_t column, const std::string& what) const {
    throw std::runtime_error(file_.string() + ":" + std::to_string(line) + ":" +
                             std::to_string(column) + ": " + what);
  }

  void read_header(TextLine& line) {
    line.skip_word("\xEF\xBB\xBF");  // a byte order mark
    for (bool more = true; more; more = line.skip_separator(',')) {
      const std::size_t place = line.column();
      const std::string name = line.cell();
      const auto found = std::ranges::find(columns, name);
      const auto column = static_cast<std::size_t>(found - columns.begin());
      if (column < columns.size() && std::exchange(has_[column], true))
        at(line.number(), place, "column " + name + " is there twice");
      header_.push_back(column);
    }
    for (const CurveColumn column : {samples_column, loss_column})
      if (!has_[column]) at(line.number(), 1, "lacks the column " + std::string(columns[column]));
  }

  void read_row(TextLine& line) {
    std::array<double, columns.size()> row{0, 0, of_all, of_all, of_all};
    std::array<std::size_t, columns.size()> places{};
    for (std::size_t i = 0; i < header_.size(); ++i) {
      if (i > 0) line.separator(',');
      const std::size_t place = line.column();
      const std::string cell = line.cell();
      if (header_[i] == columns.size()) continue;
      const auto number = finite_number(cell);
      const std::string name(columns[header_[i]]);
      if (!number) at(line.number(), place, name + " is no finite number: \"" + cell + "\"");
      if (const char* const fault = fault_of(header_[i], *number))
        at(line.number(), place, name + " must be " + fault + ", got " + number_text(*number));
      row[header_[i]] = *number;
      places[header_[i]] = place;
    }
    line.end("as many cells as the first line has");
    add(row, line.number(), places[samples_column]);
  }

  static const char* fault_of(std::size_t column, double number) {
    if (column == batch_column) return number > 0 ? nullptr : "> 0";
    if (column == error_column) return number >= 0 && number <= 1 ? nullptr : "from 0 to 1";
    return column == loss_column || number >= 0 ? nullptr : ">= 0";
  }

  void add(const std::array<double, columns.size()>& row, std::size_t line, std::size_t place) {
    const double none = -1;  // sorts, as NaN does not
    const auto number = [&](CurveColumn column) { return has_[column] ? row[column] : none; };
    Rows& rows = curves_[{number(late_column), number(batch_column)}];
    const double samples = row[samples_column];
    if (rows.all_samples.empty() && samples != 0)
      at(line, place, "a curve begins at 0 samples, got " + number_text(samples));
    if (rows.all_samples.empty()) rows.line = line;
    if (!rows.all_samples.empty() && samples <= rows.all_samples.back())
      at(line, place,
         "samples of a curve rise, and " + number_text(samples) + " follows " +
             number_text(rows.all_samples.back()));
    rows.all_samples.push_back(samples);
    rows.errors.push_back(row[error_column]);
    if (!rows.losses.empty() && row[loss_column] >= rows.losses.back()) return;
    rows.samples.push_back(samples);
    rows.losses.push_back(row[loss_column]);
  }

  MeasuredCurves made() {
    MeasuredCurves result;
    for (const auto& [key, rows] : curves_) {
      add_to(result.stalenesses_, key.first);
      add_to(result.batches_, key.second);
    }
    std::ranges::sort(result.batches_);
    if (result.stalenesses_.front() > 0)
      at(1, 1, "has no rows of staleness 0, by which efficiency is measured");
    std::size_t all = 0, left_out = 0;
    for (const double staleness : result.stalenesses_)
      for (const double batch : result.batches_) {
        const Rows& rows = rows_of(staleness, batch);
        all += rows.all_samples.size();
        left_out += rows.all_samples.size() - rows.losses.size();
        result.curves_.emplace_back(rows.samples, rows.losses);
      }
    const Rows& base = rows_of(result.stalenesses_.front(), result.batches_.front());
    if (has_[error_column]) result.errors_.emplace(base.all_samples, base.errors);
    if (left_out > 0)
      result.notes_.push_back(file_.string() + ": " + std::to_string(left_out) + " of " +
                              count_text(all, "row") +
                              " say nothing, as their loss is not below all before them");
    if (!has_[late_column]) result.stalenesses_ = {of_all};
    if (!has_[batch_column]) result.batches_ = {of_all};
    result.hash_ = hash_.hex();
    return result;
  }

  static void add_to(std::vector<double>& numbers, double number) {
    if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
  }

  const Rows& rows_of(double staleness, double batch) const {
    const auto found = curves_.find({staleness, batch});
    if (found == curves_.end())
      at(1, 1,
         "has rows of staleness " + number_text(staleness) + " and of minibatch " +
             number_text(batch) + ", but none of both");
    const Rows& rows = found->second;
    if (rows.losses.size() < 2)
      at(rows.line, 1, "begins a curve whose loss never falls, so that nothing is learnt by it");
    return rows;
  }

  std::filesystem::path file_;
  std::vector<std::size_t> header_;  // [column of the file], columns.size() of another one
  std::array<bool, columns.size()> has_{};
  std::map<Key, Rows> curves_;
  Hash hash_;
};

MeasuredCurves MeasuredCurves::read(const std::filesystem::path& file) {
  return CurveReader(file).read();
}

}  // namespace gradrace
