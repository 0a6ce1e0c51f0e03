#include "sim/job/job_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/check.hpp"

namespace spillway::sim {

namespace {

using Kind = JobInputs::Kind;

/// A program is looked at after at most this many pages: 4 MiB.
constexpr std::int64_t kPiece = 1024;

bool moves_data(Kind kind) { return kind == Kind::read || kind == Kind::write || kind == Kind::randread || kind == Kind::randwrite || kind == Kind::randrw; }
bool needs_files_before(Kind kind) { return kind == Kind::read || kind == Kind::randread || kind == Kind::randrw || kind == Kind::unlink; }
bool writes(Kind kind) { return kind == Kind::write || kind == Kind::randwrite || kind == Kind::randrw || kind == Kind::create; }

/// Visits each of 0 .. n - 1 once in an order that looks random: a full-period linear congruential generator over the next
/// power of two, values past the end skipped. (fio keeps a map of visited blocks for the same end.)
class Shuffled {
 public:
  Shuffled(std::int64_t n, Random& random)
      : n_(static_cast<std::uint64_t>(n)), mask_(std::bit_ceil(std::max<std::uint64_t>(n_, 1)) - 1),
        a_((random.bits() & ~std::uint64_t{7}) | 5), c_(random.bits() | 1), x_(random.bits() & mask_) {}
  std::int64_t next() {
    do x_ = (a_ * x_ + c_) & mask_;
    while (x_ >= n_);
    return static_cast<std::int64_t>(x_);
  }

 private:
  std::uint64_t n_, mask_, a_, c_, x_;
};

}  // namespace

JobRunner::JobRunner(Parts parts, PageCache& cache, FileReader& reader)
    : p_(parts), cache_(cache), reader_(reader), ended_(parts.engine) {
  const auto& inputs = p_.in.jobs;
  jobs_.resize(inputs.size());
  next_sector_ = p_.in.filesystem.size.value() / 512 / 2;  // laid out in the middle: new data is written from the front
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    const JobInputs& in = inputs[j];
    jobs_[j].in = &in;
    if (in.continues >= 0) jobs_[static_cast<std::size_t>(in.continues)].continued_by.push_back(j);
    for (int i = 0; i < in.numjobs; ++i) {
      Instance instance{.job = j, .number = i, .process = {}, .files = {}, .directory = -1, .ended = false};
      const bool has_files = moves_data(in.kind) || in.kind == Kind::unlink;
      for (std::int64_t f = 0; has_files && f < in.nrfiles; ++f) {
        const std::string name = in.file.empty() ? fmt::format("{}.{}.{}", in.name, i, f) : in.file;
        const auto [at, is_new] = file_numbers_.emplace(name, files_.size());
        if (is_new) files_.push_back({.name = name, .inode = nullptr, .lock = std::make_unique<Mutex>(p_.engine)});
        instance.files.push_back(at->second);
      }
      jobs_[j].instances.push_back(std::move(instance));
    }
    jobs_[j].running = in.numjobs;
  }
}

// -- files -----------------------------------------------------------------------------------------------------------

std::int64_t JobRunner::file_pages(const JobInputs& in) const {
  const Bytes each = in.filesize.value() > 0 ? in.filesize : in.size / in.nrfiles;
  return to_pages_ceil(each).value();
}

bool JobRunner::written_before(std::size_t job, const std::string& name) const {
  std::vector<std::size_t> ask{job};
  for (std::size_t k = 0; k < ask.size(); ++k) {
    const JobInputs& in = *jobs_[ask[k]].in;
    for (const int earlier : {in.after, in.continues}) {
      if (earlier < 0) continue;
      const JobInputs& e = *jobs_[static_cast<std::size_t>(earlier)].in;
      if (e.file == name && writes(e.kind)) return true;
      ask.push_back(static_cast<std::size_t>(earlier));
    }
  }
  return false;
}

