#pragma once
/// Whole small files in and out. A written file appears by rename after fsync, so that a reader (or a crash) never
/// meets half of one.

#include "sim/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace spillway {

/// The content of a regular file. The error names the file and says whether it is missing, not readable or a folder.
Result<std::string> read_file(const std::filesystem::path& path);

/// Writes `content` to a temporary file beside `path`, syncs it, renames it to `path` and syncs the folder.
/// Missing folders are made. On an error the old `path`, if any, is as it was.
Status write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace spillway
