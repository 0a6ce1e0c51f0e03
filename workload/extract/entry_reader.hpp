#pragma once
/// EntryReader: the members of an archive, one after another, with their data. Two implementations: our own walk over
/// tar headers (tar_reader.hpp) and libarchive for every other format (libarchive_reader.hpp).

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/result.hpp"
#include "workload/extract/entry.hpp"
#include "workload/extract/report.hpp"

namespace spillway::extract {

/// A piece of the current file's data.
struct DataPiece {
  std::span<const std::byte> bytes;
  std::int64_t offset = 0;             ///< where in the file it goes
  std::shared_ptr<const void> keep;    ///< holds the memory; null: valid only until the reader's next call
};

/// Where a member's data lies in an uncompressed archive file, all of it in one stretch; for a sparse file the runs
/// follow each other there without gaps.
struct StoredData {
  int archive_fd = -1;
  std::int64_t offset = 0;
  std::int64_t length = 0;
};

class EntryReader {
 public:
  virtual ~EntryReader() = default;

  /// The next member; false at the end of the archive. What is left of the current member's data is skipped. Damage
  /// that can be jumped over becomes a message; an error means that nothing after this point can be read.
  [[nodiscard]] virtual Result<bool> next(Entry& entry) = 0;

  /// The next piece of the current file's data; false when there is no more. An error: the rest of it is lost.
  [[nodiscard]] virtual Result<bool> data(DataPiece& piece) = 0;

  /// Set when a writer may fetch the current member's data itself, without data().
  [[nodiscard]] virtual std::optional<StoredData> stored() const { return std::nullopt; }

  /// After the end: what follows the end mark.
  [[nodiscard]] virtual TrailingData trailing() const { return {}; }

  /// Damage and oddities met since the last call.
  struct Remark {
    bool error = false;
    std::int64_t index = 0;
    Message message;
  };
  [[nodiscard]] std::vector<Remark> take_remarks() { return std::exchange(remarks_, {}); }
  [[nodiscard]] bool has_remarks() const { return !remarks_.empty(); }

 protected:
  std::vector<Remark> remarks_;
};

}  // namespace spillway::extract