Task<> JobRunner::lay_out(Thread& thread) {
  directory_ = co_await p_.files.make_directory(thread);
  for (Job& job : jobs_)
    for (Instance& instance : job.instances)
      if (job.in->own_directory) instance.directory = co_await p_.files.make_directory(thread);
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const JobInputs& in = *jobs_[j].in;
    if (!needs_files_before(in.kind)) continue;
    for (const Instance& instance : jobs_[j].instances)
      for (const std::size_t f : instance.files) {
        File& file = files_[f];
        if (file.inode || (!in.file.empty() && written_before(j, in.file))) continue;
        file.inode = co_await p_.files.create(thread, directory_of(instance));
        Inode& inode = *file.inode;
        inode.size_pages = inode.fs.reserved_pages = inode.fs.allocated_pages = file_pages(in);
        inode.fs.disk_start = next_sector_;
        inode.fs.extents = 1;
        next_sector_ += inode.size_pages * 8;
      }
  }
}

Task<Inode*> JobRunner::open(Instance& instance, std::size_t file) {
  File& f = files_[file];
  if (!f.inode) {
    // Two that open it at once find one file.
    if (!f.lock->try_lock()) {
      Blocked blocked{p_.engine, instance.process->thread->account.lock};
      co_await f.lock->lock();
    }
    if (!f.inode) f.inode = co_await p_.files.create(*instance.process->thread, directory_of(instance));
    f.lock->unlock();
  }
  co_return f.inode;
}

// -- order -----------------------------------------------------------------------------------------------------------

Task<> JobRunner::run(BoxOutputs& out) {
  out_ = &out;
  out.jobs.resize(jobs_.size());
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    out.jobs[j].name = jobs_[j].in->name;
    out.jobs[j].instances.resize(jobs_[j].instances.size());
  }
  for (std::size_t j = 0; j < jobs_.size(); ++j)
    if (jobs_[j].in->continues < 0) p_.engine.spawn(job_task(j));
  while (!std::all_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.ended; })) co_await ended_.wait();
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const auto& latency = jobs_[j].latency;
    JobOutputs& o = out.jobs[j];
    o.latency_mean = latency.mean();
    o.latency_p50 = std::min(latency.quantile(0.5), latency.max());
    o.latency_p99 = std::min(latency.quantile(0.99), latency.max());
    o.latency_max = latency.max();
  }
}

Task<> JobRunner::job_task(std::size_t number) {
  Job& job = jobs_[number];
  if (job.in->after >= 0)
    while (!jobs_[static_cast<std::size_t>(job.in->after)].ended) co_await ended_.wait();
  if (job.in->start.count() > 0) co_await p_.engine.sleep(job.in->start);
  for (std::size_t i = 0; i < job.instances.size(); ++i) {
    auto process = std::make_shared<Process>();
    const int core = p_.in.cpu.numa_nodes > 1 ? p_.cpus.core_for_new_process(0) : static_cast<int>(i);
    process->thread = &p_.cpus.new_thread(job.in->name, core);
    job.instances[i].process = std::move(process);
    p_.engine.spawn(instance_task(number, i));
  }
}

