#include "workload/real/state/state.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "workload/interrupt/interrupt.hpp"
#include "workload/real/monitors/kernel_views.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {

std::int64_t settle(const std::string& device_name, std::int64_t pages, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::int64_t left = 0;
  for (int round = 0;; ++round) {
    if (round % 20 == 0) ::sync();
    const auto dirty = parse_vmstat_dirty(read_text("/proc/vmstat").value_or(""));
    left = dirty ? dirty->dirty + dirty->writeback : 0;
    std::int64_t in_flight = 0;
    if (!device_name.empty())
      if (const auto block = parse_block_stat(read_text("/sys/block/" + device_name + "/stat").value_or(""))) in_flight = block->in_flight;
    if ((left <= pages && in_flight == 0) || std::chrono::steady_clock::now() > deadline || interrupted()) return left;
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
}

Status read_once(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(ErrorKind::refused, fmt::format("cannot read {}: {}", path, std::strerror(errno)), errno);
  std::vector<char> buffer(1 << 20);
  ssize_t n = 0;
  while ((n = ::read(fd, buffer.data(), buffer.size())) > 0 && !interrupted()) {
  }
  const int error = errno;
  ::close(fd);
  if (n < 0) return fail(ErrorKind::refused, fmt::format("cannot read {}: {}", path, std::strerror(error)), error);
  return {};
}

Status drop_caches() {
  ::sync();
  return write_text("/proc/sys/vm/drop_caches", "3");
}

StateInputs read_state_inputs(const std::string& debugfs, const std::string& device_number, bool cold) {
  StateInputs inputs;
  if (!debugfs.empty() && !device_number.empty())
    inputs.bdi_stats = read_text(fmt::format("{}/bdi/{}/stats", debugfs, device_number)).value_or("");
  inputs.vmstat = read_text("/proc/vmstat").value_or("");
  inputs.zoneinfo = read_text("/proc/zoneinfo").value_or("");
  inputs.cold = cold;
  return inputs;
}

BoxState state_from(const StateInputs& inputs) {
  BoxState state;
  state.cold = inputs.cold;
  const auto dirty = parse_vmstat_dirty(inputs.vmstat);
  const auto bdi = parse_bdi_stats(inputs.bdi_stats);
  if (dirty) {
    const std::int64_t own = bdi ? bdi->reclaimable_pages + bdi->writeback_pages : 0;
    state.foreign_dirty_pages = std::max<std::int64_t>(0, dirty->dirty + dirty->writeback - own);
  }
  if (const auto zones = parse_zoneinfo(inputs.zoneinfo)) {
    state.dirtyable_pages = zones->dirtyable();
    state.free_pages = zones->free_pages;
    state.file_pages = zones->file_pages;
  }
  if (bdi && dirty && dirty->thresh > 0) {
    // An idle device shows only the floor (thresh - dirty) / 8: its share is then anything from 0 to 1/8.
    const std::int64_t floor = (dirty->thresh - dirty->dirty - dirty->writeback) / inputs.floor_divisor;
    const std::int64_t slack = 2 + dirty->thresh / 1000;
    if (bdi->wb_thresh_pages > floor + slack)
      state.completion_share = std::min(1.0, static_cast<double>(bdi->wb_thresh_pages) / static_cast<double>(dirty->thresh));
    if (bdi->bandwidth_pages_per_s > 0) state.write_bandwidth_pages_per_s = bdi->bandwidth_pages_per_s;
  }
  if (inputs.cold) {
    if (!state.completion_share) state.completion_share = 0.0;
    state.write_bandwidth_pages_per_s = state.avg_write_bandwidth_pages_per_s = state.dirty_ratelimit_pages_per_s = kColdBandwidthPagesPerS;
  }
  return state;
}

OthersBefore look_at_others(const std::string& debugfs, const std::string& device_number, std::chrono::milliseconds window) {
  struct Seen {
    std::int64_t written = 0, own = 0;
    CpuView cpu;
  };
  const auto look = [&] {
    Seen seen;
    seen.written = table_number(read_text("/proc/vmstat").value_or(""), "nr_written").value_or(0);
    if (!debugfs.empty() && !device_number.empty())
      if (const auto bdi = parse_bdi_stats(read_text(fmt::format("{}/bdi/{}/stats", debugfs, device_number)).value_or(""))) seen.own = bdi->written_pages;
    seen.cpu = parse_cpu(read_text("/proc/stat").value_or("")).value_or(CpuView{});
    return seen;
  };
  const Seen before = look();
  const auto began = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(window);
  const Seen after = look();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  OthersBefore others;
  others.completions_pages_per_s = std::max(0.0, static_cast<double>((after.written - before.written) - (after.own - before.own)) / seconds);
  const auto total = after.cpu.total() - before.cpu.total();
  if (total > 0) others.cpus = static_cast<double>(after.cpu.busy() - before.cpu.busy()) / 100.0 / seconds;
  return others;
}

Foreign foreign_dirty(const std::vector<TimelineRow>& rows, double from_s, double to_s) {
  Foreign foreign;
  int count = 0;
  for (const auto& row : rows) {
    if (row.t_s < from_s || row.t_s > to_s || !row.nr_dirty_pages || !row.wb_reclaimable_pages) continue;
    const double pages = std::max(0.0, *row.nr_dirty_pages + row.nr_writeback_pages.value_or(0) - *row.wb_reclaimable_pages -
                                           row.wb_writeback_pages.value_or(0));
    foreign.dirty_pages_mean += pages;
    foreign.dirty_pages_max = std::max(foreign.dirty_pages_max, pages);
    ++count;
  }
  if (count > 0) foreign.dirty_pages_mean /= count;
  return foreign;
}

std::vector<std::string> disturbances(const Foreign& foreign, const QuietLimits& limits) {
  std::vector<std::string> found;
  if (foreign.dirty_pages_mean > limits.foreign_dirty_pages)
    found.push_back(fmt::format("Others had {:.1f} MB of dirty pages on average (up to {:.1f} MB); more than {:.1f} MB moves the result: "
                                "keep other disks quiet.",
                                foreign.dirty_pages_mean * 4096e-6, foreign.dirty_pages_max * 4096e-6, limits.foreign_dirty_pages * 4096e-6));
  if (foreign.cpus > limits.other_cpus)
    found.push_back(fmt::format("Others used {:.2f} cores on average; more than {:.2f} moves the result: end other programs.", foreign.cpus,
                                limits.other_cpus));
  return found;
}

}  // namespace spillway::real
