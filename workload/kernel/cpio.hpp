#pragma once
/// A few files as a cpio archive ("newc"), which a kernel unpacks before its initial file system's own.

#include <string>
#include <utility>
#include <vector>

namespace spillway::kernel {

struct CpioFile {
  std::string path;      ///< relative; its folders must be among the files before it, as entries with `directory`
  std::string content;
  bool directory = false;
  bool executable = false;
};

/// Padded to 512 bytes, so that a compressed archive may follow. Owner 0, times 0: equal input, equal bytes.
[[nodiscard]] std::string cpio_archive(const std::vector<CpioFile>& files);

}  // namespace spillway::kernel