Task<> JobRunner::instance_task(std::size_t number, std::size_t which) {
  Job& job = jobs_[number];
  const JobInputs& in = *job.in;
  Instance& instance = job.instances[which];
  Process& process = *instance.process;
  JobInstance& result = out_->jobs[number].instances[which];
  if (in.continues >= 0 && in.start.count() > 0) co_await p_.engine.sleep(in.start);
  const SimTime began = p_.engine.now();
  const TimeAccount before = process.thread->account;
  const std::int64_t pauses_before = process.throttle.pauses;
  result.start = began.time_since_epoch();

  if (in.anonymous.value() > 0 && in.kind != Kind::read)
    co_await reader_.fill(*process.thread, process.buffer, to_pages_ceil(in.anonymous).value());
  switch (in.kind) {
    case Kind::read:
    case Kind::write: co_await sequential(job, instance, result, began); break;
    case Kind::randread:
    case Kind::randwrite:
    case Kind::randrw: co_await random(job, instance, result, began); break;
    case Kind::create: co_await create_files(job, instance, result); break;
    case Kind::unlink: co_await unlink_files(job, instance, result); break;
    case Kind::probe: co_await probe(job, instance, result, began); break;
    case Kind::compute: break;
  }
  if (in.compute.count() > 0) co_await compute(instance, in.compute);
  else if (in.kind == Kind::compute) co_await compute(instance, in.runtime);

  result.elapsed = p_.engine.now() - began;
  result.account = process.thread->account - before;
  result.pauses = process.throttle.pauses - pauses_before;
  instance.ended = true;
  p_.engine.note_progress();
  if (job.continued_by.empty()) {
    // The process ends: its memory goes back. Whoever waits for the job starts after that.
    if (const std::int64_t pages = process.buffer.pages(); pages > 0) {
      co_await p_.cpus.run(*process.thread, CpuMode::system, p_.in.costs.free_page * pages);
      reader_.release(process.buffer);
    }
    p_.memory.task_exits(process.throttle.state, process.thread->core());
    CpuSet::exited(*process.thread);
  }
  for (const std::size_t next : job.continued_by) {
    jobs_[next].instances[which].process = instance.process;
    p_.engine.spawn(instance_task(next, which));
  }
  if (--job.running == 0) {
    job.ended = true;
    if (auto files = cached_now(); !files.empty()) cache_outputs_.after_job.push_back({in.name, std::move(files)});
    ended_.wake_all();
  }
}

bool JobRunner::time_is_up(const JobInputs& in, SimTime began) const {
  return in.runtime.count() > 0 && p_.engine.now() - began >= in.runtime;
}

Task<> JobRunner::keep_rate(Instance& instance, BytesPerSec rate, SimTime began, Bytes moved) {
  if (rate.value() <= 0) co_return;
  const SimTime due = began + time_to_move(moved, rate);
  if (due <= p_.engine.now()) co_return;
  Blocked blocked{p_.engine, instance.process->thread->account.unknown};
  co_await p_.engine.sleep_until(due);
}

Task<> JobRunner::compute(Instance& instance, Duration time) {
  co_await p_.cpus.run(*instance.process->thread, CpuMode::user, time);
}

// -- latency ---------------------------------------------------------------------------------------------------------

/// Of `operations` done in `elapsed`, one had all the waiting.
void JobRunner::note_latency(Job& job, std::int64_t operations, Duration elapsed, Duration waited) {
  if (operations <= 0) return;
  const Duration each = (elapsed - waited) / operations;
  job.latency.add(each, operations - 1);
  job.latency.add(elapsed - each * (operations - 1));
}

// -- data ------------------------------------------------------------------------------------------------------------

