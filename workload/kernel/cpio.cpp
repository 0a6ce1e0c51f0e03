#include "workload/kernel/cpio.hpp"

#include <fmt/format.h>

namespace spillway::kernel {
namespace {

void pad(std::string& archive, std::size_t to) {
  while (archive.size() % to != 0) archive += '\0';
}

void entry(std::string& archive, std::size_t inode, unsigned mode, const std::string& path, const std::string& content) {
  // magic, inode, mode, uid, gid, links, mtime, size, device (major, minor), its own device, length of the name, check
  archive += fmt::format("070701{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}", inode, mode, 0, 0, 1, 0, content.size(), 0, 0,
                         0, 0, path.size() + 1, 0);
  archive += path;
  archive += '\0';
  pad(archive, 4);
  archive += content;
  pad(archive, 4);
}

}  // namespace

std::string cpio_archive(const std::vector<CpioFile>& files) {
  constexpr unsigned kDirectory = 0040755, kPlain = 0100644, kProgram = 0100755;
  std::string archive;
  std::size_t inode = 1;
  for (const auto& file : files) {
    entry(archive, inode++, file.directory ? kDirectory : (file.executable ? kProgram : kPlain), file.path, file.content);
  }
  entry(archive, 0, 0, "TRAILER!!!", "");
  pad(archive, 512);
  return archive;
}

}  // namespace spillway::kernel
