#include "workload/extract/external.hpp"

namespace spillway::extract {

std::vector<std::string> external_argv(const std::filesystem::path& archive, const std::filesystem::path& target_dir,
                                       const ExtractOptions& options) {
  std::vector<std::string> argv;
  if (options.engine == Engine::tar) {
    argv = {"tar"};
    if (options.existing == Existing::overwrite) argv.emplace_back("--overwrite");
    if (options.concatenated) argv.emplace_back("--ignore-zeros");
    if (!options.preserve_mtime) argv.emplace_back("-m");
    argv.emplace_back(options.preserve_owner ? "--same-owner" : "--no-same-owner");
    argv.emplace_back(options.preserve_mode ? "-p" : "--no-same-permissions");
    // Names like C:x.tar are files here, not hosts.
    argv.emplace_back("--force-local");
  } else if (options.engine == Engine::bsdtar) {
    argv = {"bsdtar"};
    // bsdtar overwrites in place only what it cannot replace; its default for existing files is unlink and create.
    if (options.existing == Existing::unlink) argv.emplace_back("-U");
    if (options.concatenated) argv.insert(argv.end(), {"--options", "read_concatenated_archives"});
    if (!options.preserve_mtime) argv.emplace_back("-m");
    argv.emplace_back(options.preserve_owner ? "--same-owner" : "--no-same-owner");
    argv.emplace_back(options.preserve_mode ? "-p" : "--no-same-permissions");
  } else {
    return {};
  }
  argv.insert(argv.end(), {"-x", "-f", archive.string(), "-C", target_dir.string()});
  return argv;
}

}  // namespace spillway::extract
