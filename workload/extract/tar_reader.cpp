#include "workload/extract/tar_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "workload/extract/decompress.hpp"

namespace spillway::extract {
namespace {

constexpr std::int64_t kBlockBytes = static_cast<std::int64_t>(kBlock);

std::int64_t padding_of(std::int64_t size) { return (kBlockBytes - size % kBlockBytes) % kBlockBytes; }

/// A size above this cannot be: the archive would not fit any file system, and sums must not overflow.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 61;

std::string until_nul(std::string text) {
  if (const auto nul = text.find('\0'); nul != std::string::npos) text.resize(nul);
  return text;
}

}  // namespace

TarReader::TarReader(std::unique_ptr<ByteSource> source, Limits limits, bool concatenated, bool share)
    : source_(std::move(source)), limits_(limits), concatenated_(concatenated), share_(share) {}

bool TarReader::recognises(std::span<const std::byte> beginning) {
  if (beginning.size() < kBlock) return false;
  for (std::size_t at = 0; beginning.size() - at >= kBlock; at += kBlock) {
    const Block block(beginning.data() + at, kBlock);
    if (!is_zero(block)) return has_valid_checksum(block);
  }
  return true;
}

void TarReader::remark(bool error, std::string what) { remarks_.push_back({error, index_, {name_, std::move(what), 0}}); }

Result<bool> TarReader::fill() {
  if (chunk_) {
    if (at_ < chunk_->length) return true;
    next_offset_ = chunk_->offset + static_cast<std::int64_t>(chunk_->length);
    chunk_.reset();
    at_ = 0;
  }
  SPILLWAY_ASSIGN(chunk_, source_->next());
  return chunk_ != nullptr;
}

Result<const std::byte*> TarReader::block(bool consume) {
  SPILLWAY_ASSIGN(const bool more, fill());
  if (!more || chunk_->length - at_ < kBlock) return nullptr;
  const std::byte* const here = chunk_->bytes.get() + at_;
  if (consume) at_ += kBlock;
  return here;
}

/// An error when the archive ends first.
Status TarReader::skip(std::int64_t bytes) {
  while (bytes > 0) {
    if (chunk_ && at_ < chunk_->length) {
      const auto step = std::min<std::int64_t>(bytes, static_cast<std::int64_t>(chunk_->length - at_));
      at_ += static_cast<std::size_t>(step);
      bytes -= step;
      continue;
    }
    const std::int64_t here = position();
    if (source_->plain_fd() >= 0) {
      // Jump to the block that the next byte lies in; blocks stay aligned within chunks.
      const std::int64_t to = here + bytes;
      if (to > source_->plain_size()) break;
      const std::int64_t block_start = to - to % kBlockBytes;
      if (block_start > here) {
        chunk_.reset();
        at_ = 0;
        next_offset_ = block_start;
        source_->seek(block_start);
        bytes = to - block_start;
        continue;
      }
    }
    SPILLWAY_ASSIGN(const bool more, fill());
    if (!more) break;
  }
  if (bytes == 0) return {};
  return fail(ErrorKind::bad_input, fmt::format("The archive ends at byte {} inside the data of \"{}\".",
                                                source_->plain_size() >= 0 ? source_->plain_size() : position(), name_));
}

Result<std::string> TarReader::body(std::int64_t size) {
  std::string text;
  text.reserve(static_cast<std::size_t>(std::min<std::int64_t>(size, 1 << 20)));
  std::int64_t left = size;
  while (left > 0) {
    SPILLWAY_ASSIGN(const bool more, fill());
    if (!more)
      return fail(ErrorKind::bad_input, fmt::format("The archive ends at byte {} inside an extended header.", position()));
    const auto step = std::min<std::int64_t>(left, static_cast<std::int64_t>(chunk_->length - at_));
    text.append(reinterpret_cast<const char*>(chunk_->bytes.get() + at_), static_cast<std::size_t>(step));
    at_ += static_cast<std::size_t>(step);
    left -= step;
  }
  SPILLWAY_TRY(skip(padding_of(size)));
  return text;
}

Status TarReader::finish_member() {
  if (remaining_ == 0 && padding_ == 0) return {};
  SPILLWAY_TRY(skip(to_deliver_ - delivered_));
  std::int64_t left = remaining_ - to_deliver_;
  if (sparse_ && left >= kBlockBytes) {
    // The size record is larger than the map: the next header may stand where the map says (a stale record).
    const std::int64_t gap = padding_of(to_deliver_);
    SPILLWAY_TRY(skip(gap));
    left -= gap;
    SPILLWAY_ASSIGN(const std::byte* const here, block(false));
    if (here != nullptr && !is_zero(Block(here, kBlock)) && has_valid_checksum(Block(here, kBlock))) {
      remark(false, fmt::format("The size record says that {} bytes more follow than the sparse map has; the next header "
                                "was found where the map ends.", left));
      left = 0;
      padding_ = 0;
    } else {
      remark(false, fmt::format("{} bytes behind its sparse data are skipped.", left));
    }
  }
  SPILLWAY_TRY(skip(left));
  // The last member's padding may be missing without harm.
  if (padding_ > 0 && !skip(padding_)) at_ = chunk_ ? chunk_->length : at_;
  remaining_ = padding_ = to_deliver_ = delivered_ = 0;
  return {};
}

Status TarReader::read_trailing() {
  ended_ = true;
  for (;;) {
    SPILLWAY_ASSIGN(const bool more, fill());
    if (!more) return {};
    const std::byte* const from = chunk_->bytes.get() + at_;
    const std::size_t length = chunk_->length - at_;
    trailing_.bytes += static_cast<std::int64_t>(length);
    // Nothing but an end mark, then something: an empty archive in front of another one, or no archive at all.
    for (std::size_t at = 0; index_ == 0 && trailing_.all_zero && length - at >= kBlock; at += kBlock) {
      const Block block(from + at, kBlock);
      if (is_zero(block)) continue;
      if (!has_valid_checksum(block))
        return fail(ErrorKind::bad_input, fmt::format("The file begins with {} zero bytes, and what follows is no archive of a known format.",
                                                      chunk_->offset + static_cast<std::int64_t>(at_ + at)));
      break;
    }
    if (trailing_.all_zero && (from[0] != std::byte{0} || std::memcmp(from, from + 1, length - 1) != 0))
      trailing_.all_zero = false;
    at_ = chunk_->length;
  }
}

void TarReader::forget_extensions() {
  if (has_local_) local_ = {};
  has_local_ = false;
  long_name_.reset();
  long_link_.reset();
}

Result<bool> TarReader::next(Entry& entry) {
  if (ended_) return false;
  SPILLWAY_TRY(finish_member());
  for (;;) {
    const std::int64_t here = position();
    SPILLWAY_ASSIGN(const std::byte* const bytes, block(true));
    if (bytes == nullptr) {
      if (chunk_ && at_ < chunk_->length)
        return fail(ErrorKind::bad_input, fmt::format("The archive ends inside the header at byte {}, after \"{}\".", here, name_));
      if (skipping_damage_)
        return fail(ErrorKind::bad_input, fmt::format("No good header follows the damage after \"{}\".", name_));
      if (has_local_ || long_name_ || long_link_)
        return fail(ErrorKind::bad_input, fmt::format("The archive ends at byte {}, between an extended header and its member.", here));
      ended_ = true;
      if (!concatenated_) remark(false, "The archive has no end mark.");
      return false;
    }
    const Block header(bytes, kBlock);
    if (is_zero(header)) {
      if (concatenated_) continue;
      SPILLWAY_ASSIGN(const std::byte* const second, block(false));
      if (second != nullptr && is_zero(Block(second, kBlock))) at_ += kBlock;
      else if (second != nullptr) remark(false, fmt::format("The end mark at byte {} is a lone zero block.", here));
      SPILLWAY_TRY(read_trailing());
      return false;
    }
    if (!has_valid_checksum(header)) {
      if (!skipping_damage_) remark(true, fmt::format("The header at byte {} is damaged; skipping to the next good one.", here));
      skipping_damage_ = true;
      forget_extensions();
      continue;
    }
    skipping_damage_ = false;
    std::array<std::byte, kBlock> copy;
    std::memcpy(copy.data(), bytes, kBlock);
    SPILLWAY_ASSIGN(const bool produced, take_header(copy, entry));
    if (produced) return true;
  }
}

Result<bool> TarReader::take_header(const std::array<std::byte, kBlock>& header, Entry& entry) {
  RawHeader raw = parse_header(Block(header));
  const bool extension = raw.type == 'x' || raw.type == 'X' || raw.type == 'g' || raw.type == 'L' || raw.type == 'K';
  if (extension || raw.type == 'V' || raw.type == 'A' || raw.type == 'N') {
    if (!raw.size_valid || raw.size > kLargestSize) {
      remark(true, fmt::format("An extended header after it has no readable size; skipping to the next good header."));
      skipping_damage_ = true;
      forget_extensions();
      return false;
    }
    if (!extension || raw.size > limits_.header_bytes.value()) {
      if (extension)
        remark(true, fmt::format("An extended header of {} bytes after it is above the limit and was left out.", raw.size));
      SPILLWAY_TRY(skip(raw.size));
      SPILLWAY_TRY(skip(padding_of(raw.size)));
      return false;
    }
    SPILLWAY_ASSIGN(std::string text, body(raw.size));
    if (raw.type == 'L') {
      long_name_ = until_nul(std::move(text));
    } else if (raw.type == 'K') {
      long_link_ = until_nul(std::move(text));
    } else if (raw.type == 'g') {
      PaxValues values;
      parse_pax(text, values, limits_.sparse_runs);
      if (!values.problem.empty()) remark(false, fmt::format("In a global pax header {}.", values.problem));
      values.problem.clear();
      overlay(global_, std::move(values));
      has_global_ = true;
    } else {
      parse_pax(text, local_, limits_.sparse_runs);
      has_local_ = true;
    }
    return false;
  }

  PaxValues values;
  if (has_global_) {
    values = global_;
    overlay(values, std::move(local_));
  } else if (has_local_) {
    values = std::move(local_);
  }

  entry.index = index_++;
  entry.name = values.sparse_name ? std::move(*values.sparse_name)
               : values.path      ? std::move(*values.path)
               : long_name_       ? std::move(*long_name_)
                                  : std::move(raw.name);
  entry.link = values.link_path ? std::move(*values.link_path) : long_link_ ? std::move(*long_link_) : std::move(raw.link);
  name_ = entry.name;
  const std::string problem = std::move(values.problem);
  forget_extensions();
  if (!problem.empty())
    remarks_.push_back({false, entry.index, {name_, fmt::format("In its extended header {}.", problem), 0}});

  std::int64_t stored = values.size ? *values.size : raw.size;
  if ((!values.size && !raw.size_valid) || stored > kLargestSize) {
    remarks_.push_back({true, entry.index, {name_, "Its size is not readable; skipping to the next good header.", 0}});
    skipping_damage_ = true;
    return false;
  }

  entry.mode = static_cast<mode_t>(raw.mode) & 07777;
  entry.uid = static_cast<uid_t>(values.uid.value_or(raw.uid));
  entry.gid = static_cast<gid_t>(values.gid.value_or(raw.gid));
  entry.has_mtime = true;
  entry.mtime_s = values.mtime_s.value_or(raw.mtime);
  entry.mtime_ns = values.mtime_s ? values.mtime_ns : 0;
  entry.device_major = static_cast<unsigned>(values.device_major.value_or(raw.device_major));
  entry.device_minor = static_cast<unsigned>(values.device_minor.value_or(raw.device_minor));
  entry.xattrs = std::move(values.xattrs);
  entry.acl_access = values.acl_access ? std::move(*values.acl_access) : std::string{};
  entry.acl_default = values.acl_default ? std::move(*values.acl_default) : std::string{};
  entry.sparse = false;
  entry.runs.clear();
  entry.size = 0;
  entry.data_bytes = 0;
  entry.size_known = true;
  entry.has_other_names = false;
  sparse_ = false;
  delivered_ = to_deliver_ = 0;
  run_ = 0;
  run_done_ = 0;
  runs_.clear();

  // Some writers give a hard link, or an old tar's directory, a size but no data, others the data too: what follows decides.
  const auto size_with_body = [&]() -> Result<std::int64_t> {
    if (stored == 0) return stored;
    SPILLWAY_ASSIGN(const std::byte* const following, block(false));
    const bool has_body = following != nullptr && !is_zero(Block(following, kBlock)) && !has_valid_checksum(Block(following, kBlock));
    return has_body ? stored : 0;
  };
  switch (raw.type) {
    case '1': {
      entry.type = EntryType::hard_link;
      SPILLWAY_ASSIGN(stored, size_with_body());
      break;
    }
    case '2': entry.type = EntryType::symlink; stored = 0; break;
    case '3': entry.type = EntryType::character_device; stored = 0; break;
    case '4': entry.type = EntryType::block_device; stored = 0; break;
    case '5': entry.type = EntryType::directory; stored = 0; break;
    case '6': entry.type = EntryType::fifo; stored = 0; break;
    case 'D': entry.type = EntryType::directory; break;  // GNU incremental: the data is a list of names
    case 'M':
      remarks_.push_back({true, entry.index, {name_, "It began in another volume; it was not extracted.", 0}});
      remaining_ = stored;
      padding_ = padding_of(stored);
      SPILLWAY_TRY(finish_member());
      return false;
    default:
      entry.type = entry.name.ends_with('/') ? EntryType::directory : EntryType::file;
      if (entry.type == EntryType::directory) {
        SPILLWAY_ASSIGN(stored, size_with_body());
      }
      if (raw.type != '0' && raw.type != '\0' && raw.type != '7' && raw.type != 'S')
        remarks_.push_back({false, entry.index,
                            {name_, fmt::format("Its type '{}' is unknown; it is extracted as a file.",
                                                raw.type >= ' ' && raw.type < 127 ? raw.type : '?'), 0}});
  }
  remaining_ = stored;
  padding_ = padding_of(stored);
  if (entry.type != EntryType::file) return true;

  entry.size = stored;
  entry.data_bytes = stored;
  to_deliver_ = stored;
  if (raw.type == 'S' || values.sparse || values.sparse_in_data) {
    SPILLWAY_ASSIGN(const bool usable, read_sparse_map(header, raw.type, values, entry));
    if (!usable) {
      to_deliver_ = 0;
      SPILLWAY_TRY(finish_member());
      return false;
    }
  }
  data_offset_ = position();
  if (to_deliver_ > static_cast<std::int64_t>(kWindowBytes)) source_->align_to(data_offset_);
  return true;
}

Result<bool> TarReader::read_sparse_map(const std::array<std::byte, kBlock>& header, char type, PaxValues& values,
                                        Entry& entry) {
  const auto refuse = [&](std::string_view why) {
    remarks_.push_back({true, entry.index, {name_, fmt::format("Its sparse map {}; it was not extracted.", why), 0}});
    return false;
  };
  std::vector<Run> runs;
  if (type == 'S') {
    OldSparse old = parse_old_sparse_header(Block(header));
    runs = std::move(old.runs);
    values.real_size = values.real_size.value_or(old.real_size);
    bool valid = old.valid;
    for (bool extended = old.extended; extended;) {
      SPILLWAY_ASSIGN(const std::byte* const bytes, block(true));
      if (bytes == nullptr)
        return fail(ErrorKind::bad_input, fmt::format("The archive ends at byte {} inside the sparse map of \"{}\".", position(), name_));
      OldSparse more = parse_old_sparse_continuation(Block(bytes, kBlock));
      valid = valid && more.valid && static_cast<std::int64_t>(runs.size()) <= limits_.sparse_runs;
      if (valid) runs.insert(runs.end(), more.runs.begin(), more.runs.end());
      extended = more.extended;
    }
    if (!valid) return refuse("is not readable");
  } else if (values.sparse_in_data) {
    SparseMapParser parser(limits_.sparse_runs);
    while (!parser.done() && !parser.failed() && remaining_ >= kBlockBytes) {
      SPILLWAY_ASSIGN(const std::byte* const bytes, block(true));
      if (bytes == nullptr)
        return fail(ErrorKind::bad_input, fmt::format("The archive ends at byte {} inside the sparse map of \"{}\".", position(), name_));
      parser.feed(Block(bytes, kBlock));
      remaining_ -= kBlockBytes;
    }
    if (!parser.done()) return refuse("is not readable");
    runs = parser.take();
  } else {
    runs = std::move(values.runs);
  }
  const std::int64_t real = values.real_size.value_or(remaining_);
  if (!normalise_runs(runs, real)) return refuse("overlaps or reaches beyond the file");
  std::int64_t sum = 0;
  for (const Run& run : runs) sum += run.length;
  entry.sparse = true;
  entry.size = real;
  entry.data_bytes = sum;
  entry.runs = runs;
  runs_ = std::move(runs);
  sparse_ = true;
  to_deliver_ = std::min(sum, remaining_);
  if (sum > remaining_)
    remarks_.push_back({false, entry.index, {name_, fmt::format("Its sparse map has {} bytes of data, its size record {}.", sum, remaining_), 0}});
  return true;
}

Result<bool> TarReader::data(DataPiece& piece) {
  const std::int64_t left = to_deliver_ - delivered_;
  if (left == 0) return false;
  SPILLWAY_ASSIGN(const bool more, fill());
  if (!more) {
    const std::int64_t end = position();
    return fail(ErrorKind::bad_input,
                fmt::format("The archive ends at byte {}, {} bytes before the end of this file's data.", end, left));
  }
  std::int64_t take = std::min<std::int64_t>(left, static_cast<std::int64_t>(chunk_->length - at_));
  piece.offset = delivered_;
  if (sparse_) {
    const Run& run = runs_[run_];
    take = std::min(take, run.length - run_done_);
    piece.offset = run.offset + run_done_;
    run_done_ += take;
    if (run_done_ == run.length) {
      ++run_;
      run_done_ = 0;
    }
  }
  piece.bytes = {chunk_->bytes.get() + at_, static_cast<std::size_t>(take)};
  if (share_) piece.keep = chunk_;
  else piece.keep.reset();
  at_ += static_cast<std::size_t>(take);
  delivered_ += take;
  return true;
}

std::optional<StoredData> TarReader::stored() const {
  if (source_->plain_fd() < 0 || delivered_ > 0 || data_offset_ + to_deliver_ > source_->plain_size()) return std::nullopt;
  return StoredData{source_->plain_fd(), data_offset_, to_deliver_};
}

Result<OpenedTar> open_tar(const std::filesystem::path& path, const TarOpenOptions& options) {
  struct stat about {};
  // A pipe is read once and not looked into, a block device tells no size: libarchive reads both.
  if (::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) return OpenedTar{};
  Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file)
    return fail(ErrorKind::refused, fmt::format("The archive {} cannot be opened: {}.", path.string(), std::strerror(errno)), errno);
  ::fstat(file.get(), &about);
  std::unique_ptr<ByteSource> source;
  std::vector<std::byte> first(kBlock);
  ssize_t got = ::pread(file.get(), first.data(), first.size(), 0);
  if (got == static_cast<ssize_t>(kBlock) && is_zero(Block(first.data(), kBlock))) {
    first.resize(TarReader::kBeginning);
    got = ::pread(file.get(), first.data(), first.size(), 0);
  }
  if (got < 0)
    return fail(ErrorKind::refused, fmt::format("The archive {} cannot be read: {}.", path.string(), std::strerror(errno)), errno);
  const bool share = options.chunks > 1;
  first.resize(static_cast<std::size_t>(got));
  if (got == 0 || TarReader::recognises(first)) {
    source = file_source(std::move(file), about.st_size, options.chunks, options.drop_behind);
  } else {
    SPILLWAY_ASSIGN(std::unique_ptr<DecompressedSource> stream,
                    decompressed_source(std::move(file), first, options.buffer_bytes));
    // Whether a tar is inside shows in the first block; anything else is libarchive's.
    if (!stream || !stream->starts_with_tar()) return OpenedTar{};
    source = std::move(stream);
  }
  ByteSource* const borrowed = source.get();
  return OpenedTar{std::make_unique<TarReader>(std::move(source), options.limits, options.concatenated, share), borrowed};
}

}  // namespace spillway::extract
