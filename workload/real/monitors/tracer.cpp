#include "workload/real/monitors/tracer.hpp"

#include <event-parse.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

#include "workload/real/monitors/controller_probe.hpp"
#include "workload/real/monitors/kernel_symbols.hpp"
#include "workload/real/monitors/kernel_views.hpp"
#include "workload/real/monitors/off_cpu.hpp"
#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"

// tracefs.h of libtracefs 1.6 does not compile as C++ (an inline function or-s two enum values); these four are all that
// is used of it (libtracefs.so.1).
extern "C" {
struct tracefs_instance;
struct tracefs_instance* tracefs_instance_create(const char* name);
void tracefs_instance_free(struct tracefs_instance* instance);
struct tep_handle* tracefs_local_events_system(const char* tracing_dir, const char* const* systems);
int tracefs_iterate_raw_events(struct tep_handle* tep, struct tracefs_instance* instance, cpu_set_t* cpus, int cpu_size,
                               int (*callback)(struct tep_event*, struct tep_record*, int, void*), void* context);
}

namespace spillway::real {
namespace {

/// Per CPU. A decision is about 150 bytes; with stacks, a thousand sleeps a second fill this in two seconds, and the
/// reader comes ten times a second.
constexpr const char* kBufferKb = "4096";

enum class Kind : std::uint8_t { decision, ratelimit, state, away, wakeup, stack, fork };

/// One event, with its fields in the order in which the format table below names them.
struct Event {
  std::int64_t ns = 0;
  int pid = 0;
  Kind kind = Kind::state;
  std::array<std::int64_t, 14> field{};
};

constexpr std::array<const char*, 13> kDecision = {"limit",   "setpoint", "dirty", "wb_setpoint", "wb_dirty", "dirty_ratelimit", "task_ratelimit",
                                                   "dirtied", "dirtied_pause", "paused", "pause", "period", "think"};
// Before 6.18 the device's two fields were called bdi_*.
constexpr std::array<const char*, 13> kDecisionOld = {"limit",   "setpoint", "dirty", "bdi_setpoint", "bdi_dirty", "dirty_ratelimit", "task_ratelimit",
                                                      "dirtied", "dirtied_pause", "paused", "pause", "period", "think"};
constexpr std::array<const char*, 6> kRatelimit = {"write_bw", "avg_write_bw", "dirty_rate", "dirty_ratelimit", "task_ratelimit", "balanced_dirty_ratelimit"};
constexpr std::array<const char*, 5> kState = {"nr_dirty", "nr_writeback", "background_thresh", "dirty_thresh", "dirty_limit"};

struct Place {
  std::string_view function;
  Wait wait;
};
/// Functions by prefix. The first rule (from the top) that any frame matches decides.
constexpr Place kPlaces[] = {
    {"balance_dirty_pages", Wait::throttled},
    {"xlog_", Wait::log},
    {"xfs_log_", Wait::log},
    {"xfs_trans_reserve", Wait::log},
    {"rwsem_down_", Wait::lock},
    {"__mutex_lock", Wait::lock},
    {"mutex_lock", Wait::lock},
    {"__down", Wait::lock},
    {"down_", Wait::lock},
    {"xfs_buf_lock", Wait::lock},
    {"futex_", Wait::lock},
    {"__futex_", Wait::lock},
    {"percpu_rwsem", Wait::lock},
    {"wbt_wait", Wait::device},
    {"rq_qos_wait", Wait::device},
    {"blk_mq_get_tag", Wait::device},
    {"io_schedule", Wait::device},
    {"folio_wait", Wait::device},
    {"xfs_buf_iowait", Wait::device},
    {"submit_bio_wait", Wait::device},
    {"wait_for_completion_io", Wait::device},
    {"__iomap_dio", Wait::device},
    {"iomap_dio", Wait::device},
    {"io_cqring_wait", Wait::device},
};

}  // namespace

Wait classify_stack(const std::vector<std::string_view>& functions) {
  for (const auto& place : kPlaces)
    for (const auto function : functions)
      if (function.starts_with(place.function)) return place.wait;
  return Wait::other;
}

struct Tracer::Reader {
  Tracer* owner = nullptr;
  tracefs_instance* instance = nullptr;
  tep_handle* tep = nullptr;
  std::thread thread;
  std::unique_ptr<ControllerProbe> probe;  ///< may be null
  std::atomic<bool> stop = false;
  double own_cpu_s = 0;
  std::int64_t lost = 0;
  std::vector<Event> events;
  std::vector<std::uint64_t> frames;  ///< of all stacks, one after another; an Event of kind stack has offset and count

