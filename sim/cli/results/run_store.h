#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sim/cli/results/run_recorders.h"
#include "sim/cli/scenario/identity.h"

namespace gradrace {

/// A finished run as a store has it.
struct StoredRun {
  RunKey key = {};
  std::uint64_t data = 0;                 // hash of the data that it was made with
  std::uint64_t content = 0, length = 0;  // where that is in the file, and its bytes
};

/// Finished runs in one file that only grows: a record for each, with a checksum, and headers that
/// tell whose runs follow.  A record that was torn, because the process or the machine ended while
/// it was written, is dropped when the file is opened to add to; where anything else at its end
/// cannot be read, the file as it was is kept under another name.
///
/// What a record says is input: the file may come from anybody, and a checksum is no signature.
/// keep_sound() leaves out what is no run of the scenario.
class RunStore {
 public:
  enum class Use { read, add };

  /// Whether the file is none of somebody else's, by how it begins.
  static bool may_be(const std::filesystem::path& file);

  /// To add to, makes the file where there is none.  UsageError where it is not one of these;
  /// DiskError, as below, if the disk refuses.
  RunStore(std::filesystem::path file, Use use);
  ~RunStore();
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;

  const std::filesystem::path& file() const { return file_; }
  std::uint64_t end() const { return end_; }
  /// Of a record whose content has so many bytes.
  static std::uint64_t record_size(std::uint64_t content);
  static std::uint64_t content_of_record_at(std::uint64_t place);

  /// The last one that was there; empty: none.
  const std::string& header() const { return header_; }
  void add_header(std::string_view text);

  /// Those that were there when it was opened, in the order in which they were added.
  const std::vector<StoredRun>& runs() const { return runs_; }
  /// Parts of the file that are no whole record; their runs are not among these.
  std::size_t damaged() const { return damaged_; }
  /// What else the user should know of the file.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Leaves out, and notes, runs whose record is not as a run's should be: a result that sound()
  /// takes, then texts of those files, each at most once, whose rows are as the file begins.
  using Sound = std::function<bool(const std::string& result)>;
  using Beginnings = std::map<std::string, std::string>;  // of files: [name]
  void keep_sound(const Beginnings& files, const Sound& sound);

  /// Whether there is more in the file than the runs and their headers.
  bool is_damaged() const { return damaged_ > 0 || !notes_.empty(); }
  /// Keeps the file as it is under another name, once, and notes that.
  void keep_copy();

  /// On disk a second later at the latest, at which a refusal is told by sync().  result:
  /// bytes_of() it.  Safe from several threads.
  StoredRun add(const RunKey& key, std::uint64_t data, std::string_view result,
                const RunTexts& texts);
  /// A run of another store.
  StoredRun add(const RunStore& from, const StoredRun& run);

  /// All that was added is on disk.  DiskError, too, where the file is no longer there, or another
  /// one in its place.
  void sync();

  /// Whether its name is still that of the file.
  bool is_in_place() const;

  /// Whether a run of another store, or of this one, has the same result and texts.
  bool has_content_of(const StoredRun& run, const RunStore& other, const StoredRun& its) const;

  /// result_from() these is what the run found.
  std::string result(const StoredRun& run) const;

  /// Hands over the texts of the run's files, piece by piece.
  using Take = std::function<void(std::string_view file, std::string_view piece)>;
  void read_texts(const StoredRun& run, const Take& take) const;

 private:
  using Put = std::function<void(std::string_view piece)>;
  using Content = std::function<void(const Put& put)>;

  void scan(Use use);
  bool is_torn(std::uint64_t begin) const;
  void cut_end();
  std::string fault_of(const StoredRun& run, const Beginnings& files, const Sound& sound) const;
  bool has_rows(std::uint64_t place, std::uint64_t length, std::string_view header) const;
  std::uint64_t next_head(std::uint64_t begin) const;
  StoredRun write(StoredRun run, const Content& content);
  void put_at(std::uint64_t place, std::string_view bytes);
  void get_at(std::uint64_t place, char* bytes, std::size_t count) const;
  std::uint32_t checksum_at(std::uint64_t place, std::uint64_t length) const;
  void sync_soon_after_adding(const std::stop_token& stop);
  [[noreturn]] void fail(const char* what) const;

  const std::filesystem::path file_;
  int descriptor_ = -1;
  std::uint64_t end_ = 0;   // of the last record
  std::uint64_t size_ = 0;  // of the file when it was opened
  std::string header_;
  std::vector<StoredRun> runs_;
  std::size_t damaged_ = 0;
  std::vector<std::string> notes_;
  bool has_copy_ = false;
  std::mutex mutex_;
  std::condition_variable_any added_;
  bool dirty_ = false;
  int sync_error_ = 0;
  std::jthread syncer_;  // ends before the rest
};

}  // namespace gradrace
