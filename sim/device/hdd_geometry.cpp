#include "sim/device/hdd_geometry.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::sim::device {

HddGeometry::HddGeometry(const HddParams& params, Duration revolution)
    : capacity_(params.capacity.value() / kSectorSize.value()),
      revolution_(revolution),
      // A little more than the slower track change, so that the arm has settled when the first sector comes round.
      skew_(std::max(params.read_seek_track, params.write_seek_track) + std::chrono::microseconds{20}) {
  const auto curve = [](Duration track, Duration average, Duration full) {
    return Curve{static_cast<double>(track.count()), static_cast<double>(average.count()),
                 static_cast<double>(full.count())};
  };
  read_ = curve(params.read_seek_track, params.read_seek_average, params.read_seek_full);
  write_ = curve(params.write_seek_track, params.write_seek_average, params.write_seek_full);

  // A track is passed in a revolution and a skew: that, times the sustained rate, is what it holds.
  const double track_seconds = to_seconds(revolution_ + skew_);
  const auto per_track = [&](BytesPerSec rate) {
    return static_cast<double>(rate.value()) * track_seconds / static_cast<double>(kSectorSize.value());
  };
  const double outer = per_track(params.outer_rate), inner = per_track(params.inner_rate);
  std::int64_t sum = 0;
  for (int z = 0; z < params.zones; ++z) {
    const double share = params.zones == 1 ? 0.0 : static_cast<double>(z) / (params.zones - 1);
    Zone zone;
    zone.sectors_per_track = std::max<std::int64_t>(1, std::llround(outer - (outer - inner) * share));
    zones_.push_back(zone);
    sum += zone.sectors_per_track;
  }
  const std::int64_t tracks_per_zone = (capacity_ + sum - 1) / sum;
  std::int64_t sector = 0, track = 0;
  for (auto& zone : zones_) {
    zone.first_sector = sector;
    zone.first_track = track;
    sector += zone.sectors_per_track * tracks_per_zone;
    track += tracks_per_zone;
  }
  tracks_ = track;
}

HddGeometry::Position HddGeometry::position(std::int64_t sector) const {
  auto zone = std::upper_bound(zones_.begin(), zones_.end(), sector,
                               [](std::int64_t s, const Zone& z) { return s < z.first_sector; });
  --zone;
  const std::int64_t in_zone = sector - zone->first_sector;
  return {zone->first_track + in_zone / zone->sectors_per_track, in_zone % zone->sectors_per_track,
          zone->sectors_per_track};
}

Duration HddGeometry::angle(const Position& p) const {
  const std::int64_t rev = revolution_.count();
  const std::int64_t in_track = p.offset * rev / p.sectors_per_track;
  // The index of a track is skewed by skew_ against the one before.
  return Duration{(in_track + (p.track % rev) * (skew_.count() % rev)) % rev};
}

Duration HddGeometry::transfer(const Position& p, std::int64_t sectors) const {
  const std::int64_t last = p.offset + sectors - 1;
  const std::int64_t changes = last / p.sectors_per_track;
  return Duration{sectors * revolution_.count() / p.sectors_per_track + changes * skew_.count()};
}

Duration HddGeometry::seek(std::int64_t tracks, bool write) const {
  tracks = std::abs(tracks);
  if (tracks == 0) return Duration{0};
  const Curve& c = write ? write_ : read_;
  // From the next track on, so that one track costs exactly the track-to-track time and the skew covers it.
  const double x = static_cast<double>(tracks - 1) / static_cast<double>(tracks_);
  const double ns = x <= 1.0 / 3 ? c.track_ns + (c.average_ns - c.track_ns) * std::sqrt(3 * x)
                                 : c.average_ns + (c.full_ns - c.average_ns) * (x - 1.0 / 3) * 1.5;
  return Duration{std::llround(ns)};
}

}  // namespace spillway::sim::device