  template <std::size_t N>
  using Fields = std::array<tep_format_field*, N>;
  int decision_id = -1, ratelimit_id = -1, state_id = -1, switch_id = -1, wakeup_id = -1, stack_id = -1, fork_id = -1;
  Fields<13> decision{};
  Fields<6> ratelimit{};
  Fields<5> state{};
  tep_format_field *decision_bdi = nullptr, *ratelimit_bdi = nullptr;
  tep_format_field *prev_pid = nullptr, *prev_state = nullptr, *next_pid = nullptr, *woken_pid = nullptr, *stack_size = nullptr,
                   *stack_caller = nullptr, *fork_child = nullptr;

  template <std::size_t N>
  static bool find(tep_event* event, const std::array<const char*, N>& names, Fields<N>& fields) {
    bool all = event != nullptr;
    for (std::size_t i = 0; all && i < N; ++i) all = (fields[i] = tep_find_any_field(event, names[i])) != nullptr;
    return all;
  }
  static std::int64_t value(tep_format_field* field, const void* data) {
    unsigned long long number = 0;
    if (field == nullptr || tep_read_number_field(field, data, &number) != 0) return 0;
    if ((field->flags & TEP_FIELD_IS_SIGNED) && field->size == 4) return static_cast<std::int32_t>(number);
    return static_cast<std::int64_t>(number);
  }

