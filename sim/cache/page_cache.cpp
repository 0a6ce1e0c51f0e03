#include "sim/cache/page_cache.hpp"

#include <algorithm>

#include "sim/check.hpp"

namespace spillway::sim {

PageCache::PageCache(Engine& engine, CpuSet& cpus, PageCacheParams params)
    : engine_(engine), cpus_(cpus), params_(params), nodes_(static_cast<std::size_t>(std::clamp(params.nodes, 1, kMaxNodes))) {
  const auto count = static_cast<std::int64_t>(nodes_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    nodes_[n].pages = nodes_[n].free = params_.pages / count + (static_cast<std::int64_t>(n) < params_.pages % count ? 1 : 0);
}

// -- pages -----------------------------------------------------------------------------------------------------------

/// The flusher writes what was dirtied first, first: so that is what became clean.
void PageCache::settle_dirty() {
  std::int64_t cleaned = cleaned_ever() - cleaned_seen_;
  cleaned_seen_ += cleaned;
  while (cleaned > 0 && dirty_from_ < dirty_runs_.size()) {
    DirtyRun& run = dirty_runs_[dirty_from_];
    const std::int64_t now = std::min(cleaned, run.pages);
    run.pages -= now;
    cleaned -= now;
    nodes_[run.node].dirty -= now;
    if (run.pages == 0) ++dirty_from_;
  }
  if (dirty_from_ > 1024 && dirty_from_ * 2 > dirty_runs_.size()) {
    dirty_runs_.erase(dirty_runs_.begin(), dirty_runs_.begin() + static_cast<std::ptrdiff_t>(dirty_from_));
    dirty_from_ = 0;
  }
}

void PageCache::dirtied(const Placement& pages) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (pages.on[n] == 0) continue;
    nodes_[n].dirty += pages.on[n];
    if (dirty_runs_.size() > dirty_from_ && dirty_runs_.back().node == n) dirty_runs_.back().pages += pages.on[n];
    else dirty_runs_.push_back({n, pages.on[n]});
  }
}

/// How many more dirty pages a node may take. mm/page-writeback.c, node_dirty_limit(), node_dirty_ok().
std::int64_t PageCache::dirty_room(const Node& node) const {
  const std::int64_t dirtyable = node.free + node.file();
  std::int64_t limit = params_.dirty.dirty_ratio * dirtyable / 100;
  if (params_.dirty.dirty_bytes.value() > 0) {
    std::int64_t all = 0;
    for (const Node& n : nodes_) all += n.free + n.file();
    limit = static_cast<std::int64_t>(static_cast<double>(to_pages_ceil(params_.dirty.dirty_bytes).value()) *
                                      static_cast<double>(dirtyable) / static_cast<double>(std::max<std::int64_t>(all, 1)));
  }
  return limit + 1 - node.dirty;
}

std::int64_t PageCache::take(std::size_t node, std::int64_t want, Placement& out) {
  const std::int64_t pages = std::clamp<std::int64_t>(std::min(want, nodes_[node].free), 0, want);
  nodes_[node].free -= pages;
  out.on[node] += pages;
  return pages;
}

bool PageCache::try_allocate(int home, std::int64_t pages, Use use, Placement& out) {
  out = {};
  std::int64_t left = pages;
  const std::size_t count = nodes_.size();
  const auto near = [&](std::size_t i) { return (static_cast<std::size_t>(home) + i) % count; };
  if (use == Use::file_to_dirty && count > 1) {
    settle_dirty();
    for (std::size_t i = 0; i < count && left > 0; ++i) {
      const std::int64_t room = dirty_room(nodes_[near(i)]);
      if (room > 0) left -= take(near(i), std::min(left, room), out);
    }
  }
  for (int round = 0; left > 0 && round < 64; ++round) {
    for (std::size_t i = 0; i < count && left > 0; ++i) left -= take(near(i), left, out);
    if (left == 0) break;
    std::int64_t freed = 0;
    for (std::size_t n = 0; n < count; ++n) {
      // Up to the high watermark; at least what is asked for.
      const auto gap = static_cast<std::int64_t>(params_.watermark_gap * static_cast<double>(nodes_[n].pages));
      const std::int64_t before = nodes_[n].free;
      reclaim(n, std::max<std::int64_t>(gap, 32));
      freed += nodes_[n].free - before;
    }
    if (freed == 0) break;
  }
  if (left > 0) {
    give_back(out);
    out = {};
    return false;
  }
  if (use == Use::anonymous)
    for (std::size_t n = 0; n < count; ++n) nodes_[n].anonymous += out.on[n];
  return true;
}

