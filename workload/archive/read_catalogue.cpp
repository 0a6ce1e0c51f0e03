#include "workload/archive/read_catalogue.hpp"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <cerrno>
#include <charconv>
#include <fmt/core.h>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <string_view>

namespace spillway {

namespace {

constexpr std::string_view kMagic = "spillway.catalogue/1";

/// libarchive gives null when a name does not fit the locale; the bytes are then had as UTF-8.
std::string text_of(const char* narrow, const char* utf8) { return narrow != nullptr ? narrow : utf8 != nullptr ? utf8 : ""; }

/// Data regions of a sparse file to holes.
void add_holes(archive_entry* entry, CatalogueEntry& out) {
  if (archive_entry_sparse_reset(entry) <= 0) return;
  la_int64_t offset = 0, length = 0;
  std::int64_t at = 0, stored = 0;
  while (archive_entry_sparse_next(entry, &offset, &length) == ARCHIVE_OK) {
    if (offset > at) out.holes.emplace_back(Bytes{at}, Bytes{offset - at});
    stored += length;
    at = offset + length;
  }
  if (at < out.size.value()) out.holes.emplace_back(Bytes{at}, Bytes{out.size.value() - at});
  out.stored = Bytes{stored};
}

char letter(EntryType type) {
  switch (type) {
    case EntryType::file: return 'f';
    case EntryType::directory: return 'd';
    case EntryType::symlink: return 'l';
    case EntryType::hardlink: return 'h';
    case EntryType::device: return 'b';
    case EntryType::fifo: return 'p';
  }
  return '?';
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '%' || c == ' ' || static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "%{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

bool unescape(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 2 >= text.size() || std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr != text.data() + i + 3) return false;
    out += static_cast<char>(value);
    i += 2;
  }
  return true;
}

/// Cells of a line, one after the other.
class Cells {
 public:
  explicit Cells(std::string_view line) : rest_(line) {}
  std::string_view next() {
    const std::size_t blank = rest_.find(' ');
    const std::string_view cell = rest_.substr(0, blank);
    rest_ = blank == std::string_view::npos ? std::string_view{} : rest_.substr(blank + 1);
    return cell;
  }
  std::int64_t number(int base = 10) {
    const std::string_view cell = next();
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value, base);
    if (code != std::errc{} || end != cell.data() + cell.size() || value < 0) good_ = false;
    return value;
  }
  [[nodiscard]] bool good() const { return good_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

ErrorKind archive_error_kind(int archive_errno) {
  switch (archive_errno) {
    case EACCES: case EPERM: case EIO: case ENOMEM: case EMFILE: case ENFILE: return ErrorKind::refused;
    default: return ErrorKind::bad_input;
  }
}

Result<Catalogue> read_catalogue(const std::filesystem::path& file) {
  struct Free {
    void operator()(archive* a) const { archive_read_free(a); }
  };
  const std::unique_ptr<archive, Free> reader{archive_read_new()};
  archive* const a = reader.get();
  archive_read_support_filter_all(a);
  archive_read_support_format_all(a);
  const auto failed = [&](std::string_view tried) {
    const char* reason = archive_error_string(a);
    return fail(archive_error_kind(archive_errno(a)), fmt::format("cannot {} {}: {}; is it an archive, and whole?", tried, file.string(), reason != nullptr ? reason : "no reason given"), archive_errno(a));
  };
  if (archive_read_open_filename(a, file.c_str(), 1 << 18) != ARCHIVE_OK) return failed("read the archive");
  Catalogue catalogue;
  while (true) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(a, &entry);
    if (status == ARCHIVE_EOF) break;
    if (status < ARCHIVE_WARN) return failed(fmt::format("read entry {} of the archive", catalogue.entries.size() + 1));
    CatalogueEntry out;
    out.path = text_of(archive_entry_pathname(entry), archive_entry_pathname_utf8(entry));
    while (out.path.starts_with("./")) out.path.erase(0, 2);
    while (out.path.size() > 1 && out.path.ends_with('/')) out.path.pop_back();
    if (out.path.empty() || out.path == ".") continue;  // the folder that is extracted into
    out.mode = static_cast<std::uint32_t>(archive_entry_perm(entry));
    if (const char* link = archive_entry_hardlink(entry); link != nullptr || archive_entry_hardlink_utf8(entry) != nullptr) {
      out.type = EntryType::hardlink;
      out.link = text_of(link, archive_entry_hardlink_utf8(entry));
    } else {
      switch (archive_entry_filetype(entry)) {
        case AE_IFDIR: out.type = EntryType::directory; break;
        case AE_IFLNK:
          out.type = EntryType::symlink;
          out.link = text_of(archive_entry_symlink(entry), archive_entry_symlink_utf8(entry));
          break;
        case AE_IFIFO:
        case AE_IFSOCK: out.type = EntryType::fifo; break;
        case AE_IFBLK:
        case AE_IFCHR: out.type = EntryType::device; break;
        default:
          out.type = EntryType::file;
          out.size = Bytes{archive_entry_size(entry)};
          out.stored = out.size;
          add_holes(entry, out);
          break;
      }
    }
    catalogue.data_bytes += out.stored;
    if (out.type == EntryType::file) ++catalogue.files;
    if (out.type == EntryType::directory) ++catalogue.directories;
    catalogue.entries.push_back(std::move(out));
  }
  std::error_code ignored;
  catalogue.archive_bytes = Bytes{static_cast<std::int64_t>(std::filesystem::file_size(file, ignored))};
  return catalogue;
}

std::string catalogue_text(const Catalogue& catalogue) {
  std::string out = fmt::format("{} {} {} {}\n", kMagic, catalogue.sha256.empty() ? "-" : catalogue.sha256, catalogue.archive_bytes.value(), catalogue.entries.size());
  std::string_view before;
  for (const CatalogueEntry& e : catalogue.entries) {
    const auto differs = std::mismatch(before.begin(), before.end(), e.path.begin(), e.path.end());
    const auto common = differs.first - before.begin();
    fmt::format_to(std::back_inserter(out), "{} {:o} {} {} {} {} {} {}", letter(e.type), e.mode, e.size.value(), e.stored.value(), common,
                   escaped(std::string_view{e.path}.substr(static_cast<std::size_t>(common))), escaped(e.link), e.holes.size());
    for (const auto& [offset, length] : e.holes) fmt::format_to(std::back_inserter(out), " {} {}", offset.value(), length.value());
    out += '\n';
    before = e.path;
  }
  out += "end\n";
  return out;
}

Result<Catalogue> catalogue_from_text(const std::string& text, const std::string& where) {
  const auto damaged = [&](std::size_t line) { return fail(ErrorKind::internal, fmt::format("{}, line {}: damaged catalogue; remove the file", where, line)); };
  std::string_view rest = text;
  const auto next_line = [&rest] {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest = rest.substr(std::min(end + 1, rest.size()));
    return line;
  };
  Catalogue catalogue;
  Cells head{next_line()};
  if (head.next() != kMagic) return damaged(1);
  catalogue.sha256 = head.next();
  if (catalogue.sha256 == "-") catalogue.sha256.clear();
  catalogue.archive_bytes = Bytes{head.number()};
  const std::int64_t count = head.number();
  if (!head.good()) return damaged(1);
  std::string before;
  for (std::int64_t i = 0; i < count; ++i) {
    Cells cells{next_line()};
    const std::size_t number = static_cast<std::size_t>(i) + 2;
    CatalogueEntry e;
    const std::string_view type = cells.next();
    const std::size_t kind = type.size() == 1 ? std::string_view{"fdlhbp"}.find(type[0]) : std::string_view::npos;
    if (kind == std::string_view::npos) return damaged(number);
    e.type = static_cast<EntryType>(kind);
    e.mode = static_cast<std::uint32_t>(cells.number(8));
    e.size = Bytes{cells.number()};
    e.stored = Bytes{cells.number()};
    const auto common = static_cast<std::size_t>(cells.number());
    if (!cells.good() || common > before.size()) return damaged(number);
    e.path = before.substr(0, common);
    if (!unescape(cells.next(), e.path) || !unescape(cells.next(), e.link)) return damaged(number);
    const std::int64_t holes = cells.number();
    for (std::int64_t k = 0; k < holes && cells.good(); ++k) {
      const std::int64_t offset = cells.number();
      e.holes.emplace_back(Bytes{offset}, Bytes{cells.number()});
    }
    if (!cells.good()) return damaged(number);
    catalogue.data_bytes += e.stored;
    if (e.type == EntryType::file) ++catalogue.files;
    if (e.type == EntryType::directory) ++catalogue.directories;
    before = e.path;
    catalogue.entries.push_back(std::move(e));
  }
  if (next_line() != "end") return damaged(static_cast<std::size_t>(count) + 2);
  return catalogue;
}

}  // namespace spillway
