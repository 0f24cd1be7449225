#include "sim/cli/results/run_store.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <boost/uuid/nil_generator.hpp>
#include <cstring>
#include <set>
#include <utility>

#include "sim/check.h"
#include "sim/cli/usage_error.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view magic = "runs\x1a\r\n\3";
constexpr std::string_view any_magic = magic.substr(0, 7);  // without the version of the form
constexpr unsigned header_copies = 2;                       // a damaged byte leaves one
constexpr std::size_t piece_size = 1 << 20;
constexpr std::size_t small_piece = 1 << 16;         // which leaves no holes in the heap
constexpr std::size_t most_result_bytes = 64 << 20;  // a million of targets have some 20 MB
constexpr std::uint64_t most_read_in_vain = 8;       // times the file: of damaged records
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

std::string head_of(const StoredRun& run) {
  Head head{{}, run.key, run.data, run.length, 0, 0};
  magic.copy(head.magic, sizeof head.magic);
  head.checksum = checksum_of(head);
  return std::string(as_bytes(head));
}

/// Whose head these bytes begin with, which are at that place; none where they do not.
std::optional<StoredRun> record_in(std::string_view bytes, std::uint64_t place) {
  Head head;
  if (bytes.size() < sizeof head || !bytes.starts_with(magic)) return {};
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.checksum != checksum_of(head)) return {};
  return StoredRun{head.key, head.data, place + sizeof head, head.length};
}

std::string part_head(std::string_view file, std::uint64_t length) {
  PartHead head{{}, length};
  GRADRACE_CHECK(file.size() < sizeof head.file, "names of files are short");
  file.copy(head.file, file.size());
  return std::string(as_bytes(head));
}

/// A run's parts as its content comes.
class PartReader {
 public:
  /// Hands what the piece has of each to take(file, part of it).
  template <class Take>
  void read(std::string_view piece, Take take) {
    while (!piece.empty()) {
      if (left_ == 0) {
        const std::string_view more = piece.substr(0, sizeof(PartHead) - head_.size());
        head_ += more;
        piece.remove_prefix(more.size());
        if (head_.size() < sizeof(PartHead)) return;
        PartHead head;
        std::memcpy(&head, head_.data(), sizeof head);
        head_.clear();
        file_ = std::string(head.file, ::strnlen(head.file, sizeof head.file));
        left_ = head.length;
      }
      const std::string_view part = piece.substr(0, left_);
      if (!part.empty()) take(file_, part);
      left_ -= part.size();
      piece.remove_prefix(part.size());
    }
  }

 private:
  std::string head_, file_;
  std::uint64_t left_ = 0;  // of the part
};

}  // namespace

bool RunStore::may_be(const fs::path& path) {
  if (!fs::is_regular_file(path)) return false;
  const File file(path, O_RDONLY);
  if (!file.is_open()) return true;
  const std::uint64_t size = file.size();
  const std::string first = file.text(0, std::min<std::uint64_t>(any_magic.size(), size));
  return any_magic.starts_with(first) || first.find_first_not_of('\0') == std::string::npos ||
         file.text(0, std::min<std::uint64_t>(piece_size, size)).find(any_magic) !=
             std::string::npos;
}

RunStore::RunStore(const fs::path& file, Use use)
    : file_(file, use == Use::add ? O_RDWR | O_CREAT | O_NOFOLLOW : O_RDONLY) {
  if (!file_.is_open() && use == Use::add && fs::is_symlink(file)) refuse_link(file);
  if (!file_.is_open()) file_.fail("opened");
  size_ = file_.size();
  if (use == Use::add && size_ == 0) {
    const fs::path folder = fs::absolute(file).parent_path();
    sync_folder(folder);
    sync_folder(folder / "..");
  }
  scan();
  if (end_ == 0 && !may_be(file))
    throw UsageError(name() + ": is not a store of finished runs; move it away");
  const std::string first = file_.text(0, std::min<std::uint64_t>(magic.size(), size_));
  if (end_ == 0 && first.starts_with(any_magic) && !magic.starts_with(first))
    throw UsageError(name() +
                     ": is a store of finished runs as another version of gradrace writes it, "
                     "which this one does not read; use --out DIR for another folder, or run "
                     "--force to begin anew");
  if (end_ < size_) note_end(use);
}

void RunStore::scan() {
  const std::uint64_t most_in_vain = most_read_in_vain * size_;  // a stranger's heads are many
  std::uint64_t in_vain = 0, end_of_damaged = 0;
  std::size_t damaged = 0;  // since the last whole one
  for (std::uint64_t from = 0; auto record = next_record(from);) {
    const std::uint64_t begin = record->content - sizeof(Head);
    const std::uint64_t end = begin + frame + record->length;
    if (!is_whole(*record)) {
      ++damaged;
      in_vain += record->length;
      end_of_damaged = end;
      from = in_vain > most_in_vain ? end : begin + magic.size();
      continue;
    }
    damaged_ += std::max<std::size_t>(std::exchange(damaged, 0), begin > end_);
    end_ = from = end;
    if (record->key.is_nil())
      header_ = file_.text(record->content, record->length);
    else
      runs_.push_back(*record);
  }
  damaged_ += damaged;
  end_ = std::max(end_, end_of_damaged);
}

