#pragma once
/// The host's requests that a composite device has under way, by slot, each with the number of member requests that it
/// still waits for.

#include <cstdint>
#include <vector>

#include "sim/device/device.hpp"

namespace spillway::sim::device {

struct HostOp {
  Request request;
  SimTime submitted{};
  std::int64_t outstanding = 0;  ///< member requests, or rows, not yet done
  int stage = 0;                 ///< of the model's own making
};

class HostOps {
 public:
  std::uint64_t add(const Request& request, SimTime now) {
    if (free_.empty()) {
      ops_.emplace_back();
      free_.push_back(ops_.size() - 1);
    }
    const std::uint64_t slot = free_.back();
    free_.pop_back();
    ops_[slot] = HostOp{request, now, 0, 0};
    return slot;
  }
  HostOp& operator[](std::uint64_t slot) { return ops_[slot]; }
  HostOp take(std::uint64_t slot) {
    free_.push_back(slot);
    return ops_[slot];
  }

 private:
  std::vector<HostOp> ops_;
  std::vector<std::uint64_t> free_;
};

}  // namespace spillway::sim::device