  bool prepare();
  int take(tep_record* record);
  void drain() {
    if (probe) probe->drain();
    tracefs_iterate_raw_events(tep, instance, nullptr, 0,
                               [](tep_event*, tep_record* record, int, void* self) { return static_cast<Reader*>(self)->take(record); }, this);
  }
  void loop() {
    while (!stop) {
      drain();
      std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
    drain();
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    own_cpu_s = static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  }
  ~Reader() {
    stop = true;
    if (thread.joinable()) thread.join();
    if (tep) tep_free(tep);
    if (instance) tracefs_instance_free(instance);
  }
};

bool Tracer::Reader::prepare() {
  const auto event = [&](const char* system, const char* name, int& id) {
    tep_event* found = tep_find_event_by_name(tep, system, name);
    id = found ? found->id : -1;
    return found;
  };
  tep_event* it = event("writeback", "balance_dirty_pages", decision_id);
  if (!find(it, kDecision, decision) && !find(it, kDecisionOld, decision)) return false;
  decision_bdi = tep_find_any_field(it, "bdi");
  it = event("writeback", "bdi_dirty_ratelimit", ratelimit_id);
  if (!find(it, kRatelimit, ratelimit)) return false;
  ratelimit_bdi = tep_find_any_field(it, "bdi");
  if (!find(event("writeback", "global_dirty_state", state_id), kState, state)) return false;
  if ((it = event("sched", "sched_switch", switch_id))) {
    prev_pid = tep_find_any_field(it, "prev_pid");
    prev_state = tep_find_any_field(it, "prev_state");
    next_pid = tep_find_any_field(it, "next_pid");
  }
  if ((it = event("sched", "sched_wakeup", wakeup_id))) woken_pid = tep_find_any_field(it, "pid");
  if ((it = event("sched", "sched_process_fork", fork_id))) fork_child = tep_find_any_field(it, "child_pid");
  if ((it = event("ftrace", "kernel_stack", stack_id))) {
    stack_size = tep_find_any_field(it, "size");
    stack_caller = tep_find_any_field(it, "caller");
  }
  return true;
}

int Tracer::Reader::take(tep_record* record) {
  if (record->missed_events > 0) lost += record->missed_events;
  else if (record->missed_events < 0) ++lost;  // some were lost, nobody knows how many
  Event event;
  event.ns = static_cast<std::int64_t>(record->ts);
  const void* data = record->data;
  event.pid = tep_data_pid(tep, record);
  const int type = tep_data_type(tep, record);
  const auto is_device = [&](tep_format_field* bdi) {
    const auto* name = static_cast<const char*>(data) + bdi->offset;
    return owner->spec_.device_number.empty() || std::string_view{name, ::strnlen(name, static_cast<std::size_t>(bdi->size))} == owner->spec_.device_number;
  };
  if (type == decision_id) {
    if (!is_device(decision_bdi)) return 0;
    event.kind = Kind::decision;
    for (std::size_t i = 0; i < decision.size(); ++i) event.field[i] = value(decision[i], data);
  } else if (type == ratelimit_id) {
    if (!is_device(ratelimit_bdi)) return 0;
    event.kind = Kind::ratelimit;
    for (std::size_t i = 0; i < ratelimit.size(); ++i) event.field[i] = value(ratelimit[i], data);
    owner->ratelimit_ = event.field[3] / kKbPerPage;
  } else if (type == state_id) {
    event.kind = Kind::state;
    for (std::size_t i = 0; i < state.size(); ++i) event.field[i] = value(state[i], data);
    owner->limit_ = event.field[4];
  } else if (type == switch_id) {
    event.kind = Kind::away;
    event.field[0] = value(prev_pid, data);
    event.field[1] = value(prev_state, data);
    event.field[2] = value(next_pid, data);
  } else if (type == wakeup_id) {
    event.kind = Kind::wakeup;
    event.field[0] = value(woken_pid, data);
  } else if (type == fork_id) {
    event.kind = Kind::fork;
    event.field[0] = value(fork_child, data);
  } else if (type == stack_id && stack_caller != nullptr) {
    event.kind = Kind::stack;
    const auto room = (static_cast<std::int64_t>(record->size) - stack_caller->offset) / 8;
    const auto count = std::clamp<std::int64_t>(value(stack_size, data), 0, std::max<std::int64_t>(room, 0));
    event.field[0] = static_cast<std::int64_t>(frames.size());
    event.field[1] = count;
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint64_t address = 0;
      std::memcpy(&address, static_cast<const char*>(data) + stack_caller->offset + i * 8, sizeof address);
      frames.push_back(address);
    }
  } else {
    return 0;
  }
  events.push_back(event);
  return 0;
}

Tracer::Tracer(Journal& journal, TracerSpec spec) : journal_(journal), spec_(std::move(spec)), reader_(std::make_unique<Reader>()) {}

Result<std::unique_ptr<Tracer>> Tracer::start(Journal& journal, TracerSpec spec) {
  std::unique_ptr<Tracer> tracer{new Tracer{journal, std::move(spec)}};
  tracer->mark_ = journal.mark();
  const std::string name = fmt::format("spillway-{}", ::getpid());
  const std::string path = fmt::format("{}/instances/{}", tracer->spec_.tracefs, name);
  SPILLWAY_TRY(journal.change(TraceInstance{path}, [&]() -> Status {
    if (::mkdir(path.c_str(), 0750) != 0)
      return fail(ErrorKind::refused, fmt::format("cannot make the trace instance {}: {}", path, std::strerror(errno)), errno);
    return {};
  }));
  Reader& reader = *tracer->reader_;
  reader.owner = tracer.get();
  reader.instance = tracefs_instance_create(name.c_str());
  static constexpr const char* kSystems[] = {"ftrace", "sched", "writeback", nullptr};
  reader.tep = tracefs_local_events_system(tracer->spec_.tracefs.c_str(), kSystems);
  if (reader.instance == nullptr || reader.tep == nullptr || !reader.prepare()) {
    tracer->reader_.reset();
    journal.undo_to(tracer->mark_);
    return fail(ErrorKind::unsupported, "this kernel's writeback trace events are not the ones that are known; throttle decisions are not traced");
  }
  SPILLWAY_TRY(write_text(path + "/buffer_size_kb", kBufferKb));
  SPILLWAY_TRY(write_text(path + "/trace_clock", "mono"));
  SPILLWAY_TRY(write_text(path + "/options/event-fork", "1"));
  SPILLWAY_TRY(write_text(path + "/set_event_pid", fmt::format("{}\n", ::gettid())));
  if (tracer->spec_.off_cpu && reader.switch_id >= 0) {
    SPILLWAY_TRY(write_text(path + "/events/sched/sched_switch/trigger", "stacktrace if prev_state > 0"));
    for (const char* event : {"sched_switch", "sched_wakeup", "sched_process_fork"})
      SPILLWAY_TRY(write_text(fmt::format("{}/events/sched/{}/enable", path, event), "1"));
  }
  for (const char* event : {"balance_dirty_pages", "bdi_dirty_ratelimit", "global_dirty_state"})
    SPILLWAY_TRY(write_text(fmt::format("{}/events/writeback/{}/enable", path, event), "1"));
  if (auto probe = ControllerProbe::start()) reader.probe = std::move(*probe);
  else tracer->probe_missing_ = probe.error().what;
  reader.thread = std::thread{[raw = &reader] { raw->loop(); }};
  return tracer;
}

Tracer::~Tracer() {
  if (reader_) finish({});
}

namespace {

/// Turns the sorted events into the account of each task and the two CSV files.
class Digest {
 public:
  Digest(const TracerSpec& spec, const std::vector<std::uint64_t>& frames, const std::map<int, std::int64_t>& since,
         const std::vector<ControllerState>& states, TraceTotals& totals)
      : spec_(spec), frames_(frames), totals_(totals), off_cpu_(since, totals) {
    for (const auto& state : states) exact_[state.thread()].push_back(state);
    decisions_ = std::fopen((spec.directory / "bdp.csv").c_str(), "w");
    ratelimits_ = std::fopen((spec.directory / "ratelimit.csv").c_str(), "w");
    if (decisions_)
      fmt::print(decisions_, "# pages, pages/s, ms; HZ={}; exact=1: thresh, bg_thresh, wb_thresh, write_bw, avg_write_bw and pos_ratio are the kernel's "
                 "own; exact=0: write_bw and avg_write_bw are those of the last ratelimit update, wb_thresh is the least that gives wb_setpoint\n"
                 "t_mono_s,pid,limit,setpoint,dirty,wb_setpoint,wb_dirty,dirty_ratelimit,task_ratelimit,dirtied,dirtied_pause,paused_ms,"
                 "pause_ms,period_ms,think_ms,nr_dirty,nr_writeback,thresh,bg_thresh,dirty_limit,wb_thresh,write_bw,avg_write_bw,pos_ratio,exact\n",
                 spec.hz);
    if (ratelimits_)
      fmt::print(ratelimits_, "t_mono_s,pid,write_bw,avg_write_bw,dirty_rate,dirty_ratelimit,task_ratelimit,balanced_dirty_ratelimit\n");
  }
  ~Digest() {
    if (decisions_) std::fclose(decisions_);
    if (ratelimits_) std::fclose(ratelimits_);
  }
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void take(const Event& event) {
    // Written by a task that runs: a decision, a fork, a wake-up of another. (The flusher's own updates are nobody's sleep.)
    if (event.kind != Kind::away && event.kind != Kind::stack) off_cpu_.alive(event.ns, event.pid);
    switch (event.kind) {
      case Kind::state:
        states_[event.pid] = event;
        if (!totals_.first_limit) totals_.first_limit = event.field[4];
        break;
      case Kind::ratelimit: ratelimit(event); break;
      case Kind::decision: decision(event); break;
      case Kind::fork: off_cpu_.forked(event.pid, static_cast<int>(event.field[0])); break;
      case Kind::away:
        off_cpu_.switched(event.ns, event.pid, static_cast<int>(event.field[0]), (event.field[1] & 0xff) == 0, static_cast<int>(event.field[2]));
        break;
      case Kind::wakeup: off_cpu_.woken(event.ns, static_cast<int>(event.field[0])); break;
      case Kind::stack:
        if (off_cpu_.wants_stack(event.pid)) off_cpu_.slept_at(event.pid, classify(event));
        break;
    }
  }

