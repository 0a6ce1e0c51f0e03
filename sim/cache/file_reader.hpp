#pragma once
/// read(2) through the page cache: copies what is there, reads ahead what is not, waits for what is on its way.
///
/// Each page copied counts either as read from the device (this stream's own read-ahead brought it) or as read from the
/// cache; the two add up to what was read. Reads of different streams stand in the device's one queue, so each gets what
/// its window size and its distance from the device make of it.
///
/// Not modelled: partially cached pages, read errors, mmap.

#include <cstdint>
#include <deque>

#include "sim/block/block_device.hpp"
#include "sim/cache/anonymous_buffer.hpp"
#include "sim/cache/page_cache.hpp"
#include "sim/cache/read_ahead.hpp"
#include "sim/cpu/costs.hpp"
#include "sim/memory/dirty_memory.hpp"
#include "sim/xfs/file_system.hpp"

namespace spillway::sim {

struct FileReaderParams {
  std::int64_t read_ahead_pages = 32;  ///< read_ahead_kb. cited: 128 KiB, block layer's default
  std::int64_t io_pages = 320;         ///< max_sectors_kb, in pages
  std::int64_t max_bio_pages = 256;    ///< cited: BIO_MAX_VECS
};

/// One open file of one reader.
struct ReadStream {
  ReadStream(Inode& i, CachedFile& f, const FileReaderParams& p) : inode(i), file(f), ahead(p.read_ahead_pages, p.io_pages) {}
  Inode& inode;
  CachedFile& file;
  ReadAhead ahead;
  PageRanges fetched;                  ///< pages that this stream asked the device for and has not copied yet
  std::int64_t from_cache = 0, from_device = 0;  ///< pages copied
  std::int64_t remote_source = 0, remote_destination = 0;  ///< of these, whose page or whose fresh copy was on another node
};

class FileReader final : private BioOwner {
 public:
  FileReader(Engine& engine, CpuSet& cpus, PageCache& cache, DirtyMemory& memory, BlockDevice& device, const FileSystem& files,
             const CpuCosts& costs, FileReaderParams params)
      : engine_(engine), cpus_(cpus), cache_(cache), memory_(memory), device_(device), files_(files), costs_(costs),
        params_(params), direct_waiters_(engine) {}

  /// Reads pages [first, end) with calls of `call` bytes. `into`: a buffer whose fresh pages the copy faults in; none: a
  /// small buffer that is used again and again.
  Task<> read(Thread& thread, ReadStream& stream, std::int64_t first, std::int64_t end, Bytes call, AnonymousBuffer* into);
  /// Touches `pages` fresh pages of `buffer`, for whatever reason.
  Task<> fill(Thread& thread, AnonymousBuffer& buffer, std::int64_t pages);
  void release(AnonymousBuffer& buffer);
  /// One O_DIRECT transfer, waited for.
  Task<> direct(Thread& thread, Inode& inode, std::int64_t first, std::int64_t pages, bool write);

  [[nodiscard]] const FileReaderParams& params() const { return params_; }

 private:
  struct Flight {
    CachedFile* file = nullptr;   ///< none: a direct transfer
    std::int64_t first = 0, end = 0;
    std::int64_t* direct_left = nullptr;
    Flight* next = nullptr;
  };
  void bio_done(Bio& bio) override;
  Task<> fetch(Thread& thread, ReadStream& stream, ReadAhead::Window window);
  Task<> take_anonymous(Thread& thread, std::int64_t pages, Placement& got);
  [[nodiscard]] Flight& new_flight();
  [[nodiscard]] static const PagesInFlight* in_flight_at(const CachedFile& file, std::int64_t page);

  Engine& engine_;
  CpuSet& cpus_;
  PageCache& cache_;
  DirtyMemory& memory_;
  BlockDevice& device_;
  const FileSystem& files_;
  const CpuCosts& costs_;
  FileReaderParams params_;
  BioPool bios_;
  std::deque<Flight> flights_;
  Flight* free_flight_ = nullptr;
  WaitQueue direct_waiters_;
};

}  // namespace spillway::sim
