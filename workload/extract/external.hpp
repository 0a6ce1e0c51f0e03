#pragma once
/// The command lines of the two programs that extract as child processes.

#include <filesystem>
#include <string>
#include <vector>

#include "workload/extract/options.hpp"

namespace spillway::extract {

/// argv for `tar` or `bsdtar` with the options that mean the same as `options`; empty for the engines that run in this
/// process. The programs neither write directly nor in parallel: `direct` and `writers` are the caller's to refuse.
[[nodiscard]] std::vector<std::string> external_argv(const std::filesystem::path& archive,
                                                     const std::filesystem::path& target_dir,
                                                     const ExtractOptions& options);

}  // namespace spillway::extract
