#include "workload/real/watch/task_watch.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD, include/linux/sched.h

/// The names of a folder that are numbers.
std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> numbers;
  DIR* directory = ::opendir(folder.c_str());
  if (directory == nullptr) return numbers;
  while (const dirent* entry = ::readdir(directory))
    if (const int number = std::atoi(entry->d_name); number > 0) numbers.push_back(number);
  ::closedir(directory);
  return numbers;
}

std::string command_of(pid_t pid, const std::string& comm) {
  std::string line = read_text(fmt::format("/proc/{}/cmdline", pid)).value_or("");
  while (!line.empty() && line.back() == '\0') line.pop_back();
  std::ranges::replace(line, '\0', ' ');
  return line.empty() ? comm : line;
}

}  // namespace

std::optional<std::pair<std::int64_t, std::int64_t>> parse_schedstat(std::string_view text) {
  const auto words = split_words(text);
  if (words.size() < 2) return std::nullopt;
  const auto cpu = first_number(words[0]), runqueue = first_number(words[1]);
  if (!cpu || !runqueue) return std::nullopt;
  return std::pair{*cpu, *runqueue};
}

std::optional<Wait> wait_of(char state, std::string_view wait_channel) {
  if (state == 'R') return std::nullopt;
  if (!wait_channel.empty() && wait_channel != "0") {
    const Wait wait = classify_stack({wait_channel});
    if (wait != Wait::other) return wait;
  }
  return state == 'D' ? Wait::device : Wait::other;
}

double TaskHistory::waited_s(Wait wait) const {
  const auto it = looks.find(wait);
  if (it == looks.end() || looks_asleep == 0) return 0;
  const double asleep_s = std::max(0.0, elapsed_s() - static_cast<double>(cpu_ns + runqueue_ns) * 1e-9 / std::max(1, threads));
  return asleep_s * it->second / looks_asleep;
}

void TaskWatch::look(const std::vector<pid_t>& pids, std::int64_t now_ns) {
  for (auto& [pid, task] : tasks_)
    if (!task.ended && std::ranges::find(pids, pid) == pids.end() && !process_stat(pid)) task.ended = true;
  for (const pid_t pid : pids) {
    const auto stat = process_stat(pid);
    if (!stat || stat->state == 'Z' || stat->state == 'X') {
      if (const auto it = tasks_.find(pid); it != tasks_.end()) it->second.ended = true;
      continue;
    }
    auto [it, is_new] = tasks_.try_emplace(pid);
    TaskHistory& task = it->second;
    if (is_new || task.command.empty()) task.command = command_of(pid, stat->comm);
    // A shell becomes the program that it starts.
    else if (!task.command.contains(stat->comm)) task.command = command_of(pid, stat->comm);
    const auto io = read_text(fmt::format("/proc/{}/io", pid)).value_or("");
    const std::int64_t written = table_number(io, "wchar").value_or(0);
    if (is_new) {
      task.pid = pid;
      task.first_ns = now_ns;
      first_ticks_[pid] = {stat->user_ticks, stat->system_ticks};
      first_written_[pid] = written;
    }
    task.last_ns = now_ns;
    task.user_ticks = stat->user_ticks - first_ticks_[pid].first;
    task.system_ticks = stat->system_ticks - first_ticks_[pid].second;
    task.written_bytes = std::max<std::int64_t>(0, written - first_written_[pid]);
    auto& counters = threads_[pid];
    const auto threads = numbers_in(fmt::format("/proc/{}/task", pid));
    task.threads = std::max(task.threads, static_cast<int>(threads.size()));
    bool throttled = false;
    task.now.clear();
    for (const pid_t tid : threads) {
      const std::string folder = fmt::format("/proc/{}/task/{}", pid, tid);
      if (const auto times = parse_schedstat(read_text(folder + "/schedstat").value_or(""))) {
        const auto [last, fresh] = counters.try_emplace(tid, Counters{times->first, times->second});
        if (!fresh || !is_new) {  // a thread that is younger than the first look counts whole
          task.cpu_ns += times->first - (fresh ? 0 : last->second.cpu_ns);
          task.runqueue_ns += times->second - (fresh ? 0 : last->second.runqueue_ns);
        }
        last->second = {times->first, times->second};
      }
      const auto thread = parse_process_stat(read_text(folder + "/stat").value_or(""));
      if (!thread) continue;
      std::string channel;
      if (thread->state != 'R') {
        const auto text = read_line(folder + "/wchan");
        if (!text || *text == "0") ++hidden_;
        else channel = *text;
      }
      if (const auto wait = wait_of(thread->state, channel)) {
        ++task.looks[*wait];
        ++task.looks_asleep;
        throttled = throttled || *wait == Wait::throttled;
      }
      if (task.now.empty() || thread->state == 'D') task.now = channel.empty() ? std::string{thread->state} : fmt::format("{} {}", thread->state, channel);
    }
    if (!throttled) {
      task.throttled_since_ns = 0;
    } else {
      if (task.throttled_since_ns == 0) task.throttled_since_ns = now_ns;
      task.longest_throttle_ns = std::max(task.longest_throttle_ns, now_ns - task.throttled_since_ns);
    }
  }
}

