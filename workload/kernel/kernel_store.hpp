#pragma once
/// The kernels that `spillway kernel build` (scripts/kernel-build) has made, and the root file system for them. They live
/// in the cache folder, found by name; this only looks.

#include "sim/result.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace spillway::kernel {

struct StoredKernel {
  std::string name;                 ///< as in `--box kernel:NAME`
  std::filesystem::path image;      ///< the executable
  std::string release;              ///< "6.1.174"
  int hz = 0;                       ///< CONFIG_HZ
  std::string content;              ///< hash of source, patches and configuration
  std::vector<std::string> made_from;  ///< "source ...", "patch ...", "edit ...", as given
};

/// The first line of a file, without its end; empty when it cannot be read.
[[nodiscard]] std::string first_line(const std::filesystem::path& path);
/// $SPILLWAY_CACHE_DIR, else $XDG_CACHE_HOME/spillway, else ~/.cache/spillway; kernels/ in it.
[[nodiscard]] std::filesystem::path kernel_folder();
/// Every kernel there, by name.
[[nodiscard]] std::vector<StoredKernel> stored_kernels();
/// `unsupported` with the command that builds it when it is not there. An empty name is the default, "6.1".
Result<StoredKernel> find_kernel(const std::string& name);
/// The guest's root file system; `unsupported` with the command that makes it.
Result<std::filesystem::path> find_root();
/// One of the scripts that make these things ("kernel-build"): of the source tree that the running program was built in.
Result<std::filesystem::path> find_script(const std::string& name);
/// The guest program, beside the running program or where the build puts it; $SPILLWAY_GUEST overrides.
Result<std::filesystem::path> find_guest_program();

}  // namespace spillway::kernel
