#include "workload/extract/tar_header.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

namespace spillway::extract {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// Where the fields are. cited: POSIX.1-2001 pax, "ustar Interchange Format"; GNU tar src/tar.h.
struct Field {
  std::size_t at;
  std::size_t length;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kUid{108, 8}, kGid{116, 8}, kSize{124, 12}, kMtime{136, 12},
    kChecksum{148, 8}, kType{156, 1}, kLink{157, 100}, kMagic{257, 8}, kMajor{329, 8}, kMinor{337, 8}, kPrefix{345, 155};
constexpr std::size_t kOldSparseAt = 386, kOldSparseEntries = 4, kOldSparseExtended = 482;
constexpr Field kOldSparseReal{483, 12};
constexpr std::size_t kContinuationEntries = 21, kContinuationExtended = 504;
constexpr std::size_t kStarMagicAt = 508;
constexpr std::size_t kStarPrefixLength = 131;
// star's own sparse header. cited: GNU tar src/tar.h, struct star_in_header.
constexpr std::size_t kStarSparseExtended = 355, kStarSparseAt = 356, kStarSparseEntries = 4;
constexpr Field kStarSparseReal{452, 12};

std::span<const std::byte> field(Block block, Field f) { return block.subspan(f.at, f.length); }

std::string text(Block block, Field f) {
  const auto* begin = reinterpret_cast<const char*>(block.data()) + f.at;
  return {begin, ::strnlen(begin, f.length)};
}

bool matches(Block block, std::size_t at, std::string_view wanted) {
  return std::memcmp(block.data() + at, wanted.data(), wanted.size()) == 0;
}

void sparse_entries(Block block, std::size_t at, std::size_t count, OldSparse& sparse) {
  for (std::size_t i = 0; i < count; ++i, at += 24) {
    if (block[at] == std::byte{0}) break;
    const auto offset = parse_number(block.subspan(at, 12));
    const auto length = parse_number(block.subspan(at + 12, 12));
    if (!offset || !length) {
      sparse.valid = false;
      return;
    }
    sparse.runs.push_back({*offset, *length});
  }
}

std::optional<std::int64_t> decimal(std::string_view text) {
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "1234567890.123456789", also negative; more digits than nanoseconds are cut.
bool parse_time(std::string_view text, std::int64_t& seconds, std::int32_t& nanoseconds) {
  const std::size_t dot = text.find('.');
  const bool negative = text.starts_with('-');
  const auto whole = decimal(text.substr(0, dot));
  if (!whole) return false;
  std::int32_t fraction = 0;
  if (dot != std::string_view::npos) {
    std::int32_t scale = 100'000'000;
    for (const char c : text.substr(dot + 1)) {
      if (c < '0' || c > '9') return false;
      fraction += (c - '0') * scale;
      scale /= 10;
    }
  }
  seconds = *whole;
  if (negative && fraction > 0) {
    if (seconds == std::numeric_limits<std::int64_t>::min()) return false;
    seconds -= 1;
    fraction = 1'000'000'000 - fraction;
  }
  nanoseconds = fraction;
  return true;
}

std::string url_decoded(std::string_view text) {
  std::string out;
  const auto hex = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
      out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string base64_decoded(std::string_view text) {
  std::string out;
  unsigned bits = 0;
  int have = 0;
  for (const char c : text) {
    int value = -1;
    if (c >= 'A' && c <= 'Z') value = c - 'A';
    else if (c >= 'a' && c <= 'z') value = c - 'a' + 26;
    else if (c >= '0' && c <= '9') value = c - '0' + 52;
    else if (c == '+') value = 62;
    else if (c == '/') value = 63;
    if (value < 0) continue;
    bits = (bits << 6 | static_cast<unsigned>(value)) & 0xffffff;
    have += 6;
    if (have >= 8) {
      have -= 8;
      out += static_cast<char>(bits >> have & 0xff);
    }
  }
  return out;
}

void set_xattr(std::vector<Xattr>& all, std::string name, std::string value) {
  const auto same = std::find_if(all.begin(), all.end(), [&](const Xattr& x) { return x.name == name; });
  if (same != all.end()) same->value = std::move(value);
  else all.push_back({std::move(name), std::move(value)});
}

void parse_map_01(std::string_view text, PaxValues& values, std::int64_t max_runs) {
  values.runs.clear();
  values.sparse = true;
  std::vector<std::int64_t> numbers;
  std::size_t at = 0;
  while (at <= text.size() && !text.empty()) {
    std::size_t end = text.find(',', at);
    if (end == std::string_view::npos) end = text.size();
    const auto number = decimal(text.substr(at, end - at));
    if (!number || static_cast<std::int64_t>(numbers.size()) > 2 * max_runs) {
      values.problem = "its sparse map is not readable";
      return;
    }
    numbers.push_back(*number);
    at = end + 1;
  }
  if (numbers.size() % 2 != 0) {
    values.problem = "its sparse map has an odd number of values";
    return;
  }
  for (std::size_t i = 0; i < numbers.size(); i += 2) values.runs.push_back({numbers[i], numbers[i + 1]});
}

void apply_record(std::string_view key, std::string_view value, PaxValues& values, std::int64_t max_runs) {
  const auto number = [&](std::optional<std::int64_t>& into, bool may_be_negative = false) {
    const auto parsed = decimal(value);
    if (!parsed || (*parsed < 0 && !may_be_negative)) {
      values.problem = "the value of " + std::string(key) + " is not a number";
      return;
    }
    into = *parsed;
  };
  constexpr std::string_view kSchily = "SCHILY.xattr.";
  constexpr std::string_view kLibarchive = "LIBARCHIVE.xattr.";
  if (key == "path") values.path = value;
  else if (key == "linkpath") values.link_path = value;
  else if (key == "size") number(values.size);
  else if (key == "uid") number(values.uid);
  else if (key == "gid") number(values.gid);
  else if (key == "mtime") {
    std::int64_t seconds = 0;
    std::int32_t nanoseconds = 0;
    if (parse_time(value, seconds, nanoseconds)) {
      values.mtime_s = seconds;
      values.mtime_ns = nanoseconds;
    } else {
      values.problem = "its mtime is not a time";
    }
  } else if (key == "GNU.sparse.realsize" || key == "GNU.sparse.size" || key == "SCHILY.realsize") {
    number(values.real_size);
    if (key == "GNU.sparse.size") values.sparse = true;
  } else if (key == "GNU.sparse.name") values.sparse_name = value;
  else if (key == "GNU.sparse.map") parse_map_01(value, values, max_runs);
  else if (key == "GNU.sparse.major") values.sparse_in_data = value == "1";
  else if (key == "GNU.sparse.offset") {
    const auto parsed = decimal(value);
    values.sparse = true;
    if (parsed && *parsed >= 0) values.sparse_offset_pending = *parsed;
    else values.problem = "its sparse map is not readable";
  } else if (key == "GNU.sparse.numbytes") {
    const auto parsed = decimal(value);
    if (!parsed || values.sparse_offset_pending < 0 || static_cast<std::int64_t>(values.runs.size()) >= max_runs) {
      values.problem = "its sparse map is not readable";
    } else {
      values.runs.push_back({values.sparse_offset_pending, *parsed});
      values.sparse_offset_pending = -1;
    }
  } else if (key.starts_with(kSchily)) {
    set_xattr(values.xattrs, std::string(key.substr(kSchily.size())), std::string(value));
  } else if (key.starts_with(kLibarchive)) {
    std::string name = url_decoded(key.substr(kLibarchive.size()));
    // bsdtar writes both forms; the one above has the bytes as they are.
    if (std::none_of(values.xattrs.begin(), values.xattrs.end(), [&](const Xattr& x) { return x.name == name; }))
      set_xattr(values.xattrs, std::move(name), base64_decoded(value));
  } else if (key == "RHT.security.selinux") set_xattr(values.xattrs, "security.selinux", std::string(value));
  else if (key == "SCHILY.acl.access") values.acl_access = plain_acl_text(value);
  else if (key == "SCHILY.acl.default") values.acl_default = plain_acl_text(value);
  else if (key == "SCHILY.devmajor") number(values.device_major);
  else if (key == "SCHILY.devminor") number(values.device_minor);
}

}  // namespace

bool is_zero(Block block) {
  if (block[0] != std::byte{0}) return false;
  return std::memcmp(block.data(), block.data() + 1, kBlock - 1) == 0;
}

bool has_valid_checksum(Block block) {
  const auto stored = parse_number(field(block, kChecksum));
  if (!stored) return false;
  std::int64_t as_unsigned = 0;
  std::int64_t high = 0;  // bytes above 127 count 256 less when signed
  for (std::size_t i = 0; i < kBlock; ++i) {
    const auto value = std::to_integer<unsigned>(block[i]);
    as_unsigned += value;
    high += value >> 7;
  }
  for (std::size_t i = kChecksum.at; i < kChecksum.at + kChecksum.length; ++i) {
    const auto value = std::to_integer<unsigned>(block[i]);
    as_unsigned += ' ' - static_cast<std::int64_t>(value);
    high -= value >> 7;
  }
  return *stored == as_unsigned || *stored == as_unsigned - 256 * high;
}

std::optional<std::int64_t> parse_number(std::span<const std::byte> bytes) {
  if (bytes.empty()) return std::nullopt;
  const auto first = std::to_integer<unsigned>(bytes[0]);
  if ((first & 0x80) != 0) {
    const bool negative = (first & 0x40) != 0;
    std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
    // The leading byte's low 6 bits, then all others; what is shifted out must be sign.
    value = value << 6 | (first & 0x3f);
    for (const std::byte b : bytes.subspan(1)) {
      const std::uint64_t top = value >> 55;
      if (negative ? top != 0x1ff : top != 0) return std::nullopt;
      value = value << 8 | std::to_integer<std::uint64_t>(b);
    }
    return static_cast<std::int64_t>(value);
  }
  std::size_t i = 0;
  // A NUL ends the number, in front of it as well (GNU tar and libarchive agree).
  while (i < bytes.size() && bytes[i] == std::byte{' '}) ++i;
  std::int64_t value = 0;
  for (; i < bytes.size(); ++i) {
    const auto c = std::to_integer<char>(bytes[i]);
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7' || value > kMax / 8) return std::nullopt;
    value = value * 8 + (c - '0');
  }
  return value;
}

RawHeader parse_header(Block block) {
  RawHeader header;
  header.type = std::to_integer<char>(block[kType.at]);
  header.gnu = matches(block, kMagic.at, "ustar  ");
  const bool ustar = !header.gnu && matches(block, kMagic.at, "ustar");
  header.name = text(block, kName);
  header.link = text(block, kLink);
  if (ustar) {
    const bool star = matches(block, kStarMagicAt, std::string_view("tar\0", 4));
    // A sparse member of star's has its map where the prefix would go on.
    const std::string prefix = star && header.type == 'S' ? text(block, {kPrefix.at, 1})
                                                          : text(block, {kPrefix.at, star ? kStarPrefixLength : kPrefix.length});
    if (!prefix.empty()) header.name = prefix + "/" + header.name;
  }
  const auto size = parse_number(field(block, kSize));
  header.size_valid = size && *size >= 0;
  header.size = header.size_valid ? *size : 0;
  header.mode = parse_number(field(block, kMode)).value_or(0);
  header.uid = parse_number(field(block, kUid)).value_or(0);
  header.gid = parse_number(field(block, kGid)).value_or(0);
  header.mtime = parse_number(field(block, kMtime)).value_or(0);
  if (ustar || header.gnu) {
    header.device_major = parse_number(field(block, kMajor)).value_or(0);
    header.device_minor = parse_number(field(block, kMinor)).value_or(0);
  }
  return header;
}

OldSparse parse_old_sparse_header(Block block) {
  OldSparse sparse;
  if (matches(block, kStarMagicAt, std::string_view("tar\0", 4))) {
    sparse_entries(block, kStarSparseAt, kStarSparseEntries, sparse);
    sparse.extended = block[kStarSparseExtended] != std::byte{0};
    const auto real = parse_number(field(block, kStarSparseReal));
    sparse.valid = sparse.valid && real && *real >= 0;
    sparse.real_size = real.value_or(0);
    return sparse;
  }
  sparse_entries(block, kOldSparseAt, kOldSparseEntries, sparse);
  sparse.extended = block[kOldSparseExtended] != std::byte{0};
  const auto real = parse_number(field(block, kOldSparseReal));
  sparse.valid = sparse.valid && real && *real >= 0;
  sparse.real_size = real.value_or(0);
  return sparse;
}

OldSparse parse_old_sparse_continuation(Block block) {
  OldSparse sparse;
  sparse_entries(block, 0, kContinuationEntries, sparse);
  sparse.extended = block[kContinuationExtended] != std::byte{0};
  return sparse;
}

void parse_pax(std::string_view records, PaxValues& values, std::int64_t max_runs) {
  while (!records.empty() && records.front() != '\0') {
    std::size_t length = 0;
    const auto parsed = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(parsed.ptr - records.data());
    if (parsed.ec != std::errc{} || digits >= records.size() || records[digits] != ' ' || length <= digits + 1 ||
        length > records.size() || records[length - 1] != '\n') {
      values.problem = "a pax record has a wrong length";
      return;
    }
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    records = records.substr(length);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      values.problem = "a pax record has no key";
      return;
    }
    apply_record(record.substr(0, equals), record.substr(equals + 1), values, max_runs);
  }
}

void overlay(PaxValues& onto, PaxValues&& from) {
  const auto take = [](auto& to, auto& value) {
    if (value) to = std::move(value);
  };
  take(onto.path, from.path);
  take(onto.sparse_name, from.sparse_name);
  take(onto.link_path, from.link_path);
  take(onto.size, from.size);
  take(onto.real_size, from.real_size);
  take(onto.uid, from.uid);
  take(onto.gid, from.gid);
  if (from.mtime_s) onto.mtime_ns = from.mtime_ns;
  take(onto.mtime_s, from.mtime_s);
  take(onto.device_major, from.device_major);
  take(onto.device_minor, from.device_minor);
  take(onto.acl_access, from.acl_access);
  take(onto.acl_default, from.acl_default);
  for (Xattr& x : from.xattrs) set_xattr(onto.xattrs, std::move(x.name), std::move(x.value));
  onto.sparse = onto.sparse || from.sparse;
  onto.sparse_in_data = onto.sparse_in_data || from.sparse_in_data;
  if (!from.runs.empty()) onto.runs = std::move(from.runs);
  if (!from.problem.empty()) onto.problem = std::move(from.problem);
}

void SparseMapParser::feed(Block block) {
  for (std::size_t i = 0; i < kBlock && !failed_; ++i) {
    if (done()) return;  // the rest of the block is padding
    const char c = std::to_integer<char>(block[i]);
    if (in_comment_ || (c == '#' && digits_ == 0)) {
      in_comment_ = c != '\n';
    } else if (c == '\n' && digits_ > 0) {
      if (expected_ < 0) {
        expected_ = value_;
        if (expected_ > max_runs_) failed_ = true;
      } else {
        if (numbers_ % 2 == 0) runs_.push_back({value_, 0});
        else runs_.back().length = value_;
        ++numbers_;
      }
      value_ = 0;
      digits_ = 0;
    } else if (c >= '0' && c <= '9' && value_ <= (kMax - 9) / 10) {
      value_ = value_ * 10 + (c - '0');
      ++digits_;
    } else {
      failed_ = true;
    }
  }
}

bool normalise_runs(std::vector<Run>& runs, std::int64_t size) {
  std::int64_t at = 0;
  for (const Run& run : runs) {
    if (run.length < 0 || run.offset < at || run.length > size || run.offset > size - run.length) return false;
    at = run.offset + run.length;
  }
  std::erase_if(runs, [](const Run& run) { return run.length == 0; });
  return true;
}

std::string plain_acl_text(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find_first_of(",\n", at);
    if (end == std::string_view::npos) end = text.size();
    std::string_view entry = text.substr(at, end - at);
    at = end + 1;
    while (!entry.empty() && (entry.front() == ' ' || entry.front() == '\t')) entry.remove_prefix(1);
    if (entry.empty() || entry.front() == '#') continue;
    // tag:name:permissions[:id]
    std::array<std::string_view, 4> parts{};
    std::size_t count = 0;
    while (count < 4) {
      const std::size_t colon = count == 3 ? std::string_view::npos : entry.find(':');
      parts[count++] = entry.substr(0, colon);
      if (colon == std::string_view::npos) break;
      entry.remove_prefix(colon + 1);
    }
    if (!out.empty()) out += ',';
    out += parts[0];
    out += ':';
    out += count == 4 && !parts[3].empty() && !parts[1].empty() ? parts[3] : parts[1];
    out += ':';
    out += count >= 3 ? parts[2] : std::string_view{};
  }
  return out;
}

}  // namespace spillway::extract
