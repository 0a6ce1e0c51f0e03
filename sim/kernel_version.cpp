#include "sim/kernel_version.hpp"

#include <array>
#include <charconv>
#include <fmt/format.h>

namespace spillway::sim {

namespace {

// 2.6.x is written as (2, x - 0) with minor = 32 for 2.6.32: the "2.6." line never overlaps a 2.x of another meaning.
constexpr std::array kVersions{
    KernelVersion{.name = "2.6.32", .since_major = 2, .since_minor = 32, .foreground = Foreground::writes_itself,
                  .anonymous_is_dirtyable = true, .rounding_timer_wheel = false, .completion_bandwidth_update = false,
                  .slice_by_bandwidth = false, .requeue_only_on_progress = true, .unwritten_extents = false,
                  .deferred_inactivation = false, .delayed_logging = false, .flush_thread = true, .congestion_backoff = true,
                  .writeback_throttling = false, .one_flush_per_checkpoint = false, .max_sectors_kib = 512,
                  .per_cpu_commits = false, .confidence = Confidence::recollection,
                  .remark = "balance_dirty_pages and the page walk verified in a copy; the rest recollected"},
    KernelVersion{.name = "2.6.39", .since_major = 2, .since_minor = 39, .foreground = Foreground::writes_itself,
                  .anonymous_is_dirtyable = true, .rounding_timer_wheel = false, .completion_bandwidth_update = false,
                  .slice_by_bandwidth = false, .requeue_only_on_progress = true, .unwritten_extents = false,
                  .deferred_inactivation = false, .flush_thread = true, .congestion_backoff = true,
                  .writeback_throttling = false, .one_flush_per_checkpoint = false, .max_sectors_kib = 512,
                  .per_cpu_commits = false, .confidence = Confidence::recollection, .remark = "delayed logging by default"},
    KernelVersion{.name = "3.2", .since_major = 3, .since_minor = 2, .anonymous_is_dirtyable = true,
                  .rounding_timer_wheel = false, .completion_bandwidth_update = false, .requeue_only_on_progress = true,
                  .unwritten_extents = false, .deferred_inactivation = false, .flush_thread = true,
                  .congestion_backoff = true, .writeback_throttling = false, .one_flush_per_checkpoint = false,
                  .max_sectors_kib = 512, .per_cpu_commits = false, .confidence = Confidence::recollection,
                  .remark = "throttling without I/O; slice minimum verified in a 3.10 copy"},
    KernelVersion{.name = "3.4", .since_major = 3, .since_minor = 4, .anonymous_is_dirtyable = true,
                  .rounding_timer_wheel = false, .completion_bandwidth_update = false, .requeue_only_on_progress = true,
                  .unwritten_extents = false, .deferred_inactivation = false, .allocation_worker = true,
                  .flush_thread = true, .congestion_backoff = true, .writeback_throttling = false,
                  .one_flush_per_checkpoint = false, .max_sectors_kib = 512, .per_cpu_commits = false, .confidence = Confidence::recollection,
                  .remark = "allocations handed to a worker: names verified, range recollected"},
    KernelVersion{.name = "3.10", .since_major = 3, .since_minor = 10, .anonymous_is_dirtyable = true,
                  .rounding_timer_wheel = false, .completion_bandwidth_update = false, .requeue_only_on_progress = true,
                  .unwritten_extents = false, .deferred_inactivation = false, .allocation_worker = true,
                  .congestion_backoff = true, .writeback_throttling = false, .one_flush_per_checkpoint = false,
                  .max_sectors_kib = 512, .per_cpu_commits = false, .confidence = Confidence::recollection,
                  .remark = "fs-writeback.c verified in a copy"},
    KernelVersion{.name = "3.14", .since_major = 3, .since_minor = 14, .rounding_timer_wheel = false,
                  .completion_bandwidth_update = false, .requeue_only_on_progress = true, .unwritten_extents = false,
                  .deferred_inactivation = false, .allocation_worker = true, .congestion_backoff = true,
                  .writeback_throttling = false, .one_flush_per_checkpoint = false, .max_sectors_kib = 512,
                  .per_cpu_commits = false, .confidence = Confidence::recollection, .remark = "anonymous memory no longer dirtyable"},
    KernelVersion{.name = "4.2", .since_major = 4, .since_minor = 2, .rounding_timer_wheel = false,
                  .completion_bandwidth_update = false, .requeue_only_on_progress = true, .unwritten_extents = false,
                  .deferred_inactivation = false, .congestion_backoff = true, .writeback_throttling = false,
                  .one_flush_per_checkpoint = false, .per_cpu_commits = false, .confidence = Confidence::recollection,
                  .remark = "cgroup writeback"},
    KernelVersion{.name = "4.18", .since_major = 4, .since_minor = 10, .completion_bandwidth_update = false,
                  .requeue_only_on_progress = true, .unwritten_extents = false, .deferred_inactivation = false,
                  .congestion_backoff = true, .one_flush_per_checkpoint = false, .per_cpu_commits = false, .confidence = Confidence::recollection,
                  .remark = "blk-wbt since 4.10; distribution kernels carry backports"},
    KernelVersion{.name = "5.8", .since_major = 5, .since_minor = 8, .completion_bandwidth_update = false,
                  .requeue_only_on_progress = true, .deferred_inactivation = false, .one_flush_per_checkpoint = false,
                  .per_cpu_commits = false, .confidence = Confidence::recollection, .remark = "writeback allocates unwritten extents"},
    KernelVersion{.name = "5.14", .since_major = 5, .since_minor = 14, .completion_bandwidth_update = false,
                  .requeue_only_on_progress = true, .per_cpu_commits = false, .confidence = Confidence::recollection,
                  .remark = "deferred inactivation, one flush a checkpoint"},
    KernelVersion{.name = "6.1", .since_major = 5, .since_minor = 16, .requeue_only_on_progress = true, .ioend_pages = 4096,
                  .throttle_keeps_slice = false, .throttle_passes_metadata = false,
                  .confidence = Confidence::verified, .remark = "6.1 verified; the lower bound 5.16 is recollected"},
    KernelVersion{.name = "6.12", .since_major = 6, .since_minor = 6, .large_folios = true,
                  .confidence = Confidence::verified, .remark = "6.12 verified; large folios since 6.6 recollected"},
    KernelVersion{.name = "6.18", .since_major = 6, .since_minor = 13, .share_floor = ShareFloor::in_share,
                  .large_folios = true, .max_sectors_kib = 4096, .confidence = Confidence::verified,
                  .remark = "6.18 verified; between 6.12 and 6.18 the change of the floor is not dated"},
};

std::optional<int> leading_number(std::string_view& text) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text.front() == '.') text.remove_prefix(1);
  return n;
}

}  // namespace

std::span<const KernelVersion> kernel_versions() { return kVersions; }

Result<KernelVersion> kernel_version(std::string_view text) {
  std::string_view rest = text;
  const auto major = leading_number(rest);
  auto minor = leading_number(rest);
  if (major == 2 && minor == 6) minor = leading_number(rest);  // 2.6.32: the third number tells versions apart
  if (!major || !minor)
    return fail(ErrorKind::bad_input,
                fmt::format("\"{}\" is no kernel version; write it like \"6.18\" or \"2.6.32\"", text));
  const KernelVersion* found = nullptr;
  for (const auto& row : kVersions)
    if (row.since_major < *major || (row.since_major == *major && row.since_minor <= *minor)) found = &row;
  if (!found)
    return fail(ErrorKind::bad_input, fmt::format("kernel {} is older than 2.6.32, the oldest in the table", text));
  return *found;
}

std::string_view to_string(Confidence confidence) {
  switch (confidence) {
    case Confidence::verified: return "verified";
    case Confidence::documented: return "documented";
    case Confidence::recollection: return "recollection";
  }
  return "?";
}

}  // namespace spillway::sim
