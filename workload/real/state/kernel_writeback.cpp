#include "workload/real/state/kernel_writeback.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "workload/real/monitors/bpf_code.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

constexpr int kRecord = sizeof(KernelWriteback);
constexpr std::size_t kNameBytes = 64;  ///< backing_dev_info.dev_name

/// What the finders find, in one map with two keys.
struct Found {
  std::uint64_t address = 0;
  char device[kNameBytes] = {};
};
enum Key : std::uint32_t { kTimer = 0, kQueue = 1 };

int silent(libbpf_print_level, const char*, va_list) { return 0; }

/// A descriptor that is closed on every path.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor() = default;
  explicit Descriptor(int number) : fd(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

/// Copies `bytes` at register `base` + `offset` to the stack at `slot`.
void copy(BpfCode& code, int base, int offset, int bytes, int slot) {
  code.move(1, 10);
  code.plus(1, slot);
  code.set(2, bytes);
  code.move(3, base);
  code.plus(3, offset);
  code.call(BPF_FUNC_probe_read_kernel);
}

/// Stores the `bytes` at `slot` of the stack under `key`.
void put(BpfCode& code, int map, std::uint32_t key, int slot, int key_slot) {
  code.set(1, static_cast<int>(key));
  code.store(key_slot, 1);
  code.map(1, map);
  code.move(2, 10);
  code.plus(2, key_slot);
  code.move(3, 10);
  code.plus(3, slot);
  code.set(4, BPF_ANY);
  code.call(BPF_FUNC_map_update_elem);
}

int load(const char* name, const BpfCode& code) {
  return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, name, "Dual MIT/GPL", code.instructions().data(), code.instructions().size(), nullptr);
}

std::unexpected<Error> refused(const char* what) {
  return fail(ErrorKind::refused, fmt::format("the kernel refuses {}: {}", what, std::strerror(errno)), errno);
}

std::uint64_t symbol(std::string_view name) {
  const std::string text = read_text("/proc/kallsyms").value_or("");
  for (const auto line : split_lines(text)) {
    if (line.size() < 20 || line.substr(19) != name) continue;
    std::uint64_t address = 0;
    std::from_chars(line.data(), line.data() + 16, address, 16);
    return address;
  }
  return 0;
}

/// One page written and synced: a completion, which arms a period timer at rest, and work queued on the device.
Status write_a_page(const std::string& directory) {
  const std::string path = directory + "/.spillway-state";
  const Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
  const char page[4096] = {};
  const bool good = file.fd >= 0 && ::write(file.fd, page, sizeof page) == sizeof page && ::syncfs(file.fd) == 0;
  const int error = errno;
  ::unlink(path.c_str());
  if (!good) return fail(ErrorKind::refused, fmt::format("cannot write {}: {}", path, std::strerror(error)), error);
  return {};
}

struct Offsets {
  bool known = true;
  int count, domain_events, domain_period, period_time, dirty_limit, period_timer, timer_function;
  int local_events, local_period, write_bandwidth, avg_write_bandwidth, dirty_ratelimit, balanced, stamp, wb_bdi, dev_name;
};

Result<Offsets> offsets() {
  const std::unique_ptr<btf, decltype(&btf__free)> types{btf__load_vmlinux_btf(), btf__free};
  if (!types) return fail(ErrorKind::unsupported, "the kernel tells nothing of its types (no /sys/kernel/btf/vmlinux)", ENOENT);
  Offsets o{};
  o.known = true;
  const auto at = [&](const char* structure, const char* member) {
    const auto offset = member_offset(types.get(), structure, member);
    o.known = o.known && offset.has_value();
    return offset.value_or(0);
  };
  o.count = at("percpu_counter", "count");
  const int completions = at("wb_domain", "completions"), local = at("bdi_writeback", "completions");
  o.domain_events = completions + at("fprop_global", "events") + o.count;
  o.domain_period = completions + at("fprop_global", "period");
  o.period_time = at("wb_domain", "period_time");
  o.dirty_limit = at("wb_domain", "dirty_limit");
  o.period_timer = at("wb_domain", "period_timer");
  o.timer_function = at("timer_list", "function");
  o.local_events = local + at("fprop_local_percpu", "events") + o.count;
  o.local_period = local + at("fprop_local_percpu", "period");
  o.write_bandwidth = at("bdi_writeback", "write_bandwidth");
  o.avg_write_bandwidth = at("bdi_writeback", "avg_write_bandwidth");
  o.dirty_ratelimit = at("bdi_writeback", "dirty_ratelimit");
  o.balanced = at("bdi_writeback", "balanced_dirty_ratelimit");
  o.stamp = at("bdi_writeback", "bw_time_stamp");
  o.wb_bdi = at("bdi_writeback", "bdi");
  o.dev_name = at("backing_dev_info", "dev_name");
  if (!o.known) return fail(ErrorKind::unsupported, "this kernel's completion counters are not where they are known to be");
  return o;
}

