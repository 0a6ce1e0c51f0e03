#include "cli/campaign/table_log.hpp"

#include "cli/campaign/folder.hpp"
#include "cli/campaign/table.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace spillway::campaign {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kMagic = "spillway.table/1 ";

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

std::unexpected<Error> file_error(const fs::path& file, const char* what) {
  const int error = errno;
  return fail(ErrorKind::refused, fmt::format("cannot {} {}: {}", what, file.string(), std::strerror(error)), error);
}

/// Where one block's rows are.
struct Block {
  Point point;
  std::uint32_t log = 0;  ///< which of the logs
  std::uint64_t offset = 0, bytes = 0, hash = 0;
};

struct LogContent {
  TableIdentity identity;
  int repeats = 0;
  std::vector<Block> blocks;
  std::uint64_t good_bytes = 0;  ///< up to here the log is whole
};

std::string header_line(const TableIdentity& identity, int repeats) {
  const Json header{{"experiment", identity.experiment},
                    {"digest", identity.digest},
                    {"cases", identity.cases},
                    {"repeats", repeats},
                    {"swept_keys", identity.swept_keys},
                    {"parameters", identity.parameters}};
  return std::string{kMagic} + header.dump() + "\n";
}

/// A file descriptor that closes itself.
struct OpenFile {
  explicit OpenFile(int number) : fd(number) {}
  OpenFile(OpenFile&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
  int fd;
};

/// Reads a file through a buffer of its own, line by line and block by block.
class Reader {
 public:
  explicit Reader(int fd) : fd_(fd) {}
  /// A whole line without its newline; none at the end of the file or when the newline is missing.
  std::optional<std::string> line() {
    std::string text;
    while (true) {
      if (begin_ == end_ && !fill()) return std::nullopt;
      const char* const from = buffer_.data() + begin_;
      const void* const found = std::memchr(from, '\n', end_ - begin_);
      const std::size_t length = found != nullptr ? static_cast<std::size_t>(static_cast<const char*>(found) - from) : end_ - begin_;
      text.append(from, length);
      begin_ += length;
      if (text.size() > kLongestLine) return std::nullopt;
      if (found != nullptr) {
        ++begin_;
        position_ += text.size() + 1;
        return text;
      }
    }
  }
  std::optional<std::string> bytes(std::uint64_t count) {
    std::string text;
    while (text.size() < count) {
      if (begin_ == end_ && !fill()) return std::nullopt;
      const std::size_t take = std::min<std::uint64_t>(count - text.size(), end_ - begin_);
      text.append(buffer_.data() + begin_, take);
      begin_ += take;
    }
    position_ += count;
    return text;
  }
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  static constexpr std::size_t kLongestLine = 1 << 20;
  bool fill() {
    ssize_t got = 0;
    do got = ::read(fd_, buffer_.data(), buffer_.size());
    while (got < 0 && errno == EINTR);
    begin_ = 0;
    end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    return got > 0;
  }
  int fd_;
  std::vector<char> buffer_ = std::vector<char>(1 << 16);
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t position_ = 0;
};

/// Reads "point CASE REPEAT BYTES HASH".
std::optional<Block> block_header(std::string_view line) {
  Block block;
  if (!line.starts_with("point ")) return std::nullopt;
  const char* at = line.data() + 6;
  const char* const end = line.data() + line.size();
  const auto field = [&](auto& value, int base) {
    while (at < end && *at == ' ') ++at;
    const auto [rest, error] = std::from_chars(at, end, value, base);
    at = rest;
    return error == std::errc{};
  };
  if (!field(block.point.case_index, 10) || !field(block.point.repeat, 10) || !field(block.bytes, 10) || !field(block.hash, 16)) {
    return std::nullopt;
  }
  if (at != end || block.point.repeat < 1 || block.bytes > (1U << 30)) return std::nullopt;
  return block;
}

Result<LogContent> read_first_line(Reader& reader, const fs::path& file) {
  LogContent content;
  const auto first = reader.line();
  const auto json = first && first->starts_with(kMagic) ? Json::parse(first->substr(kMagic.size()), nullptr, false) : Json{};
  if (!json.is_object() || !json.contains("digest") || !json["digest"].is_string() || !json.contains("cases") ||
      !json["cases"].is_number_unsigned() || !json.contains("repeats") || !json["repeats"].is_number_integer() ||
      !json.contains("experiment") || !json["experiment"].is_string() || !json.contains("swept_keys") || !json["swept_keys"].is_array()) {
    return fail(ErrorKind::bad_input, fmt::format("{} is not the log of a sweep: its first line should begin with \"{}\"; "
                                                  "remove it, or give another folder with --out", file.string(), kMagic));
  }
  content.identity.experiment = json["experiment"].get<std::string>();
  content.identity.digest = json["digest"].get<std::string>();
  content.identity.cases = json["cases"].get<std::size_t>();
  content.repeats = json["repeats"].get<int>();
  if (json.contains("parameters")) content.identity.parameters = json["parameters"];
  for (const auto& key : json["swept_keys"]) content.identity.swept_keys.push_back(key.is_string() ? key.get<std::string>() : "");
  content.good_bytes = reader.position();
  return content;
}

Result<LogContent> read_log(int fd, const fs::path& file) {
  Reader reader(fd);
  SPILLWAY_ASSIGN(LogContent content, read_first_line(reader, file));
  while (const auto line = reader.line()) {
    auto block = block_header(*line);
    if (!block) break;
    block->offset = reader.position();
    const auto rows = reader.bytes(block->bytes);
    if (!rows || fnv1a(*rows) != block->hash) break;
    content.blocks.push_back(*block);
    content.good_bytes = reader.position();
  }
  return content;
}

Status write_all(int fd, std::string_view text, const fs::path& file) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0) {
      if (errno == EINTR) continue;
      return file_error(file, "write");
    }
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