UntarResult untar_of(const TaskHistory& task, int number, std::int64_t origin_ns) {
  UntarResult untar;
  untar.number = number;
  untar.start_s = static_cast<double>(task.first_ns - origin_ns) * 1e-9;
  untar.elapsed_s = task.elapsed_s();
  untar.bytes = task.written_bytes;
  const double cpu_s = static_cast<double>(task.cpu_ns) * 1e-9;
  const double ticks = static_cast<double>(task.user_ticks + task.system_ticks);
  // The sum is exact (schedstat), the split is that of the ticks.
  untar.user_s = ticks > 0 ? cpu_s * static_cast<double>(task.user_ticks) / ticks : 0;
  untar.system_s = cpu_s - untar.user_s;
  const double share = 1.0 / std::max(1, task.threads);
  auto& account = untar.account;
  account.user_s = untar.user_s * share;
  account.system_s = untar.system_s * share;
  account.runqueue_s = static_cast<double>(task.runqueue_ns) * 1e-9 * share;
  account.throttled_s = task.waited_s(Wait::throttled);
  account.device_s = task.waited_s(Wait::device);
  account.lock_s = task.waited_s(Wait::lock);
  account.log_s = task.waited_s(Wait::log);
  account.unknown_s = untar.elapsed_s - (account.total_s() - account.unknown_s);
  untar.longest_pause_s = static_cast<double>(task.longest_throttle_ns) * 1e-9;
  untar.account_sources = {{"user", "schedstat, split by ticks"}, {"system", "schedstat, split by ticks"}, {"runqueue", "schedstat"}, {"throttled", "wchan, sampled"},
                           {"device", "wchan, sampled"}, {"lock", "wchan, sampled"}, {"log", "wchan, sampled"}, {"unknown", "elapsed less all other parts"}};
  if (task.threads > 1) untar.account_sources["threads"] = fmt::format("the average of {} threads", task.threads);
  return untar;
}

std::vector<pid_t> family_of(pid_t pid) {
  std::vector<pid_t> family{pid};
  if (!exists(fmt::format("/proc/{}/task/{}/children", pid, pid))) {  // CONFIG_PROC_CHILDREN is off: the slow way
    for (const auto& one : descendants(pid)) family.push_back(one.pid);
    return family;
  }
  for (std::size_t i = 0; i < family.size(); ++i)
    for (const pid_t tid : numbers_in(fmt::format("/proc/{}/task", family[i])))
      for (const auto word : split_words(read_text(fmt::format("/proc/{}/task/{}/children", family[i], tid)).value_or("")))
        if (const auto child = first_number(word)) family.push_back(static_cast<pid_t>(*child));
  return family;
}

std::vector<pid_t> writers_here(pid_t without) {
  static constexpr std::array<std::string_view, 14> kNames = {"tar", "bsdtar", "cpio", "unzip", "bsdcpio", "rsync", "cp", "dd", "fio", "star", "pax", "unrar", "7z", "dpkg-deb"};
  std::vector<pid_t> found;
  for (const pid_t pid : numbers_in("/proc")) {
    if (pid == without) continue;
    const auto stat = process_stat(pid);
    if (!stat || (stat->flags & kKernelThread) != 0 || stat->state == 'Z') continue;
    bool wanted = std::ranges::find(kNames, stat->comm) != kNames.end();
    if (!wanted && stat->state == 'D') wanted = read_line(fmt::format("/proc/{}/wchan", pid)).value_or("").starts_with("balance_dirty_pages");
    if (wanted) found.push_back(pid);
  }
  return found;
}

}  // namespace spillway::real
