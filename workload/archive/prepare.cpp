#include "workload/archive/catalogue.hpp"
#include "workload/archive/made_archive.hpp"
#include "workload/archive/read_catalogue.hpp"
#include "workload/archive/sha256.hpp"
#include "workload/record/file_io.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <memory>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace spillway {

namespace {

namespace fs = std::filesystem;

/// Kept free on the cache's file system while something is written there.
constexpr std::int64_t kReserve = 256 * kMiB;

std::int64_t free_bytes(const fs::path& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) return 0;
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

Status make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return {};
  return fail(ErrorKind::refused, fmt::format("cannot make the cache folder {}: {}; set SPILLWAY_CACHE_DIR to one that can be written", folder.string(), error.message()), error.value());
}

/// A file that appears under its name when it is complete. Hashes what goes through.
class GrowingFile {
 public:
  explicit GrowingFile(fs::path target) : target_(std::move(target)), temporary_(fmt::format("{}.{}.part", target_.string(), ::getpid())) {}
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  ~GrowingFile() {
    if (fd_ >= 0) {
      ::close(fd_);
      ::unlink(temporary_.c_str());
    }
  }

  Status open() {
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return fd_ >= 0 ? Status{} : failed("create", errno);
  }
  Status add(std::span<const std::byte> data) {
    hash_.add(data);
    since_check_ += static_cast<std::int64_t>(data.size());
    if (since_check_ > kReserve / 4) {
      since_check_ = 0;
      if (const std::int64_t left = free_bytes(target_.parent_path()); left < kReserve) {
        return fail(ErrorKind::refused, fmt::format("only {} MB are left in {} for the archive cache; free some, or set SPILLWAY_CACHE_DIR to a folder elsewhere", left / kMB, target_.parent_path().string()), ENOSPC);
      }
    }
    while (!data.empty()) {
      const ssize_t n = ::write(fd_, data.data(), data.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failed("write", errno);
      data = data.subspan(static_cast<std::size_t>(n));
    }
    return {};
  }
  /// Syncs, renames, and gives the content's hash.
  Result<std::string> finish() {
    if (::fsync(fd_) != 0) return failed("sync", errno);
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) return failed("rename into place", errno);
    ::close(fd_);
    fd_ = -1;
    return hash_.finish();
  }

 private:
  [[nodiscard]] std::unexpected<Error> failed(std::string_view tried, int number) const {
    return fail(ErrorKind::refused, fmt::format("cannot {} {}: {}", tried, temporary_.string(), std::strerror(number)), number);
  }

  fs::path target_, temporary_;
  int fd_ = -1;
  std::int64_t since_check_ = 0;
  Sha256 hash_;
};

struct FileFacts {
  std::int64_t size = 0, mtime_ns = 0, inode = 0;
};
Result<FileFacts> facts_of(const fs::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return fail(ErrorKind::refused, fmt::format("cannot examine {}: {}", file.string(), std::strerror(errno)), errno);
  if (!S_ISREG(info.st_mode)) return fail(ErrorKind::bad_input, fmt::format("{} is not a regular file", file.string()));
  return FileFacts{info.st_size, info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec, static_cast<std::int64_t>(info.st_ino)};
}

/// The content hash, remembered by path, size and modification time, so that a second call costs a look-up.
Result<std::string> hash_of(const fs::path& file, const fs::path& cache) {
  SPILLWAY_ASSIGN(const FileFacts facts, facts_of(file));
  std::error_code ignored;
  const fs::path absolute = fs::absolute(file, ignored);
  const fs::path note = cache / "hashes" / sha256_of(absolute.string()).substr(0, 32);
  const std::string key = fmt::format("{} {} {} ", facts.size, facts.mtime_ns, facts.inode);
  if (const auto known = read_file(note); known && known->starts_with(key) && known->size() == key.size() + 65) return known->substr(key.size(), 64);
  SPILLWAY_ASSIGN(const std::string hash, sha256_of_file(file));
  SPILLWAY_TRY(write_file_atomically(note, key + hash + "\n"));
  return hash;
}

