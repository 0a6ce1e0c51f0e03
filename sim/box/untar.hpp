#pragma once
/// The programs of a replay: an untar, and the phases around it. Each runs on threads of its own and charges everything
/// to them.

#include "sim/box/inputs.hpp"
#include "sim/box/outputs.hpp"
#include "sim/cpu/cpu_set.hpp"
#include "sim/engine/engine.hpp"
#include "sim/flusher/flushers.hpp"
#include "sim/memory/dirty_memory.hpp"
#include "sim/xfs/file_system.hpp"

namespace spillway::sim {

class PageCache;
struct ArchiveOnDisk;

/// The parts of the box that programs use.
struct Parts {
  const BoxInputs& in;
  Engine& engine;
  CpuSet& cpus;
  DirtyMemory& memory;
  FileSystem& files;
  Flushers& flushers;
  PageCache* cache = nullptr;          ///< set where the run needs to know what is cached
  ArchiveOnDisk* archive = nullptr;    ///< set where the archive is not in the cache at the start
};

/// One unpacked (or half unpacked) tree: file system objects by catalogue index; empty where not made yet.
struct Tree {
  std::vector<std::int32_t> directories;
  std::vector<Inode*> files;
};

void add(TimeAccount& sum, const TimeAccount& part);

/// One untar, from its start to its exit; fills out.untars[index].
Task<> untar(Parts parts, int index, Tree& tree, BoxOutputs& out);
/// `rm -rf` of one tree.
Task<> remove_tree(Parts parts, Tree& tree, TimeAccount& account);
/// Directories and empty files of one tree.
Task<> make_skeleton(Parts parts, Tree& tree, TimeAccount& account);
/// A tree as an earlier replay left it, all on disk. Not part of any measured phase.
Task<> lay_out(Parts parts, Thread& thread, Tree& tree);

}  // namespace spillway::sim
