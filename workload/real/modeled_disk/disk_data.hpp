#pragma once
/// The bytes of a modeled disk: anonymous memory, or a sparse file accessed with O_DIRECT. Neither makes dirty pages.
/// Not thread-safe for overlapping ranges, which is the kernel's own business above.

#include <memory>
#include <string>

#include "sim/result.hpp"
#include "sim/units.hpp"

namespace spillway::real {

class DiskData {
 public:
  virtual ~DiskData() = default;
  /// 0, or an errno.
  virtual int write(const char* from, std::size_t size, std::int64_t offset) = 0;
  /// Bytes at `offset`, valid until the next read on this thread; null with errno set on failure.
  virtual const char* read(std::size_t size, std::int64_t offset) = 0;
  /// Gives the range back; it reads as zeros afterwards. 0, or an errno.
  virtual int discard(std::int64_t size, std::int64_t offset) = 0;
};

Result<std::unique_ptr<DiskData>> memory_data(Bytes size, bool prefault);
/// Makes the file and unlinks it at once.
Result<std::unique_ptr<DiskData>> file_data(Bytes size, const std::string& path);

}  // namespace spillway::real