/// The catalogue of a file, cached by its content hash.
Result<Catalogue> cached_catalogue(const fs::path& file, const std::string& hash, const fs::path& cache) {
  const fs::path note = cache / "catalogues" / (hash + ".txt");
  if (const auto text = read_file(note)) {
    if (auto catalogue = catalogue_from_text(*text, note.string())) return catalogue;
  }
  SPILLWAY_ASSIGN(Catalogue catalogue, read_catalogue(file));
  catalogue.sha256 = hash;
  SPILLWAY_TRY(write_file_atomically(note, catalogue_text(catalogue)));
  return catalogue;
}

Result<PreparedArchive> prepare_made(const ArchiveSpec& spec, const fs::path& cache) {
  PreparedArchive out;
  SPILLWAY_ASSIGN(out.catalogue, made_catalogue(spec));
  const fs::path folder = cache / "made";
  SPILLWAY_TRY(make_folder(folder));
  out.path = folder / (sha256_of(made_identity(spec)).substr(0, 32) + ".tar");
  const fs::path hash_note = out.path.string() + ".sha256";
  std::error_code error;
  if (fs::exists(out.path, error) && static_cast<std::int64_t>(fs::file_size(out.path, error)) == out.catalogue.archive_bytes.value()) {
    if (const auto hash = read_file(hash_note); hash && hash->size() == 65) {
      out.catalogue.sha256 = hash->substr(0, 64);
      return out;
    }
  }
  if (const std::int64_t left = free_bytes(folder); left < out.catalogue.archive_bytes.value() + kReserve) {
    return fail(ErrorKind::refused, fmt::format("the archive needs {} MB in {}, where {} MB are free; free some, or set SPILLWAY_CACHE_DIR to a folder elsewhere",
                                                (out.catalogue.archive_bytes.value() + kReserve) / kMB, folder.string(), left / kMB), ENOSPC);
  }
  GrowingFile file{out.path};
  SPILLWAY_TRY(file.open());
  SPILLWAY_TRY(write_made_tar(spec, out.catalogue, [&file](std::span<const std::byte> data) { return file.add(data); }));
  SPILLWAY_ASSIGN(out.catalogue.sha256, file.finish());
  SPILLWAY_TRY(write_file_atomically(hash_note, out.catalogue.sha256 + "\n"));
  return out;
}

struct FreeReader {
  void operator()(archive* a) const { archive_read_free(a); }
};
using Reader = std::unique_ptr<archive, FreeReader>;

/// Opens the file as one compressed stream. Null: it is not compressed as a whole.
Result<Reader> open_compressed(const fs::path& file) {
  Reader reader{archive_read_new()};
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_raw(reader.get());
  archive_read_support_format_empty(reader.get());
  archive_entry* entry = nullptr;
  if (archive_read_open_filename(reader.get(), file.c_str(), 1 << 18) != ARCHIVE_OK || archive_read_next_header(reader.get(), &entry) < ARCHIVE_WARN) {
    const char* reason = archive_error_string(reader.get());
    return fail(archive_error_kind(archive_errno(reader.get())), fmt::format("cannot read {}: {}", file.string(), reason != nullptr ? reason : "no reason given"), archive_errno(reader.get()));
  }
  // The last filter is always "none".
  if (archive_filter_count(reader.get()) <= 1) return Reader{};
  return reader;
}