/// Sets its checksum.  No run has a megabyte of zeros, as a hole of the file has.
bool RunStore::is_whole(StoredRun& record) const {
  const std::uint64_t end = record.content + record.length;
  for (std::uint64_t at = record.content; at < end; at += piece_size) {
    const std::uint64_t size = std::min<std::uint64_t>(piece_size, end - at);
    if (size == piece_size && file_.next_data(at) >= at + size) return false;
    record.checksum = checksum_of(file_.text(at, size), record.checksum);
  }
  return file_.text(end, sizeof record.checksum) == as_bytes(record.checksum);
}

/// The next one, from there on, that ends within the file; without its checksum.
std::optional<StoredRun> RunStore::next_record(std::uint64_t begin) const {
  for (std::size_t piece = sizeof(Head); (begin = file_.next_data(begin)) + frame <= size_;
       piece = piece_size) {
    const std::string bytes = file_.text(begin, std::min<std::uint64_t>(piece, size_ - begin));
    for (auto at = bytes.find(magic); at != std::string::npos; at = bytes.find(magic, at + 1)) {
      const auto record = record_in(std::string_view(bytes).substr(at), begin + at);
      const std::uint64_t left = size_ - begin - at;
      if (record && left >= frame && record->length <= left - frame) return record;
    }
    begin += bytes.size() - sizeof(Head) + 1;
  }
  return {};
}

/// What is behind the last record; to add to, it goes.
void RunStore::note_end(Use use) {
  if (!is_torn())
    notes_.push_back(name() + ": " + count_text(size_ - end_, "byte") +
                     " at its end cannot be read");
  if (use == Use::read) return;
  if (!notes_.empty()) keep_copy();
  file_.cut(end_);
}

/// Whether a record begins there of which the rest was never written, or there are zeros, as a file
/// system leaves them where the machine ended.
bool RunStore::is_torn() const {
  const std::string begin = file_.text(end_, std::min<std::uint64_t>(sizeof(Head), size_ - end_));
  const bool is_cut = begin.size() < sizeof(Head);
  if (is_cut ? magic.starts_with(begin.substr(0, magic.size()))
             : record_in(begin, end_).has_value())
    return true;
  for (auto at = file_.next_data(end_); at < size_; at = file_.next_data(at + piece_size))
    if (file_.text(at, std::min<std::uint64_t>(piece_size, size_ - at)).find_first_not_of('\0') !=
        std::string::npos)
      return false;
  return true;
}

bool RunStore::is_all(std::string_view header, const std::vector<StoredRun>& runs) const {
  std::uint64_t end = size_of_header(header);
  for (const StoredRun& run : runs) {
    if (run.content != end + sizeof(Head)) return false;
    end += frame + run.length;
  }
  return end == end_ && !is_damaged();
}

void RunStore::keep_copy() {
  if (std::exchange(has_copy_, true)) return;
  const fs::path kept = free_name(file());
  copy_whole(file_, kept);
  notes_.push_back(name() + ": what it held is kept as " + kept.filename().string());
}

void RunStore::keep_sound(const Tables& tables, std::size_t targets) {
  constexpr std::size_t most_told = 20;
  std::size_t number = 0, left_out = 0;
  std::erase_if(runs_, [&](const StoredRun& run) {
    ++number;
    const std::string fault = fault_of(run, tables, targets);
    if (!fault.empty() && ++left_out <= most_told)
      notes_.push_back(name() + ": run " + std::to_string(number) + " in it is left out: " + fault);
    return !fault.empty();
  });
  if (left_out > most_told)
    notes_.push_back(name() + ": " + count_text(left_out - most_told, "run") + " more left out");
}

/// The first is its result; none where they do not fill the record.
std::vector<RunStore::Part> RunStore::parts_of(const StoredRun& run) const {
  std::vector<Part> parts;
  const std::uint64_t end = run.content + run.length;
  for (std::uint64_t place = run.content; place < end; place += parts.back().length) {
    PartHead head;
    if (end - place < sizeof head) return {};
    file_.read(place, reinterpret_cast<char*>(&head), sizeof head);
    place += sizeof head;
    if (head.length > end - place) return {};
    const std::string_view file(head.file, sizeof head.file);
    parts.push_back(
        {std::string(file.substr(0, file.find_last_not_of('\0') + 1)), place, head.length});
  }
  return parts;
}

/// Why it is no run of a scenario with those tables; empty: it is one.
std::string RunStore::fault_of(const StoredRun& run, const Tables& tables,
                               std::size_t targets) const {
  const auto parts = parts_of(run);
  if (parts.empty()) return "its record ends too early";
  const auto& [name, place, length] = parts.front();
  if (length > most_result_bytes) return "its result is too long";
  if (!name.empty() || !is_result(file_.text(place, length), targets))
    return "it holds no result of a run of this scenario";
  std::set<std::string> seen{name};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string& file = parts[i].file;
    const auto table = tables.find(file);
    if (table == tables.end())
      return "it has rows for \"" + file + "\", which is no file of this scenario's runs";
    if (!seen.insert(file).second) return "it has rows for " + file + " twice";
    if (!has_rows(parts[i], table->second)) return "its rows for " + file + " are none of a run";
  }
  return {};
}

