#pragma once
/// One reader, several writers: the reader plans each member (plan.hpp) and hands it to its writer with its data, or
/// with the place of its data in the archive. What is under way is bounded twice: by the chunks that hold data (the
/// reader waits for one to come back) and by the number of members (kMembersUnderWay).

#include <functional>
#include <memory>
#include <vector>

#include "workload/extract/byte_source.hpp"
#include "workload/extract/entry_reader.hpp"
#include "workload/extract/tree_writer.hpp"

namespace spillway::extract {

/// Made in the writer's own thread.
using SinkFactory = std::function<std::unique_ptr<DataSink>()>;

struct PipelineResult {
  bool complete = false;              ///< the archive was read to its end
  std::vector<Tally> tallies;         ///< the reader's, then each writer's
  std::vector<ThreadCpu> threads;     ///< of the writers
};

/// Runs in the calling thread as the reader; `source` (may be null) is what the reader reads.
[[nodiscard]] PipelineResult run_pipeline(EntryReader& reader, ByteSource* source, const Target& target,
                                          const ExtractOptions& options, const SinkFactory& make_sink);

}  // namespace spillway::extract
