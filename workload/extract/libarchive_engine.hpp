#pragma once
/// Engine `libarchive`: archive_read and archive_write_disk as a program would use them, for comparison. Names are made
/// safe as for our own engines first, because archive_write_disk has no notion of a root directory.

#include <filesystem>

#include "sim/result.hpp"
#include "workload/extract/tree_writer.hpp"

namespace spillway::extract {

/// Fills the tally; false when the archive could not be read to its end.
[[nodiscard]] Result<bool> extract_with_libarchive(const std::filesystem::path& archive_path,
                                                   const std::filesystem::path& target_dir,
                                                   const ExtractOptions& options, Tally& tally);

}  // namespace spillway::extract
