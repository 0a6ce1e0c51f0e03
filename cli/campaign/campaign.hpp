#pragma once
/// The one loop that runs cases x repeats on a box; `run`, `simulate`, `verify` and `advise` share it.
///
/// It owns order, resume, repeats, the stop rule, failures and progress; a box owns how one repeat is run, and a store
/// where its result is kept. Given several boxes (simulated ones: they share nothing) it runs as many points at once;
/// results do not depend on how many, nor on the order in which points end.

#include "cli/campaign/order.hpp"
#include "cli/campaign/point.hpp"
#include "cli/campaign/progress.hpp"
#include "cli/campaign/store.hpp"
#include "workload/box.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace spillway::campaign {

/// Asked after each complete repeat of a case, with all of that case's records in the order of their repeats.
/// true: enough, no further repeat of this case.
using StopRule = std::function<bool(const Case&, const std::vector<Record>&)>;

struct Options {
  int repeats = 1;                         ///< of each case; with a stop rule: at most
  Order order = Order::written;
  std::uint64_t seed = 1;
  Shard shard;
  StopRule stop;                           ///< empty: always all repeats. Needs a store that keeps records, and no shards.
  std::optional<Duration> budget;          ///< start no point that would probably end after this
  std::function<bool()> interrupted;       ///< asked before each point; empty: never
  /// One event of the campaign, in a few words; `live` ones overwrite each other. Called from one thread at a time.
  struct Event {
    enum class Kind { started, live, done, kept, failed } kind;
    std::string text;                      ///< which point, and what
    Progress progress;
  };
  std::function<void(const Event&)> event;
};

struct Failure {
  std::string case_folder;
  Point point;
  Error error;
};

struct Outcome {
  Progress progress;
  std::vector<Failure> failures;           ///< the first 20; progress.failed counts all
  bool interrupted = false;                ///< Ctrl-C: what is done is kept, the rest is not
  bool out_of_budget = false;              ///< points are left, the time is not
  std::size_t left = 0;                    ///< points not started
  std::size_t unsupported = 0;             ///< points that this box cannot run at all
};

/// Runs every point of the shard that the store does not hold yet.
///
/// A box's `unsupported` counts as a failure of that case and the campaign goes on; any other failure ends it, because
/// the next point would meet the same full disk. Both are kept in the store, and finished points stay finished.
/// An error is returned when nothing could be decided: a store that holds other parameters, or cannot be written.
Result<Outcome> run_campaign(const CaseSource& cases, std::span<Box* const> boxes, Store& store, const Options& options);

}  // namespace spillway::campaign
