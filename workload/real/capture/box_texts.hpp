#pragma once
/// The texts that describe a box, by the name under which people paste them: xfs_info, mount, meminfo, lsblk, ... Read
/// from the box that runs here (nothing is changed; an ordinary user may call it) or from a folder of pasted files, so
/// that both go through one parser (box_facts.hpp).

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sim/result.hpp"

namespace spillway::real {

struct BoxTexts {
  std::map<std::string, std::string> by_name;
  /// What could not be read here, each a sentence.
  std::vector<std::string> not_seen;
};

/// A text that a capture uses, and the command whose output it is.
struct TextSource {
  const char* name;
  const char* command;  ///< what a person types to get it
  const char* tells;    ///< what is taken from it
};
/// All of them, most valuable first.
const std::vector<TextSource>& text_sources();

/// Of the box that runs here; `mount_point` names the file system that is asked about (empty: the first XFS, else /).
BoxTexts read_box_texts(const std::string& mount_point);

/// Of a folder: a file's name without an extension is the text's name ("xfs_info.txt", "xfs_info"). An error if the
/// folder cannot be read or holds none of the names.
Result<BoxTexts> read_pasted_texts(const std::filesystem::path& folder);

}  // namespace spillway::real