/// Makes a log with its first line and, when `*log` is open, the blocks that it has; then puts it in place by rename, so
/// that no log is ever seen without a whole first line. `*log` is the new one afterwards.
Status start_log(const fs::path& file, const TableIdentity& identity, int repeats, OpenFile* log, const std::vector<Block>& blocks) {
  const fs::path next = file.string() + ".new";
  OpenFile copy(::open(next.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (copy.fd < 0) return file_error(next, "open");
  SPILLWAY_TRY(write_all(copy.fd, header_line(identity, repeats), next));
  if (log->fd >= 0) {
    if (::lseek(log->fd, 0, SEEK_SET) != 0) return file_error(file, "read");
    Reader reader(log->fd);
    if (!reader.line()) return file_error(file, "read");
    for (const Block& block : blocks) {
      const auto head = reader.line();
      const auto rows = reader.bytes(block.bytes);
      if (!head || !rows) return file_error(file, "read");
      SPILLWAY_TRY(write_all(copy.fd, *head + "\n" + *rows, next));
    }
  }
  if (::rename(next.c_str(), file.c_str()) != 0) return file_error(next, "rename");
  std::swap(log->fd, copy.fd);
  return {};
}

fs::path log_file(const fs::path& out, const std::string& experiment, const Shard& shard) {
  return out / experiment / (shard.whole() ? std::string{"table.log"} : fmt::format("table.{}-of-{}.log", shard.index, shard.count));
}

/// The first thing in which two sweeps differ, in words.
std::string difference_of(const TableIdentity& there, const TableIdentity& now) {
  if (there.experiment != now.experiment) return fmt::format("experiment \"{}\" there, \"{}\" now", there.experiment, now.experiment);
  if (there.parameters.is_object() && now.parameters.is_object()) {
    if (const std::string first = first_difference(there.parameters, now.parameters); !first.empty()) return first;
  }
  return fmt::format("digest {} there, {} now", there.digest, now.digest);
}

bool is_table_log(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.starts_with("table.") && name.ends_with(".log");
}

/// A shard of another sweep in the same folder would be found only when all are merged.
Status fits_beside(const fs::path& file, const TableIdentity& identity) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(file.parent_path(), ignored)) {
    if (entry.path() == file || !is_table_log(entry.path())) continue;
    const OpenFile log(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    if (log.fd < 0) continue;
    Reader reader(log.fd);
    const auto content = read_first_line(reader, entry.path());
    if (content && content->identity != identity)
      return fail(ErrorKind::bad_input, fmt::format("{} beside it is of a sweep with other parameters ({}); give another folder with --out, "
                                                    "or --fresh to start this one anew", entry.path().string(), difference_of(content->identity, identity)));
  }
  return {};
}

}  // namespace

