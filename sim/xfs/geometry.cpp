#include "sim/xfs/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace spillway::sim::xfs {

namespace {

std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }
constexpr std::int64_t kMaxAgBlocks = kTiB / kBlockSize;
/// cited: XFS_AG_MIN_BYTES, 16 MiB.
constexpr std::int64_t kMinAgBlocks = 16 * kMiB / kBlockSize;
constexpr std::int64_t kMaxLogStripeUnit = 256 * kKiB;  // cited: mkfs falls back to 32 KiB above

}  // namespace

int default_allocation_groups(Bytes size, bool striped) {
  const std::int64_t bytes = size.value();
  const auto of_a_tib = static_cast<int>((bytes + kTiB - 1) / kTiB);
  if (bytes >= 32 * kTiB || (!striped && bytes >= 4 * kTiB)) return std::max(1, of_a_tib);
  int shift = 2;
  if (striped) {
    shift = 5;
    if (bytes <= 512 * kGiB) --shift;
    if (bytes <= 8 * kGiB) --shift;
    if (bytes < 128 * kMiB) --shift;
  }
  return 1 << shift;
}

Bytes default_log_size(Bytes size) {
  return Bytes{std::clamp<std::int64_t>(size.value() / 2048 / kBlockSize * kBlockSize, 64 * kMiB, 2 * kGiB - kBlockSize)};
}

Result<Geometry> make_geometry(const FilesystemInputs& in) {
  const auto refuse = [](std::string what) { return fail(ErrorKind::bad_input, std::move(what)); };
  Geometry g;
  g.blocks = in.size.value() / kBlockSize;
  g.inode_size = in.inode_size.value();
  if (g.inode_size != 256 && g.inode_size != 512 && g.inode_size != 1024 && g.inode_size != 2048)
    return refuse(fmt::format("inodes of {} bytes; mkfs.xfs makes them of 256, 512, 1024 or 2048", g.inode_size));
  if (in.stripe_unit.has_value() != in.stripe_width.has_value())
    return refuse("stripe unit and stripe width go together; one is missing");
  if (in.stripe_unit && in.stripe_unit->value() > 0) {
    if (in.stripe_unit->value() % kBlockSize != 0 || in.stripe_width->value() % in.stripe_unit->value() != 0)
      return refuse(fmt::format("a stripe unit of {} and a width of {} bytes; the unit must be whole blocks of 4 KiB and the width whole units",
                                in.stripe_unit->value(), in.stripe_width->value()));
    g.stripe_unit = in.stripe_unit->value() / kBlockSize;
    g.stripe_width = in.stripe_width->value() / kBlockSize;
    g.log_stripe_unit = in.stripe_unit->value() <= kMaxLogStripeUnit ? in.stripe_unit->value() : 32 * kKiB;
  }
  g.ag_count = in.allocation_groups > 0 ? in.allocation_groups : default_allocation_groups(in.size, g.stripe_unit > 0);
  g.ag_blocks = (g.blocks + g.ag_count - 1) / g.ag_count;
  if (g.stripe_unit > 0 && g.ag_count > 1) {
    // Groups start on stripe units, and not all of them on the same disk. cited: mkfs.xfs align_ag_geometry().
    g.ag_blocks = round_up(g.ag_blocks, g.stripe_unit);
    if (in.allocation_groups <= 0 && g.ag_blocks % g.stripe_width == 0 && g.stripe_width != g.stripe_unit) g.ag_blocks -= g.stripe_unit;
    g.blocks = std::min(g.blocks, g.ag_blocks * g.ag_count);
    while (g.ag_count > 1 && g.ag_blocks * (g.ag_count - 1) >= g.blocks) --g.ag_count;
  }
  if (g.ag_blocks > kMaxAgBlocks) return refuse(fmt::format("{} allocation groups would be larger than 1 TiB each", g.ag_count));
  if (g.ag_blocks < kMinAgBlocks) return refuse(fmt::format("{} allocation groups would be smaller than 16 MiB each", g.ag_count));
  // Superblock and headers in one block, roots of the block and inode btrees, reverse-map and reference-count roots where
  // there are any, and the blocks that the free list keeps back (two btrees of at most 3 levels, as a rule). assumed: 4.
  g.first_free = 1 + 2 + 1 + (in.finobt ? 1 : 0) + (in.rmapbt ? 1 : 0) + (in.reflink ? 1 : 0) + 4;
  g.log_blocks = in.log_size.value() / kBlockSize;
  if (in.external_log) {
    g.log_ag = -1;
    g.log_stripe_unit = 512;
  } else {
    g.log_ag = g.ag_count / 2;  // cited: mkfs puts it into the middle group
    g.log_start = g.stripe_unit > 0 ? round_up(g.first_free, g.stripe_unit) : g.first_free;
    if (g.log_start + g.log_blocks > g.blocks_of(g.log_ag))
      return refuse(fmt::format("a log of {} MiB does not fit into an allocation group of {} MiB; make fewer groups or a smaller log",
                                in.log_size.value() / kMiB, g.blocks_of(g.log_ag) * kBlockSize / kMiB));
  }
  return g;
}

}  // namespace spillway::sim::xfs
