#pragma once
/// After an extraction: the tree onto the device. Until then a device error, or a lack of space that delayed allocation
/// put off, may not have shown anywhere.

#include <filesystem>

#include "sim/result.hpp"

namespace spillway::extract {

/// syncfs(2) of the file system that holds `directory`: what everybody wrote to it, and its error if writeback had one.
[[nodiscard]] Status sync_file_system_of(const std::filesystem::path& directory);

/// fsync(2) of every file and directory below `directory`, and of itself: only this tree, one wait for the device each.
/// Names are opened without following links. The first error ends it.
[[nodiscard]] Status fsync_tree(const std::filesystem::path& directory);

}  // namespace spillway::extract
