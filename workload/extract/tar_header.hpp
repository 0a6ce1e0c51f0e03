#pragma once
/// The fields of a tar header block, pax records and sparse maps: bytes in, values out. Pure; the fuzzer's first target.
/// Formats: v7, ustar, GNU, pax, star's prefix, and the four sparse forms of GNU (old header, pax 0.0, 0.1, 1.0).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/extract/entry.hpp"

namespace spillway::extract {

inline constexpr std::size_t kBlock = 512;
using Block = std::span<const std::byte, kBlock>;

/// All 512 bytes are zero.
[[nodiscard]] bool is_zero(Block block);

/// The checksum field holds the sum of the other bytes, counted as unsigned or (old SunOS) signed.
[[nodiscard]] bool has_valid_checksum(Block block);

/// A numeric field: octal digits, or base-256 when the first byte's top bit is set. Nothing when it is neither, or does
/// not fit 63 bits.
[[nodiscard]] std::optional<std::int64_t> parse_number(std::span<const std::byte> field);

struct RawHeader {
  std::string name;      ///< with ustar's prefix
  std::string link;
  char type = '0';
  bool gnu = false;      ///< magic "ustar  ": fields behind the header are GNU's
  std::int64_t size = 0;
  bool size_valid = true;
  std::int64_t mode = 0;
  std::int64_t uid = 0;
  std::int64_t gid = 0;
  std::int64_t mtime = 0;
  std::int64_t device_major = 0;
  std::int64_t device_minor = 0;
};

/// The block must have a valid checksum. Unreadable numbers become 0; an unreadable or negative size is told.
[[nodiscard]] RawHeader parse_header(Block block);

/// The sparse table in a header of type 'S', old GNU's or star's, or in its continuation block; the second value: another block follows.
struct OldSparse {
  std::vector<Run> runs;
  bool extended = false;
  std::int64_t real_size = 0;  ///< of the header block only
  bool valid = true;
};
[[nodiscard]] OldSparse parse_old_sparse_header(Block block);
[[nodiscard]] OldSparse parse_old_sparse_continuation(Block block);

/// What pax records say. A value that is absent leaves the header's. Two sizes: `size` counts the archive's bytes,
/// `real_size` (GNU.sparse.realsize or .size, SCHILY.realsize) the file's.
struct PaxValues {
  std::optional<std::string> path;
  std::optional<std::string> sparse_name;  ///< GNU.sparse.name: the real name of a sparse member; wins over path
  std::optional<std::string> link_path;
  std::optional<std::int64_t> size;
  std::optional<std::int64_t> real_size;
  std::optional<std::int64_t> uid;
  std::optional<std::int64_t> gid;
  std::optional<std::int64_t> mtime_s;
  std::int32_t mtime_ns = 0;
  std::optional<std::int64_t> device_major;
  std::optional<std::int64_t> device_minor;
  std::vector<Xattr> xattrs;
  std::optional<std::string> acl_access;
  std::optional<std::string> acl_default;
  bool sparse = false;            ///< a map was given here (0.0, 0.1)
  bool sparse_in_data = false;    ///< 1.0: the map is in front of the data
  std::vector<Run> runs;
  std::string problem;            ///< not empty: a record was malformed; those before it count
  std::int64_t sparse_offset_pending = -1;  ///< 0.0: an offset whose length is still to come
};

/// Add the records of one extended header to `values`. `max_runs` bounds the sparse map.
void parse_pax(std::string_view records, PaxValues& values, std::int64_t max_runs);

/// Later values over earlier ones (a local header over the global ones).
void overlay(PaxValues& onto, PaxValues&& from);

/// The map of GNU sparse 1.0 as text: a count, then offset and length, each on a line of its own. Feed it blocks until
/// done() or failed().
class SparseMapParser {
 public:
  explicit SparseMapParser(std::int64_t max_runs) : max_runs_(max_runs) {}
  void feed(Block block);
  [[nodiscard]] bool done() const { return expected_ >= 0 && static_cast<std::int64_t>(numbers_) == 2 * expected_ && !failed_; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::vector<Run> take() { return std::move(runs_); }

 private:
  std::int64_t max_runs_;
  std::int64_t expected_ = -1;
  std::int64_t numbers_ = 0;
  std::int64_t value_ = 0;
  int digits_ = 0;
  bool failed_ = false;
  bool in_comment_ = false;  ///< a line that begins with '#', as libarchive allows
  std::vector<Run> runs_;
};

/// Drop empty runs; false when they overlap, descend, are negative or reach beyond `size`.
[[nodiscard]] bool normalise_runs(std::vector<Run>& runs, std::int64_t size);

/// star's ACL text, whose fourth field is the numeric id, as acl_from_text() wants it: with the id instead of the name.
[[nodiscard]] std::string plain_acl_text(std::string_view text);

}  // namespace spillway::extract
