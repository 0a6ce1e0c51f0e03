#pragma once
/// Where the time went: per untar, per second, over all; which source each part comes from; and one sentence that names
/// the bottleneck with its evidence. The parts add up to the elapsed time by definition of `unknown`; how large
/// `unknown` is, and whether a part was counted twice (a negative rest), is what the check says.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/account/pause_trace.hpp"
#include "workload/record/record.hpp"

namespace spillway::analysis {

inline constexpr std::size_t kAccountParts = 8;
/// The parts in the order of workload/record/metric.hpp's account_keys(): user, system, runqueue, throttled, device, lock,
/// log, unknown. In seconds.
std::array<double, kAccountParts> account_parts(const Account& account);
Account operator+(const Account& a, const Account& b);

/// One bar of a stacked account.
struct AccountBar {
  std::string label;          ///< "untar 3", "phase sync", "all untars"
  double from_s = 0, to_s = 0;
  Account account;
  double elapsed_s = 0;
  /// (sum of the parts - elapsed) / elapsed, in percent. Should be near 0; beyond 3 % a source lies.
  double residue_pct = 0;
  double unknown_pct = 0;
};
std::vector<AccountBar> account_per_untar(const Record& record);
/// All untars together.
std::optional<AccountBar> account_of_all(const Record& record);
/// Stacked by time, `step_s` wide: seconds of each part that the running untars spent in the step; they add up to the time that untars
/// ran in it. `pauses` say when the throttled part was (pause_trace.hpp): each untar's own total of it is put where the trace has its
/// sleeps, the other parts evenly over the time between them. Several untars at once share a sleep by how throttled each of them is.
/// Without pauses every part of an untar is spread evenly over it, which hides phases inside long untars.
std::vector<AccountBar> account_per_step(const Record& record, double step_s, std::span<const DatedPause> pauses = {});
/// 1, 2 or 5 times a power of ten, so that the untars' time has at most `most` steps.
double nice_step(const Record& record, std::size_t most);

/// Which source each part comes from: as recorded, and per part one line ("throttled: taskstats blkio_delay_total"). Parts
/// of zero without a source are left out.
std::vector<std::string> account_sources(const Record& record);

struct Bottleneck {
  std::string key;       ///< an account key, or "stage NAME" / "lock NAME" for a pipeline
  double share_pct = 0;  ///< of the untars' elapsed time
  std::string sentence;  ///< names it with its evidence
};
/// Empty when the record has neither untars nor jobs nor stages.
std::optional<Bottleneck> find_bottleneck(const Record& record);

/// Both rates, always together: what the writer saw, and what was true.
struct Rates {
  double data_mb = 0;
  double apparent_mb_per_s = 0;  ///< until the last write was accepted
  double durable_mb_per_s = 0;   ///< until the data was on disk
};
std::optional<Rates> find_rates(const Record& record);

}  // namespace spillway::analysis
