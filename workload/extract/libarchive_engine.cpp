#include "workload/extract/libarchive_engine.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>

#include "workload/extract/libarchive_reader.hpp"
#include "workload/extract/member_check.hpp"

namespace spillway::extract {
namespace {

struct ArchiveWriteFree {
  void operator()(archive* handle) const { archive_write_free(handle); }
};

std::string said(archive* handle) {
  const char* text = archive_error_string(handle);
  return text != nullptr ? text : "no reason given";
}

int flags_for(const ExtractOptions& options) {
  int flags = ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_SECURE_SYMLINKS;
  if (options.preserve_owner) flags |= ARCHIVE_EXTRACT_OWNER;
  if (options.preserve_mode) flags |= ARCHIVE_EXTRACT_PERM;
  if (options.preserve_mtime) flags |= ARCHIVE_EXTRACT_TIME;
  if (options.preserve_xattrs) flags |= ARCHIVE_EXTRACT_XATTR | ARCHIVE_EXTRACT_ACL;
  // ARCHIVE_EXTRACT_UNLINK would also remove a symbolic link on the way to a member; without it that is an error, as in
  // our own engines. A file that is there is unlinked either way: archive_write_disk opens with O_EXCL first.
  return flags;
}

}  // namespace

Result<bool> extract_with_libarchive(const std::filesystem::path& archive_path, const std::filesystem::path& target_dir,
                                     const ExtractOptions& options, Tally& tally) {
  const Utf8Names utf8;
  SPILLWAY_ASSIGN(const ArchiveRead reader, open_archive_read(archive_path, options.concatenated));
  const std::unique_ptr<char, decltype(&std::free)> real{::realpath(target_dir.c_str(), nullptr), &std::free};
  if (!real)
    return fail(ErrorKind::refused, fmt::format("The target directory {} cannot be resolved.", target_dir.string()), errno);
  const std::string root = real.get();
  const std::unique_ptr<archive, ArchiveWriteFree> writer{archive_write_disk_new()};
  archive* const r = reader.get();
  archive* const w = writer.get();
  archive_write_disk_set_options(w, flags_for(options));
  MemberCheck check(options.limits);
  Entry entry;
  std::int64_t index = 0;
  bool complete = true;
  std::optional<timespec> root_mtime;  // of a member "."
  for (;;) {
    archive_entry* from = nullptr;
    int code = archive_read_next_header(r, &from);
    if (code == ARCHIVE_EOF) break;
    if (code == ARCHIVE_RETRY) continue;
    if (code == ARCHIVE_FATAL) {
      tally.error(index, {"", fmt::format("The archive cannot be read after member {}: {}.", index, said(r)), 0});
      complete = false;
      break;
    }
    if (options.stopped()) {
      tally.error(index, {"", std::string(kInterrupted), EINTR});
      complete = false;
      break;
    }
    mend_negative_time(r, from);
    to_entry(from, entry);
    entry.index = index++;
    ++tally.counts.entries;
    if (code != ARCHIVE_OK) tally.warn(entry.index, {entry.name, fmt::format("libarchive says of the header: {}.", said(r)), 0});
    const MemberCheck::Verdict verdict = check.check(entry);
    if (!verdict.stop.empty()) {
      tally.error(entry.index, {entry.name, verdict.stop, 0});
      complete = false;
      break;
    }
    if (!verdict.name) {
      tally.error(entry.index, {entry.name, verdict.refusal, 0});
      continue;
    }
    if (verdict.first_absolute) tally.warn(entry.index, {entry.name, std::string(kSlashRemoved), 0});
    if (verdict.name->path.empty() && entry.type != EntryType::directory) {
      tally.error(entry.index, {entry.name, "It has the target directory's own name; it was not extracted.", 0});
      continue;
    }
    if (verdict.name->path.empty() && entry.has_mtime && options.preserve_mtime) root_mtime = timespec{static_cast<time_t>(entry.mtime_s), entry.mtime_ns};
    archive_entry_copy_pathname(from, (root + "/" + verdict.name->path).c_str());
    if (entry.type == EntryType::hard_link) {
      const auto target = clean_name(entry.link);
      if (!target || target->path.empty()) {
        tally.error(entry.index, {entry.name, fmt::format("It is a hard link to \"{}\", which is not a name below the target; it was not extracted.", entry.link), 0});
        continue;
      }
      archive_entry_copy_hardlink(from, (root + "/" + target->path).c_str());
    }
    code = archive_write_header(w, from);
    if (code < ARCHIVE_WARN) {
      tally.error(entry.index, {entry.name, fmt::format("It cannot be made: {}.", said(w)), archive_errno(w)});
      if (code == ARCHIVE_FATAL) {
        complete = false;
        break;
      }
      continue;
    }
    if (code == ARCHIVE_WARN) tally.warn(entry.index, {entry.name, fmt::format("{}.", said(w)), archive_errno(w)});
    std::int64_t written = 0;
    bool cut = false;
    bool limit_reached = false;
    while (brings_data(entry) && (entry.data_bytes > 0 || !entry.size_known)) {
      const void* bytes = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      code = archive_read_data_block(r, &bytes, &size, &offset);
      if (code == ARCHIVE_EOF) break;
      if (code < ARCHIVE_WARN) {
        tally.error(entry.index, {entry.name, fmt::format("Its data ends early: {}.", said(r)), 0});
        cut = true;
        break;
      }
      if (options.stopped()) {
        tally.error(entry.index, {entry.name, std::string(kInterrupted), EINTR});
        cut = limit_reached = true;
        break;
      }
      if (const std::string over = check.check_data(written + static_cast<std::int64_t>(size), offset + static_cast<std::int64_t>(size));
          !over.empty()) {
        tally.error(entry.index, {entry.name, over, 0});
        cut = limit_reached = true;
        break;
      }
      if (archive_write_data_block(w, bytes, size, offset) < ARCHIVE_WARN) {
        tally.error(entry.index, {entry.name, fmt::format("Its data cannot be written: {}.", said(w)), archive_errno(w)});
        cut = true;
        break;
      }
      written += static_cast<std::int64_t>(size);
    }
    if (cut) tally.partial_files.emplace_back(entry.index, PartialFile{entry.name, written, entry.data_bytes});
    code = archive_write_finish_entry(w);
    if (code < ARCHIVE_WARN && !cut)
      tally.error(entry.index, {entry.name, fmt::format("It cannot be finished: {}.", said(w)), archive_errno(w)});
    else if (code == ARCHIVE_WARN)
      tally.warn(entry.index, {entry.name, fmt::format("{}.", said(w)), archive_errno(w)});
    switch (entry.type) {
      case EntryType::file: ++tally.counts.files; tally.counts.apparent_bytes += entry.size_known ? entry.size : written; break;
      case EntryType::directory: ++tally.counts.directories; break;
      case EntryType::symlink: ++tally.counts.symlinks; break;
      case EntryType::hard_link: ++tally.counts.hard_links; break;
      default: ++tally.counts.specials;
    }
    tally.counts.data_bytes += written;
    if (limit_reached) {
      complete = false;
      break;
    }
  }
  // Directory times and modes are set when the writer is closed.
  if (archive_write_close(w) != ARCHIVE_OK) tally.warn(index, {"", fmt::format("{}.", said(w)), archive_errno(w)});
  // It sets the time of a directory that was there at once, and making its files then changes it again.
  if (root_mtime) {
    const timespec times[2] = {{0, UTIME_OMIT}, *root_mtime};
    if (::utimensat(AT_FDCWD, root.c_str(), times, 0) != 0) tally.warn(index, {".", "Its time cannot be set.", errno});
  }
  return complete;
}

}  // namespace spillway::extract
