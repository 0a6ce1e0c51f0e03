#pragma once
/// Where a sector lies on a disk, and how long arm and platter take to it. Pure arithmetic on one HddParams.

#include <cstdint>
#include <vector>

#include "sim/device/device_spec.hpp"

namespace spillway::sim::device {

class HddGeometry {
 public:
  /// `revolution` is this very disk's, with its tolerance in it.
  HddGeometry(const HddParams& params, Duration revolution);

  struct Position {
    std::int64_t track = 0;
    std::int64_t offset = 0;             ///< sector within the track
    std::int64_t sectors_per_track = 1;
  };
  [[nodiscard]] Position position(std::int64_t sector) const;

  /// Time of passing under the head, in [0, revolution) after the index mark.
  [[nodiscard]] Duration angle(const Position& p) const;
  /// Moving `sectors` from `p` on, track changes included.
  [[nodiscard]] Duration transfer(const Position& p, std::int64_t sectors) const;
  /// Arm movement over `tracks` tracks (the sign does not matter). Two pieces: a square root up to a third of the stroke,
  /// which takes the average seek time, then a straight line to the full stroke.
  [[nodiscard]] Duration seek(std::int64_t tracks, bool write) const;

  [[nodiscard]] std::int64_t tracks() const { return tracks_; }
  [[nodiscard]] Duration revolution() const { return revolution_; }
  [[nodiscard]] std::int64_t capacity() const { return capacity_; }

 private:
  struct Zone {
    std::int64_t first_sector = 0, first_track = 0, sectors_per_track = 1;
  };
  struct Curve {
    double track_ns = 0, average_ns = 0, full_ns = 0;
  };
  std::vector<Zone> zones_;
  std::int64_t tracks_ = 0, capacity_ = 0;
  Duration revolution_, skew_;
  Curve read_, write_;
};

}  // namespace spillway::sim::device
