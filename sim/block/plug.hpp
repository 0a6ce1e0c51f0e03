#pragma once
/// Splitting, plugging and merging: what a task's bios become before they reach a scheduler or a device.
///
/// A bio is split to the queue's largest request (and at the chunk boundary of a striped device that asks for it). A part
/// joins the plug's last request when it goes on where that one ends (or ends where it starts); only the last is looked
/// at. The plug is let go when it holds `max_requests`, when a new request comes and the last one has reached
/// `flush_size`, at unplug, and when the task sleeps. So large writeback bios go out one behind the other while small ones
/// gather.
/// Sources: block/blk-mq.c blk_add_rq_to_plug and blk_attempt_plug_merge, block/blk-merge.c; Linux 6.18.

#include <algorithm>
#include <vector>

#include "sim/block/queued_request.hpp"

namespace spillway::sim::block {

struct PlugParams {
  Sectors max_sectors{2560};  ///< largest request; 1280 KiB up to 6.12, 4 MiB in 6.18 unless the driver says less
  Sectors boundary{0};        ///< bios are split at multiples of this (RAID 0: the chunk); 0: nowhere
  int max_requests = 32;      ///< cited: BLK_MAX_REQUEST_COUNT; 64 when the plug serves several queues
  Sectors flush_size{256};    ///< cited: BLK_PLUG_FLUSH_SIZE, 128 KiB
};

class Plug {
 public:
  explicit Plug(const PlugParams& params) : params_(params) {}

  /// Takes a bio, `bio.id` being its id. Requests that thereby leave the plug are appended to `out`. Returns how many
  /// parts the bio was split into: the bio is done when so many requests that name it are done (a part that joins a
  /// request which already carries the bio counts no further).
  int add(const device::Request& bio, std::vector<QueuedRequest>& out) {
    if (bio.length.value() == 0) {  // a bare flush orders everything: what is plugged goes first
      unplug(out);
      out.push_back({bio, {bio.id}});
      return 1;
    }
    int requests = 0;
    device::Request part = bio;
    std::int64_t at = bio.start.value();
    while (at < bio.end().value()) {
      std::int64_t to = std::min(bio.end().value(), at + params_.max_sectors.value());
      if (const std::int64_t b = params_.boundary.value(); b > 0) to = std::min(to, (at / b + 1) * b);
      part.start = Sectors{at};
      part.length = Sectors{to - at};
      requests += add_part(part, bio.id, out) ? 1 : 0;
      part.flush = false;  // only the first part carries the preflush
      at = to;
    }
    return requests;
  }

  /// Lets everything go, in order.
  void unplug(std::vector<QueuedRequest>& out) {
    out.insert(out.end(), std::make_move_iterator(plugged_.begin()), std::make_move_iterator(plugged_.end()));
    plugged_.clear();
  }
  [[nodiscard]] std::size_t size() const { return plugged_.size(); }
  [[nodiscard]] bool empty() const { return plugged_.empty(); }
  /// Bios that became part of a request that was there already.
  [[nodiscard]] std::int64_t merged() const { return merged_; }

 private:
  /// True if the bio now waits for one more request.
  bool add_part(const device::Request& part, std::uint64_t bio, std::vector<QueuedRequest>& out) {
    if (!plugged_.empty()) {
      QueuedRequest& last = plugged_.back();
      const bool back = mergeable(last.request, part, params_.max_sectors);
      if (back || mergeable(part, last.request, params_.max_sectors)) {
        if (!back) last.request.start = part.start;
        last.request.length += part.length;
        ++merged_;
        if (std::find(last.bios.begin(), last.bios.end(), bio) != last.bios.end()) return false;
        last.bios.push_back(bio);
        return true;
      }
      if (static_cast<int>(plugged_.size()) >= params_.max_requests || last.request.length >= params_.flush_size) {
        unplug(out);
      }
    }
    plugged_.push_back({part, {bio}});
    return true;
  }

  PlugParams params_;
  std::vector<QueuedRequest> plugged_;
  std::int64_t merged_ = 0;
};

/// How many requests a queue holds (nr_requests) for a device of this tag depth. cited: without a scheduler the tags;
/// mq-deadline and the like 2 * min(depth, 128).
[[nodiscard]] inline int default_nr_requests(int tag_depth, bool scheduler) {
  return scheduler ? 2 * std::min(tag_depth, 128) : tag_depth;
}

}  // namespace spillway::sim::block