Task<> PageCache::allocate(Thread& thread, std::int64_t pages, Use use, Placement& out) {
  while (!try_allocate(cpus_.node_of(thread.core()), pages, use, out)) {
    // Everything that could go is dirty or under writeback: wait as reclaim does, HZ/50 at a time.
    Blocked blocked{engine_, thread.account.device};
    co_await engine_.sleep(std::chrono::milliseconds{20});
  }
}

void PageCache::free_anonymous(const Placement& pages) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    nodes_[n].anonymous -= pages.on[n];
    nodes_[n].free += pages.on[n];
    SPILLWAY_CHECK(nodes_[n].anonymous >= 0, "more anonymous pages were freed than there were");
  }
}

void PageCache::give_back(const Placement& pages) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) nodes_[n].free += pages.on[n];
}

// -- file pages ------------------------------------------------------------------------------------------------------

CachedFile& PageCache::file_of(Inode& inode) {
  const auto number = static_cast<std::size_t>(inode.id);
  if (number >= files_.size()) files_.resize(number + 1);
  if (!files_[number]) {
    files_[number] = std::make_unique<CachedFile>();
    files_[number]->inode = &inode;
  }
  return *files_[number];
}

std::int64_t PageCache::cached(const Inode& inode) const {
  const auto number = static_cast<std::size_t>(inode.id);
  return number < files_.size() && files_[number] ? files_[number]->cached : 0;
}

const CachedExtent* PageCache::find(const CachedFile& file, std::int64_t page) const {
  auto after = file.extents.upper_bound(page);
  if (after == file.extents.begin()) return nullptr;
  const CachedExtent& e = std::prev(after)->second;
  return page < e.end ? &e : nullptr;
}

std::int64_t PageCache::next_cached(const CachedFile& file, std::int64_t page) const {
  if (find(file, page)) return page;
  const auto after = file.extents.upper_bound(page);
  return after == file.extents.end() ? INT64_MAX : after->first;
}

std::int64_t PageCache::missing(const CachedFile& file, std::int64_t first, std::int64_t end) const {
  return end - first - where(file, first, end).pages();
}

Placement PageCache::where(const CachedFile& file, std::int64_t first, std::int64_t end) const {
  Placement p;
  auto it = file.extents.upper_bound(first);
  if (it != file.extents.begin()) --it;
  for (; it != file.extents.end() && it->first < end; ++it) {
    const std::int64_t pages = std::min(end, it->second.end) - std::max(first, it->second.first);
    if (pages > 0) p.on[static_cast<std::size_t>(it->second.node)] += pages;
  }
  return p;
}

void PageCache::add_extent(CachedFile& file, std::int64_t first, std::int64_t end, int node) {
  Node& n = nodes_[static_cast<std::size_t>(node)];
  file.cached += end - first;
  // What a file grows by at the head of the list belongs to the extent that is there.
  if (CachedExtent* head = n.inactive.head(); head && head->file == &file && head->end == first && !head->referenced) {
    head->end = end;
    n.inactive.resized(end - first);
    return;
  }
  CachedExtent& e = file.extents[first];
  e.file = &file;
  e.first = first;
  e.end = end;
  e.node = node;
  n.inactive.push_head(e);
}

void PageCache::insert(CachedFile& file, std::int64_t first, std::int64_t end, int home, Placement& from) {
  std::size_t i = 0;
  for (std::int64_t at = first; at < end;) {
    if (const CachedExtent* there = find(file, at)) {
      at = there->end;
      continue;
    }
    const std::int64_t until = std::min(end, next_cached(file, at));
    while (at < until) {
      const std::size_t node = (static_cast<std::size_t>(home) + i) % nodes_.size();
      if (from.on[node] == 0) {
        ++i;
        SPILLWAY_CHECK(i < nodes_.size(), "fewer pages were allocated than are put into the cache");
        continue;
      }
      const std::int64_t pages = std::min(until - at, from.on[node]);
      add_extent(file, at, at + pages, static_cast<int>(node));
      from.on[node] -= pages;
      at += pages;
    }
  }
}

