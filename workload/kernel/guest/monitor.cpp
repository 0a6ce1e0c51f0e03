#include "workload/kernel/guest/monitor.hpp"

#include "workload/kernel/guest/clock.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace spillway::kernel::guest {
namespace {

std::string read_text(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  char piece[4096];
  for (ssize_t got = 0; (got = read(file, piece, sizeof piece)) > 0;) text.append(piece, static_cast<std::size_t>(got));
  close(file);
  return text;
}

// The number after `key` where the key starts a line; -1 when it is not there.
long long value_after(const std::string& text, const char* key) {
  std::size_t from = 0;
  const std::size_t length = std::strlen(key);
  while (true) {
    const auto at = text.find(key, from);
    if (at == std::string::npos) return -1;
    if (at == 0 || text[at - 1] == '\n') {
      auto digits = at + length;
      while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) == 0 && text[digits] != '\n') ++digits;
      return std::atoll(text.c_str() + digits);
    }
    from = at + 1;
  }
}

// What was seen of one kernel worker name (with the queue it serves).
struct Seen {
  long active = 0;                    // samples in which it ran an item ("+queue")
  std::map<std::string, long> where;  // "D rq_qos_wait" -> samples
  std::map<std::string, bool> pids;
  long long cpu_ticks = 0;            // of all workers that had this name, at their last sight
};

// Returns how many workers are writing back at this moment.
int look_at_workers(std::map<std::string, Seen>& workers) {
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return 0;
  int flushers = 0;
  while (const dirent* entry = readdir(proc)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    const std::string pid = entry->d_name;
    const auto stat = read_text("/proc/" + pid + "/stat");
    const auto open_at = stat.find('('), close_at = stat.rfind(')');
    if (open_at == std::string::npos || close_at == std::string::npos || close_at + 2 >= stat.size()) continue;
    const auto name = stat.substr(open_at + 1, close_at - open_at - 1);
    if (name.rfind("kworker/", 0) != 0 && name.rfind("loop", 0) != 0 && name.rfind("xfsaild", 0) != 0) continue;
    const char state = stat[close_at + 2];
    const auto plus = name.find('+');
    // A worker at rest shows "-queue": it counts for nobody until it runs an item.
    if (name.rfind("kworker/", 0) == 0 && plus == std::string::npos) continue;
    if (plus != std::string::npos && name.compare(plus, 7, "+flush-") == 0) ++flushers;
    auto& seen = workers[name];
    seen.active += 1;
    seen.pids[pid] = true;
    auto wchan = read_text("/proc/" + pid + "/wchan");
    seen.where[std::string(1, state) + ' ' + (wchan.empty() ? "?" : wchan)] += 1;
    long long user = 0, system = 0;
    std::sscanf(stat.c_str() + close_at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld", &user, &system);
    seen.cpu_ticks = user + system;
  }
  closedir(proc);
  return flushers;
}

}  // namespace

Progress* make_progress() {
  void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Progress{};
}

void monitor(const GuestPlan& plan, Progress& progress, const std::string& timeline, const std::string& workers_file) {
  std::FILE* out = std::fopen(timeline.c_str(), "w");
  if (out == nullptr) return;
  std::fprintf(out,
               "t_ns,nr_dirty,nr_writeback,threshold,background,reclaimable_kb,writeback_kb,wb_thresh_kb,wb_dirtied_kb,"
               "wb_written_kb,bandwidth_kb_per_s,b_dirty,b_io,b_more_io,write_ios,write_sectors,read_sectors,inflight,"
               "busy_ms,untar\n");
  std::map<std::string, Seen> workers;
  std::int64_t next = now_ns();
  long samples = 0;
  int flushers_at_once = 0;
  while (!progress.stop.load()) {
    const auto vmstat = read_text("/proc/vmstat");
    const auto bdi = read_text("/sys/kernel/debug/bdi/" + plan.bdi + "/stats");
    const auto block = read_text("/sys/block/" + plan.limited_device + "/stat");
    long long read_sectors = 0, write_ios = 0, write_sectors = 0, inflight = 0, busy_ms = 0;
    std::sscanf(block.c_str(), "%*d %*d %lld %*d %lld %*d %lld %*d %lld %lld", &read_sectors, &write_ios, &write_sectors, &inflight, &busy_ms);
    std::fprintf(out, "%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%d\n",
                 static_cast<long long>(now_ns()), value_after(vmstat, "nr_dirty "), value_after(vmstat, "nr_writeback "),
                 value_after(vmstat, "nr_dirty_threshold "), value_after(vmstat, "nr_dirty_background_threshold "),
                 value_after(bdi, "BdiReclaimable:"), value_after(bdi, "BdiWriteback:"), value_after(bdi, "BdiDirtyThresh:"),
                 value_after(bdi, "BdiDirtied:"), value_after(bdi, "BdiWritten:"), value_after(bdi, "BdiWriteBandwidth:"),
                 value_after(bdi, "b_dirty:"), value_after(bdi, "b_io:"), value_after(bdi, "b_more_io:"), write_ios, write_sectors,
                 read_sectors, inflight, busy_ms, progress.youngest_untar.load());
    flushers_at_once = std::max(flushers_at_once, look_at_workers(workers));
    ++samples;
    next += plan.sample_ms * 1'000'000;
    sleep_until_ns(next);
  }
  std::fclose(out);
  out = std::fopen(workers_file.c_str(), "w");
  if (out == nullptr) return;
  std::fprintf(out, "flushers_at_once\t%d\n", flushers_at_once);
  for (const auto& [name, seen] : workers) {
    const std::string* where = nullptr;
    long most = 0;
    for (const auto& [place, count] : seen.where) {
      if (count > most) {
        most = count;
        where = &place;
      }
    }
    // name, samples active, samples at all, workers, ticks, most frequent place and its samples
    std::fprintf(out, "%s\t%ld\t%ld\t%zu\t%lld\t%s\t%ld\n", name.c_str(), seen.active, samples, seen.pids.size(), seen.cpu_ticks,
                 where == nullptr ? "?" : where->c_str(), most);
  }
  std::fclose(out);
}

}  // namespace spillway::kernel::guest
