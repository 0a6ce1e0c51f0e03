#pragma once
/// In which order a campaign runs its points.
///
/// written: case by case as in the experiment file, all repeats of a case one after another.
/// blocks:  one repeat of every case is a block; blocks follow each other and the order inside each is shuffled from
///          the seed. Boxes drift (temperature, neighbours, an ageing file system): blocks spread the drift over all
///          cases alike, so that a comparison of cases does not measure it.

#include "cli/campaign/point.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace spillway::campaign {

enum class Order { written, blocks };

/// "written" or "blocks", as in `order = "..."`.
Result<Order> parse_order(std::string_view text);

/// The case numbers of a block in its order. The same on every machine: own generator, own shuffle.
std::vector<std::size_t> block_order(std::size_t cases, int block, std::uint64_t seed);

/// Hands out points one by one without holding them all.
class PointSequence {
 public:
  PointSequence(std::size_t cases, int first_repeat, int last_repeat, Order order, std::uint64_t seed);
  /// The next point, or none when all are handed out.
  std::optional<Point> next();

 private:
  std::size_t cases_;
  int first_repeat_, last_repeat_;
  Order order_;
  std::uint64_t seed_;
  std::size_t position_ = 0;          ///< in the current case (written) or block (blocks)
  std::size_t case_index_ = 0;        ///< written: the current case
  int repeat_;                        ///< the current repeat or block
  std::vector<std::size_t> block_;    ///< blocks: the current block's order
};

}  // namespace spillway::campaign
