#include "workload/extract/options.hpp"

#include <unistd.h>

namespace spillway::extract {

std::string_view name_of(Engine engine) {
  switch (engine) {
    case Engine::tar: return "tar";
    case Engine::bsdtar: return "bsdtar";
    case Engine::libarchive: return "libarchive";
    case Engine::posix: return "posix";
    case Engine::uring: return "uring";
  }
  return "?";
}

std::string_view name_of(DirectMode mode) {
  switch (mode) {
    case DirectMode::off: return "off";
    case DirectMode::on: return "on";
    case DirectMode::automatic: return "auto";
  }
  return "?";
}

std::string_view name_of(Existing existing) {
  switch (existing) {
    case Existing::unlink: return "unlink";
    case Existing::overwrite: return "overwrite";
  }
  return "?";
}

ExtractOptions default_options() {
  ExtractOptions options;
  const bool root = ::geteuid() == 0;
  options.preserve_owner = root;
  options.preserve_mode = root;
  return options;
}

}  // namespace spillway::extract
