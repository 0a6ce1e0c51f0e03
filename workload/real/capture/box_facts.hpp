#pragma once
/// What the texts of a box say, as values. Pure: pasted texts in, values out. What no text says is named in `missing`,
/// with what is assumed instead.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workload/real/capture/box_texts.hpp"

namespace spillway::real {

/// xfs_info. Bytes; a field that the text does not have is empty.
struct XfsGeometry {
  std::optional<int> agcount;
  std::optional<std::int64_t> block_bytes, size_bytes, stripe_unit_bytes, stripe_width_bytes, log_bytes, inode_bytes;
  bool external_log = false;
  std::map<std::string, bool> features;  ///< crc, finobt, rmapbt, reflink, ...
};

/// One device of the stack, the file system's own first.
struct StackDevice {
  std::string name, type;  ///< type as lsblk has it: disk, part, raid6, lvm, loop, ...
  std::optional<std::int64_t> bytes;
  std::optional<bool> rotational;
  std::string scheduler, model;
  std::optional<int> requests;
  std::optional<std::int64_t> min_io_bytes, optimal_io_bytes;
};

struct ArrayFacts {
  std::string name, level;  ///< "md0", "raid6"
  int disks = 0;
  std::int64_t chunk_bytes = 0;
};

struct BoxFacts {
  std::optional<std::string> kernel;       ///< "6.18"; the numbers before the first suffix
  std::optional<std::string> kernel_release;
  std::optional<int> hz, cpus, numa_nodes;
  std::optional<std::int64_t> ram_bytes, dirtyable_bytes;
  std::map<std::string, std::int64_t> vm;  ///< dirty_ratio, dirty_bytes, ... without "vm."
  std::string mount_source, mount_point, mount_type, mount_options;
  std::optional<XfsGeometry> xfs;
  std::vector<StackDevice> stack;
  std::map<std::string, std::string> queue;  ///< nr_requests, scheduler, max_sectors_kb, wbt_lat_usec, ...
  std::map<std::string, std::string> bdi;    ///< min_ratio, max_ratio, strict_limit, ...
  std::optional<ArrayFacts> array;
  std::string tuned_profile;
  /// Sentences: which text is missing or says nothing, and what follows.
  std::vector<std::string> missing;
};

BoxFacts facts_of(const BoxTexts& texts);

/// Parsers of the single texts, for tests.
XfsGeometry parse_xfs_info(std::string_view text);
std::vector<StackDevice> parse_lsblk(const std::string& text);
std::optional<ArrayFacts> parse_mdstat(std::string_view text);

}  // namespace spillway::real
