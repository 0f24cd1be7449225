#include <cmath>
#include <string>

#include "distributions/fit/read_trace.h"
#include "tests/fuzz/target.h"
#include "tests/support/reading.h"
#include "tests/support/temporary_folder.h"

namespace gradrace {

namespace {

/// Between the files that make one input.
constexpr std::string_view next_file = "\x1e\x1e";

const TemporaryFolder& folder() {
  static const TemporaryFolder one;
  return one;
}

/// Writes the files of an input; those that it lacks are empty.
void write_files(std::string_view bytes, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::size_t end = bytes.find(next_file);
    folder().write(name, std::string(bytes.substr(0, end)));
    bytes = end == std::string_view::npos ? "" : bytes.substr(end + next_file.size());
  }
}

std::string files(const std::vector<std::string>& contents) {
  std::string all;
  for (const std::string& one : contents)
    all += (&one == &contents.front() ? "" : std::string(next_file)) + one;
  return all;
}

void check_rows(const Dataset& data, const Rows& rows) {
  const std::size_t features = rows.count * data.features;
  if (rows.bytes.size() + rows.floats.size() != features)
    unexpected("the features are not rows x features");
  if (rows.classes.size() + rows.targets.size() != rows.count) unexpected("not one label a row");
  for (const float x : rows.floats)
    if (!std::isfinite(x)) unexpected("a feature is NaN or infinite");
  for (const float y : rows.targets)
    if (!std::isfinite(y)) unexpected("a target is NaN or infinite");
  for (const std::size_t of_row : rows.classes)
    if (of_row >= data.classes) unexpected("a class that is not below their count");
}

/// The data set that the JSON names is refused, or whole.
void read_data(const std::string& json) {
  DataShelf shelf(folder().path(), {});
  const auto [load, problems] = read_dataset(json, shelf);
  if (!problems.empty()) return;
  const auto data = load();
  if (data->features == 0 || data->train.count == 0)
    unexpected("a data set without rows or features");
  check_rows(*data, data->train);
  check_rows(*data, data->test);
}

void read_csv(std::string_view bytes) {
  write_files(bytes, {"a.csv"});
  read_data(R"({"kind": "csv", "path": "a.csv", "label": "y", "test_rows": 1})");
}

void read_libsvm(std::string_view bytes) {
  write_files(bytes, {"a.svm", "b.svm"});
  read_data(R"({"kind": "libsvm", "path": "a.svm", "test_path": "b.svm"})");
}

const std::vector<std::string> idx_names = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                            "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
void read_idx(std::string_view bytes) {
  write_files(bytes, idx_names);
  read_data(R"({"kind": "idx", "path": "."})");
}

void read_digits(std::string_view bytes) {
  write_files(bytes, {"optdigits.tra", "optdigits.tes"});
  read_data(R"({"kind": "digits", "path": "."})");
}

const std::vector<std::string> cifar_names = {"data_batch_1.bin", "data_batch_2.bin",
                                              "data_batch_3.bin", "data_batch_4.bin",
                                              "data_batch_5.bin", "test_batch.bin"};
void read_cifar10(std::string_view bytes) {
  write_files(bytes, cifar_names);
  read_data(R"({"kind": "cifar10", "path": "."})");
}

void read_times(std::string_view bytes) {
  write_files(bytes, {"trace"});
  const ReadTrace read = read_trace({folder().path() / "trace"}, {});
  if (read.trace.size() == 0) unexpected("a trace without times");
  for (const auto& series : read.trace.series)
    for (const double x : series)
      if (!(x > 0 && std::isfinite(x))) unexpected("a time that is not positive and finite");
}

template <void (*read)(std::string_view)>
void told(std::string_view bytes) {
  allow_told_errors(read, bytes);
}

/// Rows are kept dense: a feature numbered 2e8 takes gigabytes.
void read_wide_libsvm(std::string_view bytes) { allow_out_of_memory(told<read_libsvm>, bytes); }

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string images(std::uint32_t count) {
  std::string bytes = big_endian(0x803) + big_endian(count) + big_endian(2) + big_endian(3);
  for (std::uint32_t i = 0; i < 6 * count; ++i) bytes += static_cast<char>(i * 37);
  return bytes;
}

std::string labels(std::uint32_t count) {
  std::string bytes = big_endian(0x801) + big_endian(count);
  for (std::uint32_t i = 0; i < count; ++i) bytes += static_cast<char>(i % 3);
  return bytes;
}

std::string digit(int of_class) {
  std::string line;
  for (int i = 0; i < 64; ++i) line += std::to_string(i % 17) + ",";
  return line + std::to_string(of_class) + "\n";
}

const std::string csv_seed = "x,y,\"z\"\n1,0,-2.5\n0.5,1,1e3\n-1,0,0\n2,1,7\n";
const std::string words_seed = "x,y\r\n1,red\r\n2,\"green\"\r\n3,red\r\n4,green\r\n";
const std::string svm_seed = "+1 1:0.5 3:2\n-1 2:1e-3\n+1 1:1 2:1 3:1\n";
const std::string times_seed = "worker,step,seconds\n0,0,1.5\n1,0,0.7\n0,1,2e-1\n1,1,3\n";
const std::string wide_seed = "time\n1\n2\n3.5\n";
const std::string events_seed =
    R"({"traceEvents": [{"name": "ProfilerStep#1", "ph": "X", "ts": 10, "dur": 1000, "pid": 0, "tid": 1},
 {"name": "ProfilerStep#2", "ph": "X", "ts": 1010.5, "dur": 900, "pid": 0, "tid": 1}]})";
const std::string spans_seed =
    R"([{"name": "ProfilerStep#1", "ph": "B", "ts": 1, "pid": 0, "tid": 1},
{"name": "ProfilerStep#1", "ph": "E", "ts": 5, "pid": 0, "tid": 1}, {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "a"}}])";

}  // namespace

const FuzzTarget csv_target{"csv", told<read_csv>, {csv_seed, words_seed}};
const FuzzTarget libsvm_target{"libsvm", read_wide_libsvm, {files({svm_seed, svm_seed})}};
const FuzzTarget idx_target{
    "idx", told<read_idx>, {files({images(4), labels(4), images(3), labels(3)})}};
const FuzzTarget digits_target{
    "digits", told<read_digits>, {files({digit(1) + digit(9), digit(0)})}};
const FuzzTarget cifar10_target{
    "cifar10",
    told<read_cifar10>,
    {files(std::vector<std::string>(6, "\x01" + std::string(3072, 'x')))}};
const FuzzTarget trace_target{"trace", told<read_times>, {times_seed, wide_seed}};
const FuzzTarget events_target{"events", told<read_times>, {events_seed, spans_seed}};

}  // namespace gradrace
