#include "workload/real/monitors/kernel_views.hpp"

#include <algorithm>
#include <cctype>

#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

std::vector<std::int64_t> numbers(std::string_view line) {
  std::vector<std::int64_t> found;
  for (const auto word : split_words(line))
    if (!word.empty() && (std::isdigit(static_cast<unsigned char>(word[0])) || word[0] == '-'))
      if (const auto n = first_number(word)) found.push_back(*n);
  return found;
}

}  // namespace

std::optional<DirtyView> parse_vmstat_dirty(std::string_view vmstat) {
  const auto dirty = table_number(vmstat, "nr_dirty"), writeback = table_number(vmstat, "nr_writeback");
  if (!dirty || !writeback) return std::nullopt;
  return DirtyView{*dirty, *writeback, table_number(vmstat, "nr_dirty_threshold").value_or(0),
                   table_number(vmstat, "nr_dirty_background_threshold").value_or(0)};
}

std::optional<BdiView> parse_bdi_stats(std::string_view stats) {
  const auto reclaimable = table_number(stats, "BdiReclaimable");
  if (!reclaimable) return std::nullopt;
  const auto pages = [&](std::string_view key) { return table_number(stats, key).value_or(0) / kKbPerPage; };
  const auto count = [&](std::string_view key) { return table_number(stats, key).value_or(0); };
  return BdiView{pages("BdiWriteback"), *reclaimable / kKbPerPage, pages("BdiDirtyThresh"), pages("BdiDirtied"),
                 pages("BdiWritten"),   pages("BdiWriteBandwidth"), count("b_dirty"),       count("b_io"), count("b_more_io")};
}

std::optional<BlockStat> parse_block_stat(std::string_view stat) {
  const auto n = numbers(stat);
  if (n.size() < 11) return std::nullopt;
  return BlockStat{n[0], n[2], n[4], n[6], n[8], n[9], n.size() > 15 ? n[15] : 0};
}

std::optional<CpuView> parse_cpu(std::string_view stat) {
  if (!stat.starts_with("cpu ")) return std::nullopt;
  const auto n = numbers(stat.substr(0, stat.find('\n')));
  if (n.size() < 8) return std::nullopt;
  return CpuView{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], table_number(stat, "ctxt").value_or(0)};
}

std::optional<DirtyableView> parse_zoneinfo(std::string_view zoneinfo) {
  DirtyableView view;
  bool any = false;
  std::int64_t free = 0, high = 0, managed = 0;
  for (const auto line : split_lines(zoneinfo)) {
    const auto words = split_words(line);
    if (words.empty()) continue;
    const auto second = words.size() > 1 ? first_number(words[1]).value_or(0) : 0;
    if (words[0] == "nr_inactive_file" || words[0] == "nr_active_file") {
      view.file_pages += second;  // per node, printed once under the node's first zone
    } else if (words[0] == "pages" && words.size() > 2 && words[1] == "free") {
      any = true;
      free = first_number(words[2]).value_or(0);
      high = managed = 0;
      view.free_pages += free;
    } else if (words[0] == "high" && words.size() == 2) {
      high = std::max(high, second);  // the zone's line comes before the per-cpu "high:" lines
    } else if (words[0] == "managed") {
      managed = second;
    } else if (words[0].starts_with("protection")) {
      std::int64_t largest = 0;
      for (std::size_t i = 1; i < words.size(); ++i) largest = std::max(largest, first_number(words[i]).value_or(0));
      view.reserve_pages += std::min(high + largest, managed);
    }
  }
  return any ? std::optional{view} : std::nullopt;
}

std::optional<XfsView> parse_xfs_stat(std::string_view stat) {
  XfsView view;
  bool any = false;
  for (const auto line : split_lines(stat)) {
    const auto n = numbers(line);
    const auto is = [&](std::string_view name, std::size_t fields) {
      return line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ' && n.size() >= fields;
    };
    if (is("trans", 3)) {
      view.transactions = n[0] + n[1];
      any = true;
    } else if (is("log", 5)) {
      view.log_writes = n[0];
      view.log_blocks = n[1];
      view.log_noiclogs = n[2];
      view.log_forces = n[3];
      view.log_force_sleeps = n[4];
    } else if (is("push_ail", 4)) {
      view.ail_tries = n[0];
      view.ail_sleeps = n[1];
      view.ail_pushes = n[2];
    } else if (is("extent_alloc", 2)) {
      view.extents_allocated = n[0];
      view.blocks_allocated = n[1];
    } else if (is("xstrat", 2)) {
      view.delalloc_conversions = n[0] + n[1];
    }
  }
  return any ? std::optional{view} : std::nullopt;
}

std::optional<PressureView> parse_pressure(std::string_view text) {
  PressureView view;
  bool any = false;
  for (const auto line : split_lines(text)) {
    const auto at = line.find("total=");
    if (at == std::string_view::npos) continue;
    const auto total = first_number(line.substr(at)).value_or(0);
    if (line.starts_with("some")) view.some_us = total;
    if (line.starts_with("full")) view.full_us = total;
    any = true;
  }
  return any ? std::optional{view} : std::nullopt;
}

std::optional<std::string> queue_of(std::string_view comm) {
  if (comm.starts_with("kworker/")) {
    const auto at = comm.find_first_of("+-", 8);
    if (at == std::string_view::npos) return std::nullopt;
    auto queue = comm.substr(at + 1);
    if (queue.starts_with("flush-")) return "flush";
    queue = queue.substr(0, queue.find('/'));
    if (queue.starts_with("loop") && queue.size() > 4 && std::isdigit(static_cast<unsigned char>(queue[4]))) return "loop";
    return std::string{queue};
  }
  if (comm.starts_with("loop") && comm.size() > 4 && std::isdigit(static_cast<unsigned char>(comm[4]))) return "loop";
  if (comm.starts_with("xfsaild/")) return "xfsaild";
  return std::nullopt;
}

}  // namespace spillway::real
