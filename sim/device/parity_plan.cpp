#include "sim/device/parity_plan.hpp"

namespace spillway::sim::device {

namespace {

constexpr std::int64_t kBlock = 8;  // sectors of a 4 KiB block

/// Adds to a list, joined with the last entry of that member if it goes on there.
void append(std::vector<PlannedIo>& list, const PlannedIo& io) {
  for (auto it = list.rbegin(); it != list.rend(); ++it) {
    if (it->member != io.member) continue;
    if (it->start + it->length == io.start) {
      it->length += io.length;
      it->redundant += io.redundant;
      return;
    }
    break;
  }
  list.push_back(io);
}

}  // namespace

RowPlan plan_row_write(const ParityShape& shape, std::int64_t row, const Intervals& dirty, const RowContents& cached,
                       bool read_modify_write) {
  const std::int64_t chunk = shape.chunk, d = shape.data(), p = shape.parity;
  // Heights within the chunk at which the set of written blocks changes.
  std::vector<std::int64_t> cuts;
  for (const Interval& i : dirty) {
    cuts.push_back(i.begin % chunk);
    cuts.push_back((i.end - 1) % chunk + 1);
    if (i.end / chunk > i.begin / chunk) cuts.insert(cuts.end(), {0, chunk});  // more than one chunk: any height
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());

  RowPlan plan;
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    const std::int64_t from = cuts[c], to = cuts[c + 1], height = to - from;
    const auto piece = [&](std::int64_t index) { return Interval{index * chunk + from, index * chunk + to}; };
    std::int64_t written = 0, old_unknown = 0, rest_unknown = 0;
    for (std::int64_t i = 0; i < d; ++i) {
      const bool is_written = dirty.covers(piece(i));
      const bool is_cached = cached.data.covers(piece(i));
      written += is_written ? 1 : 0;
      (is_written ? old_unknown : rest_unknown) += is_cached ? 0 : 1;
    }
    if (written == 0) continue;
    const bool parity_cached = cached.parity.covers({from, to});
    const std::int64_t rmw_reads = old_unknown + (parity_cached ? 0 : p);
    const bool full = written == d;
    const bool rmw = !full && read_modify_write && rmw_reads < rest_unknown;
    (full ? plan.full_rows : rmw ? plan.rmw_rows : plan.reconstruct_rows) += (height + kBlock - 1) / kBlock;

    const std::int64_t base = row * chunk + from;
    for (std::int64_t i = 0; i < d; ++i) {
      const PlannedIo io{shape.data_member(row, static_cast<int>(i)), base, height, 0};
      const bool is_written = dirty.covers(piece(i));
      const bool read = !full && !cached.data.covers(piece(i)) && (rmw ? is_written : !is_written);
      if (read) append(plan.reads, io);
      if (is_written) append(plan.writes, io);
      if (read || is_written) plan.known.data.add(piece(i));
    }
    for (int w = 0; w < p; ++w) {
      PlannedIo io{shape.parity_member(row, w), base, height, 0};
      if (rmw && !parity_cached) append(plan.reads, io);
      io.redundant = height;
      append(plan.writes, io);
    }
    plan.known.parity.add({from, to});
  }
  return plan;
}

}  // namespace spillway::sim::device
