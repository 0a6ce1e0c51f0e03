#include "workload/archive/made_archive.hpp"

#include "sim/check.hpp"
#include "sim/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/core.h>
#include <string_view>
#include <vector>

namespace spillway {

namespace {

constexpr std::int64_t kBlock = 512;
/// GNU tar's blocking factor 20: archives end on a record of 20 blocks.
constexpr std::int64_t kRecord = 20 * kBlock;
/// 2016-06-22 12:00 UTC, any fixed time will do.
constexpr std::int64_t kFixedTime = 1'466'596'800;
constexpr std::uint32_t kFileMode = 0644, kDirectoryMode = 0755;

std::string directory_name(std::int64_t number) { return fmt::format("tree/d{:04}", number); }

/// Whole sizes from relative weights: scale * weight, kept within [low, high], with a sum of exactly `total`.
/// The scale is found by bisection; only + - * / and comparisons are used, so that every machine finds the same.
Result<std::vector<Bytes>> scaled_to_sum(const std::vector<double>& weights, std::int64_t total, std::int64_t low, std::int64_t high) {
  const auto size_at = [&](double weight, double scale) {
    const double size = weight * scale;
    if (size >= static_cast<double>(high)) return high;
    return std::max(low, static_cast<std::int64_t>(size));
  };
  const auto sum_at = [&](double scale) {
    std::int64_t sum = 0;
    for (const double weight : weights) sum += size_at(weight, scale);
    return sum;
  };
  double below = 0, above = 1;
  while (sum_at(above) < total && above < 1e30) above *= 2;
  for (int i = 0; i < 200 && above - below > 0; ++i) {
    const double middle = below + (above - below) / 2;
    if (middle <= below || middle >= above) break;
    (sum_at(middle) <= total ? below : above) = middle;
  }
  std::vector<Bytes> sizes;
  sizes.reserve(weights.size());
  std::int64_t rest = total;
  for (const double weight : weights) {
    sizes.emplace_back(size_at(weight, below));
    rest -= sizes.back().value();
  }
  // What rounding left over goes to the files in turn, a byte each, where there is room.
  for (bool room = true; rest > 0 && room;) {
    room = false;
    const std::int64_t share = std::max<std::int64_t>(1, rest / static_cast<std::int64_t>(sizes.size()));
    for (Bytes& size : sizes) {
      const std::int64_t more = std::min({share, rest, high - size.value()});
      if (more <= 0) continue;
      size += Bytes{more};
      rest -= more;
      room = true;
      if (rest == 0) break;
    }
  }
  if (rest != 0) {
    return fail(ErrorKind::bad_input, fmt::format("{} files between archive.min = {} and archive.max = {} bytes cannot add up to archive.bytes = {}", weights.size(), low, high, total));
  }
  return sizes;
}

/// One ustar header.
std::array<char, kBlock> header_of(const CatalogueEntry& entry) {
  std::array<char, kBlock> block{};
  const auto text = [&block](std::size_t at, std::string_view value) { std::memcpy(block.data() + at, value.data(), value.size()); };
  const bool directory = entry.type == EntryType::directory;
  std::string path = entry.path + (directory ? "/" : "");
  SPILLWAY_CHECK(path.size() < 100, "names of made archives are short");
  text(0, path);
  text(100, fmt::format("{:07o}", entry.mode));
  text(108, "0000000");
  text(116, "0000000");
  const std::int64_t size = entry.size.value();
  if (size < (1LL << 33)) {
    text(124, fmt::format("{:011o}", size));
  } else {
    // Base 256: high bit set, big-endian.
    block[124] = static_cast<char>(0x80);
    for (int i = 0; i < 8; ++i) block[static_cast<std::size_t>(135 - i)] = static_cast<char>((size >> (8 * i)) & 0xff);
  }
  text(136, fmt::format("{:011o}", kFixedTime));
  text(148, "        ");
  block[156] = directory ? '5' : '0';
  text(257, std::string_view{"ustar\00000", 8});
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  text(148, fmt::format("{:06o}", sum));
  block[154] = '\0';
  block[155] = ' ';
  return block;
}

/// Collects small pieces into large ones for the sink.
class Stream {
 public:
  explicit Stream(const std::function<Status(std::span<const std::byte>)>& sink) : sink_(sink) { buffer_.reserve(kPiece); }

  Status add(std::span<const std::byte> data) {
    while (!data.empty()) {
      const std::size_t n = std::min(data.size(), kPiece - buffer_.size());
      buffer_.insert(buffer_.end(), data.begin(), data.begin() + static_cast<std::ptrdiff_t>(n));
      data = data.subspan(n);
      if (buffer_.size() == kPiece) SPILLWAY_TRY(flush());
    }
    return {};
  }
  Status flush() {
    if (buffer_.empty()) return {};
    written_ += static_cast<std::int64_t>(buffer_.size());
    SPILLWAY_TRY(sink_(buffer_));
    buffer_.clear();
    return {};
  }
  [[nodiscard]] std::int64_t written() const { return written_ + static_cast<std::int64_t>(buffer_.size()); }

