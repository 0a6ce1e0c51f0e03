#include "workload/kernel/kernel_store.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <optional>

namespace spillway::kernel {
namespace {

namespace fs = std::filesystem;

std::optional<StoredKernel> read_kernel(const fs::path& folder, const std::string& name) {
  std::error_code error;
  StoredKernel kernel{.name = name, .image = folder / "linux", .release = first_line(folder / "release"), .hz = 0, .content = {}, .made_from = {}};
  if (!fs::exists(kernel.image, error)) return std::nullopt;
  std::ifstream config(folder / "config");
  for (std::string line; std::getline(config, line);) {
    constexpr std::string_view key = "CONFIG_HZ=";
    if (line.starts_with(key)) kernel.hz = std::atoi(line.c_str() + key.size());
  }
  std::ifstream made_from(folder / "made_from");
  for (std::string line; std::getline(made_from, line);) {
    if (line.find_first_not_of(' ') != std::string::npos) kernel.made_from.push_back(line);
  }
  kernel.content = fs::canonical(folder, error).filename();
  return kernel;
}

}  // namespace

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

fs::path kernel_folder() {
  if (const char* cache = std::getenv("SPILLWAY_CACHE_DIR"); cache != nullptr && *cache != '\0') return fs::path(cache) / "kernels";
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') return fs::path(cache) / "spillway/kernels";
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr ? home : "/var") / ".cache/spillway/kernels";
}

std::vector<StoredKernel> stored_kernels() {
  std::vector<StoredKernel> kernels;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kernel_folder() / "by-name", error)) {
    if (auto kernel = read_kernel(entry.path(), entry.path().filename())) kernels.push_back(std::move(*kernel));
  }
  std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return kernels;
}

Result<StoredKernel> find_kernel(const std::string& name) {
  const std::string wanted = name.empty() ? "6.1" : name;
  if (auto kernel = read_kernel(kernel_folder() / "by-name" / wanted, wanted)) return std::move(*kernel);
  std::string there;
  for (const auto& kernel : stored_kernels()) there += (there.empty() ? "" : ", ") + kernel.name;
  return fail(ErrorKind::unsupported, fmt::format("No kernel named \"{}\" in {} (there: {}). Build it with: spillway kernel build --name {}{}", wanted,
                                                  kernel_folder().string(), there.empty() ? "none" : there, wanted,
                                                  wanted == "6.1" || wanted == "6.12" ? " --source debian:" + wanted : " --source YOUR_TREE"));
}

Result<fs::path> find_root() {
  const auto root = kernel_folder() / "root";
  std::error_code error;
  if (fs::exists(root / ".complete", error)) return root;
  return fail(ErrorKind::unsupported, fmt::format("No root file system in {}. Make it with: scripts/kernel-root", root.string()));
}

Result<fs::path> find_script(const std::string& name) {
  std::error_code error;
  for (auto folder = fs::read_symlink("/proc/self/exe", error).parent_path(); !folder.empty(); folder = folder.parent_path()) {
    if (const auto candidate = folder / "scripts" / name; fs::exists(candidate, error)) return candidate;
    if (folder == folder.parent_path()) break;
  }
  return fail(ErrorKind::unsupported, fmt::format("scripts/{} is not above this program; kernels are built from Spillway's source tree, with the program of its build folder.", name));
}

Result<fs::path> find_guest_program() {
  std::error_code error;
  if (const char* given = std::getenv("SPILLWAY_GUEST"); given != nullptr && fs::exists(given, error)) return fs::path(given);
  const auto self = fs::read_symlink("/proc/self/exe", error);
  // Installed beside the program; in a build tree, in workload/kernel of it.
  for (auto folder = self.parent_path(); !folder.empty(); folder = folder.parent_path()) {
    for (const auto& candidate : {folder / "spillway-guest", folder / "workload/kernel/spillway-guest"}) {
      if (fs::exists(candidate, error)) return candidate;
    }
    if (folder == folder.parent_path()) break;
  }
  return fail(ErrorKind::unsupported, "The guest program (spillway-guest) is neither beside this program nor in its build tree; set SPILLWAY_GUEST to its path.");
}

}  // namespace spillway::kernel
