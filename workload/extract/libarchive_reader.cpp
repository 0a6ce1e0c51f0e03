#include "workload/extract/libarchive_reader.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <locale.h>
#include <sys/stat.h>

#include <cerrno>

namespace spillway::extract {
namespace {

/// Large reads: 64 KiB made a program 37 times slower than 4 MiB did (d2learn/xlings PR 275); beyond 1 MiB nothing
/// more is gained on a file in the page cache.
constexpr std::size_t kReadBlock = 1 << 20;

std::string error_of(archive* handle) {
  const char* text = archive_error_string(handle);
  return text != nullptr ? text : "no reason given";
}

}  // namespace

void ArchiveReadFree::operator()(archive* handle) const { archive_read_free(handle); }

Utf8Names::Utf8Names() {
  locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return;
  mine_ = utf8;
  previous_ = uselocale(utf8);
}

Utf8Names::~Utf8Names() {
  if (mine_ == nullptr) return;
  uselocale(static_cast<locale_t>(previous_));
  freelocale(static_cast<locale_t>(mine_));
}

Result<ArchiveRead> open_archive_read(const std::filesystem::path& path, bool concatenated) {
  ArchiveRead handle{archive_read_new()};
  if (!handle) return fail(ErrorKind::internal, "libarchive could not make a reader.", ENOMEM);
  archive* a = handle.get();
  archive_read_support_filter_all(a);
  archive_read_support_format_tar(a);
  archive_read_support_format_gnutar(a);
  archive_read_support_format_cpio(a);
  archive_read_support_format_zip(a);
  archive_read_support_format_7zip(a);
  archive_read_support_format_iso9660(a);
  archive_read_support_format_ar(a);
  archive_read_support_format_xar(a);
  archive_read_support_format_cab(a);
  archive_read_support_format_lha(a);
  archive_read_support_format_rar(a);
  archive_read_support_format_rar5(a);
  if (concatenated) archive_read_set_options(a, "read_concatenated_archives");
  if (archive_read_open_filename(a, path.c_str(), kReadBlock) != ARCHIVE_OK) {
    // What libarchive itself finds wrong has no errno (-1) or EILSEQ (its "file format"); others are the kernel's.
    const int code = archive_errno(a) == EILSEQ ? 0 : archive_errno(a);
    return fail(code > 0 ? ErrorKind::refused : ErrorKind::bad_input,
                fmt::format("{} cannot be read as an archive: {}.", path.string(), error_of(a)), code > 0 ? code : 0);
  }
  return handle;
}

void mend_negative_time(archive* handle, archive_entry* entry) {
  if ((archive_format(handle) & ARCHIVE_FORMAT_BASE_MASK) != ARCHIVE_FORMAT_TAR || archive_entry_mtime_is_set(entry) == 0) return;
  const time_t seconds = archive_entry_mtime(entry);
  const long nanoseconds = archive_entry_mtime_nsec(entry);
  if (seconds < 0 && nanoseconds > 0) archive_entry_set_mtime(entry, seconds - 1, 1'000'000'000 - nanoseconds);
}

void to_entry(archive_entry* from, Entry& entry) {
  entry.name.clear();
  if (const char* name = archive_entry_pathname(from)) entry.name = name;
  entry.link.clear();
  const char* hard = archive_entry_hardlink(from);
  const char* soft = archive_entry_symlink(from);
  const auto filetype = archive_entry_filetype(from);
  if (hard != nullptr) {
    entry.type = EntryType::hard_link;
    entry.link = hard;
  } else if (filetype == AE_IFREG) {
    entry.type = EntryType::file;
  } else if (filetype == AE_IFDIR) {
    entry.type = EntryType::directory;
  } else if (filetype == AE_IFLNK) {
    entry.type = EntryType::symlink;
    if (soft != nullptr) entry.link = soft;
  } else if (filetype == AE_IFCHR) {
    entry.type = EntryType::character_device;
  } else if (filetype == AE_IFBLK) {
    entry.type = EntryType::block_device;
  } else if (filetype == AE_IFIFO) {
    entry.type = EntryType::fifo;
  } else {
    entry.type = EntryType::other;
  }
  entry.mode = archive_entry_perm(from);
  entry.uid = static_cast<uid_t>(archive_entry_uid(from));
  entry.gid = static_cast<gid_t>(archive_entry_gid(from));
  entry.has_mtime = archive_entry_mtime_is_set(from) != 0;
  entry.mtime_s = archive_entry_mtime(from);
  entry.mtime_ns = static_cast<std::int32_t>(archive_entry_mtime_nsec(from));
  entry.size_known = entry.type != EntryType::file || archive_entry_size_is_set(from) != 0;
  entry.has_other_names = archive_entry_nlink(from) > 1;
  // A hard link with data: cpio's newc format gives the data with the last name.
  const bool may_have_data = entry.type == EntryType::file || entry.type == EntryType::hard_link;
  entry.size = may_have_data ? archive_entry_size(from) : 0;
  entry.device_major = static_cast<unsigned>(archive_entry_rdevmajor(from));
  entry.device_minor = static_cast<unsigned>(archive_entry_rdevminor(from));
  entry.sparse = false;
  entry.runs.clear();
  entry.data_bytes = entry.size;
  if (archive_entry_sparse_reset(from) > 0) {
    entry.sparse = true;
    entry.data_bytes = 0;
    la_int64_t offset = 0;
    la_int64_t length = 0;
    while (archive_entry_sparse_next(from, &offset, &length) == ARCHIVE_OK) {
      if (length == 0) continue;  // tar ends a map with an empty run at the file's size: no data, and a hole before it
      entry.runs.push_back({offset, length});
      entry.data_bytes += length;
    }
  }
  entry.xattrs.clear();
  if (archive_entry_xattr_reset(from) > 0) {
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    while (archive_entry_xattr_next(from, &name, &value, &size) == ARCHIVE_OK)
      entry.xattrs.push_back({name, std::string(static_cast<const char*>(value), size)});
  }
  const auto acl_text = [from](int type) {
    std::string text;
    char* allocated = archive_entry_acl_to_text(from, nullptr, type | ARCHIVE_ENTRY_ACL_STYLE_SEPARATOR_COMMA);
    if (allocated != nullptr) text = allocated;
    ::free(allocated);
    return text;
  };
  entry.acl_access.clear();
  entry.acl_default.clear();
  if (archive_entry_acl_count(from, ARCHIVE_ENTRY_ACL_TYPE_ACCESS) > 0)
    entry.acl_access = acl_text(ARCHIVE_ENTRY_ACL_TYPE_ACCESS);
  if (archive_entry_acl_count(from, ARCHIVE_ENTRY_ACL_TYPE_DEFAULT) > 0)
    entry.acl_default = acl_text(ARCHIVE_ENTRY_ACL_TYPE_DEFAULT);
}

Result<std::unique_ptr<LibarchiveReader>> LibarchiveReader::open(const std::filesystem::path& path,
                                                                 bool concatenated) {
  SPILLWAY_ASSIGN(ArchiveRead handle, open_archive_read(path, concatenated));
  std::error_code unknown;
  const bool regular = std::filesystem::is_regular_file(path, unknown);
  std::unique_ptr<LibarchiveReader> reader(new LibarchiveReader(std::move(handle), path));
  reader->plain_file_ = regular && archive_filter_code(reader->handle_.get(), 0) == ARCHIVE_FILTER_NONE;
  return reader;
}

Result<bool> LibarchiveReader::next(Entry& entry) {
  for (;;) {
    archive_entry* from = nullptr;
    const int code = archive_read_next_header(handle_.get(), &from);
    if (code == ARCHIVE_EOF) {
      // libarchive takes every file that begins with 512 zero bytes for an empty tar. Ours reads those that are.
      if (index_ == 0 && plain_file_ && (archive_format(handle_.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR)
        return fail(ErrorKind::bad_input,
                    fmt::format("{} begins with zero bytes, and what follows is no archive of a known format.", path_.string()));
      return false;
    }
    if (code == ARCHIVE_FATAL) {
      const int number = archive_errno(handle_.get());
      return fail(ErrorKind::bad_input,
                  fmt::format("{} cannot be read after member {} (\"{}\"): {}.", path_.string(), index_, name_,
                              error_of(handle_.get())),
                  number > 0 ? number : 0);
    }
    if (code == ARCHIVE_RETRY || from == nullptr) {
      remarks_.push_back({true, index_, {name_, fmt::format("The next header is damaged: {}.", error_of(handle_.get())), 0}});
      continue;
    }
    mend_negative_time(handle_.get(), from);
    to_entry(from, entry);
    entry.index = index_++;
    name_ = entry.name;
    if (code != ARCHIVE_OK)
      remarks_.push_back({code == ARCHIVE_FAILED, entry.index,
                          {entry.name, fmt::format("libarchive says of the header: {}.", error_of(handle_.get())), 0}});
    return true;
  }
}

Result<bool> LibarchiveReader::data(DataPiece& piece) {
  for (;;) {
    const void* bytes = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int code = archive_read_data_block(handle_.get(), &bytes, &size, &offset);
    if (code == ARCHIVE_EOF) return false;
    if (code == ARCHIVE_RETRY) continue;
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN)
      return fail(ErrorKind::bad_input, fmt::format("The data of \"{}\" ends early: {}.", name_, error_of(handle_.get())),
                  0);
    if (size == 0) continue;  // libarchive reports a trailing hole as an empty block
    piece.bytes = {static_cast<const std::byte*>(bytes), size};
    piece.offset = offset;
    piece.keep = nullptr;
    return true;
  }
}

}  // namespace spillway::extract