 private:
  std::pair<Wait, std::string> classify(const Event& event) {
    std::vector<std::uint64_t> stack(frames_.begin() + event.field[0], frames_.begin() + event.field[0] + event.field[1]);
    if (auto it = known_.find(stack); it != known_.end()) return it->second;
    std::vector<std::string_view> names;
    for (const auto address : stack) names.push_back(symbols_.name_of(address));
    std::string where = "no symbols";  // the innermost function that is not the scheduler's own
    for (const auto name : names)
      if (!name.empty() && !name.starts_with("schedule") && !name.starts_with("__schedule") && !name.starts_with("trace_") &&
          !name.contains("sched_switch")) {
        where = std::string{name};
        break;
      }
    return known_[stack] = {classify_stack(names), where};
  }

  void ratelimit(const Event& event) {
    const auto rate = [&](std::size_t i) { return event.field[i] / kKbPerPage; };
    last_rate_ = event;
    if (!totals_.first_ratelimit) {
      totals_.first_write_bw = rate(0);
      totals_.first_avg_write_bw = rate(1);
      totals_.first_ratelimit = rate(3);
    }
    if (ratelimits_)
      fmt::print(ratelimits_, "{:.6f},{},{},{},{},{},{},{}\n", static_cast<double>(event.ns) * 1e-9, event.pid, rate(0), rate(1), rate(2), rate(3), rate(4), rate(5));
  }

