#pragma once
/// The mq-deadline scheduler: requests sorted by sector per direction, served in batches that run upward, with deadlines.
///
/// Reads go first; writes get their turn after `writes_starved` read batches. A batch goes on from the direction's last
/// position; a new one restarts at the direction's oldest request when that has expired or nothing lies above the last
/// position. Bios merge at either end of a queued request. I/O priority classes are not modelled.
/// Source: block/mq-deadline.c, Linux 6.18.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sim/block/queued_request.hpp"

namespace spillway::sim::block {

struct MqDeadlineParams {
  Duration read_expire = std::chrono::milliseconds{500};  ///< cited: HZ / 2
  Duration write_expire = std::chrono::seconds{5};        ///< cited: 5 * HZ
  int writes_starved = 2;                                 ///< cited
  int fifo_batch = 16;                                    ///< cited
  bool front_merges = true;                               ///< cited
  Sectors max_sectors{2560};                              ///< largest request after merging
};

class MqDeadline {
 public:
  explicit MqDeadline(const MqDeadlineParams& params) : params_(params) {}

  void insert(SimTime now, QueuedRequest request);
  /// The next request for the device, or nothing if none is queued.
  std::optional<QueuedRequest> dispatch(SimTime now);
  [[nodiscard]] std::size_t size() const { return lanes_[0].sorted.size() + lanes_[1].sorted.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] std::int64_t merged() const { return merged_; }

 private:
  using Key = std::pair<std::int64_t, std::uint64_t>;  // start sector, order of arrival
  struct Entry {
    QueuedRequest request;
    SimTime expires{};
    std::uint64_t arrival = 0;
  };
  struct Lane {
    std::map<Key, Entry> sorted;
    std::map<std::uint64_t, Key> by_age;
    std::map<std::int64_t, Key> by_end;  ///< for back merges; of several requests with one end the latest counts
    std::int64_t position = 0;           ///< where the last dispatched request of this direction ended
  };
  using Place = std::map<Key, Entry>::iterator;

  Place above_position(Lane& lane) { return lane.sorted.lower_bound({lane.position, 0}); }
  QueuedRequest take(Lane& lane, Place place);
  bool merge(Lane& lane, const QueuedRequest& incoming);
  void store(Lane& lane, Entry entry);
  Entry remove(Lane& lane, Place place);

  MqDeadlineParams params_;
  Lane lanes_[2];  // reads, writes
  int direction_ = 0, batched_ = 0, starved_ = 0;
  std::uint64_t arrivals_ = 0;
  std::int64_t merged_ = 0;
};

}  // namespace spillway::sim::block
