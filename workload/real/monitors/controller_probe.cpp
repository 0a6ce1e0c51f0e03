#include "workload/real/monitors/controller_probe.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "workload/real/monitors/bpf_code.hpp"

namespace spillway::real {
namespace {

constexpr unsigned kRingBytes = 1 << 20;  // 6,000 decisions between two drains
constexpr std::int16_t kRecord = sizeof(ControllerState);

/// Whether the tracepoint's second argument is a dirty_throttle_control (older kernels pass single numbers).
bool passes_control(const btf* types) {
  int id = btf__find_by_name_kind(types, "btf_trace_balance_dirty_pages", BTF_KIND_TYPEDEF);
  if (id < 0) return false;
  const btf_type* function = btf__type_by_id(types, btf__type_by_id(types, btf__type_by_id(types, static_cast<unsigned>(id))->type)->type);
  if (!btf_is_func_proto(function) || btf_vlen(function) != 9) return false;
  const btf_type* argument = btf__type_by_id(types, btf_params(function)[2].type);
  if (!btf_is_ptr(argument)) return false;
  return std::string_view{btf__name_by_offset(types, btf__type_by_id(types, argument->type)->name_off)} == "dirty_throttle_control";
}

int on_record(void* context, void* data, size_t size) {
  if (size >= sizeof(ControllerState)) {
    ControllerState state;
    std::memcpy(&state, data, sizeof state);
    static_cast<std::vector<ControllerState>*>(context)->push_back(state);
  }
  return 0;
}

int silent(libbpf_print_level, const char*, va_list) { return 0; }

}  // namespace

Result<std::unique_ptr<ControllerProbe>> ControllerProbe::start() {
  libbpf_set_print(silent);
  btf* types = btf__load_vmlinux_btf();
  if (types == nullptr) return fail(ErrorKind::unsupported, "the kernel tells nothing of its types (no /sys/kernel/btf/vmlinux)", ENOENT);
  struct Wanted {
    int base;  ///< register that holds the structure: 7 bdi_writeback, 8 dirty_throttle_control
    const char* member;
    std::size_t slot;
  };
  const Wanted wanted[] = {{7, "write_bandwidth", offsetof(ControllerState, write_bandwidth)},
                           {7, "avg_write_bandwidth", offsetof(ControllerState, avg_write_bandwidth)},
                           {7, "bw_time_stamp", offsetof(ControllerState, bw_time_stamp)},
                           {8, "dirty", offsetof(ControllerState, dirty)},
                           {8, "thresh", offsetof(ControllerState, thresh)},
                           {8, "bg_thresh", offsetof(ControllerState, bg_thresh)},
                           {8, "limit", offsetof(ControllerState, limit)},
                           {8, "wb_dirty", offsetof(ControllerState, wb_dirty)},
                           {8, "wb_thresh", offsetof(ControllerState, wb_thresh)},
                           {8, "pos_ratio", offsetof(ControllerState, pos_ratio)}};
  std::unique_ptr<ControllerProbe> probe{new ControllerProbe};
  bool known = passes_control(types);
  probe->map_ = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "spillway_ring", 0, 0, kRingBytes, nullptr);
  const int map_error = errno;
  BpfCode code;
  code.move(6, 1);
  code.call(BPF_FUNC_ktime_get_ns);
  code.store(-kRecord, 0);
  code.call(BPF_FUNC_get_current_pid_tgid);
  code.store(-kRecord + 8, 0);
  code.load(7, 6, 0);
  code.load(8, 6, 8);
  for (const auto& [base, member, slot] : wanted) {
    const auto offset = member_offset(types, base == 7 ? "bdi_writeback" : "dirty_throttle_control", member);
    known = known && offset.has_value();
    code.move(1, 10);
    code.plus(1, -kRecord + static_cast<int>(slot));
    code.set(2, 8);
    code.move(3, base);
    code.plus(3, offset.value_or(0));
    code.call(BPF_FUNC_probe_read_kernel);
  }
  // The tracepoint's own numbers: arguments 2 to 6 are dirty_ratelimit, task_ratelimit, dirtied, period, pause.
  for (int i = 0; i < 5; ++i) {
    code.load(1, 6, 8 * (i + 2));
    code.store(-kRecord + static_cast<int>(offsetof(ControllerState, dirty_ratelimit)) + 8 * i, 1);
  }
  code.map(1, probe->map_);
  code.move(2, 10);
  code.plus(2, -kRecord);
  code.set(3, kRecord);
  code.set(4, 0);
  code.call(BPF_FUNC_ringbuf_output);
  code.set(0, 0);
  code.exit();
  btf__free(types);
  if (!known) return fail(ErrorKind::unsupported, "this kernel's balance_dirty_pages tracepoint does not pass the controller's state");
  if (probe->map_ < 0) return fail(ErrorKind::refused, fmt::format("no BPF ring buffer: {} (needs root)", std::strerror(map_error)), map_error);
  probe->program_ = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "spillway_bdp", "Dual MIT/GPL", code.instructions().data(), code.instructions().size(), nullptr);
  if (probe->program_ < 0) return fail(ErrorKind::refused, fmt::format("the kernel refuses the BPF program: {}", std::strerror(errno)), errno);
  probe->link_ = bpf_raw_tracepoint_open("balance_dirty_pages", probe->program_);
  if (probe->link_ < 0) return fail(ErrorKind::refused, fmt::format("cannot attach to balance_dirty_pages: {}", std::strerror(errno)), errno);
  probe->ring_ = ring_buffer__new(probe->map_, on_record, &probe->states_, nullptr);
  if (probe->ring_ == nullptr) return fail(ErrorKind::refused, fmt::format("cannot map the BPF ring buffer: {}", std::strerror(errno)), errno);
  return probe;
}

void ControllerProbe::drain() { ring_buffer__consume(static_cast<ring_buffer*>(ring_)); }

ControllerProbe::~ControllerProbe() {
  for (const int fd : {link_, program_})
    if (fd >= 0) ::close(fd);
  if (ring_) ring_buffer__free(static_cast<ring_buffer*>(ring_));
  if (map_ >= 0) ::close(map_);
}

}  // namespace spillway::real