  void decision(const Event& event) {
    auto& task = totals_.tasks[event.pid];
    ++task.decisions;
    const auto& f = event.field;
    if (f[10] > 0) {
      ++task.pauses;
      task.asked_ms += f[10];
    }
    if (!decisions_) return;
    fmt::print(decisions_, "{:.6f},{},{},{},{},{},{},{},{},{},{},{},{},{},{},", static_cast<double>(event.ns) * 1e-9, event.pid, f[0], f[1], f[2], f[3], f[4],
               f[5] / kKbPerPage, f[6] / kKbPerPage, f[7], f[8], f[9], f[10], f[11], f[12]);
    std::int64_t thresh = 0, background = 0, wb_thresh = 0, dirty_limit = 0;
    if (const auto it = states_.find(event.pid); it != states_.end()) {
      const auto& state = it->second.field;
      thresh = state[3];
      background = state[2];
      dirty_limit = state[4];
      // trace_balance_dirty_pages: wb_setpoint = setpoint * wb_thresh / (thresh + 1), so wb_thresh is known to a page or two.
      wb_thresh = f[1] > 0 ? (f[3] * (thresh + 1) + f[1] - 1) / f[1] : 0;
      fmt::print(decisions_, "{},{},", state[0], state[1]);
    } else {
      fmt::print(decisions_, ",,");
    }
    if (const ControllerState* exact = exact_state(event)) {
      ++totals_.exact;
      fmt::print(decisions_, "{},{},{},{},{},{},{},1\n", exact->thresh, exact->bg_thresh, dirty_limit, exact->wb_thresh, exact->write_bandwidth,
                 exact->avg_write_bandwidth, exact->pos_ratio);
    } else {
      fmt::print(decisions_, "{},{},{},{},{},{},,0\n", thresh, background, dirty_limit, wb_thresh, last_rate_ ? last_rate_->field[0] / kKbPerPage : 0,
                 last_rate_ ? last_rate_->field[1] / kKbPerPage : 0);
    }
  }

  /// The probe's record of the same decision: same thread, same counts, at most a millisecond apart.
  const ControllerState* exact_state(const Event& event) {
    const auto it = exact_.find(event.pid);
    if (it == exact_.end()) return nullptr;
    std::size_t& next = next_exact_[event.pid];
    for (; next < it->second.size(); ++next) {
      const ControllerState& state = it->second[next];
      const std::int64_t apart = static_cast<std::int64_t>(state.ns) - event.ns;
      if (apart > 1'000'000) return nullptr;
      if (apart > -1'000'000 && static_cast<std::int64_t>(state.dirty) == event.field[2] && static_cast<std::int64_t>(state.wb_dirty) == event.field[4]) {
        ++next;
        return &state;
      }
    }
    return nullptr;
  }

  const TracerSpec& spec_;
  const std::vector<std::uint64_t>& frames_;
  TraceTotals& totals_;
  OffCpu off_cpu_;
  std::FILE *decisions_ = nullptr, *ratelimits_ = nullptr;
  std::map<int, std::vector<ControllerState>> exact_;  ///< by thread, in time
  std::map<int, std::size_t> next_exact_;
  std::map<int, Event> states_;
  std::optional<Event> last_rate_;
  KernelSymbols symbols_;
  std::map<std::vector<std::uint64_t>, std::pair<Wait, std::string>> known_;
};

}  // namespace

TraceTotals Tracer::finish(const std::map<int, std::int64_t>& since_ns) {
  TraceTotals totals;
  if (!reader_) return totals;
  Reader& reader = *reader_;
  const std::string path = fmt::format("{}/instances/spillway-{}", spec_.tracefs, ::getpid());
  (void)write_text(path + "/tracing_on", "0");
  reader.stop = true;
  if (reader.thread.joinable()) reader.thread.join();
  // Each CPU's buffer is read on its own: only the time stamps give the order.
  std::ranges::stable_sort(reader.events, {}, &Event::ns);
  {
    static const std::vector<ControllerState> kNone;
    Digest digest{spec_, reader.frames, since_ns, reader.probe ? reader.probe->states() : kNone, totals};
    for (const auto& event : reader.events) digest.take(event);
  }
  totals.events = static_cast<std::int64_t>(reader.events.size());
  totals.lost = reader.lost;
  totals.own_cpu_s = reader.own_cpu_s;
  reader_.reset();
  for (const auto& entry : journal_.pending())
    if (entry.id > mark_ && std::holds_alternative<TraceInstance>(entry.change) && std::get<TraceInstance>(entry.change).path == path)
      (void)journal_.undo_one(entry.id);
  return totals;
}

}  // namespace spillway::real