Result<PreparedArchive> prepare_real(const ArchiveSpec& spec, const fs::path& experiment_folder, const fs::path& cache) {
  SPILLWAY_ASSIGN(const fs::path file, find_archive(spec.path, experiment_folder));
  SPILLWAY_ASSIGN(const std::string hash, hash_of(file, cache));
  if (!spec.sha256.empty() && spec.sha256 != hash) {
    return fail(ErrorKind::bad_input, fmt::format("{} has the hash {}, the experiment expects archive.sha256 = {}; fetch the right file or change the experiment", file.string(), hash, spec.sha256));
  }
  PreparedArchive out;
  out.path = file;
  SPILLWAY_ASSIGN(const Reader reader, open_compressed(file));
  if (reader == nullptr || spec.decompress == "each") {
    SPILLWAY_ASSIGN(out.catalogue, cached_catalogue(file, hash, cache));
    return out;
  }
  const fs::path folder = cache / "plain";
  SPILLWAY_TRY(make_folder(folder));
  out.path = folder / (hash + ".tar");
  const fs::path hash_note = out.path.string() + ".sha256";
  std::error_code error;
  std::string plain_hash;
  if (const auto known = read_file(hash_note); known && known->size() == 65 && fs::exists(out.path, error)) {
    plain_hash = known->substr(0, 64);
  } else {
    GrowingFile plain{out.path};
    SPILLWAY_TRY(plain.open());
    while (true) {
      const void* data = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int status = archive_read_data_block(reader.get(), &data, &size, &offset);
      if (status == ARCHIVE_EOF) break;
      if (status < ARCHIVE_WARN) {
        return fail(archive_error_kind(archive_errno(reader.get())), fmt::format("cannot unpack {}: {}; is it whole?", file.string(), archive_error_string(reader.get())), archive_errno(reader.get()));
      }
      SPILLWAY_TRY(plain.add({static_cast<const std::byte*>(data), size}));
    }
    SPILLWAY_ASSIGN(plain_hash, plain.finish());
    SPILLWAY_TRY(write_file_atomically(hash_note, plain_hash + "\n"));
  }
  SPILLWAY_ASSIGN(out.catalogue, cached_catalogue(out.path, plain_hash, cache));
  return out;
}

}  // namespace

fs::path cache_folder() {
  if (const char* own = std::getenv("SPILLWAY_CACHE_DIR"); own != nullptr && *own != '\0') return own;
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return fs::path{home} / ".cache" / "spillway";
  return "/var/cache/spillway";
}

Result<fs::path> find_archive(const std::string& path, const fs::path& experiment_folder) {
  const fs::path given{path};
  std::error_code ignored;
  const fs::path beside = given.is_absolute() ? given : experiment_folder / given;
  if (fs::exists(beside, ignored)) return beside;
  const fs::path fetched = cache_folder() / "archives" / given.filename();
  if (!given.is_absolute() && fs::exists(fetched, ignored)) return fetched;
  return fail(ErrorKind::bad_input, fmt::format("there is no archive {}{}{}",
                                                beside.string(), given.is_absolute() ? "" : " and no " + fetched.string(),
                                                given.filename().string().starts_with("linux-source") ? "; scripts/fetch-linux-source fetches it" : ""), ENOENT);
}

Result<PreparedArchive> prepare_archive(const ArchiveSpec& spec, const fs::path& experiment_folder) {
  const fs::path cache = cache_folder();
  if (spec.path.empty()) return prepare_made(spec, cache);
  auto prepared = prepare_real(spec, experiment_folder, cache);
  if (prepared && prepared->catalogue.entries.empty())
    prepared = fail(ErrorKind::bad_input, fmt::format("{} holds no member: there is nothing to extract", prepared->path.string()));
  if (!prepared) prepared.error().what = fmt::format("archive.path = \"{}\": {}", spec.path, prepared.error().what);
  return prepared;
}

Result<Catalogue> catalogue_of(const ArchiveSpec& spec, const fs::path& experiment_folder) {
  if (spec.path.empty()) return made_catalogue(spec);
  SPILLWAY_ASSIGN(PreparedArchive prepared, prepare_archive(spec, experiment_folder));
  return std::move(prepared.catalogue);
}

}  // namespace spillway
