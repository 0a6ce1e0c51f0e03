#include "sim/box/untar.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "sim/cache/archive.hpp"

namespace spillway::sim {

namespace {

/// CPU time that a program runs up between the points at which it can be stopped; spent in one piece, so that cheap steps
/// cost no events of their own.
struct Pending {
  Duration user{}, system{};
  Bytes moved{0};
};

CpuSet::RunAwaiter spend(const Parts& p, Thread& thread, Pending& pending) {
  const Pending spent = std::exchange(pending, Pending{});
  return p.cpus.run_both(thread, spent.user, spent.system, spent.moved);
}

struct PageCosts {
  Duration user{}, system{};
};

/// Reading the archive from the cache and writing the file, for each page.
/// A cold archive charges its reads where they happen.
PageCosts page_costs(const BoxInputs& in) {
  const double calls_per_page = (in.replay.archive_cold ? 1.0 : 2.0) * 4096.0 / static_cast<double>(in.replay.engine.write_size.value());
  const Duration calls{static_cast<std::int64_t>(static_cast<double>(in.costs.io_call.count()) * calls_per_page)};
  const Duration read = in.replay.archive_cold ? Duration{0} : in.costs.read_page;
  return {in.replay.engine.user_per_page, read + in.costs.write_page + calls + in.replay.engine.system_per_page};
}

/// How many pages are copied before they count. A writer alone may copy all that it is allowed in one piece: nobody looks
/// meanwhile. Beside others each page must be seen when it is dirty, or who looks in between finds a whole piece less than
/// the kernel would show it (hundreds of pages, which near the limit is the difference between 30 and 190 ms of sleep);
/// 50 us of copying are taken (assumed: a dozen pages). Only with one core, where the order of the writers is known too.
std::int64_t pages_at_once(const BoxInputs& in, const PageCosts& cost) {
  if (in.cpu.cores > 1 || (in.replay.at_once == 1 && in.replay.engine.writers == 1 && in.jobs.empty())) return std::numeric_limits<std::int64_t>::max();
  constexpr Duration kUnseen = std::chrono::microseconds{50};
  return std::max<std::int64_t>(1, kUnseen / std::max(cost.user + cost.system, Duration{1}));
}

Task<> write_buffered(Parts p, Thread& thread, TaskThrottle& throttle, Inode& inode, Bytes size, Pending& pending) {
  // Untar i runs in cgroup i, where there are cgroups.
  DeviceWriteback& wb = p.flushers.attach(inode, throttle.id - 1);
  const PageCosts cost = page_costs(p.in);
  const std::int64_t pages = to_pages_ceil(size).value(), most = pages_at_once(p.in, cost);
  for (std::int64_t at = 0; at < pages;) {
    if (p.memory.must_look(throttle.state, wb, thread.core())) {
      co_await spend(p, thread, pending);
      co_await p.memory.balance(thread, throttle, wb);
    }
    const std::int64_t piece = std::min({pages - at, most, p.memory.allowance(throttle.state, wb, thread.core())});
    pending.user += cost.user * piece;
    pending.system += cost.system * piece;
    pending.moved += to_bytes(Pages{2 * piece});
    // Pages are dirtied as they are copied: the time passes before they count.
    co_await spend(p, thread, pending);
    p.files.reserve(inode, at + piece);
    inode.dirty.add({at, at + piece});
    at += piece;
    inode.size_pages = std::max(inode.size_pages, at);
    p.memory.dirtied(throttle.state, wb, thread.core(), piece);
    p.flushers.inode_dirtied(inode);
    if (p.cache) co_await p.cache->wrote(thread, inode, at - piece, at);
  }
}

struct Work {
  std::size_t next = 0;
  int running = 0;
};

Task<> ensure_directory(Parts p, Thread& thread, Tree& tree, std::int32_t directory) {
  auto& number = tree.directories[static_cast<std::size_t>(directory)];
  if (number >= 0) co_return;
  number = -2;  // being made: with several writers only one makes it
  const std::int32_t made = co_await p.files.make_directory(thread);
  tree.directories[static_cast<std::size_t>(directory)] = made;
}

Task<> write_files(Parts p, Thread& thread, TaskThrottle& throttle, Tree& tree, Work& work) {
  const FileCatalogue& catalogue = *p.in.replay.catalogue;
  Pending pending;
  std::optional<ReadStream> archive;
  if (p.archive) archive.emplace(p.archive->inode, p.archive->cached, p.archive->reader.params());
  while (work.next < catalogue.files.size()) {
    const std::size_t index = work.next++;
    const FileCatalogue::File& file = catalogue.files[index];
    if (tree.directories[static_cast<std::size_t>(file.directory)] == -1)
      co_await ensure_directory(p, thread, tree, file.directory);
    while (tree.directories[static_cast<std::size_t>(file.directory)] < 0) {
      Blocked blocked{p.engine, thread.account.lock};
      co_await p.engine.sleep(std::chrono::microseconds{20});
    }
    pending.user += p.in.costs.user_per_file;
    Inode*& inode = tree.files[index];
    if (!inode) inode = co_await p.files.create(thread, tree.directories[static_cast<std::size_t>(file.directory)]);
    if (archive) {
      co_await spend(p, thread, pending);
      co_await p.archive->reader.read(thread, *archive, p.archive->first_page_of(index), p.archive->end_page[index],
                                      p.in.replay.engine.write_size, nullptr);
    }
    if (p.in.replay.engine.direct) {
      co_await spend(p, thread, pending);
      co_await p.files.write_direct(thread, *inode, to_pages_ceil(file.size).value());
    } else {
      co_await write_buffered(p, thread, throttle, *inode, file.size, pending);
      if (file.size.value() > 0) co_await p.files.close_written(thread, *inode);
      if (p.in.replay.engine.fsync_each) co_await p.files.fsync(thread, *inode);
    }
  }
  co_await spend(p, thread, pending);
  if (archive) {
    p.archive->from_cache += archive->from_cache;
    p.archive->from_device += archive->from_device;
  }
}

Task<> writer_thread(Parts p, Thread& thread, TaskThrottle& throttle, Tree& tree, Work& work, WaitQueue& done) {
  co_await write_files(p, thread, throttle, tree, work);
  p.memory.task_exits(throttle.state, thread.core());
  if (--work.running == 0) done.wake_all();
}

void prepare(const FileCatalogue& catalogue, Tree& tree) {
  tree.directories.resize(static_cast<std::size_t>(catalogue.directories), -1);
  tree.files.resize(catalogue.files.size(), nullptr);
}

}  // namespace

void add(TimeAccount& sum, const TimeAccount& part) {
  sum.user += part.user;
  sum.system += part.system;
  sum.runqueue += part.runqueue;
  sum.throttled += part.throttled;
  sum.device += part.device;
  sum.lock += part.lock;
  sum.log += part.log;
  sum.unknown += part.unknown;
}

Task<> untar(Parts p, int index, Tree& tree, BoxOutputs& out) {
  UntarOutputs& mine = out.untars[static_cast<std::size_t>(index)];
  mine.index = index + 1;
  const SimTime began = p.engine.now();
  mine.start = began.time_since_epoch();
  prepare(*p.in.replay.catalogue, tree);
  Thread& thread = p.cpus.new_thread(p.in.replay.engine.name, index);
  const Duration startup = p.in.costs.process;
  co_await p.cpus.run(thread, CpuMode::user, startup / 5);
  co_await p.cpus.run(thread, CpuMode::system, startup - startup / 5);

  const int writers = p.in.replay.engine.writers;
  Work work;
  std::vector<TaskThrottle> throttles(static_cast<std::size_t>(writers));
  std::vector<Thread*> threads{&thread};
  for (auto& t : throttles) t.id = index + 1;
  if (writers == 1) {
    co_await write_files(p, thread, throttles[0], tree, work);
    p.memory.task_exits(throttles[0].state, thread.core());
  } else {
    WaitQueue done{p.engine};
    work.running = writers;
    for (int w = 0; w < writers; ++w) {
      threads.push_back(&p.cpus.new_thread(p.in.replay.engine.name, index + w));
      p.engine.spawn(writer_thread(p, *threads.back(), throttles[static_cast<std::size_t>(w)], tree, work, done));
    }
    Blocked blocked{p.engine, thread.account.unknown};
    while (work.running > 0) co_await done.wait();
  }

  mine.elapsed = p.engine.now() - began;
  for (const Thread* t : threads) {
    add(mine.account, t->account);
    mine.voluntary_switches += t->voluntary_switches;
    mine.involuntary_switches += t->involuntary_switches;
  }
  for (const auto& t : throttles) {
    mine.throttle_decisions += t.decisions;
    mine.pauses += t.pauses;
    mine.pause_asked += t.pause_asked * p.memory.clock().tick();
  }
  p.engine.note_progress();
}

Task<> remove_tree(Parts p, Tree& tree, TimeAccount& account) {
  Thread& thread = p.cpus.new_thread("rm");
  co_await p.cpus.run(thread, CpuMode::system, p.in.costs.process);
  for (Inode*& inode : tree.files) {
    if (inode && p.cache) p.cache->drop(*inode);
    if (inode) co_await p.files.unlink(thread, *inode);
    inode = nullptr;
  }
  for (auto& directory : tree.directories) directory = -1;
  account = thread.account;
}

Task<> make_skeleton(Parts p, Tree& tree, TimeAccount& account) {
  const FileCatalogue& catalogue = *p.in.replay.catalogue;
  prepare(catalogue, tree);
  Thread& thread = p.cpus.new_thread("skeleton");
  co_await p.cpus.run(thread, CpuMode::system, p.in.costs.process);
  for (std::size_t i = 0; i < catalogue.files.size(); ++i) {
    const std::int32_t directory = catalogue.files[i].directory;
    co_await ensure_directory(p, thread, tree, directory);
    if (!tree.files[i])
      tree.files[i] = co_await p.files.create(thread, tree.directories[static_cast<std::size_t>(directory)]);
  }
  account = thread.account;
}

Task<> lay_out(Parts p, Thread& thread, Tree& tree) {
  const FileCatalogue& catalogue = *p.in.replay.catalogue;
  prepare(catalogue, tree);
  for (std::size_t i = 0; i < catalogue.files.size(); ++i) {
    const std::int32_t directory = catalogue.files[i].directory;
    co_await ensure_directory(p, thread, tree, directory);
    tree.files[i] = co_await p.files.create(thread, tree.directories[static_cast<std::size_t>(directory)]);
  }
}

}  // namespace spillway::sim
