#pragma once
/// extract(): an archive into a directory, as fast as the kernel lets one be, never outside that directory.
///
/// What is guaranteed, whatever the archive holds:
/// - No member is written outside `target`. A leading "/" is removed (warning); a name with ".." is refused; a name
///   that passes through a symbolic link, made by this archive or found on disk, is refused; a hard link's target is
///   held to the same rules. Symbolic links themselves are made as they are, wherever they point, and never followed.
/// - The tree does not depend on the number of writers: of members with one name the last wins.
/// - A bad member is an error in the report and the next one is tried; only when the archive or the target cannot be
///   used at all is the Result an error.
/// - Data is in the page cache (or on the device, with `direct`); nothing is synced. A device error may therefore show
///   only in syncfs(), which is the caller's business.

#include <filesystem>

#include "sim/result.hpp"
#include "workload/extract/options.hpp"
#include "workload/extract/report.hpp"

namespace spillway::extract {

/// Extract `archive` into `target_dir`, which must exist. The calling thread only waits: all work, and every change of
/// thread state, is done in threads of its own. Engine::tar and Engine::bsdtar are refused (bad_input).
[[nodiscard]] Result<ExtractReport> extract(const std::filesystem::path& archive,
                                            const std::filesystem::path& target_dir, const ExtractOptions& options);

}  // namespace spillway::extract
