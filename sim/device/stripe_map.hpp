#pragma once
/// Which sectors of which member a stretch of a striped array is: pure arithmetic, any number of members.
///
/// Chunks go round the members; with `copies` > 1 (RAID 10 "near") each chunk takes that many places in a row, as md
/// does, so odd member counts work. What a request covers on one member is always one run.

#include <cstdint>
#include <vector>

namespace spillway::sim::device {

struct StripeShape {
  std::int64_t chunk = 1;  ///< sectors
  int members = 1;
  int copies = 1;          ///< at most `members`
};

struct MemberRun {
  int member = 0;
  std::int64_t start = 0, length = 0;  ///< sectors on that member
  std::int64_t redundant = 0;          ///< of them, further copies
};

/// The runs of [start, start + length), all copies, in the order in which their first chunks come.
std::vector<MemberRun> stripe_runs(const StripeShape& shape, std::int64_t start, std::int64_t length);

/// The place of one chunk's copy: which member, and the first sector of the chunk there.
struct ChunkPlace {
  int member = 0;
  std::int64_t start = 0;
};
inline ChunkPlace chunk_place(const StripeShape& shape, std::int64_t chunk_index, int copy) {
  const std::int64_t slot = chunk_index * shape.copies + copy;
  return {static_cast<int>(slot % shape.members), slot / shape.members * shape.chunk};
}

/// Parity layout of md, left-symmetric: parity of row r on member n - 1 - r mod n (RAID 6: Q on the next one), data
/// chunks on the members after it, going round.
struct ParityShape {
  std::int64_t chunk = 1;
  int members = 3;
  int parity = 1;
  [[nodiscard]] int data() const { return members - parity; }
  [[nodiscard]] std::int64_t row_sectors() const { return chunk * data(); }
  [[nodiscard]] int parity_member(std::int64_t row, int which) const {
    return static_cast<int>((members - 1 - row % members + which) % members);
  }
  [[nodiscard]] int data_member(std::int64_t row, int index) const {
    return static_cast<int>((members - 1 - row % members + parity + index) % members);
  }
};

}  // namespace spillway::sim::device
