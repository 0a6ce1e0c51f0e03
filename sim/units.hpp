#pragma once
/// Units live in types. Whole numbers of one unit each; nothing converts without the geometry as an argument, and a
/// lossy conversion has a name that says how it rounds. Time is integer nanoseconds, so sums are exact.

#include <chrono>
#include <compare>
#include <cstdint>

namespace spillway {

/// A whole number of one unit. The unit is named on the way in and asked for on the way out.
template <class Unit>
class Count {
 public:
  constexpr Count() = default;
  constexpr explicit Count(std::int64_t n) : n_(n) {}
  [[nodiscard]] constexpr std::int64_t value() const { return n_; }
  friend constexpr auto operator<=>(Count, Count) = default;
  constexpr Count& operator+=(Count other) { n_ += other.n_; return *this; }
  constexpr Count& operator-=(Count other) { n_ -= other.n_; return *this; }
  friend constexpr Count operator+(Count a, Count b) { return Count{a.n_ + b.n_}; }
  friend constexpr Count operator-(Count a, Count b) { return Count{a.n_ - b.n_}; }
  friend constexpr Count operator-(Count a) { return Count{-a.n_}; }
  friend constexpr Count operator*(Count a, std::int64_t k) { return Count{a.n_ * k}; }
  friend constexpr Count operator*(std::int64_t k, Count a) { return Count{a.n_ * k}; }
  friend constexpr Count operator/(Count a, std::int64_t k) { return Count{a.n_ / k}; }
  friend constexpr std::int64_t operator/(Count a, Count b) { return a.n_ / b.n_; }

 private:
  std::int64_t n_ = 0;
};

struct ByteUnit;
struct PageUnit;         ///< page-cache pages (4096 B on every box that is modelled)
struct FsBlockUnit;      ///< file-system blocks
struct SectorUnit;       ///< 512-byte sectors, the block layer's address unit
struct BytesPerSecUnit;

using Bytes = Count<ByteUnit>;
using Pages = Count<PageUnit>;
using FsBlocks = Count<FsBlockUnit>;
using Sectors = Count<SectorUnit>;
using BytesPerSec = Count<BytesPerSecUnit>;

using Duration = std::chrono::nanoseconds;
/// The simulated clock. It has no now(): only an engine knows the time.
struct SimClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<SimClock, Duration>;
  static constexpr bool is_steady = true;
};
using SimTime = SimClock::time_point;

inline constexpr std::int64_t kKB = 1'000, kMB = 1'000'000, kGB = 1'000'000'000, kTB = 1'000'000'000'000;
inline constexpr std::int64_t kKiB = 1LL << 10, kMiB = 1LL << 20, kGiB = 1LL << 30, kTiB = 1LL << 40;
inline constexpr Bytes kPageSize{4096};
inline constexpr Bytes kSectorSize{512};

constexpr Bytes to_bytes(Pages pages, Bytes page_size = kPageSize) { return Bytes{pages.value() * page_size.value()}; }
constexpr Pages to_pages_ceil(Bytes bytes, Bytes page_size = kPageSize) {
  return Pages{(bytes.value() + page_size.value() - 1) / page_size.value()};
}
constexpr Pages to_pages_floor(Bytes bytes, Bytes page_size = kPageSize) { return Pages{bytes.value() / page_size.value()}; }
constexpr Bytes to_bytes(Sectors sectors) { return Bytes{sectors.value() * kSectorSize.value()}; }

/// Time to move `bytes` at `rate`, rounded up to a nanosecond. The rate must be positive: a rate of 0 is refused at
/// the door (validation), never here.
constexpr Duration time_to_move(Bytes bytes, BytesPerSec rate) {
  __extension__ using Wide = __int128;
  const Wide numerator = static_cast<Wide>(bytes.value()) * 1'000'000'000 + rate.value() - 1;
  return Duration{static_cast<std::int64_t>(numerator / rate.value())};
}

/// Seconds as a floating-point number, for printing and statistics only.
constexpr double to_seconds(Duration d) { return static_cast<double>(d.count()) * 1e-9; }
constexpr double to_mb(Bytes b) { return static_cast<double>(b.value()) * 1e-6; }

}  // namespace spillway
