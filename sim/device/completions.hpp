#pragma once
/// Completions that are already decided and only wait for their time, in order of (time, decision).

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/device/device.hpp"

namespace spillway::sim::device {

class PendingCompletions {
 public:
  void add(const Completion& completion) {
    heap_.push_back({completion, sequence_++});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::optional<SimTime> next() const {
    return heap_.empty() ? std::nullopt : std::optional{heap_.front().completion.at};
  }
  Completion pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Completion completion = heap_.back().completion;
    heap_.pop_back();
    return completion;
  }

 private:
  struct Entry {
    Completion completion;
    std::uint64_t sequence;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.completion.at != b.completion.at ? a.completion.at > b.completion.at : a.sequence > b.sequence;
  }
  std::vector<Entry> heap_;
  std::uint64_t sequence_ = 0;
};

/// The earlier of two times of which either may be missing.
inline std::optional<SimTime> earlier(std::optional<SimTime> a, std::optional<SimTime> b) {
  if (!a) return b;
  if (!b) return a;
  return std::min(*a, *b);
}

}  // namespace spillway::sim::device
