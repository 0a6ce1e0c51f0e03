#pragma once
/// The table store. Points end in any order and at any moment the process may be killed, so finished points are
/// appended to a log, OUT/<experiment>/table.log (a shard's: table.2-of-8.log), each in one write:
///
///   spillway.table/1 {"experiment":..., ...}          what all points of the log have in common
///   point CASE REPEAT BYTES HASH                       then BYTES bytes of CSV rows, whose FNV-1a hash is HASH
///
/// Reading stops at the first block that is cut off or does not match, and a resumed campaign cuts the log there: a
/// kill loses only points whose block was not whole. merge_tables() sorts the blocks of one or several logs by point
/// and writes table.csv by rename; it holds only the blocks' positions in memory (about 40 bytes a point).

#include "cli/campaign/store.hpp"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace spillway::campaign {

/// What the points of a log have in common; logs that differ in it are not merged, and a log is not resumed with another.
struct TableIdentity {
  std::string experiment;               ///< name of the experiment
  std::string digest;                   ///< of everything that decides outcomes: base experiment, sweeps, seed, box
  std::size_t cases = 0;
  std::vector<std::string> swept_keys;
  nlohmann::ordered_json parameters = {};  ///< what the digest is of, so that a refusal can name the first difference; may be null
  friend bool operator==(const TableIdentity& a, const TableIdentity& b) {
    return a.experiment == b.experiment && a.digest == b.digest && a.cases == b.cases && a.swept_keys == b.swept_keys;
  }
};

/// FNV-1a, 64 bit, as 16 hex digits.
std::string digest_of(std::string_view text);

class TableStore final : public Store {
 public:
  /// Opens or resumes the log of this shard. Another campaign's log, or another shard's of another campaign beside it:
  /// `bad_input`, unless `fresh`, which starts anew.
  static Result<std::unique_ptr<TableStore>> open(const std::filesystem::path& out, const TableIdentity& identity, int repeats,
                                                  const Shard& shard, std::uint64_t campaign_seed, bool fresh);
  ~TableStore() override;
  Result<bool> done(const Case& item, Point point) override;
  Result<std::filesystem::path> begin(const Case& item, Point point) override;
  Status keep(const Case& item, Point point, const Record& record) override;
  /// `unsupported` and `bad_input` are kept as a row `failed` and make the point done: the same would come out again.
  Status keep_failure(const Case& item, Point point, const Error& error) override;
  Result<std::optional<Record>> load(const Case& item, Point point) override;

 private:
  TableStore(int fd, std::filesystem::path file, TableIdentity identity, std::uint64_t campaign_seed);
  Status append(Point point, const std::string& rows);
  int fd_;
  std::filesystem::path file_;
  TableIdentity identity_;
  std::uint64_t campaign_seed_;
  std::mutex mutex_;                       ///< guards done_: `done` is asked while other points end
  std::vector<std::vector<bool>> done_;    ///< [case][repeat - 1]
};

struct MergedTable {
  std::filesystem::path file;       ///< table.csv
  TableIdentity identity;
  std::size_t points = 0;           ///< in the table
  std::size_t missing = 0;          ///< of cases x repeats
  std::vector<Point> first_missing; ///< a few of them
};

/// The logs below the given folders: table.log and table.*-of-*.log.
std::vector<std::filesystem::path> table_logs_below(const std::filesystem::path& folder);

/// Merges logs of one campaign into `csv`. Two logs may hold the same point when their rows are the same. Fails when
/// they belong to different campaigns, or contradict each other. Nothing is written while points are missing, unless
/// `partial`.
Result<MergedTable> merge_tables(const std::vector<std::filesystem::path>& logs, const std::filesystem::path& csv, bool partial);

}  // namespace spillway::campaign
