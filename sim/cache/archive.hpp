#pragma once
/// The archive that untars read when it was not in the page cache: a file on a disk of its own, laid out as the catalogue
/// has it. Its pages compete for memory with everything else.

#include <cstdint>
#include <vector>

#include "sim/block/simple_block_device.hpp"
#include "sim/box/inputs.hpp"
#include "sim/cache/file_reader.hpp"

namespace spillway::sim {

struct ArchiveOnDisk {
  ArchiveOnDisk(Engine& engine, const TickClock& clock, CpuSet& cpus, PageCache& cache, DirtyMemory& memory,
                const DeviceWriteback& wb, const FileSystem& files, const BoxInputs& in)
      : disk(engine, clock, disk_of(in), wb),
        reader(engine, cpus, cache, memory, disk, files, in.costs,
               {.read_ahead_pages = to_pages_ceil(in.device.read_ahead).value(), .io_pages = 320, .max_bio_pages = 256}),
        cached(cache.file_of(inode)) {
    // A header of 512 bytes before each file, data in blocks of 512. cited: the tar format.
    std::int64_t at = 0;
    for (const auto& f : in.replay.catalogue->files) {
      at += 512 + (f.size.value() + 511) / 512 * 512;
      end_page.push_back((at + 4095) / 4096);
    }
    inode.size_pages = inode.fs.allocated_pages = end_page.empty() ? 0 : end_page.back();
  }

  /// The pages that hold file `index`, from where the file before it ends.
  [[nodiscard]] std::int64_t first_page_of(std::size_t index) const { return index == 0 ? 0 : end_page[index - 1]; }

  Inode inode;   ///< number 0: no file of the file system has it
  SimpleBlockDevice disk;
  FileReader reader;
  CachedFile& cached;
  std::vector<std::int64_t> end_page;   ///< by file of the catalogue
  std::int64_t from_cache = 0, from_device = 0;  ///< pages that untars read

 private:
  static DeviceInputs disk_of(const BoxInputs& in) {
    DeviceInputs d;
    d.kind = DeviceInputs::Kind::fixed;
    d.read_rate = in.replay.archive_rate;
    return d;
  }
};

}  // namespace spillway::sim