CachedExtent& PageCache::split(CachedExtent& e, std::int64_t at) {
  SPILLWAY_CHECK(e.first < at && at < e.end, "an extent is split inside");
  LruList& list = list_of(e);
  CachedExtent& rest = e.file->extents[at];
  rest = e;
  rest.first = at;
  list.resized(-(e.end - at));
  e.end = at;
  list.insert_newer(e, rest);
  return rest;
}

void PageCache::erase(CachedExtent& e) {
  list_of(e).remove(e);
  e.file->extents.erase(e.first);
}

void PageCache::merge_with_older(CachedExtent& e) {
  CachedExtent* o = e.older;
  if (!o || o->file != e.file || o->end != e.first || o->referenced != e.referenced) return;
  const std::int64_t end = e.end;
  const std::int64_t pages = e.pages();
  erase(e);
  o->end = end;
  list_of(*o).resized(pages);
}

void PageCache::move(CachedExtent& e, bool to_active) {
  list_of(e).remove(e);
  e.active = to_active;
  e.referenced = false;
  list_of(e).push_head(e);
  merge_with_older(e);
}

void PageCache::touch(CachedFile& file, std::int64_t first, std::int64_t end) {
  for (std::int64_t at = first; at < end;) {
    const CachedExtent* found = find(file, at);
    if (!found) {
      at = next_cached(file, at);
      continue;
    }
    auto& e = file.extents.find(found->first)->second;
    const std::int64_t until = std::min(end, e.end);
    if (e.active && e.referenced) {  // nothing to change
      at = until;
      continue;
    }
    CachedExtent* mine = &e;
    if (mine->first < at) mine = &split(*mine, at);
    if (until < mine->end) split(*mine, until);
    if (!mine->active && mine->referenced) {
      move(*mine, true);
    } else {
      mine->referenced = true;
      merge_with_older(*mine);
    }
    at = until;
  }
}

Task<Placement> PageCache::prepare_write(Thread& thread, Inode& inode, std::int64_t first, std::int64_t end) {
  CachedFile& file = file_of(inode);
  const int home = cpus_.node_of(thread.core());
  if (const std::int64_t absent = missing(file, first, end); absent > 0) {
    Placement got;
    if (!try_allocate(home, absent, Use::file_to_dirty, got)) co_await allocate(thread, absent, Use::file_to_dirty, got);
    // While it waited, somebody may have brought some of them in, or taken others out.
    const std::int64_t still = missing(file, first, end);
    Placement more;
    if (still > absent) co_await allocate(thread, still - absent, Use::file_to_dirty, more);
    for (std::size_t n = 0; n < nodes_.size(); ++n) got.on[n] += more.on[n];
    insert(file, first, end, home, got);
    give_back(got);
  }
  co_return where(file, first, end);
}

Task<> PageCache::wrote(Thread& thread, Inode& inode, std::int64_t first, std::int64_t end) {
  const Placement at = co_await prepare_write(thread, inode, first, end);
  dirtied(at);
}

void PageCache::drop(Inode& inode) {
  const auto number = static_cast<std::size_t>(inode.id);
  if (number >= files_.size() || !files_[number]) return;
  CachedFile& file = *files_[number];
  while (!file.extents.empty()) {
    CachedExtent& e = file.extents.begin()->second;
    nodes_[static_cast<std::size_t>(e.node)].free += e.pages();
    file.cached -= e.pages();
    erase(e);
  }
}

// -- reclaim ---------------------------------------------------------------------------------------------------------

void PageCache::evict_front(CachedExtent& e, std::int64_t pages) {
  Node& node = nodes_[static_cast<std::size_t>(e.node)];
  node.free += pages;
  node.evicted += pages;
  e.file->cached -= pages;
  if (pages == e.pages()) return erase(e);
  list_of(e).resized(-pages);
  auto held = e.file->extents.extract(e.first);
  held.key() += pages;
  held.mapped().first += pages;
  e.file->extents.insert(std::move(held));
}