/// timer_start(timer, ...): remembers the timer whose function is writeout_period.
BpfCode timer_finder(const Offsets& o, int map, std::uint64_t function) {
  constexpr int kSlot = -static_cast<int>(sizeof(Found)), kValue = kSlot - 8, kKey = kValue - 8;
  BpfCode code;
  code.load(7, 1, 0);
  code.set(1, 0);
  for (int i = 0; i < static_cast<int>(sizeof(Found)); i += 8) code.store(kSlot + i, 1);
  code.store(kValue, 1);
  copy(code, 7, o.timer_function, 8, kValue);
  code.load(1, 10, kValue);
  code.wide(2, function);
  const std::size_t other = code.instructions().size();
  code.add(BPF_JMP | BPF_JNE | BPF_X, 1, 2, 0, 0);
  code.store(kSlot, 7);
  put(code, map, kTimer, kSlot, kKey);
  code.patch_jump(other);
  code.set(0, 0);
  code.exit();
  return code;
}

/// writeback_queue(wb, work): remembers the device's context and name. Our own syncfs comes last, so the last one counts.
BpfCode queue_finder(const Offsets& o, int map) {
  constexpr int kSlot = -static_cast<int>(sizeof(Found)), kValue = kSlot - 8, kKey = kValue - 8;
  BpfCode code;
  code.load(7, 1, 0);
  code.call(BPF_FUNC_get_current_pid_tgid);
  code.add(BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32);
  const std::size_t other = code.instructions().size();
  code.add(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 0, ::getpid());
  code.set(1, 0);
  for (int i = 0; i < static_cast<int>(sizeof(Found)); i += 8) code.store(kSlot + i, 1);
  code.store(kValue, 1);
  copy(code, 7, o.wb_bdi, 8, kValue);
  code.load(8, 10, kValue);
  copy(code, 8, o.dev_name, kNameBytes, kSlot + static_cast<int>(offsetof(Found, device)));
  code.store(kSlot, 7);
  put(code, map, kQueue, kSlot, kKey);
  code.patch_jump(other);
  code.set(0, 0);
  code.exit();
  return code;
}

/// Run on demand with (domain, writeback context) as its two words: copies what KernelWriteback holds.
BpfCode reader(const Offsets& o, int map) {
  struct Wanted {
    int base, offset, bytes;
    std::size_t slot;
  };
  const Wanted wanted[] = {{7, o.domain_events, 8, offsetof(KernelWriteback, global_events)},
                           {7, o.domain_period, 4, offsetof(KernelWriteback, global_period)},
                           {7, o.period_time, 8, offsetof(KernelWriteback, period_time)},
                           {7, o.dirty_limit, 8, offsetof(KernelWriteback, dirty_limit)},
                           {8, o.local_events, 8, offsetof(KernelWriteback, device_events)},
                           {8, o.local_period, 4, offsetof(KernelWriteback, device_period)},
                           {8, o.write_bandwidth, 8, offsetof(KernelWriteback, write_bandwidth)},
                           {8, o.avg_write_bandwidth, 8, offsetof(KernelWriteback, avg_write_bandwidth)},
                           {8, o.dirty_ratelimit, 8, offsetof(KernelWriteback, dirty_ratelimit)},
                           {8, o.balanced, 8, offsetof(KernelWriteback, balanced_dirty_ratelimit)},
                           {8, o.stamp, 8, offsetof(KernelWriteback, bw_time_stamp)}};
  BpfCode code;
  code.load(7, 1, 0);
  code.load(8, 1, 8);
  code.set(1, 0);
  for (int i = 0; i < kRecord; i += 8) code.store(-kRecord + i, 1);
  code.call(BPF_FUNC_ktime_get_ns);
  code.store(-kRecord + static_cast<int>(offsetof(KernelWriteback, ns)), 0);
  code.call(BPF_FUNC_jiffies64);
  code.store(-kRecord + static_cast<int>(offsetof(KernelWriteback, jiffies)), 0);
  for (const auto& w : wanted) copy(code, w.base, w.offset, w.bytes, -kRecord + static_cast<int>(w.slot));
  put(code, map, 0, -kRecord, -kRecord - 8);
  code.set(0, 0);
  code.exit();
  return code;
}

/// The global domain does not move while the kernel runs.
std::uint64_t known_domain = 0;

}  // namespace