std::string digest_of(std::string_view text) { return fmt::format("{:016x}", fnv1a(text)); }

TableStore::TableStore(int fd, fs::path file, TableIdentity identity, std::uint64_t campaign_seed)
    : fd_(fd), file_(std::move(file)), identity_(std::move(identity)), campaign_seed_(campaign_seed), done_(identity_.cases) {}

TableStore::~TableStore() { ::close(fd_); }

Result<std::unique_ptr<TableStore>> TableStore::open(const fs::path& out, const TableIdentity& identity, int repeats, const Shard& shard,
                                                     std::uint64_t campaign_seed, bool fresh) {
  const fs::path file = log_file(out, identity.experiment, shard);
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) {
    return fail(ErrorKind::refused, fmt::format("cannot make the folder {}: {}; give another with --out", file.parent_path().string(),
                                                error.message()), error.value());
  }
  if (!fresh) SPILLWAY_TRY(fits_beside(file, identity));
  std::vector<Block> blocks;
  OpenFile log(fresh ? -1 : ::open(file.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  if (log.fd >= 0) {
    SPILLWAY_ASSIGN(LogContent content, read_log(log.fd, file));
    if (content.identity != identity) {
      return fail(ErrorKind::bad_input,
                  fmt::format("{} holds points of a sweep with other parameters ({}); give another folder with "
                              "--out, or --fresh to start anew", file.string(), difference_of(content.identity, identity)));
    }
    if (::ftruncate(log.fd, static_cast<off_t>(content.good_bytes)) != 0) return file_error(file, "cut");
    blocks = std::move(content.blocks);
    // More repeats of the same sweep: the points stay, the count in the first line changes.
    if (content.repeats != repeats) SPILLWAY_TRY(start_log(file, identity, repeats, &log, blocks));
  } else if (fresh || errno == ENOENT) {
    SPILLWAY_TRY(start_log(file, identity, repeats, &log, {}));
  } else {
    return file_error(file, "open");
  }
  std::unique_ptr<TableStore> store(new TableStore(std::exchange(log.fd, -1), file, identity, campaign_seed));
  for (const Block& block : blocks) {
    if (block.point.case_index >= store->done_.size()) continue;
    auto& repeats_done = store->done_[block.point.case_index];
    if (repeats_done.size() < static_cast<std::size_t>(block.point.repeat)) repeats_done.resize(static_cast<std::size_t>(block.point.repeat));
    repeats_done[static_cast<std::size_t>(block.point.repeat - 1)] = true;
  }
  return store;
}

Result<bool> TableStore::done(const Case&, Point point) {
  const std::lock_guard lock(mutex_);
  const auto& repeats = done_.at(point.case_index);
  return static_cast<std::size_t>(point.repeat) <= repeats.size() && repeats[static_cast<std::size_t>(point.repeat - 1)];
}

Result<fs::path> TableStore::begin(const Case&, Point) { return fs::path{}; }

Status TableStore::append(Point point, const std::string& rows) {
  SPILLWAY_TRY(write_all(fd_, fmt::format("point {} {} {} {:016x}\n{}", point.case_index, point.repeat, rows.size(), fnv1a(rows), rows), file_));
  const std::lock_guard lock(mutex_);
  auto& repeats = done_.at(point.case_index);
  if (repeats.size() < static_cast<std::size_t>(point.repeat)) repeats.resize(static_cast<std::size_t>(point.repeat));
  repeats[static_cast<std::size_t>(point.repeat - 1)] = true;
  return {};
}

Status TableStore::keep(const Case& item, Point point, const Record& record) {
  return append(point, table_rows(item, point, record, identity_.swept_keys));
}

Status TableStore::keep_failure(const Case& item, Point point, const Error& error) {
  if (error.kind != ErrorKind::unsupported && error.kind != ErrorKind::bad_input) return {};
  return append(point, table_failure_row(item, point, seed_of_repeat(item, campaign_seed_, point.repeat), error.what, identity_.swept_keys));
}

Result<std::optional<Record>> TableStore::load(const Case&, Point) { return std::nullopt; }

std::vector<fs::path> table_logs_below(const fs::path& folder) {
  std::vector<fs::path> logs;
  std::error_code error;
  for (fs::recursive_directory_iterator it{folder, fs::directory_options::skip_permission_denied, error}, end; !error && it != end;
       it.increment(error)) {
    if (is_table_log(it->path())) logs.push_back(it->path());
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

Result<MergedTable> merge_tables(const std::vector<fs::path>& logs, const fs::path& csv, bool partial) {
  if (logs.empty()) return fail(ErrorKind::bad_input, "no table*.log to merge: give the folders that `spillway simulate --shard` wrote (a run that keeps full records has table.csv already)");
  MergedTable merged;
  merged.file = csv;
  std::vector<OpenFile> files;
  std::vector<Block> blocks;
  int repeats = 0;
  for (const fs::path& log : logs) {
    OpenFile file(::open(log.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd < 0) return file_error(log, "read");
    SPILLWAY_ASSIGN(LogContent content, read_log(file.fd, log));
    if (files.empty()) {
      merged.identity = content.identity;
      repeats = content.repeats;
    } else if (content.identity != merged.identity || content.repeats != repeats) {
      return fail(ErrorKind::bad_input,
                  fmt::format("{} and {} are of different sweeps ({}): merge only shards of one", logs.front().string(), log.string(),
                              content.identity != merged.identity ? difference_of(merged.identity, content.identity)
                                                                  : fmt::format("{} repeats there, {} now", repeats, content.repeats)));
    }
    for (Block& block : content.blocks) {
      if (block.point.case_index >= content.identity.cases || block.point.repeat > repeats) continue;
      block.log = static_cast<std::uint32_t>(files.size());
      blocks.push_back(block);
    }
    files.push_back(std::move(file));
  }
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.point < b.point; });
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    if (blocks[i].point == blocks[i - 1].point && blocks[i].hash != blocks[i - 1].hash) {
      return fail(ErrorKind::bad_input, fmt::format("{} and {} disagree on case {} repeat {}: were they made by different versions?",
                                                    logs[blocks[i - 1].log].string(), logs[blocks[i].log].string(),
                                                    blocks[i].point.case_index + 1, blocks[i].point.repeat));
    }
  }
  blocks.erase(std::unique(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.point == b.point; }), blocks.end());
  merged.points = blocks.size();
  merged.missing = merged.identity.cases * static_cast<std::size_t>(repeats) - blocks.size();
  constexpr std::size_t kNamed = 5;
  for (std::size_t i = 0, c = 0; c < merged.identity.cases && merged.first_missing.size() < std::min(kNamed, merged.missing); ++c) {
    for (int r = 1; r <= repeats && merged.first_missing.size() < kNamed; ++r) {
      if (i < blocks.size() && blocks[i].point == Point{c, r}) ++i;
      else merged.first_missing.push_back(Point{c, r});
    }
  }
  if (merged.missing > 0 && !partial) return merged;

  std::error_code ignored;
  if (fs::is_directory(csv, ignored)) return fail(ErrorKind::bad_input, fmt::format("{} is a folder; --to names the table's file", csv.string()));
  const fs::path next = csv.string() + ".new";
  OpenFile out(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (out.fd < 0) return file_error(next, "open");
  std::string buffer = table_header(merged.identity.swept_keys);
  for (const Block& block : blocks) {
    const std::size_t old = buffer.size();
    buffer.resize(old + block.bytes);
    std::uint64_t have = 0;
    while (have < block.bytes) {
      const ssize_t got = ::pread(files[block.log].fd, buffer.data() + old + have, block.bytes - have, static_cast<off_t>(block.offset + have));
      if (got <= 0) return file_error(logs[block.log], "read");
      have += static_cast<std::uint64_t>(got);
    }
    if (buffer.size() > (1 << 20)) {
      SPILLWAY_TRY(write_all(out.fd, buffer, next));
      buffer.clear();
    }
  }
  SPILLWAY_TRY(write_all(out.fd, buffer, next));
  if (::fsync(out.fd) != 0) return file_error(next, "sync");
  if (::rename(next.c_str(), csv.c_str()) != 0) return file_error(next, "rename");
  return merged;
}

}  // namespace spillway::campaign
