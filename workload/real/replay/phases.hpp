#pragma once
/// The timed phases around the untars, as the founding mail has them. Each runs in a process of its own.

#include <string>
#include <vector>

#include "workload/archive/catalogue.hpp"

namespace spillway::real {

/// `rm -rf` of every folder at once, one process each, then wait for all. Exit code 0 or 1.
int remove_trees(const std::vector<std::string>& folders);
/// The directories and empty files of the archive in each folder, one folder after another.
int make_skeletons(const std::vector<std::string>& folders, const Catalogue& catalogue);
/// syncfs; the exit code is its errno.
int sync_folder(const std::string& folder);

}  // namespace spillway::real
