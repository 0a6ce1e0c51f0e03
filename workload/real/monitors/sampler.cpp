#include "workload/real/monitors/sampler.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"
#include "workload/record/file_io.hpp"
#include "workload/record/record_io.hpp"

namespace spillway::real {
namespace {

constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD, include/linux/sched.h
constexpr double kTicksPerSecond = 100;              // USER_HZ of every Linux that runs here

/// The whole of a kernel file through a descriptor kept open; the kernel makes the text anew at offset 0.
std::string_view reread(int fd, std::vector<char>& buffer) {
  if (fd < 0) return {};
  std::size_t have = 0;
  for (;;) {
    if (buffer.size() - have < 4096) buffer.resize(buffer.size() + 16384);
    const ssize_t n = ::pread(fd, buffer.data() + have, buffer.size() - have, static_cast<off_t>(have));
    if (n <= 0) break;
    have += static_cast<std::size_t>(n);
  }
  return {buffer.data(), have};
}

int open_read(const std::string& path) { return path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }

}  // namespace

Result<std::unique_ptr<Sampler>> Sampler::start(SamplerSpec spec) {
  std::unique_ptr<Sampler> sampler{new Sampler{std::move(spec)}};
  const auto& wanted = sampler->spec_;
  sampler->csv_ = ::open(wanted.csv.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (sampler->csv_ < 0)
    return fail(ErrorKind::refused, fmt::format("cannot write {}: {}", wanted.csv.string(), std::strerror(errno)), errno);
  const std::string header = timeline_csv_header() + "\n";
  if (::write(sampler->csv_, header.data(), header.size()) != static_cast<ssize_t>(header.size()))
    return fail(ErrorKind::refused, fmt::format("cannot write {}: {}", wanted.csv.string(), std::strerror(errno)), errno);
  sampler->vmstat_ = open_read("/proc/vmstat");
  sampler->stat_ = open_read("/proc/stat");
  if (!wanted.device_name.empty()) sampler->block_ = open_read(fmt::format("/sys/block/{}/stat", wanted.device_name));
  if (!wanted.debugfs.empty() && !wanted.device_number.empty())
    sampler->bdi_ = open_read(fmt::format("{}/bdi/{}/stats", wanted.debugfs, wanted.device_number));
  sampler->started_ns_ = monotonic_ns();
  sampler->thread_ = std::thread{[raw = sampler.get()] { raw->loop(); }};
  return sampler;
}

Sampler::~Sampler() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  for (const int fd : {csv_, vmstat_, stat_, block_, bdi_})
    if (fd >= 0) ::close(fd);
  for (const auto& [pid, known] : known_) ::close(known.stat_fd);
}

void Sampler::loop() {
  std::int64_t next = started_ns_;
  const std::int64_t step = std::chrono::nanoseconds{spec_.interval}.count();
  for (int round = 0; !stop_; ++round) {
    sample(monotonic_ns());
    if (spec_.workers) {
      if (round % 10 == 0) find_workers();
      if (round % 2 == 0) look_at_workers();
    }
    next += step;
    if (next < monotonic_ns()) next = monotonic_ns();
    const timespec until{static_cast<time_t>(next / 1'000'000'000), static_cast<long>(next % 1'000'000'000)};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
  }
  sample(monotonic_ns());
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  own_cpu_s_ = static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

void Sampler::sample(std::int64_t now_ns) {
  static thread_local std::vector<char> buffer(16384);
  TimelineRow row;
  row.t_s = static_cast<double>(now_ns - started_ns_) * 1e-9;
  if (const auto dirty = parse_vmstat_dirty(reread(vmstat_, buffer))) {
    row.nr_dirty_pages = static_cast<double>(dirty->dirty);
    row.nr_writeback_pages = static_cast<double>(dirty->writeback);
    row.thresh_pages = static_cast<double>(dirty->thresh);
    row.background_pages = static_cast<double>(dirty->background);
    row.freerun_pages = static_cast<double>((dirty->thresh + dirty->background) / 2);
    dirty_ = dirty->dirty;
    writeback_ = dirty->writeback;
  }
  if (const auto bdi = parse_bdi_stats(reread(bdi_, buffer))) {
    row.wb_reclaimable_pages = static_cast<double>(bdi->reclaimable_pages);
    row.wb_writeback_pages = static_cast<double>(bdi->writeback_pages);
    row.wb_thresh_pages = static_cast<double>(bdi->wb_thresh_pages);
    row.wb_written_pages = static_cast<double>(bdi->written_pages);
    row.wb_dirtied_pages = static_cast<double>(bdi->dirtied_pages);
    if (bdi->bandwidth_pages_per_s > 0) row.write_bandwidth_pages_per_s = static_cast<double>(bdi->bandwidth_pages_per_s);
    row.b_dirty = static_cast<double>(bdi->b_dirty);
    row.b_io = static_cast<double>(bdi->b_io);
    row.b_more_io = static_cast<double>(bdi->b_more_io);
  }
  const double seconds = static_cast<double>(now_ns - last_ns_) * 1e-9;
  if (const auto block = parse_block_stat(reread(block_, buffer))) {
    row.device_write_bytes = static_cast<double>(block->write_sectors) * 512;
    row.device_write_ios = static_cast<double>(block->write_ios);
    row.device_read_bytes = static_cast<double>(block->read_sectors) * 512;
    row.device_inflight = static_cast<double>(block->in_flight);
    if (last_busy_ && seconds > 0)
      row.device_busy_pct = std::min(100.0, static_cast<double>(block->busy_ms - last_busy_->busy_ms) / (seconds * 10));
    last_busy_ = block;
    written_ = block->write_sectors * 512;
    in_flight_ = block->in_flight;
  }
  if (const auto cpu = parse_cpu(reread(stat_, buffer))) {
    if (last_cpu_) {
      const double total = static_cast<double>(std::max<std::int64_t>(1, cpu->total() - last_cpu_->total()));
      row.cpu_user_pct = 100.0 * static_cast<double>(cpu->user + cpu->nice - last_cpu_->user - last_cpu_->nice) / total;
      row.cpu_system_pct = 100.0 * static_cast<double>(cpu->busy() - cpu->user - cpu->nice - last_cpu_->busy() + last_cpu_->user + last_cpu_->nice) / total;
      row.cpu_iowait_pct = 100.0 * static_cast<double>(std::max<std::int64_t>(0, cpu->iowait - last_cpu_->iowait)) / total;
    }
    last_cpu_ = cpu;
  }
  if (const auto limit = limit_.load(std::memory_order_relaxed); limit > 0) row.limit_pages = static_cast<double>(limit);
  if (const auto rate = ratelimit_.load(std::memory_order_relaxed); rate > 0) row.dirty_ratelimit_pages_per_s = static_cast<double>(rate);
  row.untar = static_cast<double>(untar_.load(std::memory_order_relaxed));
  last_ns_ = now_ns;
  const std::string line = timeline_csv_row(row) + "\n";
  [[maybe_unused]] const auto written = ::write(csv_, line.data(), line.size());  // the rows in memory are the second copy
  rows_.push_back(row);
}

void Sampler::find_workers() {
  DIR* directory = ::opendir("/proc");
  if (directory == nullptr) return;
  while (const dirent* entry = ::readdir(directory)) {
    const int pid = std::atoi(entry->d_name);
    if (pid <= 2 || known_.contains(pid)) continue;
    const auto stat = process_stat(pid);
    if (!stat || (stat->flags & kKernelThread) == 0) {
      if (stat) known_[pid] = {-1, "", 0};  // a user process: never looked at again under this number
      continue;
    }
    const bool worker = stat->comm.starts_with("kworker/") || queue_of(stat->comm).has_value();
    known_[pid] = {worker ? ::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC) : -1, "", 0};
  }
  ::closedir(directory);
}

void Sampler::look_at_workers() {
  const std::scoped_lock lock{seen_mutex_};
  char line[512];
  std::map<std::string, int> busy;  // by queue, every queue seen so far
  for (const auto& [key, seen] : seen_) busy.try_emplace(seen.queue, 0);
  for (auto it = known_.begin(); it != known_.end();) {
    auto& [pid, known] = *it;
    if (known.stat_fd < 0) {
      ++it;
      continue;
    }
    const ssize_t n = ::pread(known.stat_fd, line, sizeof line, 0);
    const auto stat = n > 0 ? parse_process_stat({line, static_cast<std::size_t>(n)}) : std::nullopt;
    if (!stat) {  // it ended
      ::close(known.stat_fd);
      it = known_.erase(it);
      continue;
    }
    // The name in /proc/PID/stat is the short one; the queue stands in /proc/PID/comm too, both through wq_worker_comm.
    const auto queue = queue_of(stat->comm);
    const std::uint64_t ticks = stat->user_ticks + stat->system_ticks;
    if (queue) {
      auto& seen = seen_[{pid, *queue}];
      if (seen.name.empty()) {
        seen.name = stat->comm;
        seen.queue = *queue;
        seen.first_ticks = ticks;
      }
      seen.last_ticks = ticks;
      if (known.queue == *queue && ticks > known.ticks) seen.own_ticks += ticks - known.ticks;
      const bool running = stat->comm.contains('+') || stat->state != 'I';
      if (running && stat->state != 'S' && stat->state != 'I') {
        seen.name = stat->comm;
        std::string place{stat->state};
        if (stat->state == 'D') {
          if (const auto where = read_line(fmt::format("/proc/{}/wchan", pid)); where && *where != "0") place += " " + *where;
        }
        ++seen.places[place];
        ++busy[*queue];
      }
    }
    known.queue = queue.value_or("");
    known.ticks = ticks;
    ++it;
  }
  std::map<std::string, std::uint64_t> spent;
  for (const auto& [key, seen] : seen_) spent[seen.queue] += seen.own_ticks;
  const double t_s = static_cast<double>(monotonic_ns() - started_ns_) * 1e-9;
  for (const auto& [queue, count] : busy) looks_.push_back({t_s, queue, count, static_cast<double>(spent[queue]) / kTicksPerSecond});
}

DirtyView Sampler::last_dirty() const { return {dirty_, writeback_, 0, 0}; }
BlockStat Sampler::last_block() const {
  BlockStat block;
  block.write_sectors = written_ / 512;
  block.in_flight = in_flight_;
  return block;
}

Status Sampler::finish(std::int64_t origin_ns) {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  const double shift = static_cast<double>(origin_ns - started_ns_) * 1e-9;
  Timeline timeline;
  for (auto& row : rows_) row.t_s -= shift;
  timeline.rows = rows_;
  SPILLWAY_TRY(write_timeline(timeline, spec_.csv));
  if (looks_.empty()) return {};
  std::string text = "t_s,queue,busy,cpu_s\n";
  for (const WorkersLook& look : looks_) text += fmt::format("{:.3f},{},{},{:.2f}\n", look.t_s - shift, look.queue, look.busy, look.cpu_s);
  return write_file_atomically(spec_.csv.parent_path() / "workers.csv", text);
}

std::vector<KworkerResult> Sampler::workers(double seconds) const {
  const std::scoped_lock lock{seen_mutex_};
  std::map<std::string, KworkerResult> by_queue;
  std::map<std::string, std::map<std::string, int>> places;
  std::map<std::string, std::uint64_t> busiest;
  for (const auto& [key, seen] : seen_) {
    // An idle worker that only bears the name of its last item and did nothing meanwhile is not counted.
    if (seen.own_ticks == 0 && seen.places.empty()) continue;
    auto& result = by_queue[seen.queue];
    result.queue = seen.queue;
    ++result.count;
    result.cpu_s += static_cast<double>(seen.own_ticks) / kTicksPerSecond;
    int looks = 0;
    for (const auto& [place, count] : seen.places) {
      places[seen.queue][place] += count;
      looks += count;
    }
    const std::uint64_t weight = seen.own_ticks + static_cast<std::uint64_t>(looks);
    if (result.name.empty() || weight > busiest[seen.queue]) {
      result.name = seen.name;
      busiest[seen.queue] = weight;
    }
  }
  std::vector<KworkerResult> results;
  for (auto& [queue, result] : by_queue) {
    int most = 0;
    for (const auto& [place, count] : places[queue])
      if (count > most) {
        most = count;
        result.busiest_state = place;
      }
    result.cpu_pct = seconds > 0 ? 100 * result.cpu_s / seconds : 0;
    results.push_back(std::move(result));
  }
  std::ranges::stable_sort(results, [](const auto& a, const auto& b) { return a.cpu_s > b.cpu_s; });
  return results;
}

}  // namespace spillway::real
