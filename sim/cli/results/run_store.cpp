#include "sim/cli/results/run_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <boost/uuid/nil_generator.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <utility>

#include "sim/cli/output/disk.h"
#include "sim/cli/usage_error.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

constexpr std::string_view magic = "runs\x1a\r\n\1";
constexpr std::size_t piece_size = 1 << 20;
constexpr std::size_t most_result_bytes = 64 << 20;  // a million of targets have some 30 MB
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

std::uint32_t checksum_of(std::string_view bytes, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::uint32_t checksum_of_zeros(std::uint64_t count) {
  const std::string zeros(std::min<std::uint64_t>(piece_size, count), '\0');
  std::uint32_t checksum = 0;
  for (std::uint64_t done = 0; done < count; done += piece_size)
    checksum = checksum_of(std::string_view(zeros).substr(0, count - done), checksum);
  return checksum;
}

template <class Number>
std::string_view as_bytes(const Number& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::uint32_t checksum_of(const Head& head) {
  return checksum_of({reinterpret_cast<const char*>(&head), offsetof(Head, checksum)});
}

bool is_whole(const Head& head) {
  return std::string_view(head.magic, sizeof head.magic) == magic &&
         head.checksum == checksum_of(head);
}

}  // namespace

bool RunStore::may_be(const std::filesystem::path& file) {
  if (!std::filesystem::is_regular_file(file)) return false;
  std::string bytes(magic.size(), '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return magic.starts_with(bytes) || bytes.find_first_not_of('\0') == std::string::npos;
}

RunStore::RunStore(std::filesystem::path file, Use use) : file_(std::move(file)) {
  const bool is_new = use == Use::add && !std::filesystem::exists(file_);
  if (use == Use::add && std::filesystem::is_symlink(file_)) refuse_link(file_);
  const int flags = use == Use::add ? O_RDWR | O_CREAT | O_NOFOLLOW : O_RDONLY;
  descriptor_ = ::open(file_.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("opened");
  try {
    if (use == Use::add && try_to_lock(descriptor_, LOCK_EX, file_) == LockResult::held_by_another)
      throw UsageError(file_.string() +
                       ": another call of gradrace writes to it; wait for its end");
    scan(use);
    const auto folder = std::filesystem::absolute(file_).parent_path();
    if (is_new && !(sync_folder(folder) && sync_folder(folder.parent_path()))) fail("made");
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  if (use == Use::add)
    syncer_ = std::jthread([this](const std::stop_token& stop) { sync_soon_after_adding(stop); });
}

std::uint64_t RunStore::record_size(std::uint64_t content) { return frame + content; }
std::uint64_t RunStore::content_of_record_at(std::uint64_t place) { return place + sizeof(Head); }

RunStore::~RunStore() {
  syncer_ = {};
  ::close(descriptor_);
}

void RunStore::scan(Use use) {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0) fail("read");
  size_ = static_cast<std::uint64_t>(facts.st_size);
  for (std::uint64_t begin = next_head(0); begin < size_; begin = next_head(end_)) {
    Head head;
    get_at(begin, reinterpret_cast<char*>(&head), sizeof head);
    if (begin > end_) ++damaged_;
    const StoredRun run{head.key, head.data, begin + sizeof head, head.length};
    std::uint32_t checksum = 0;
    get_at(run.content + run.length, reinterpret_cast<char*>(&checksum), sizeof checksum);
    end_ = begin + frame + head.length;
    if (checksum != checksum_at(run.content, run.length)) {
      ++damaged_;
    } else if (run.key.is_nil()) {
      header_.resize(run.length);
      get_at(run.content, header_.data(), run.length);
    } else {
      runs_.push_back(run);
    }
  }
  if (end_ == 0 && !may_be(file_))
    throw UsageError(file_.string() + ": is not a store of finished runs; move it away");
  if (end_ == size_) return;
  if (!is_torn(end_))
    notes_.push_back(file_.string() + ": " + count_text(size_ - end_, "byte") +
                     " at its end cannot be read");
  if (use == Use::add) cut_end();
}

/// Whether a record begins there of which the rest was never written, or there are zeros, as a file
/// system leaves them where the machine ended.
bool RunStore::is_torn(std::uint64_t begin) const {
  if (checksum_at(begin, size_ - begin) == checksum_of_zeros(size_ - begin)) return true;
  Head head{};
  const std::size_t there = std::min<std::uint64_t>(sizeof head, size_ - begin);
  get_at(begin, reinterpret_cast<char*>(&head), there);
  if (there == sizeof head) return is_whole(head);
  return magic.starts_with({head.magic, std::min(there, magic.size())});
}

void RunStore::cut_end() {
  if (!notes_.empty()) keep_copy();
  if (::ftruncate(descriptor_, static_cast<off_t>(end_)) != 0) fail("written");
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

void RunStore::keep_sound(const Beginnings& files, const Sound& sound) {
  constexpr std::size_t most_told = 20;
  std::size_t number = 0, left_out = 0;
  std::erase_if(runs_, [&](const StoredRun& run) {
    ++number;
    const std::string fault = fault_of(run, files, sound);
    if (!fault.empty() && ++left_out <= most_told)
      notes_.push_back(file_.string() + ": run " + std::to_string(number) +
                       " in it is left out: " + fault);
    return !fault.empty();
  });
  if (left_out > most_told)
    notes_.push_back(file_.string() + ": " + count_text(left_out - most_told, "run") +
                     " more left out");
}

/// Why it is no run of a scenario with those files; empty: it is one.
std::string RunStore::fault_of(const StoredRun& run, const Beginnings& files,
                               const Sound& sound) const {
  constexpr const char* cut = "its record ends too early";
  const std::uint64_t end = run.content + run.length;
  std::uint32_t result_size = 0;
  std::uint64_t place = run.content + sizeof result_size;
  if (place > end) return cut;
  get_at(run.content, reinterpret_cast<char*>(&result_size), sizeof result_size);
  if (result_size > end - place) return cut;
  if (result_size > most_result_bytes) return "its result is too long";
  if (!sound(result(run))) return "it holds no result of a run of this scenario";
  std::set<std::string> seen;
  for (place += result_size; place < end;) {
    constexpr std::uint64_t most = 1 + 255 + sizeof(std::uint64_t);
    std::string begin(std::min(most, end - place), '\0');
    get_at(place, begin.data(), begin.size());
    const std::size_t name_size = static_cast<std::uint8_t>(begin[0]);
    std::uint64_t text_size = 0;
    const std::size_t head_size = 1 + name_size + sizeof text_size;
    if (head_size > begin.size()) return cut;
    std::memcpy(&text_size, begin.data() + 1 + name_size, sizeof text_size);
    if (text_size > end - place - head_size) return cut;
    const std::string name = begin.substr(1, name_size);
    const auto file = files.find(name);
    if (file == files.end())
      return "it has a text for \"" + name + "\", which is no file of this scenario's runs";
    if (!seen.insert(name).second) return "it has two texts for " + name;
    place += head_size;
    if (name.ends_with(".csv") && !has_rows(place, text_size, file->second))
      return "its text for " + name + " is not rows of a run";
    place += text_size;
  }
  return {};
}

/// Whether a text is lines of as many cells as the header has: the mark of the point, the same
/// number of a replica in all of them, then words and numbers without quotes.
bool RunStore::has_rows(std::uint64_t place, std::uint64_t length, std::string_view header) const {
  const auto wanted = std::ranges::count(header.substr(0, header.find('\n')), ',');
  std::string piece, replica, cell;
  std::ptrdiff_t commas = 0;
  bool is_first = true, ends = true;
  const auto end_cell = [&] {
    if (commas == 0) return cell == point_mark;
    if (commas > 1) return true;
    if (is_first) replica = cell;
    const bool is_number =
        !cell.empty() && cell.find_first_not_of("0123456789") == std::string::npos;
    return is_number && cell == replica;
  };
  for (std::uint64_t done = 0; done < length; done += piece.size()) {
    piece.resize(std::min<std::uint64_t>(piece_size, length - done));
    get_at(place + done, piece.data(), piece.size());
    for (const char letter : piece) {
      ends = letter == '\n';
      if (letter == ',' || ends) {
        if (!end_cell() || (ends ? commas != wanted : ++commas > wanted)) return false;
        if (ends) commas = 0, is_first = false;
        cell.clear();
      } else {
        if (letter == '"' || letter == '\x7f' ||
            (commas > 0 && static_cast<unsigned char>(letter) < ' '))
          return false;
        if (commas < 2 && cell.size() > 10) return false;
        if (commas < 2) cell += letter;
      }
    }
  }
  return ends;
}

bool RunStore::has_content_of(const StoredRun& run, const RunStore& other,
                              const StoredRun& its) const {
  if (run.length != its.length) return false;
  std::string own, others;
  for (std::uint64_t done = 0; done < run.length; done += own.size()) {
    own.resize(std::min<std::uint64_t>(piece_size, run.length - done)), others.resize(own.size());
    get_at(run.content + done, own.data(), own.size());
    other.get_at(its.content + done, others.data(), others.size());
    if (own != others) return false;
  }
  return true;
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
  write({.key = boost::uuids::nil_uuid(), .length = text.size()},
        [&](const Put& put) { put(text); });
  header_ = text;
}

StoredRun RunStore::add(const RunKey& key, std::uint64_t data, std::string_view result,
                        const RunTexts& texts) {
  std::uint64_t length = sizeof(std::uint32_t) + result.size();
  for (const auto& [file, text] : texts) length += 1 + file.size() + sizeof length + text.size();
  return write({.key = key, .data = data, .length = length}, [&](const Put& put) {
    put(as_bytes(static_cast<std::uint32_t>(result.size())));
    put(result);
    for (const auto& [file, text] : texts) {
      put(as_bytes(static_cast<std::uint8_t>(file.size())));
      put(file);
      put(as_bytes(text.size()));
      text.read(put);
    }
  });
}

StoredRun RunStore::add(const RunStore& from, const StoredRun& run) {
  return write(run, [&](const Put& put) {
    std::string piece;
    for (std::uint64_t done = 0; done < run.length; done += piece.size()) {
      piece.resize(std::min<std::uint64_t>(piece_size, run.length - done));
      from.get_at(run.content + done, piece.data(), piece.size());
      put(piece);
    }
  });
}

/// Sets the run's `content`.
StoredRun RunStore::write(StoredRun run, const Content& content) {
  Head head{};
  magic.copy(head.magic, sizeof head.magic);
  head.key = run.key;
  head.data = run.data;
  head.length = run.length;
  head.checksum = checksum_of(head);
  const std::lock_guard lock(mutex_);
  std::uint64_t offset = end_;
  std::string buffer(as_bytes(head));
  std::uint32_t checksum = 0;
  const auto spill = [&] {
    put_at(offset, buffer);
    offset += buffer.size();
    buffer.clear();
  };
  content([&](std::string_view piece) {
    checksum = checksum_of(piece, checksum);
    buffer += piece;
    if (buffer.size() >= piece_size) spill();
  });
  buffer += as_bytes(checksum);
  spill();
  run.content = end_ + sizeof head;
  end_ = offset;
  dirty_ = true;
  added_.notify_one();
  return run;
}

void RunStore::sync_soon_after_adding(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (added_.wait(lock, stop, [&] { return dirty_; })) {
    added_.wait_for(lock, stop, sync_interval, [] { return false; });
    dirty_ = false;
    lock.unlock();
    const int error = ::fdatasync(descriptor_) == 0 ? 0 : errno;
    lock.lock();
    if (error != 0) sync_error_ = error;
  }
}

void RunStore::sync() {
  const std::lock_guard lock(mutex_);
  if (::fdatasync(descriptor_) != 0) sync_error_ = errno;
  dirty_ = false;
  errno = sync_error_;
  if (sync_error_ != 0) fail("written");
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
  std::uint32_t size = 0;
  get_at(run.content, reinterpret_cast<char*>(&size), sizeof size);
  std::string bytes(size, '\0');
  get_at(run.content + sizeof size, bytes.data(), size);
  return bytes;
}

void RunStore::read_texts(const StoredRun& run, const Take& take) const {
  std::uint32_t result = 0;
  get_at(run.content, reinterpret_cast<char*>(&result), sizeof result);
  std::uint64_t place = run.content + sizeof result + result;
  std::string piece;
  while (place < run.content + run.length) {
    std::uint8_t name = 0;
    get_at(place, reinterpret_cast<char*>(&name), sizeof name);
    std::string file(name, '\0');
    get_at(place += sizeof name, file.data(), name);
    std::uint64_t left = 0;
    get_at(place += name, reinterpret_cast<char*>(&left), sizeof left);
    place += sizeof left;
    while (left > 0) {
      piece.resize(std::min<std::uint64_t>(piece_size, left));
      get_at(place, piece.data(), piece.size());
      take(file, piece);
      place += piece.size();
      left -= piece.size();
    }
  }
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

std::uint32_t RunStore::checksum_at(std::uint64_t place, std::uint64_t length) const {
  std::uint32_t checksum = 0;
  std::string piece;
  for (std::uint64_t done = 0; done < length; done += piece.size()) {
    piece.resize(std::min<std::uint64_t>(piece_size, length - done));
    get_at(place + done, piece.data(), piece.size());
    checksum = checksum_of(piece, checksum);
  }
  return checksum;
}

void RunStore::fail(const char* what) const {
  throw DiskError(file_.string() + ": cannot be " + what + ": " + std::strerror(errno));
}

}  // namespace gradrace