 private:
  static constexpr std::size_t kPiece = 1 << 20;
  const std::function<Status(std::span<const std::byte>)>& sink_;
  std::vector<std::byte> buffer_;
  std::int64_t written_ = 0;
};

constexpr std::int64_t rounded_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

Result<std::vector<Bytes>> made_sizes(const ArchiveSpec& spec) {
  if (spec.files < 1) return fail(ErrorKind::bad_input, fmt::format("an archive of {} files cannot be made", spec.files));
  sim::Random random{spec.seed, "archive.sizes"};
  std::vector<double> weights;
  weights.reserve(static_cast<std::size_t>(spec.files));
  if (spec.sizes == "lognormal") {
    for (std::int64_t i = 0; i < spec.files; ++i) weights.push_back(random.lognormal(0, spec.sigma));
    return scaled_to_sum(weights, spec.bytes.value(), spec.min.value(), spec.max.value());
  }
  if (spec.sizes == "histogram") {
    double total = 0;
    for (const auto& [size, weight] : spec.histogram) total += weight;
    if (!(total > 0)) return fail(ErrorKind::bad_input, "archive.histogram has no weight");
    for (std::int64_t i = 0; i < spec.files; ++i) {
      double at = random.uniform() * total;
      Bytes size = spec.histogram.back().first;
      for (const auto& [bin, weight] : spec.histogram) {
        if (at < weight) {
          size = bin;
          break;
        }
        at -= weight;
      }
      weights.push_back(static_cast<double>(size.value()));
    }
    return scaled_to_sum(weights, spec.bytes.value(), 0, spec.bytes.value());
  }
  weights.assign(static_cast<std::size_t>(spec.files), 1.0);
  return scaled_to_sum(weights, spec.bytes.value(), 0, spec.bytes.value());
}

Result<Catalogue> made_catalogue(const ArchiveSpec& spec) {
  SPILLWAY_ASSIGN(const std::vector<Bytes> sizes, made_sizes(spec));
  Catalogue catalogue;
  const auto directory = [&catalogue](std::string path) {
    catalogue.entries.push_back({.path = std::move(path), .type = EntryType::directory, .size = Bytes{0}, .stored = Bytes{0}, .link = "", .mode = kDirectoryMode, .holes = {}});
    ++catalogue.directories;
    catalogue.archive_bytes += Bytes{kBlock};
  };
  directory("tree");
  const std::int64_t per_directory = std::max<std::int64_t>(1, spec.files_per_directory);
  for (std::int64_t i = 0; i < spec.files; ++i) {
    const std::int64_t number = i / per_directory;
    if (i % per_directory == 0) directory(directory_name(number));
    const Bytes size = sizes[static_cast<std::size_t>(i)];
    catalogue.entries.push_back({.path = fmt::format("{}/file-{:07}", directory_name(number), i), .type = EntryType::file, .size = size, .stored = size, .link = "", .mode = kFileMode, .holes = {}});
    ++catalogue.files;
    catalogue.data_bytes += size;
    catalogue.archive_bytes += Bytes{kBlock + rounded_up(size.value(), kBlock)};
  }
  catalogue.archive_bytes = Bytes{rounded_up(catalogue.archive_bytes.value() + 2 * kBlock, kRecord)};
  return catalogue;
}

Status write_made_tar(const ArchiveSpec& spec, const Catalogue& catalogue, const std::function<Status(std::span<const std::byte>)>& sink) {
  Stream stream{sink};
  sim::Random random{spec.seed, "archive.data"};
  std::vector<std::byte> data(1 << 16);
  const std::array<std::byte, kBlock> zeroes{};
  for (const CatalogueEntry& entry : catalogue.entries) {
    const auto header = header_of(entry);
    SPILLWAY_TRY(stream.add(std::as_bytes(std::span{header})));
    for (std::int64_t rest = entry.size.value(); rest > 0;) {
      const auto n = static_cast<std::size_t>(std::min<std::int64_t>(rest, static_cast<std::int64_t>(data.size())));
      for (std::size_t i = 0; i < n; i += 8) {
        std::uint64_t word = random.bits();
        for (std::size_t k = 0; k < 8; ++k, word >>= 8) data[i + k] = static_cast<std::byte>(word & 0xff);  // little-endian everywhere
      }
      SPILLWAY_TRY(stream.add(std::span{data}.first(n)));
      rest -= static_cast<std::int64_t>(n);
    }
    SPILLWAY_TRY(stream.add(std::span{zeroes}.first(static_cast<std::size_t>(rounded_up(entry.size.value(), kBlock) - entry.size.value()))));
  }
  while (stream.written() < catalogue.archive_bytes.value()) SPILLWAY_TRY(stream.add(zeroes));
  return stream.flush();
}

std::string made_identity(const ArchiveSpec& spec) {
  std::string out = fmt::format("made/1 seed={} files={} bytes={} per_directory={} sizes={}", spec.seed, spec.files, spec.bytes.value(), spec.files_per_directory, spec.sizes);
  if (spec.sizes == "lognormal") out += fmt::format(" sigma={} min={} max={}", spec.sigma, spec.min.value(), spec.max.value());
  if (spec.sizes == "histogram") {
    for (const auto& [size, weight] : spec.histogram) out += fmt::format(" {}:{}", size.value(), weight);
  }
  return out;
}

}  // namespace spillway
