#pragma once
/// TarReader: our own walk over tar headers. It exists beside libarchive's because it is faster (no copy, no string
/// conversion, data by offset), and because it keeps apart what a report needs apart: the archive's bytes and the
/// file's size, complete content and a well-formed archive, padding and garbage behind the end.
///
/// Sizes: pax over base-256 over octal for the bytes in the archive; GNU.sparse.realsize only for the size of the file.
/// Damage: a bad header is an error, then blocks are skipped up to the next good one. A sparse member whose size record
/// disagrees with its map is read by the map when a header follows there, and by the record otherwise.

#include <array>
#include <memory>

#include "workload/extract/byte_source.hpp"
#include "workload/extract/entry_reader.hpp"
#include "workload/extract/tar_header.hpp"

namespace spillway::extract {

class TarReader final : public EntryReader {
 public:
  /// `share`: pieces of data may outlive the next call (they keep their chunk); else the source may have one chunk.
  TarReader(std::unique_ptr<ByteSource> source, Limits limits, bool concatenated, bool share);

  /// Does a file that begins with these bytes hold a tar? Its first block that is not zero is a header, or all of them
  /// are zero (the end mark of an empty archive, with its padding). An ISO 9660 image begins with 32 KiB of zeros.
  [[nodiscard]] static bool recognises(std::span<const std::byte> beginning);
  /// As much of the file as recognises() should see. cited: ECMA-119 6.2.1, a system area of 16 sectors of 2048 bytes.
  static constexpr std::size_t kBeginning = 64 * 1024;

  [[nodiscard]] Result<bool> next(Entry& entry) override;
  [[nodiscard]] Result<bool> data(DataPiece& piece) override;
  [[nodiscard]] std::optional<StoredData> stored() const override;
  [[nodiscard]] TrailingData trailing() const override { return trailing_; }

 private:
  /// The next 512 bytes, consumed or only shown; null at the end of the archive.
  Result<const std::byte*> block(bool consume);
  Result<bool> fill();
  Status skip(std::int64_t bytes);
  Result<std::string> body(std::int64_t size);
  Status finish_member();
  Status read_trailing();
  /// A block with a good checksum, already consumed. True: `entry` is the next member; false: there is more to read.
  Result<bool> take_header(const std::array<std::byte, kBlock>& header, Entry& entry);
  /// The sparse map of a member, into its runs; false when the map is unreadable (noted, the member is skipped).
  Result<bool> read_sparse_map(const std::array<std::byte, kBlock>& header, char type, PaxValues& values, Entry& entry);
  void forget_extensions();
  void remark(bool error, std::string what);
  std::int64_t position() const { return (chunk_ ? chunk_->offset : next_offset_) + static_cast<std::int64_t>(at_); }

  std::unique_ptr<ByteSource> source_;
  Limits limits_;
  bool concatenated_;
  bool share_;

  std::shared_ptr<Chunk> chunk_;
  std::size_t at_ = 0;
  std::int64_t next_offset_ = 0;  ///< of the byte after the last chunk, when there is none now

  // What the next headers said for the member to come.
  PaxValues global_;
  PaxValues local_;
  bool has_global_ = false;
  bool has_local_ = false;
  std::optional<std::string> long_name_;
  std::optional<std::string> long_link_;

  // The current member.
  std::int64_t index_ = 0;
  std::string name_;
  std::int64_t remaining_ = 0;    ///< bytes of it in the archive not consumed, padding excluded
  std::int64_t padding_ = 0;
  std::int64_t to_deliver_ = 0;   ///< of remaining_, those that are data of the file
  std::int64_t data_offset_ = 0;  ///< of its first data byte in the archive
  bool sparse_ = false;
  std::vector<Run> runs_;
  std::size_t run_ = 0;
  std::int64_t run_done_ = 0;
  std::int64_t delivered_ = 0;
  bool skipping_damage_ = false;
  bool ended_ = false;
  TrailingData trailing_;
};

/// Open a tar, plain or compressed in a way that decompress.hpp knows; null when it is something else (then libarchive
/// may know it). `chunks`: see file_source().
struct TarOpenOptions {
  Limits limits;
  bool concatenated = false;
  bool drop_behind = false;
  std::size_t chunks = 1;
  Bytes buffer_bytes{32 * kMiB};
};
struct OpenedTar {
  std::unique_ptr<TarReader> reader;
  ByteSource* source = nullptr;  ///< the reader's, for on_wait()
};
[[nodiscard]] Result<OpenedTar> open_tar(const std::filesystem::path& path, const TarOpenOptions& options);

}  // namespace spillway::extract
