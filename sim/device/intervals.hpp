#pragma once
/// A set of whole numbers as sorted, disjoint, non-touching half-open intervals. Small sets: kept in a vector.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace spillway::sim::device {

struct Interval {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t length() const { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

class Intervals {
 public:
  void add(Interval x) {
    if (x.begin >= x.end) return;
    auto first = std::lower_bound(set_.begin(), set_.end(), x.begin,
                                  [](const Interval& i, std::int64_t b) { return i.end < b; });
    auto last = first;
    while (last != set_.end() && last->begin <= x.end) {
      x.begin = std::min(x.begin, last->begin);
      x.end = std::max(x.end, last->end);
      ++last;
    }
    first = set_.erase(first, last);
    set_.insert(first, x);
  }
  void add(const Intervals& other) {
    for (const auto& i : other.set_) add(i);
  }
  [[nodiscard]] bool covers(Interval x) const {
    auto it = std::upper_bound(set_.begin(), set_.end(), x.begin,
                               [](std::int64_t b, const Interval& i) { return b < i.begin; });
    return it != set_.begin() && std::prev(it)->end >= x.end;
  }
  [[nodiscard]] std::int64_t size() const {
    std::int64_t sum = 0;
    for (const auto& i : set_) sum += i.length();
    return sum;
  }
  [[nodiscard]] bool empty() const { return set_.empty(); }
  [[nodiscard]] auto begin() const { return set_.begin(); }
  [[nodiscard]] auto end() const { return set_.end(); }

 private:
  std::vector<Interval> set_;
};

}  // namespace spillway::sim::device
