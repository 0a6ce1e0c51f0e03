#pragma once
/// The sections of an experiment file: for each typed struct, its keys. THE one table (schema.cpp); parsing, the
/// effective experiment, sweeps and the documentation walk it.

#include "workload/experiment/codec.hpp"

namespace spillway::schema {

const Section<Experiment>& root_section();       ///< keys above the first table
const Section<ArchiveSpec>& archive_section();
const Section<ReplaySpec>& replay_section();
const Section<JobSpec>& job_section();           ///< [[job]]
const Section<PipelineSpec>& pipeline_section();
const Section<HostSpec>& host_section();         ///< [[pipeline.host]]
const Section<StageSpec>& stage_section();       ///< [[pipeline.stage]]
const Section<MemorySpec>& memory_section();
const Section<FilesystemSpec>& filesystem_section();
const Section<DeviceSpecText>& device_section();
const Section<TargetSpec>& target_section();
const Section<BoxSpec>& box_section();

/// [[sweep]] and [[expect]] have values that depend on other keys, so they are read by their own code; their keys are
/// documented by the same kind of table.
struct PlainKey {
  std::string name, kind, default_text, meaning;
};
const std::vector<PlainKey>& sweep_keys();
const std::vector<PlainKey>& expect_keys();

}  // namespace spillway::schema