Task<> JobRunner::one_write(Job& job, Instance& instance, JobInstance& result, std::size_t file, std::int64_t first, std::int64_t end, Bytes call,
                            std::int64_t operations) {
  Process& process = *instance.process;
  Thread& thread = *process.thread;
  Inode& inode = *files_[file].inode;
  const CpuCosts& costs = p_.in.costs;
  if (!files_[file].lock->try_lock()) {  // the inode's lock, exclusive for the whole call
    Blocked blocked{p_.engine, thread.account.lock};
    co_await files_[file].lock->lock();
  }
  if (job.in->direct) {
    p_.files.reserve(inode, end);
    inode.fs.allocated_pages = std::max(inode.fs.allocated_pages, end);
    for (std::int64_t at = first; at < end;) {
      const std::int64_t pages = std::min(end - at, std::max<std::int64_t>(to_pages_ceil(call).value(), 1));
      co_await reader_.direct(thread, inode, at, pages, true);
      at += pages;
    }
    inode.size_pages = std::max(inode.size_pages, end);
    files_[file].lock->unlock();
    co_return;
  }
  DeviceWriteback& wb = p_.flushers.attach(inode);
  const Duration calls = costs.io_call * operations / std::max<std::int64_t>(end - first, 1);
  for (std::int64_t at = first; at < end;) {
    if (p_.memory.must_look(process.throttle.state, wb, thread.core())) co_await p_.memory.balance(thread, process.throttle, wb);
    const std::int64_t pages = std::min(end - at, p_.memory.allowance(process.throttle.state, wb, thread.core()));
    const Placement to = co_await cache_.prepare_write(thread, inode, at, at + pages);
    const int home = p_.cpus.node_of(thread.core());
    const std::int64_t buffer = process.buffer.pages();
    const std::int64_t from = buffer > 0 ? at % buffer : 0;
    const std::int64_t far_source = process.buffer.away_from(home, from, from + pages), far_destination = to.away_from(home);
    const Duration cost = (costs.write_page + calls) * pages + costs.remote_destination * far_destination + costs.remote_source * far_source;
    result.remote_source += far_source;
    result.remote_destination += far_destination;
    co_await p_.cpus.run_both(thread, Duration{0}, cost, to_bytes(Pages{2 * pages}));
    if (inode.fs.sparse) p_.files.reserve_hole(inode, at, at + pages);
    else if (at + pages > inode.size_pages) p_.files.reserve(inode, at + pages);
    const std::int64_t fresh = inode.dirty.add({at, at + pages});
    inode.size_pages = std::max(inode.size_pages, at + pages);
    p_.memory.dirtied(process.throttle.state, wb, thread.core(), fresh);
    if (fresh == pages) cache_.dirtied(to);
    else if (fresh > 0) cache_.dirtied(to.scaled_to(fresh));
    p_.flushers.inode_dirtied(inode);
    at += pages;
  }
  files_[file].lock->unlock();
}

Task<> JobRunner::sequential(Job& job, Instance& instance, JobInstance& result, SimTime began) {
  const JobInputs& in = *job.in;
  Process& process = *instance.process;
  const bool reading = in.kind == Kind::read;
  const std::int64_t buffer_pages = reading ? to_pages_ceil(in.anonymous).value() : 0;
  std::int64_t since_fsync = 0;
  // Whole operations at a time; with a rate, about 10 ms of it.
  std::int64_t piece_bytes = kPiece * 4096;
  if (in.rate.value() > 0) piece_bytes = std::min(piece_bytes, in.rate.value() / 100);
  if (in.direct) piece_bytes = in.bs.value();
  if (in.fsync_every > 0) piece_bytes = std::min(piece_bytes, in.bs.value() * in.fsync_every);
  const std::int64_t piece_ops = std::max<std::int64_t>(piece_bytes / in.bs.value(), 1);
  do {
    for (const std::size_t f : instance.files) {
      Inode& inode = *co_await open(instance, f);
      std::int64_t pages = file_pages(in);
      if (reading) pages = std::min(pages, inode.size_pages);
      ReadStream stream{inode, cache_.file_of(inode), reader_.params()};
      const std::int64_t operations = (pages * 4096 + in.bs.value() - 1) / in.bs.value();
      for (std::int64_t op = 0; op < operations && !time_is_up(in, began);) {
        const std::int64_t ops = std::min(piece_ops, operations - op);
        const std::int64_t first = op * in.bs.value() / 4096;
        const std::int64_t end = op + ops == operations ? pages : std::max(first, (op + ops) * in.bs.value() / 4096);
        op += ops;
        const SimTime start = p_.engine.now();
        const Duration idle_before = process.thread->account.blocked() + process.thread->account.runqueue;
        if (end > first) {
          if (!reading) {
            co_await one_write(job, instance, result, f, first, end, in.bs, ops);
          } else if (in.direct) {
            co_await reader_.direct(*process.thread, inode, first, end - first, false);
            result.read_from_device += to_bytes(Pages{end - first});
          } else {
            AnonymousBuffer* const into = process.buffer.pages() + (end - first) <= buffer_pages ? &process.buffer : nullptr;
            co_await reader_.read(*process.thread, stream, first, end, in.bs, into);
          }
        }
        const Duration waited = process.thread->account.blocked() + process.thread->account.runqueue - idle_before;
        note_latency(job, ops, p_.engine.now() - start, waited);
        if (reading) {
          result.reads += ops;
        } else {
          result.writes += ops;
          result.written += to_bytes(Pages{end - first});
          since_fsync += ops;
          if (in.fsync_every > 0 && since_fsync >= in.fsync_every) {
            since_fsync = 0;
            co_await p_.files.fsync(*process.thread, inode);
          }
        }
        co_await keep_rate(instance, in.rate, began, Bytes{(result.reads + result.writes) * in.bs.value()});
      }
      result.read_from_cache += to_bytes(Pages{stream.from_cache});
      result.read_from_device += to_bytes(Pages{stream.from_device});
      result.remote_source += stream.remote_source;
      result.remote_destination += stream.remote_destination;
      if (!reading && pages > 0) {
        if (in.end_fsync) co_await p_.files.fsync(*process.thread, inode);
        co_await p_.files.close_written(*process.thread, inode);
      }
    }
  } while (in.runtime.count() > 0 && !time_is_up(in, began));
}

