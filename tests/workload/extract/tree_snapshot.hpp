#pragma once
/// A directory tree as lines of text, one per name, so that two trees can be compared and a difference can be read.

#include <filesystem>
#include <string>
#include <vector>

namespace spillway::test {

struct SnapshotOptions {
  bool mtimes = true;
  bool owners = true;
};

/// Sorted lines "path kind mode owner mtime size hash | -> target | = first name of its link group". Data is hashed
/// without regard to holes (allocated_bytes() tells those); a file of terabytes of holes is read by its data only.
[[nodiscard]] std::vector<std::string> snapshot(const std::filesystem::path& root, SnapshotOptions options = {});

/// Bytes that the file takes on disk.
[[nodiscard]] long long allocated_bytes(const std::filesystem::path& path);

}  // namespace spillway::test
