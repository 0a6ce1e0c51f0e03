#pragma once
/// One I/O on its way: what the file system asks of the block layer. Owned by whoever submits it; the layer below calls
/// owner->bio_done() exactly once.

#include <cstdint>
#include <vector>

#include "sim/units.hpp"

namespace spillway::sim {

struct Inode;
struct Bio;

class BioOwner {
 public:
  virtual void bio_done(Bio& bio) = 0;

 protected:
  ~BioOwner() = default;
};

struct Bio {
  BioOwner* owner = nullptr;
  Inode* inode = nullptr;        ///< data of this file, or none
  std::int64_t pages = 0;        ///< page-cache pages that it writes
  std::int64_t file_page = 0;    ///< the first of them in the file
  Sectors start{0};
  Bytes size{0};                 ///< 0 only for a flush without data
  bool write = true;
  bool meta = false;             ///< REQ_META: passes blk-throttle at once, and is charged there
  bool sync = false;             ///< REQ_SYNC: somebody waits
  bool idle = false;             ///< REQ_IDLE with sync: exempt from wbt (log, direct I/O)
  bool background = false;       ///< REQ_BACKGROUND
  bool flush = false, fua = false;
  std::int64_t outstanding = 0;  ///< requests that it was split into and that are not done
  void* context = nullptr;       ///< the owner's
  Bio* riders = nullptr;         ///< of a request: the bios merged into it; of such a bio: the next of them
  Bio* next = nullptr;           ///< for the list that it is on
};

/// Recycles bios: a run has tens of thousands, never many at once on a bounded queue, all of them on an unbounded one.
class BioPool {
 public:
  BioPool() = default;
  BioPool(const BioPool&) = delete;
  BioPool& operator=(const BioPool&) = delete;
  ~BioPool() {
    for (Bio* chunk : chunks_) delete[] chunk;
  }
  Bio& get() {
    if (!free_) grow();
    Bio& bio = *free_;
    free_ = bio.next;
    bio = Bio{};
    return bio;
  }
  void put(Bio& bio) {
    bio.next = free_;
    free_ = &bio;
  }

 private:
  void grow() {
    constexpr int kChunk = 256;
    Bio* const chunk = new Bio[kChunk];
    chunks_.push_back(chunk);
    for (int i = 0; i < kChunk; ++i) put(chunk[i]);
  }
  std::vector<Bio*> chunks_;
  Bio* free_ = nullptr;
};

}  // namespace spillway::sim