Task<> JobRunner::random(Job& job, Instance& instance, JobInstance& result, SimTime began) {
  const JobInputs& in = *job.in;
  Process& process = *instance.process;
  Random draw{p_.in.seed, fmt::format("job {} {}", in.name, instance.number)};
  std::int64_t since_fsync = 0;
  do {
    for (const std::size_t f : instance.files) {
      Inode& inode = *co_await open(instance, f);
      std::int64_t pages = file_pages(in);
      if (in.kind == Kind::randread) pages = std::min(pages, inode.size_pages);
      // fio sets a new file's size before it writes at random places: nothing but holes, and no preallocation behind its end.
      if (in.kind == Kind::randwrite && !in.direct && inode.size_pages == 0 && p_.files.keeps_holes()) {
        inode.fs.sparse = true;
        inode.size_pages = pages;
      }
      ReadStream stream{inode, cache_.file_of(inode), reader_.params()};
      const std::int64_t operations = pages * 4096 / in.bs.value();
      if (operations == 0) continue;
      Shuffled order{operations, draw};
      bool wrote = false;
      for (std::int64_t op = 0; op < operations && !time_is_up(in, began); ++op) {
        const std::int64_t offset = order.next() * in.bs.value();
        const std::int64_t first = offset / 4096;
        const std::int64_t end = std::min(pages, (offset + in.bs.value() + 4095) / 4096);
        const bool read = in.kind == Kind::randread || (in.kind == Kind::randrw && static_cast<int>(draw.below(100)) < in.rwmixread);
        const SimTime start = p_.engine.now();
        if (read && in.direct) {
          co_await reader_.direct(*process.thread, inode, first, end - first, false);
          result.read_from_device += to_bytes(Pages{end - first});
        } else if (read) {
          co_await reader_.read(*process.thread, stream, first, end, in.bs, nullptr);
        } else {
          // Part of a page that is on disk and not cached: it is read first.
          const bool partial = in.bs.value() % 4096 != 0 && end <= inode.size_pages;
          if (partial && !in.direct && cache_.missing(stream.file, first, end) > 0)
            co_await reader_.read(*process.thread, stream, first, end, Bytes{4096}, nullptr);
          co_await one_write(job, instance, result, f, first, end, in.bs, 1);
          wrote = true;
        }
        job.latency.add(p_.engine.now() - start);
        ++(read ? result.reads : result.writes);
        if (!read) {
          result.written += in.bs;
          if (in.fsync_every > 0 && ++since_fsync >= in.fsync_every) {
            since_fsync = 0;
            co_await p_.files.fsync(*process.thread, inode);
          }
        }
        co_await keep_rate(instance, in.rate, began, Bytes{(result.reads + result.writes) * in.bs.value()});
      }
      result.read_from_cache += to_bytes(Pages{stream.from_cache});
      result.read_from_device += to_bytes(Pages{stream.from_device});
      result.remote_source += stream.remote_source;
      result.remote_destination += stream.remote_destination;
      if (wrote) {
        if (in.end_fsync) co_await p_.files.fsync(*process.thread, inode);
        co_await p_.files.close_written(*process.thread, inode);
      }
    }
  } while (in.runtime.count() > 0 && !time_is_up(in, began));
}

