#pragma once
/// Members of an archive through libarchive: formats that are not tar (cpio, zip, 7z, iso9660, ...), tars behind a
/// filter that decompress.hpp does not know, and the independent second opinion of verify_tree().

#include <filesystem>
#include <memory>

#include "workload/extract/entry_reader.hpp"

struct archive;
struct archive_entry;

namespace spillway::extract {

/// A handle on an archive opened for reading; freed by its deleter.
struct ArchiveReadFree {
  void operator()(archive* handle) const;
};
using ArchiveRead = std::unique_ptr<archive, ArchiveReadFree>;

/// Open with every format but mtree, raw and empty (which take text and anything for archives), and every filter.
[[nodiscard]] Result<ArchiveRead> open_archive_read(const std::filesystem::path& path, bool concatenated);

/// libarchive 3.6 reads the time "-5.25" of a pax header as -5 s plus 0.25 s. Call before anything else takes the time.
void mend_negative_time(archive* handle, archive_entry* entry);
/// What libarchive says of a member, in our terms. `index` is left alone.
void to_entry(archive_entry* from, Entry& entry);

class LibarchiveReader final : public EntryReader {
 public:
  [[nodiscard]] static Result<std::unique_ptr<LibarchiveReader>> open(const std::filesystem::path& path,
                                                                      bool concatenated);
  [[nodiscard]] Result<bool> next(Entry& entry) override;
  [[nodiscard]] Result<bool> data(DataPiece& piece) override;

 private:
  explicit LibarchiveReader(ArchiveRead handle, std::filesystem::path path)
      : handle_(std::move(handle)), path_(std::move(path)) {}
  ArchiveRead handle_;
  std::filesystem::path path_;
  std::int64_t index_ = 0;
  std::string name_;
  bool plain_file_ = false;  ///< not compressed and not a pipe
};

/// While it lives, the calling thread converts names as UTF-8, so that libarchive hands over the archive's bytes.
class Utf8Names {
 public:
  Utf8Names();
  ~Utf8Names();
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  void* mine_ = nullptr;
  void* previous_ = nullptr;
};

}  // namespace spillway::extract
