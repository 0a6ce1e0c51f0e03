#include "sim/cache/file_reader.hpp"

#include <algorithm>

namespace spillway::sim {

namespace {

/// A copy is stopped after so much, so that it sees what changed meanwhile: 4 MiB.
constexpr std::int64_t kPiece = 1024;

}  // namespace

FileReader::Flight& FileReader::new_flight() {
  if (free_flight_) {
    Flight& flight = *free_flight_;
    free_flight_ = flight.next;
    flight = Flight{};
    return flight;
  }
  return flights_.emplace_back();
}

const PagesInFlight* FileReader::in_flight_at(const CachedFile& file, std::int64_t page) {
  for (const PagesInFlight& f : file.in_flight)
    if (f.first <= page && page < f.end) return &f;
  return nullptr;
}

Task<> FileReader::take_anonymous(Thread& thread, std::int64_t pages, Placement& got) {
  if (!cache_.try_allocate(cpus_.node_of(thread.core()), pages, PageCache::Use::anonymous, got))
    co_await cache_.allocate(thread, pages, PageCache::Use::anonymous, got);
  memory_.took_anonymous(pages);
}

Task<> FileReader::fill(Thread& thread, AnonymousBuffer& buffer, std::int64_t pages) {
  for (std::int64_t left = pages; left > 0;) {
    const std::int64_t now = std::min(left, kPiece);
    const int home = cpus_.node_of(thread.core());
    Placement got;
    co_await take_anonymous(thread, now, got);
    const Duration cost = costs_.page_fault * now + costs_.remote_fault * got.away_from(home);
    buffer.append(got, home, static_cast<int>(cache_.nodes().size()));
    co_await cpus_.run_both(thread, Duration{0}, cost, to_bytes(Pages{now}));
    left -= now;
  }
}

void FileReader::release(AnonymousBuffer& buffer) {
  if (buffer.pages() == 0) return;
  cache_.free_anonymous(buffer.placement());
  memory_.took_anonymous(-buffer.pages());
  buffer.clear();
}

Task<> FileReader::fetch(Thread& thread, ReadStream& stream, ReadAhead::Window window) {
  CachedFile& file = stream.file;
  const std::int64_t end = std::min(window.end, stream.inode.size_pages);
  Duration cost{0};  // of the whole window, in one piece
  for (std::int64_t at = window.first; at < end;) {
    if (const CachedExtent* there = cache_.find(file, at)) {
      at = there->end;
      continue;
    }
    const std::int64_t until = std::min({end, cache_.next_cached(file, at), at + params_.max_bio_pages});
    const std::int64_t pages = until - at;
    const int home = cpus_.node_of(thread.core());
    Placement got;
    if (!cache_.try_allocate(home, pages, PageCache::Use::file, got))
      co_await cache_.allocate(thread, pages, PageCache::Use::file, got);
    if (cache_.missing(file, at, until) != pages) {  // somebody was faster while this one waited
      cache_.give_back(got);
      continue;
    }
    cache_.insert(file, at, until, home, got);
    file.in_flight.push_back({at, until});
    stream.fetched.add({at, until});
    Flight& flight = new_flight();
    flight.file = &file;
    flight.first = at;
    flight.end = until;
    cost += costs_.read_ahead_page * pages + costs_.submit_request;
    Bio& bio = bios_.get();
    bio.owner = this;
    bio.inode = &stream.inode;
    bio.write = false;
    bio.sync = true;
    bio.start = files_.sector_of(stream.inode, at);
    bio.size = to_bytes(Pages{pages});
    bio.context = &flight;
    if (!device_.try_submit(bio)) co_await device_.submit(thread, bio);
    at = until;
  }
  co_await cpus_.run(thread, CpuMode::system, cost);
}

void FileReader::bio_done(Bio& bio) {
  auto& flight = *static_cast<Flight*>(bio.context);
  bios_.put(bio);
  if (flight.direct_left) {
    if (--*flight.direct_left == 0) direct_waiters_.wake_all();
  } else {
    auto& list = flight.file->in_flight;
    const auto it = std::find_if(list.begin(), list.end(), [&](const PagesInFlight& f) { return f.first == flight.first; });
    *it = list.back();
    list.pop_back();
    if (flight.file->arrivals) flight.file->arrivals->wake_all();
  }
  flight.next = free_flight_;
  free_flight_ = &flight;
  engine_.note_progress();
}

Task<> FileReader::read(Thread& thread, ReadStream& stream, std::int64_t first, std::int64_t end, Bytes call,
                        AnonymousBuffer* into) {
  CachedFile& file = stream.file;
  const double calls_per_page = 4096.0 / static_cast<double>(std::max<std::int64_t>(call.value(), 1));
  const Duration page_cost =
      costs_.read_page + Duration{static_cast<std::int64_t>(static_cast<double>(costs_.io_call.count()) * calls_per_page)};
  const std::int64_t call_pages = std::max<std::int64_t>(to_pages_ceil(call).value(), 1);
  for (std::int64_t at = first; at < end;) {
    const std::int64_t request = std::min(end - at, call_pages);
    const CachedExtent* const e = cache_.find(file, at);
    if (!e) {
      co_await fetch(thread, stream, stream.ahead.missed(at, request));
      continue;
    }
    if (at >= stream.ahead.marker()) {
      const ReadAhead::Window window = stream.ahead.came_to_marker(request);
      if (window.first < stream.inode.size_pages) co_await fetch(thread, stream, window);
      continue;
    }
    if (in_flight_at(file, at)) {
      if (!file.arrivals) file.arrivals = std::make_unique<WaitQueue>(engine_);
      Blocked blocked{engine_, thread.account.device};
      while (in_flight_at(file, at)) co_await file.arrivals->wait();
      continue;
    }
    std::int64_t until = std::min({end, e->end, at + kPiece, stream.ahead.marker()});
    for (const PagesInFlight& f : file.in_flight)
      if (f.first > at) until = std::min(until, f.first);
    const std::int64_t pages = until - at;
    const int home = cpus_.node_of(thread.core());
    Duration cost = page_cost * pages;
    if (e->node != home) {
      cost += costs_.remote_source * pages;
      stream.remote_source += pages;
    }
    if (into) {
      Placement got;
      co_await take_anonymous(thread, pages, got);
      into->append(got, home, static_cast<int>(cache_.nodes().size()));
      stream.remote_destination += got.away_from(home);
      cost += costs_.page_fault * pages + (costs_.remote_fault + costs_.remote_destination) * got.away_from(home);
    }
    co_await cpus_.run_both(thread, Duration{0}, cost, to_bytes(Pages{2 * pages}));
    cache_.touch(file, at, until);
    const std::int64_t mine = stream.fetched.remove({at, until});
    stream.from_device += mine;
    stream.from_cache += pages - mine;
    stream.ahead.read_to(until);
    at = until;
  }
}

Task<> FileReader::direct(Thread& thread, Inode& inode, std::int64_t first, std::int64_t pages, bool write) {
  std::int64_t left = (pages + params_.max_bio_pages - 1) / params_.max_bio_pages;
  co_await cpus_.run(thread, CpuMode::system, costs_.io_call + costs_.submit_request * left);
  for (std::int64_t at = 0; at < pages; at += params_.max_bio_pages) {
    Flight& flight = new_flight();
    flight.direct_left = &left;
    Bio& bio = bios_.get();
    bio.owner = this;
    bio.inode = &inode;
    bio.write = write;
    bio.sync = bio.idle = true;
    bio.start = files_.sector_of(inode, first + at);
    bio.size = to_bytes(Pages{std::min(pages - at, params_.max_bio_pages)});
    bio.context = &flight;
    if (!device_.try_submit(bio)) co_await device_.submit(thread, bio);
  }
  Blocked blocked{engine_, thread.account.device};
  while (left > 0) co_await direct_waiters_.wait();
}

}  // namespace spillway::sim