namespace {

struct Unclean {
  std::int64_t first = INT64_MAX, end = INT64_MAX;
};

/// The first pages at or after `page` that may not go: dirty, on their way to the device, or on their way from it. What is
/// under writeback is known as a number; a file is flushed from the front, so it is what lies before the flusher's place.
Unclean next_unclean(const CachedFile& file, std::int64_t page) {
  Unclean u;
  const auto consider = [&](std::int64_t first, std::int64_t end) {
    if (end <= page || first >= end) return;
    first = std::max(first, page);
    if (first < u.first) u = {first, end};
    else if (first == u.first) u.end = std::max(u.end, end);
  };
  const Inode& inode = *file.inode;
  const PageRange dirty = inode.dirty.next(page);
  if (dirty.pages() > 0) consider(dirty.first, dirty.end);
  if (inode.writeback_pages > 0) {
    const std::int64_t end = inode.writeback_index > 0 ? inode.writeback_index : inode.size_pages;
    consider(std::max<std::int64_t>(end - inode.writeback_pages, 0), end);
  }
  for (const PagesInFlight& f : file.in_flight) consider(f.first, f.end);
  return u;
}

}  // namespace

void PageCache::reclaim(std::size_t number, std::int64_t want) {
  Node& node = nodes_[number];
  std::int64_t freed = 0;
  std::int64_t scan = 2 * node.file();  // each page is looked at twice at most
  while (freed < want && scan > 0) {
    if (inactive_is_low(node.inactive.pages(), node.active.pages())) {
      CachedExtent* old = node.active.tail();
      if (!old) break;
      const std::int64_t batch = std::max<std::int64_t>(want - freed, 32);
      if (old->pages() > batch) split(*old, old->first + batch);
      scan -= old->pages();
      move(*old, false);
    }
    CachedExtent* tail = node.inactive.tail();
    if (!tail) {
      if (!node.active.tail()) break;
      continue;
    }
    const Unclean unclean = next_unclean(*tail->file, tail->first);
    if (unclean.first > tail->first) {
      const std::int64_t pages = std::min({want - freed, tail->pages(), unclean.first - tail->first});
      evict_front(*tail, pages);
      freed += pages;
      scan -= pages;
    } else {
      if (unclean.end < tail->end) split(*tail, unclean.end);
      scan -= tail->pages();
      move(*tail, true);
    }
  }
  if (freed == 0) return;
  node.owed += params_.reclaim_page * freed;
  if (!node.kswapd_running) {
    node.kswapd_running = true;
    engine_.spawn(run_kswapd(number), Phase::flusher);
  }
}

Task<> PageCache::run_kswapd(std::size_t number) {
  Node& node = nodes_[number];
  if (!node.kswapd) node.kswapd = &cpus_.new_thread("kswapd", static_cast<int>(number));  // core i is on node i
  while (node.owed.count() > 0) co_await cpus_.run(*node.kswapd, CpuMode::system, std::exchange(node.owed, Duration{0}));
  node.kswapd_running = false;
}

// -- to look at ------------------------------------------------------------------------------------------------------

std::int64_t PageCache::evicted() const {
  std::int64_t sum = 0;
  for (const Node& n : nodes_) sum += n.evicted;
  return sum;
}

bool PageCache::adds_up() const {
  std::vector<std::int64_t> on_node(nodes_.size());
  for (const auto& file : files_) {
    if (!file) continue;
    std::int64_t cached = 0, last = 0;
    for (const auto& [first, e] : file->extents) {
      if (first != e.first || e.first < last || e.pages() <= 0) return false;
      last = e.end;
      cached += e.pages();
      on_node[static_cast<std::size_t>(e.node)] += e.pages();
    }
    if (cached != file->cached) return false;
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    if (node.free < 0 || node.free + node.file() + node.anonymous != node.pages || node.file() != on_node[n]) return false;
  }
  return true;
}

}  // namespace spillway::sim
