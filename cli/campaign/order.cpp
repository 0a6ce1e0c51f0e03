#include "cli/campaign/order.hpp"

#include <fmt/core.h>
#include <numeric>

namespace spillway::campaign {

namespace {

/// splitmix64 as a stream.
struct Generator {
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound): draws above the largest multiple of `bound` are drawn again, so that no value is favoured.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    std::uint64_t draw = next();
    while (draw >= limit) draw = next();
    return draw % bound;
  }
};

}  // namespace

Result<Order> parse_order(std::string_view text) {
  if (text == "written") return Order::written;
  if (text == "blocks") return Order::blocks;
  return fail(ErrorKind::bad_input,
              fmt::format("order \"{}\": expected \"written\" (as in the file) or \"blocks\" (randomised blocks from the seed)", text));
}

std::vector<std::size_t> block_order(std::size_t cases, int block, std::uint64_t seed) {
  std::vector<std::size_t> order(cases);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Generator generator{seed ^ (0x6a09e667f3bcc909ULL * static_cast<std::uint64_t>(block))};
  for (std::size_t i = cases; i > 1; --i) std::swap(order[i - 1], order[generator.below(i)]);
  return order;
}

PointSequence::PointSequence(std::size_t cases, int first_repeat, int last_repeat, Order order, std::uint64_t seed)
    : cases_(cases), first_repeat_(first_repeat), last_repeat_(last_repeat), order_(order), seed_(seed), repeat_(first_repeat) {}

std::optional<Point> PointSequence::next() {
  if (cases_ == 0 || last_repeat_ < first_repeat_) return std::nullopt;
  if (order_ == Order::written) {
    if (case_index_ >= cases_) return std::nullopt;
    const Point point{case_index_, repeat_};
    if (++repeat_ > last_repeat_) {
      repeat_ = first_repeat_;
      ++case_index_;
    }
    return point;
  }
  if (position_ == 0) {
    if (repeat_ > last_repeat_) return std::nullopt;
    block_ = block_order(cases_, repeat_, seed_);
  }
  const Point point{block_[position_], repeat_};
  if (++position_ == cases_) {
    position_ = 0;
    ++repeat_;
  }
  return point;
}

}  // namespace spillway::campaign