Task<> JobRunner::create_files(Job& job, Instance& instance, JobInstance& result) {
  for (std::int64_t f = 0; f < job.in->nrfiles; ++f) {
    const SimTime start = p_.engine.now();
    co_await p_.files.create(*instance.process->thread, directory_of(instance));
    job.latency.add(p_.engine.now() - start);
    ++result.others;
    if (time_is_up(*job.in, SimTime{result.start})) break;
  }
}

Task<> JobRunner::unlink_files(Job& job, Instance& instance, JobInstance& result) {
  for (const std::size_t f : instance.files) {
    if (!files_[f].inode) continue;
    const SimTime start = p_.engine.now();
    cache_.drop(*files_[f].inode);
    co_await p_.files.unlink(*instance.process->thread, *files_[f].inode);
    files_[f].inode = nullptr;
    job.latency.add(p_.engine.now() - start);
    ++result.others;
    if (time_is_up(*job.in, SimTime{result.start})) break;
  }
}

/// Ten times a second: create a file, write a page, fsync, stat, close. The innocent bystander.
Task<> JobRunner::probe(Job& job, Instance& instance, JobInstance& result, SimTime began) {
  constexpr Duration kInterval = std::chrono::milliseconds{100};
  const std::size_t slot = files_.size();
  files_.push_back({.name = fmt::format("{}.{}", job.in->name, instance.number), .inode = nullptr, .lock = std::make_unique<Mutex>(p_.engine)});
  Thread& thread = *instance.process->thread;
  for (SimTime next = began; next - began < job.in->runtime; next = std::max(next + kInterval, p_.engine.now())) {
    if (next > p_.engine.now()) {
      Blocked blocked{p_.engine, thread.account.unknown};
      co_await p_.engine.sleep_until(next);
    }
    const SimTime start = p_.engine.now();
    files_[slot].inode = co_await p_.files.create(thread, directory_of(instance));
    co_await one_write(job, instance, result, slot, 0, 1, Bytes{4096}, 1);
    co_await p_.files.fsync(thread, *files_[slot].inode);
    co_await p_.cpus.run(thread, CpuMode::system, p_.in.costs.io_call);
    job.latency.add(p_.engine.now() - start);
    ++result.others;
    result.written += kPageSize;
  }
}

// -- outputs ---------------------------------------------------------------------------------------------------------

std::vector<CacheOutputs::File> JobRunner::cached_now() const {
  std::vector<CacheOutputs::File> out;
  for (const Job& job : jobs_) {
    if (job.in->file.empty()) continue;
    const File& file = files_[file_numbers_.at(job.in->file)];
    if (std::any_of(out.begin(), out.end(), [&](const auto& o) { return o.name == file.name; })) continue;
    out.push_back({file.name, file.inode ? to_bytes(Pages{cache_.cached(*file.inode)}) : Bytes{0}});
  }
  return out;
}

CacheOutputs JobRunner::cache_outputs() const {
  CacheOutputs out = cache_outputs_;
  out.tracked = true;
  out.evicted = cache_.evicted();
  out.files = cached_now();
  return out;
}

}  // namespace spillway::sim