/// Whether each cell has the type of its column, or is empty; a text is plain.
bool RunStore::has_rows(const Part& part, const std::vector<CellType>& types) const {
  RowReader reader(types.size());
  bool are_rows = true;
  const auto check = [&](CellRow row) {
    for (std::size_t i = 0; i < row.size(); ++i)
      are_rows = are_rows && (row[i].type == types[i] || row[i].type == CellType::none) &&
                 is_plain(row[i].text);
  };
  try {
    read(part.place, part.length, [&](std::string_view piece) { reader.read(piece, check); });
  } catch (const NoCell&) {
    return false;
  }
  return are_rows && reader.is_at_end();
}

void RunStore::add_header(std::string_view text) {
  for (unsigned copy = 0; copy < header_copies; ++copy)
    write({.key = boost::uuids::nil_uuid(), .length = text.size()},
          [&](const Put& put) { put(text); });
  header_ = text;
}

std::uint64_t RunStore::size_of_header(std::string_view text) {
  return header_copies * (frame + text.size());
}

std::uint64_t RunStore::size_of_run(std::string_view result, const RunRows& rows) {
  std::uint64_t size = frame + sizeof(PartHead) + result.size();
  for (const auto& [file, cells] : rows) size += sizeof(PartHead) + cells.size();
  return size;
}

StoredRun RunStore::add(const RunKey& key, std::uint64_t data, std::string_view result,
                        const RunRows& rows) {
  const std::uint64_t length = size_of_run(result, rows) - frame;
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
  return write(run, [&](const Put& put) { from.read_content(run, put); });
}

/// Sets the run's content and checksum.
StoredRun RunStore::write(StoredRun run, const std::function<void(const Put& put)>& content) {
  const std::lock_guard lock(mutex_);
  std::uint64_t end = end_;
  std::string waiting = head_of(run);
  run.content = end_ + sizeof(Head);
  run.checksum = 0;
  const auto spill = [&] {
    file_.write(end, waiting);
    end += waiting.size();
    waiting.clear();
  };
  try {
    content([&](std::string_view piece) {
      run.checksum = checksum_of(piece, run.checksum);
      waiting += piece;
      if (waiting.size() >= piece_size) spill();
    });
    waiting += as_bytes(run.checksum);
    spill();
  } catch (const DiskError&) {
    [[maybe_unused]] const int ignored = ::ftruncate(file_.descriptor(), static_cast<off_t>(end_));
    throw;
  }
  end_ = end;
  if (Clock::now() > next_sync_) sync_file();
  return run;
}

/// Not again soon, so that it takes a twentieth of the time at most.
void RunStore::sync_file() {
  const auto begin = Clock::now();
  file_.sync();
  const auto end = Clock::now();
  next_sync_ = end + std::max<Clock::duration>(sync_interval, 20 * (end - begin));
}

void RunStore::sync() {
  const std::lock_guard lock(mutex_);
  sync_file();
  if (!is_in_place())
    throw DiskError(
        name() + ": was removed or replaced while runs were made; what this call has made is lost");
  if (file_.size() < end_)
    throw DiskError(name() +
                    ": was cut while runs were made; the same call makes again what it lacks");
}

std::string RunStore::read(const StoredRun& run, const Take& take) const {
  std::string result;
  PartReader parts;
  read_content(run, [&](std::string_view piece) {
    parts.read(piece, [&](const std::string& file, std::string_view part) {
      if (file.empty())
        result += part;
      else
        take(file, part);
    });
  });
  return result;
}

/// All but the last piece before their checksum is known.
void RunStore::read_content(const StoredRun& run, const Put& take) const {
  std::uint32_t checksum = 0;
  std::uint64_t left = run.length;
  const auto fail = [&] {
    throw DiskError(name() + ": the run at byte " + std::to_string(run.content - sizeof(Head)) +
                    " of it is no longer as it was written: its disk fails, or another program "
                    "wrote there; nothing is published, and the same call makes that run again");
  };
  try {
    for (std::uint64_t at = run.content; left > 0;) {
      const std::string piece = file_.text(at, std::min<std::uint64_t>(small_piece, left));
      checksum = checksum_of(piece, checksum);
      at += piece.size();
      left -= piece.size();
      if (left == 0 && checksum != run.checksum) fail();
      take(piece);
    }
  } catch (const NoCell&) {
    fail();
  } catch (const std::out_of_range&) {  // a file that runs do not have
    fail();
  }
}

void RunStore::read(std::uint64_t place, std::uint64_t length, const Put& take) const {
  for (std::uint64_t at = 0; at < length; at += piece_size)
    take(file_.text(place + at, std::min<std::uint64_t>(piece_size, length - at)));
}

}  // namespace gradrace