Result<std::unique_ptr<KernelWritebackReader>> KernelWritebackReader::find(const std::string& directory, const std::string& device_number) {
  libbpf_set_print(silent);
  SPILLWAY_ASSIGN(const Offsets o, offsets());
  const std::uint64_t function = symbol("writeout_period");
  if (function == 0) return fail(ErrorKind::unsupported, "the kernel's symbols are hidden, so its writeback domain cannot be found");
  const Descriptor found{bpf_map_create(BPF_MAP_TYPE_HASH, "spillway_found", 4, sizeof(Found), 2, nullptr)};
  if (found.fd < 0) return refused("a BPF map (needs root)");
  const Descriptor timer{load("spillway_timer", timer_finder(o, found.fd, function))}, queue{load("spillway_queue", queue_finder(o, found.fd))};
  if (timer.fd < 0 || queue.fd < 0) return refused("the BPF program");
  const Descriptor timer_link{bpf_raw_tracepoint_open("timer_start", timer.fd)}, queue_link{bpf_raw_tracepoint_open("writeback_queue", queue.fd)};
  if (timer_link.fd < 0 || queue_link.fd < 0) return refused("to attach to timer_start or writeback_queue");
  SPILLWAY_TRY(write_a_page(directory));

  std::unique_ptr<KernelWritebackReader> reader_of{new KernelWritebackReader};
  const auto look = [&](Key key) -> std::optional<Found> {
    const std::uint32_t number = key;
    Found one;
    if (bpf_map_lookup_elem(found.fd, &number, &one) != 0) return std::nullopt;
    return one;
  };
  const auto queued = look(kQueue);
  if (!queued || device_number != queued->device)
    return fail(ErrorKind::unsupported, fmt::format("a syncfs did not show the writeback context of {}", device_number));
  reader_of->writeback_ = queued->address;
  // Halved every 3 s: by then the timer has been armed again.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds{3500};
  while (known_domain == 0 && std::chrono::steady_clock::now() < deadline) {
    if (const auto seen = look(kTimer)) known_domain = seen->address - static_cast<std::uint64_t>(o.period_timer);
    else std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  if (known_domain == 0) return fail(ErrorKind::unsupported, "the kernel's completion period timer was not seen within 3.5 s");
  reader_of->domain_ = known_domain;
  reader_of->map_ = bpf_map_create(BPF_MAP_TYPE_HASH, "spillway_state", 4, kRecord, 1, nullptr);
  if (reader_of->map_ < 0) return refused("a BPF map");
  reader_of->program_ = load("spillway_state", reader(o, reader_of->map_));
  if (reader_of->program_ < 0) return refused("the BPF program");
  SPILLWAY_TRY(reader_of->read());
  return reader_of;
}

KernelWritebackReader::~KernelWritebackReader() {
  for (const int fd : {map_, program_})
    if (fd >= 0) ::close(fd);
}

Result<KernelWriteback> KernelWritebackReader::read() const {
  const std::uint64_t context[2] = {domain_, writeback_};
  bpf_test_run_opts options{};
  options.sz = sizeof options;
  options.ctx_in = context;
  options.ctx_size_in = sizeof context;
  if (bpf_prog_test_run_opts(program_, &options) != 0) return refused("to run the BPF program");
  KernelWriteback seen;
  const std::uint32_t key = 0;
  if (bpf_map_lookup_elem(map_, &key, &seen) != 0) return fail(ErrorKind::unsupported, "the kernel's completion counters were not copied");
  return seen;
}

void set_from_kernel(BoxState& state, const KernelWriteback& seen, int hz) {
  const auto pages = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  // fprop_reflect_period_percpu(): the device's counter is halved for the periods that it has missed.
  const std::uint64_t behind = (seen.global_period - seen.device_period) & 0xffffffff;
  const std::int64_t device = behind < 64 ? std::max<std::int64_t>(pages(seen.device_events), 0) >> behind : 0;
  const std::int64_t global = std::max<std::int64_t>(pages(seen.global_events), 0);
  state.device_completions_pages = device;
  state.global_completions_pages = global;
  state.completion_share = global > 0 ? std::min(1.0, static_cast<double>(device) / static_cast<double>(global)) : 0.0;
  if (seen.period_time != 0) {
    const auto left = static_cast<std::int64_t>(seen.period_time - seen.jiffies);  // negative: a deferrable timer that is late
    state.completion_phase_s = 3.0 - static_cast<double>(std::max<std::int64_t>(left, 0)) / hz;
  } else {
    state.completion_phase_s = std::nullopt;
  }
  state.write_bandwidth_pages_per_s = pages(seen.write_bandwidth);
  state.avg_write_bandwidth_pages_per_s = pages(seen.avg_write_bandwidth);
  state.dirty_ratelimit_pages_per_s = pages(seen.dirty_ratelimit);
  state.balanced_dirty_ratelimit_pages_per_s = pages(seen.balanced_dirty_ratelimit);
  state.bandwidth_stamp_age_s = static_cast<double>(static_cast<std::int64_t>(seen.jiffies - seen.bw_time_stamp)) / hz;
  if (seen.dirty_limit > 0) state.dirty_limit_pages = pages(seen.dirty_limit);
}

}  // namespace spillway::real
