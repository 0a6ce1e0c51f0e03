#pragma once
/// A closed loop of requests through threads, queues, locks, a link and a device: the question behind three of the four
/// founding reports. One thread is at 100 % and the machine is idle: would a pool help? Which lock stops it? What does
/// a late wake-up cost?
///
/// `sources` clients keep `in_flight` requests each under way. A request passes the stages in order. A stage has its own
/// threads behind a queue, or is executed inline by whoever carries the request. A stage may hold a lock for part of its
/// work, send the request over a link, or hand it to the device; after a link or a device the request goes on at the
/// next queued stage, or returns to its source, which executes the inline stages that are left.
///
/// Left out on purpose: retries, errors, priorities, requests that split or merge, more than one link or device.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/device/device_spec.hpp"
#include "sim/pipeline/adaptive_mutex.hpp"
#include "sim/pipeline/scheduler.hpp"
#include "sim/result.hpp"
#include "sim/units.hpp"

namespace spillway::sim::pipeline {

struct Host {
  std::string name;
  SchedulerParams scheduler;
};

struct Stage {
  std::string name;
  std::size_t host = 0;                ///< index below `hosts`
  int threads = 1;                     ///< 0: inline in the thread that carries the request
  Duration cpu_per_request{0};
  double cpu_ns_per_byte = 0;
  std::string lock;                    ///< empty: none
  Duration lock_hold{0};               ///< CPU time under the lock, on top of the above
  /// The stage's work is cut into this many wake-ups: a message of 4 MiB arrives as packets, and its thread sleeps
  /// between them. 1: one piece.
  int pieces = 1;
  Duration piece_gap{0};               ///< time between pieces, when there are several
  bool link = false;                   ///< sends the request over the link afterwards
  bool device = false;                 ///< hands the request to the device afterwards
  bool blocking = false;               ///< with `device`: the thread sleeps until the device is done (a synchronous read)
  /// Scale the number of active threads with the queue: one more for each so many waiting requests. 0: all are there.
  int requests_per_thread = 0;
};

struct PipelineInputs {
  std::uint64_t seed = 1;
  bool shuffle_ties = false;
  std::vector<Host> hosts = {Host{"client", {}}};
  std::vector<Stage> stages;
  std::map<std::string, MutexParams> locks;   ///< by name; a lock that is not listed has the defaults
  int sources = 1;
  int in_flight = 1;                          ///< per source
  Bytes request{64 * kKiB};
  bool write = false;
  Duration think{0};                          ///< source's CPU time per request
  std::int64_t requests = 20'000;             ///< in all; 0: until `runtime`
  Duration runtime{0};
  /// CPU times vary uniformly by this share of their mean, so that threads do not march in step. assumed.
  double variation = 0.5;
  BytesPerSec link_rate{0};                   ///< 0: no link
  double bytes_on_link_per_byte = 1.0;
  Duration link_latency = std::chrono::microseconds{20};
  Bytes link_packet{9000};                    ///< for the packet count only
  device::DeviceSpec device;                  ///< used only where a stage says `device`
  bool random_offsets = true;
  /// After the last request: the rate at which what was written becomes durable behind the link (close and fsync).
  /// 0: durable when accepted.
  BytesPerSec durable_rate{0};
  // Costs of handing over.
  Duration queue_push = std::chrono::nanoseconds{300};   ///< per hand-over, taking included. assumed
  Duration wake_cost = std::chrono::nanoseconds{1500};   ///< paid by the one who wakes a sleeping thread. assumed
};

struct ThreadOutput {
  std::string stage;
  std::string name;
  double cpu_pct = 0;                         ///< of one core
  double runqueue_pct = 0;
  Duration cpu{};
  std::int64_t voluntary_switches = 0, involuntary_switches = 0, migrations = 0;
};

struct StageOutput {
  std::string name;
  std::int64_t requests = 0;
  double cpu_pct = 0, cpu_pct_max = 0;
  DelayHistogram wakeup_delay;
  double queue_mean = 0;                      ///< requests waiting, time average
  Duration lock_wait{};
  std::int64_t context_switches = 0;
};

struct LockOutput {
  std::string name;
  double held_pct = 0;
  Duration waited{};
  std::int64_t acquired = 0, contended = 0, slept = 0;
};

struct HostOutput {
  std::string name;
  double cpu_pct = 0;                         ///< of all its cores
  Duration cpu{};
  DelayHistogram wakeup_delay;
};

struct PipelineOutputs {
  Duration elapsed{};                         ///< until the last request was done (apparent)
  Duration durable{};                         ///< until durable
  std::int64_t requests = 0;
  double iops = 0, mb_per_s = 0, durable_mb_per_s = 0;
  DelayHistogram latency;
  std::vector<ThreadOutput> threads;
  std::vector<StageOutput> stages;            ///< in order; the sources come first, named "source"
  std::vector<LockOutput> locks;
  std::vector<HostOutput> hosts;
  double link_busy_pct = 0, device_busy_pct = 0;
  std::int64_t link_bytes = 0, link_packets = 0;
  double cpu_s_per_gb = 0;
  std::uint64_t events = 0;
};

/// Ranges and relations, with a sentence: no stage, an unknown host, a rate of 0 where a link is used.
[[nodiscard]] Status validate(const PipelineInputs& inputs);
/// Runs to the end. `inputs` must be valid.
[[nodiscard]] PipelineOutputs run_pipeline(const PipelineInputs& inputs);

}  // namespace spillway::sim::pipeline
