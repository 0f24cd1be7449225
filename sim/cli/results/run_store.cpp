#include "sim/cli/results/run_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <boost/uuid/nil_generator.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>

#include "sim/check.h"
#include "sim/cli/output/disk.h"
#include "sim/cli/usage_error.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace {

constexpr std::string_view magic = "runs\x1a\r\n\2";
constexpr std::string_view any_magic = magic.substr(0, 7);  // without the version of the form
constexpr unsigned header_copies = 2;                       // a damaged byte leaves one
constexpr std::size_t piece_size = 1 << 20;
constexpr std::size_t most_result_bytes = 64 << 20;  // a million of targets have some 20 MB
constexpr auto sync_interval = std::chrono::milliseconds(500);

/// What a record begins with.  Its content follows, then the checksum of that.
struct Head {
  char magic[8];
  RunKey key;  // nil: a header
  std::uint64_t data, length;
  std::uint32_t padding, checksum;  // of what is before it
};
static_assert(sizeof(Head) == 48);
constexpr std::uint64_t frame = sizeof(Head) + sizeof(std::uint32_t);

/// What a part of a run's content begins with.
struct PartHead {
  char file[24];  // ends with zeros
  std::uint64_t length;
};

std::uint32_t checksum_of(std::string_view bytes, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

template <class Value>
std::string_view as_bytes(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::uint32_t checksum_of(const Head& head) {
  return checksum_of(as_bytes(head).substr(0, offsetof(Head, checksum)));
}

bool is_whole(const Head& head) {
  return std::string_view(head.magic, sizeof head.magic) == magic &&
         head.checksum == checksum_of(head);
}

std::string part_head(std::string_view file, std::uint64_t length) {
  PartHead head{};
  GRADRACE_CHECK(file.size() < sizeof head.file, "names of files are short");
  file.copy(head.file, file.size());
  head.length = length;
  return std::string(as_bytes(head));
}

}  // namespace

bool RunStore::may_be(const std::filesystem::path& file) {
  if (!std::filesystem::is_regular_file(file)) return false;
  std::ifstream stream(file, std::ios::binary);
  const auto next = [&](std::size_t count) {
    std::string bytes(count, '\0');
    stream.read(bytes.data(), static_cast<std::streamsize>(count));
    bytes.resize(static_cast<std::size_t>(stream.gcount()));
    return bytes;
  };
  const std::string first = next(any_magic.size());
  return any_magic.starts_with(first) || first.find_first_not_of('\0') == std::string::npos ||
         next(piece_size).find(any_magic) != std::string::npos;
}

RunStore::RunStore(std::filesystem::path file, Use use) : file_(std::move(file)) {
  const bool is_new = use == Use::add && !std::filesystem::exists(file_);
  if (use == Use::add && std::filesystem::is_symlink(file_)) refuse_link(file_);
  const int flags = use == Use::add ? O_RDWR | O_CREAT | O_NOFOLLOW : O_RDONLY;
  descriptor_ = ::open(file_.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("opened");
  try {
    scan(use);
    const auto folder = std::filesystem::absolute(file_).parent_path();
    if (is_new && !(sync_folder(folder) && sync_folder(folder.parent_path()))) fail("made");
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

bool RunStore::is_all(std::string_view header, const std::vector<StoredRun>& runs) const {
  std::uint64_t end = header_copies * (frame + header.size());
  for (const StoredRun& run : runs) {
    if (run.content != end + sizeof(Head)) return false;
    end += frame + run.length;
  }
  return end == end_ && !is_damaged();
}

RunStore::~RunStore() { ::close(descriptor_); }

void RunStore::scan(Use use) {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0) fail("read");
  size_ = static_cast<std::uint64_t>(facts.st_size);
  for (std::uint64_t begin = next_head(0); begin < size_; begin = next_head(end_)) {
    Head head;
    get_at(begin, reinterpret_cast<char*>(&head), sizeof head);
    if (begin > end_) ++damaged_;
    StoredRun run{head.key, head.data, begin + sizeof head, head.length};
    std::uint32_t checksum = 0;
    get_at(run.content + run.length, reinterpret_cast<char*>(&checksum), sizeof checksum);
    read(run.content, run.length,
         [&](std::string_view piece) { run.checksum = checksum_of(piece, run.checksum); });
    end_ = begin + frame + head.length;
    if (checksum != run.checksum) {
      ++damaged_;
    } else if (run.key.is_nil()) {
      header_ = text_at(run.content, run.length);
    } else {
      runs_.push_back(run);
    }
  }
  if (end_ == 0 && !may_be(file_))
    throw UsageError(file_.string() + ": is not a store of finished runs; move it away");
  if (end_ == 0 && size_ >= magic.size() && text_at(0, any_magic.size()) == any_magic &&
      text_at(0, magic.size()) != magic)
    throw UsageError(file_.string() +
                     ": is a store of finished runs as another version of gradrace writes it, "
                     "which this one does not read; use --out DIR for another folder, or run "
                     "--force to begin anew");
  if (end_ == size_) return;
  if (!is_torn(end_))
    notes_.push_back(file_.string() + ": " + count_text(size_ - end_, "byte") +
                     " at its end cannot be read");
  if (use == Use::read) return;
  if (!notes_.empty()) keep_copy();
  if (::ftruncate(descriptor_, static_cast<off_t>(end_)) != 0) fail("written");
}

/// Whether a record begins there of which the rest was never written, or there are zeros, as a file
/// system leaves them where the machine ended.
bool RunStore::is_torn(std::uint64_t begin) const {
  Head head{};
  const std::size_t there = std::min<std::uint64_t>(sizeof head, size_ - begin);
  get_at(begin, reinterpret_cast<char*>(&head), there);
  if (there == sizeof head && is_whole(head)) return true;
  if (there < sizeof head && magic.starts_with({head.magic, std::min(there, magic.size())}))
    return true;
  bool are_zeros = true;
  read(begin, size_ - begin, [&](std::string_view piece) {
    are_zeros = are_zeros && piece.find_first_not_of('\0') == std::string_view::npos;
  });
  return are_zeros;
}

void RunStore::keep_copy() {
  if (std::exchange(has_copy_, true)) return;
  const std::filesystem::path kept = free_name(file_);
  std::error_code error;
  std::filesystem::copy_file(file_, kept, error);
  if (!error && !sync_to_disk(kept)) error.assign(errno, std::generic_category());
  if (error) throw DiskError(kept.string() + ": cannot be written: " + error.message());
  notes_.push_back(file_.string() + ": what it held is kept as " + kept.filename().string());
}

void RunStore::keep_sound(const Tables& tables, std::size_t targets) {
  constexpr std::size_t most_told = 20;
  std::size_t number = 0, left_out = 0;
  std::erase_if(runs_, [&](const StoredRun& run) {
    ++number;
    const std::string fault = fault_of(run, tables, targets);
    if (!fault.empty() && ++left_out <= most_told)
      notes_.push_back(file_.string() + ": run " + std::to_string(number) +
                       " in it is left out: " + fault);
    return !fault.empty();
  });
  if (left_out > most_told)
    notes_.push_back(file_.string() + ": " + count_text(left_out - most_told, "run") +
                     " more left out");
}

/// The first is its result; none where they do not fill the record.
std::optional<std::vector<RunStore::Part>> RunStore::parts_of(const StoredRun& run) const {
  std::vector<Part> parts;
  const std::uint64_t end = run.content + run.length;
  for (std::uint64_t place = run.content; place < end;) {
    PartHead head;
    if (end - place < sizeof head) return {};
    get_at(place, reinterpret_cast<char*>(&head), sizeof head);
    place += sizeof head;
    if (head.length > end - place) return {};
    const std::string_view file(head.file, sizeof head.file);
    parts.push_back(
        {std::string(file.substr(0, file.find_last_not_of('\0') + 1)), place, head.length});
    place += head.length;
  }
  if (parts.empty()) return {};
  return parts;
}

/// Why it is no run of a scenario with those tables; empty: it is one.
std::string RunStore::fault_of(const StoredRun& run, const Tables& tables,
                               std::size_t targets) const {
  const auto parts = parts_of(run);
  if (!parts) return "its record ends too early";
  const Part& result = parts->front();
  if (result.length > most_result_bytes) return "its result is too long";
  if (!result.file.empty() || !is_result(text_at(result.place, result.length), targets))
    return "it holds no result of a run of this scenario";
  std::set<std::string> seen;
  for (std::size_t i = 1; i < parts->size(); ++i) {
    const Part& part = (*parts)[i];
    const auto table = tables.find(part.file);
    if (table == tables.end())
      return "it has rows for \"" + part.file + "\", which is no file of this scenario's runs";
    if (!seen.insert(part.file).second) return "it has rows for " + part.file + " twice";
    if (!has_rows(part, table->second)) return "its rows for " + part.file + " are none of a run";
  }
  return {};
}

/// Whether each cell has the type of its column, or is empty; a text is printable.
bool RunStore::has_rows(const Part& part, const std::vector<CellType>& types) const {
  RowReader reader(types.size());
  bool are_rows = true;
  const auto check = [&](CellRow row) {
    for (std::size_t i = 0; i < row.size(); ++i)
      are_rows = are_rows && (row[i].type == types[i] || row[i].type == CellType::none) &&
                 printable(row[i].text) == row[i].text;
  };
  try {
    read(part.place, part.length, [&](std::string_view piece) { reader.read(piece, check); });
  } catch (const DiskError&) {
    throw;
  } catch (const std::runtime_error&) {
    return false;
  }
  return are_rows && reader.is_at_end();
}

/// Where the next record begins that ends within the file, from there on; the file's size where
/// none does.
std::uint64_t RunStore::next_head(std::uint64_t begin) const {
  std::string bytes(sizeof(Head), '\0');
  for (std::size_t piece = sizeof(Head); begin + frame <= size_; piece = piece_size) {
    bytes.resize(std::min<std::uint64_t>(piece, size_ - begin));
    get_at(begin, bytes.data(), bytes.size());
    for (auto at = bytes.find(magic); at != std::string::npos; at = bytes.find(magic, at + 1)) {
      Head head;
      if (at + sizeof head > bytes.size()) break;
      std::memcpy(&head, bytes.data() + at, sizeof head);
      const std::uint64_t left = size_ - begin - at;
      if (is_whole(head) && left >= frame && head.length <= left - frame) return begin + at;
    }
    begin += bytes.size() - sizeof(Head) + 1;
  }
  return size_;
}

void RunStore::add_header(std::string_view text) {
  for (unsigned copy = 0; copy < header_copies; ++copy)
    write({.key = boost::uuids::nil_uuid(), .length = text.size()},
          [&](const Put& put) { put(text); });
  header_ = text;
}

StoredRun RunStore::add(const RunKey& key, std::uint64_t data, std::string_view result,
                        const RunRows& rows) {
  std::uint64_t length = sizeof(PartHead) + result.size();
  for (const auto& [file, cells] : rows) length += sizeof(PartHead) + cells.size();
  return write({.key = key, .data = data, .length = length}, [&](const Put& put) {
    put(part_head("", result.size()));
    put(result);
    for (const auto& [file, cells] : rows) {
      put(part_head(file, cells.size()));
      cells.read(put);
    }
  });
}

StoredRun RunStore::add(const RunStore& from, const StoredRun& run) {
  return write(run, [&](const Put& put) { from.read(run.content, run.length, put); });
}

/// Sets the run's content and checksum.
StoredRun RunStore::write(StoredRun run, const std::function<void(const Put& put)>& content) {
  Head head{};
  magic.copy(head.magic, sizeof head.magic);
  head.key = run.key;
  head.data = run.data;
  head.length = run.length;
  head.checksum = checksum_of(head);
  const std::lock_guard lock(mutex_);
  std::uint64_t offset = end_;
  std::string buffer(as_bytes(head));
  run.checksum = 0;
  const auto spill = [&] {
    put_at(offset, buffer);
    offset += buffer.size();
    buffer.clear();
  };
  content([&](std::string_view piece) {
    run.checksum = checksum_of(piece, run.checksum);
    buffer += piece;
    if (buffer.size() >= piece_size) spill();
  });
  buffer += as_bytes(run.checksum);
  spill();
  run.content = end_ + sizeof head;
  end_ = offset;
  if (Clock::now() > next_sync_) sync_file();
  return run;
}

/// Not again soon, so that it takes a twentieth of the time at most.
void RunStore::sync_file() {
  const auto begin = Clock::now();
  if (::fdatasync(descriptor_) != 0) fail("written");
  const auto end = Clock::now();
  next_sync_ = end + std::max<Clock::duration>(sync_interval, 20 * (end - begin));
}

void RunStore::sync() {
  const std::lock_guard lock(mutex_);
  sync_file();
  if (!is_in_place())
    throw DiskError(
        file_.string() +
        ": was removed or replaced while runs were made; what this call has made is lost");
}

bool RunStore::is_in_place() const {
  struct stat own {
  }, there{};
  return ::fstat(descriptor_, &own) == 0 && ::lstat(file_.c_str(), &there) == 0 &&
         there.st_ino == own.st_ino && there.st_dev == own.st_dev;
}

std::string RunStore::result(const StoredRun& run) const {
  const Part result = parts_of(run)->front();
  return text_at(result.place, result.length);
}

void RunStore::read_rows(const StoredRun& run, const Take& take) const {
  const auto parts = *parts_of(run);
  for (std::size_t i = 1; i < parts.size(); ++i)
    read(parts[i].place, parts[i].length,
         [&](std::string_view piece) { take(parts[i].file, piece); });
}

void RunStore::put_at(std::uint64_t place, std::string_view bytes) {
  if (move_all(::pwrite, descriptor_, bytes.data(), bytes.size(), place)) return;
  const int error = errno;
  [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, static_cast<off_t>(end_));
  errno = error;
  fail("written");
}

void RunStore::get_at(std::uint64_t place, char* bytes, std::size_t count) const {
  if (!move_all(::pread, descriptor_, bytes, count, place)) fail("read");
}

void RunStore::read(std::uint64_t place, std::uint64_t length, const Put& take) const {
  for (std::string piece; length > 0; place += piece.size(), length -= piece.size()) {
    piece.resize(std::min<std::uint64_t>(piece_size, length));
    get_at(place, piece.data(), piece.size());
    take(piece);
  }
}

std::string RunStore::text_at(std::uint64_t place, std::uint64_t length) const {
  std::string text(length, '\0');
  get_at(place, text.data(), length);
  return text;
}

void RunStore::fail(const char* what) const {
  throw DiskError(file_.string() + ": cannot be " + what + ": " + std::strerror(errno));
}

}  // namespace gradrace
