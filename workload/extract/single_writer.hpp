#pragma once
/// One thread reads and writes: no queue, no copy, no hand-over.

#include "workload/extract/entry_reader.hpp"
#include "workload/extract/tree_writer.hpp"

namespace spillway::extract {

/// Read every member and write it. False: a limit or unreadable rest ended it early; why is in the tally.
bool extract_with_one_writer(EntryReader& reader, TreeWriter& writer, const ExtractOptions& options, Tally& tally);

}  // namespace spillway::extract
