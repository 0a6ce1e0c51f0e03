#include "sim/flusher/flushers.hpp"

#include <limits>

namespace spillway::sim {

namespace {

/// How often a helper looks at its directories: as the real box's (workload/real/replay/user_flusher.hpp).
constexpr Duration kHelperPeriod = std::chrono::milliseconds{200};
/// Opening, looking at and closing one file. assumed.
constexpr Duration kHelperFile = std::chrono::microseconds{5};

/// What a further context starts with: wb_init()'s counters, the estimates of the first, no completions.
std::unique_ptr<DeviceWriteback> further(DeviceWriteback& first) {
  auto wb = std::make_unique<DeviceWriteback>();
  wb->name = first.name;
  wb->estimate = first.estimate;
  wb->rate = first.rate;
  wb->bandwidth_stamp = first.bandwidth_stamp;
  wb->share = first.share;
  wb->device = &first;
  return wb;
}

}  // namespace

Flushers::Flushers(Engine& engine, CpuSet& cpus, DirtyMemory& memory, DeviceWriteback& first, FileSystem& files,
                   FlusherParams params, FlusherInputs inputs)
    : engine_(engine), cpus_(cpus), memory_(memory), files_(files), inputs_(inputs) {
  for (int i = 0; i < inputs_.contexts(); ++i) {
    auto own = i == 0 ? nullptr : further(first);
    DeviceWriteback& wb = own ? *own : first;
    if (inputs_.kind == FlusherInputs::Kind::cgroup) wb.cgroup_pages = to_pages_floor(inputs_.cgroup_limit).value();
    params.core = (cpus.cores() - 1 + i) % cpus.cores();
    contexts_.push_back(std::unique_ptr<Context>(new Context{&wb, std::move(own), {engine, cpus, memory, wb, files, params}}));
  }
  if (inputs_.kind == FlusherInputs::Kind::per_writer || params.kernel.foreground == Foreground::writes_itself) {
    for (auto& context : contexts_)
      context->wb->write_by_caller = [&flusher = context->flusher](Thread& caller, std::int64_t pages) { return flusher.write_for(caller, pages); };
  }
  if (inputs_.kind == FlusherInputs::Kind::user) {
    helper_states_.resize(static_cast<std::size_t>(inputs_.count));
    for (std::size_t i = 0; i < helper_states_.size(); ++i) {
      helpers_.push_back(&cpus.new_thread("helper", static_cast<int>(i) % cpus.cores()));
      engine.spawn(help(*helpers_.back(), helper_states_[i]), Phase::task);
    }
  }
}

DeviceWriteback& Flushers::attach(Inode& inode, int cgroup) {
  if (!inode.flusher) {
    std::int64_t index = 0;
    if (inputs_.kind == FlusherInputs::Kind::cgroup) index = cgroup;
    else if (inputs_.kind != FlusherInputs::Kind::contexts) index = 0;
    else if (inputs_.affinity == FlusherInputs::Affinity::allocation_group) index = inode.fs.allocation_group;
    else index = inode.id;
    Context& context = *contexts_[static_cast<std::size_t>(index) % contexts_.size()];
    inode.flusher = &context.flusher;
    inode.wb = context.wb;
  }
  return *inode.wb;
}

void Flushers::inode_dirtied(Inode& inode) {
  inode.flusher->inode_dirtied(inode);
  if (helper_states_.empty() || inode.helper_asked) return;
  inode.helper_asked = true;
  helper_states_[static_cast<std::size_t>(inode.directory) % helper_states_.size()].grown.push_back(&inode);
}

void Flushers::forget(Inode& inode) {
  if (inode.flusher) inode.flusher->forget(inode);
}

Task<> Flushers::sync(Thread& caller) {
  WaitQueue waiter{engine_, Phase::task};
  for (const bool all : {false, true}) {
    int left = static_cast<int>(contexts_.size());
    for (auto& context : contexts_) context->flusher.queue_sync(all, left, waiter);
    {
      Blocked blocked{engine_, caller.account.device};
      while (left > 0) co_await waiter.wait();
    }
    if (all) co_await files_.wait_for_writeback(caller);
  }
  co_await files_.force_log(caller);
}

/// sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) of what has grown: submits and does not wait for it; a full queue makes
/// it wait all the same.
Task<> Flushers::help(Thread& thread, Helper& helper) {
  std::vector<Inode*> pass;
  for (;;) {
    co_await engine_.sleep(kHelperPeriod);
    pass.clear();
    pass.swap(helper.grown);
    for (Inode* inode : pass) {
      inode->helper_asked = false;
      ++inode->helpers_inside;
      co_await cpus_.run(thread, CpuMode::system, kHelperFile);
      WritebackControl control;
      control.nr_to_write = std::numeric_limits<std::int64_t>::max() / 2;
      control.range_cyclic = false;
      memory_.estimate_start(*inode->wb);
      co_await files_.write_pages(thread, *inode, control);
      memory_.estimate_update(*inode->wb);
      --inode->helpers_inside;
    }
  }
}

Duration Flushers::cpu() const {
  Duration all{};
  for (const auto& context : contexts_) all += context->flusher.thread().account.cpu();
  return all;
}

}  // namespace spillway::sim
