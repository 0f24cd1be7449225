#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/output/disk.h"
#include "sim/cli/results/cells.h"
#include "sim/cli/results/run_recorders.h"
#include "sim/cli/scenario/identity.h"

namespace gradrace {

/// A finished run as a store has it.
struct StoredRun {
  RunKey key = {};
  std::uint64_t data = 0;                 // hash of the data that it was made with
  std::uint64_t content = 0, length = 0;  // where that is in the file, and its bytes
  std::uint32_t checksum = 0;             // of its content

  bool has_content_of(const StoredRun& other) const {
    return length == other.length && checksum == other.checksum;
  }
};

/// Finished runs in one file that only grows: a record for each, with a checksum, and headers that
/// tell whose runs follow.  A run is its result and the rows that files of results have of it,
/// without its point's number and label, which another scenario may choose otherwise.  A record
/// that was torn, because the process or the machine ended while it was written, is dropped when
/// the file is opened to add to; where anything else at its end cannot be read, the file as it was
/// is kept under another name.
///
/// What a record says is input: the file may come from anybody, and a checksum is no signature.
/// keep_sound() leaves out what is no run of the scenario.
class RunStore {
 public:
  enum class Use { read, add };

  /// Whether the file is none of somebody else's, by how it or a record soon after begins.
  static bool may_be(const std::filesystem::path& file);

  /// To add to, makes the file where there is none; no other call may, as FolderLock sees to it.
  /// UsageError where it is not one of these, or one of another version; DiskError, as below, if
  /// the disk refuses.
  RunStore(const std::filesystem::path& file, Use use);

  const std::filesystem::path& file() const { return file_.path(); }
  /// As the user knows it.
  std::string name() const { return shown(file()).string(); }
  std::uint64_t end() const { return end_; }
  /// Whether it is that header and these runs of it, one after the other, and nothing else.
  bool is_all(std::string_view header, const std::vector<StoredRun>& runs) const;

  /// The last one that was there, of which there are two copies; empty: none.
  const std::string& header() const { return header_; }
  void add_header(std::string_view text);

  /// Those that were there when it was opened, in the order in which they were added.
  const std::vector<StoredRun>& runs() const { return runs_; }
  /// Parts of the file that are no whole record; their runs are not among these.  Where records
  /// are damaged, the next one is looked for from just behind what they begin with.
  std::size_t damaged() const { return damaged_; }
  /// What else the user should know of the file.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Leaves out, and notes, runs whose record is not as a run's should be: a result with so many
  /// targets, then rows of those tables, each at most once, with cells of its types.
  using Tables = std::map<std::string, std::vector<CellType>>;  // types of cells: [file]
  void keep_sound(const Tables& tables, std::size_t targets);

  /// Whether there is more in the file than the runs and their headers.
  bool is_damaged() const { return damaged_ > 0 || !notes_.empty(); }
  /// Keeps the file as it is under another name, once, and notes that.
  void keep_copy();

  /// What a header and a run take in it.
  static std::uint64_t size_of_header(std::string_view text);
  static std::uint64_t size_of_run(std::string_view result, const RunRows& rows);

  /// On disk with a run that is added half a second later or more, or by sync().  result:
  /// bytes_of() it.  Safe from several threads.
  StoredRun add(const RunKey& key, std::uint64_t data, std::string_view result,
                const RunRows& rows);
  /// A run of another store.  DiskError, as of read(), which is that of the other.
  StoredRun add(const RunStore& from, const StoredRun& run);

  /// All that was added is on disk.  DiskError, too, where the file is no longer there, another one
  /// is in its place, or it was cut.
  void sync();

  /// Whether its name is still that of the file.
  bool is_in_place() const { return file_.is_in_place(); }

  /// Hands over the cells of the run's rows, piece by piece; result_from() what comes back is what
  /// the run found.  DiskError where these are not the bytes that were written: in the end, of a
  /// run of more than 64 kB.
  using Take = std::function<void(const std::string& file, std::string_view piece)>;
  std::string read(const StoredRun& run, const Take& take) const;

 private:
  using Clock = std::chrono::steady_clock;
  using Put = std::function<void(std::string_view piece)>;
  /// Of a run's content: its result, without a name, then rows of files.
  struct Part {
    std::string file;
    std::uint64_t place, length;
  };

  void scan();
  void note_end(Use use);
  bool is_torn() const;
  std::optional<StoredRun> next_record(std::uint64_t begin) const;
  bool is_whole(StoredRun& record) const;
  std::vector<Part> parts_of(const StoredRun& run) const;
  std::string fault_of(const StoredRun& run, const Tables& tables, std::size_t targets) const;
  bool has_rows(const Part& part, const std::vector<CellType>& types) const;
  StoredRun write(StoredRun run, const std::function<void(const Put& put)>& content);
  void read(std::uint64_t place, std::uint64_t length, const Put& take) const;
  void read_content(const StoredRun& run, const Put& take) const;
  void sync_file();

  File file_;
  std::uint64_t end_ = 0;   // of the last record
  std::uint64_t size_ = 0;  // of the file when it was opened
  std::string header_;
  std::vector<StoredRun> runs_;
  std::size_t damaged_ = 0;
  std::vector<std::string> notes_;
  bool has_copy_ = false;
  std::mutex mutex_;
  Clock::time_point next_sync_ = Clock::now();
};

}  // namespace gradrace
