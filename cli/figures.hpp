#pragma once
/// Which figures a record has, and where they go: FOLDER/figures beside the record.

#include "plots/render.hpp"
#include "sim/result.hpp"
#include "workload/record/record.hpp"

#include <filesystem>
#include <span>
#include <vector>

namespace spillway::cli {

/// Every figure that these repeats of one case can fill. `folder` is the record's, for its timeline.
std::vector<plots::Figure> figures_of(std::span<const Record> repeats, const std::filesystem::path& folder);

/// Draws them below `folder`/figures; the pictures come back.
Result<std::vector<std::filesystem::path>> draw(std::span<const Record> repeats, const std::filesystem::path& folder,
                                                std::span<const plots::Format> formats);

}  // namespace spillway::cli
