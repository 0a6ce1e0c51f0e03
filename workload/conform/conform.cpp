#include "workload/conform/conform.hpp"

#include "sim/memory/pause.hpp"
#include "sim/memory/position_ratio.hpp"
#include "sim/memory/rate_limit.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace spillway::conform {

namespace {

using sim::KernelWord;

constexpr std::size_t kKeep = 3;            ///< divergences kept for each check
constexpr double kSamePass_s = 0.001;       ///< an update and its decision are traced microseconds apart
/// Pages below which the controller stops looping on a rate of 0 (wb_stat_error of two CPUs); it does not decide a pause.
constexpr KernelWord kStatError = 32;

KernelWord word(std::optional<std::int64_t> number) { return static_cast<KernelWord>(number.value_or(0)); }

/// Counts one comparison and keeps the first that failed.
void judge(Check& check, bool same, const TraceTable& table, std::size_t row, const auto& sentence) {
  ++check.checked;
  if (same) {
    ++check.exact;
  } else if (check.diverged.size() < kKeep) {
    check.diverged.push_back({table.where(), table.line(row), table.time_s(row), sentence()});
  }
}

struct Sides {
  /// For each row of bdp.csv that updated the rate limit in the same pass, the update's row; and the other way round.
  std::map<std::size_t, std::size_t> update_of, decision_of;
};

/// A pass that updates the rate limit traces the update and then its decision, in the same task.
Sides match(const TraceTable* decisions, const TraceTable* updates) {
  Sides sides;
  if (!decisions || !updates) return sides;
  std::multimap<std::pair<std::int64_t, double>, std::size_t> by_task;
  for (std::size_t i = 0; i < decisions->size(); ++i) by_task.emplace(std::pair{decisions->at(i, "pid").value_or(0), decisions->time_s(i)}, i);
  for (std::size_t u = 0; u < updates->size(); ++u) {
    const std::int64_t pid = updates->at(u, "pid").value_or(0);
    // Both clocks are printed to the microsecond.
    const auto it = by_task.lower_bound({pid, updates->time_s(u) - 2e-6});
    if (it == by_task.end() || it->first.first != pid || it->first.second > updates->time_s(u) + kSamePass_s) continue;
    sides.update_of[it->second] = u;
    sides.decision_of[u] = it->second;
  }
  return sides;
}

void check_decisions(const TraceTable& t, const TraceTable* updates, const Sides& sides, int hz, double pauses_pct, Conformance& out) {
  Check pauses{.name = "pauses and periods", .required_pct = pauses_pct, .why_not_all = {}, .diverged = {}};
  Check rates{.name = "task rates", .why_not_all = {}, .diverged = {}};
  Check ratios{.name = "position ratios", .required_pct = updates ? 95.0 : 90.0,
               .why_not_all = "the bandwidth estimate is read after the ratio was computed: a pass that updates it, or the flusher, may change it between", .diverged = {}};
  Check polls{.name = "next poll sizes", .required_pct = 0, .why_not_all = "a pass below freerun sets another size and is not traced", .diverged = {}};
  const auto ticks = [hz](std::int64_t ms) { return (ms * hz + (ms < 0 ? -500 : 500)) / 1000; };
  std::map<std::int64_t, KernelWord> next_poll;  // by task, after a sleep
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (t.at(i, "exact").value_or(1) != 1 || !t.at(i, "pos_ratio") || !t.at(i, "avg_write_bw")) {
      ++out.decisions_not_exact;
      next_poll.erase(t.at(i, "pid").value_or(0));
      continue;
    }
    const auto pos_ratio = *t.at(i, "pos_ratio");
    const KernelWord limit_rate = word(t.at(i, "dirty_ratelimit")), dirtied = word(t.at(i, "dirtied"));
    const auto task_rate = static_cast<KernelWord>(limit_rate * static_cast<KernelWord>(pos_ratio) >> sim::kRatioShift);
    judge(rates, task_rate == word(t.at(i, "task_ratelimit")), t, i, [&] {
      return fmt::format("the kernel lets the task dirty {} pages/s, ours {}, from dirty_ratelimit {} and pos_ratio {}", word(t.at(i, "task_ratelimit")), task_rate, limit_rate, pos_ratio);
    });

    constexpr std::int64_t kNow = 1LL << 30;
    sim::TaskDirtyState task{.nr_dirtied = dirtied, .nr_dirtied_pause = word(t.at(i, "dirtied_pause")), .dirty_paused_when = kNow - ticks(t.at(i, "think_ms").value_or(0))};
    const auto decision = sim::decide_pause(task,
                                            {.now = kNow, .hz = hz, .pages_dirtied = dirtied, .pos_ratio = pos_ratio, .dirty_ratelimit = limit_rate,
                                             .avg_write_bandwidth = word(t.at(i, "avg_write_bw")), .wb_dirty = word(t.at(i, "wb_dirty"))},
                                            kStatError);
    // A pause too short to be slept is traced as min(pause, 0).
    const std::int64_t pause = decision.sleeps ? decision.pause : std::min<std::int64_t>(decision.pause, 0);
    const std::int64_t real_pause = ticks(t.at(i, "pause_ms").value_or(0)), real_period = ticks(t.at(i, "period_ms").value_or(0));
    judge(pauses, pause == real_pause && decision.period == real_period, t, i, [&] {
      return fmt::format("the kernel decides a pause of {} ticks (period {}), ours {} ({}), from {} pages dirtied, {} pages/s, think {} ticks, wb_dirty {}, avg_write_bw {}",
                         real_pause, real_period, pause, decision.period, dirtied, task_rate, ticks(t.at(i, "think_ms").value_or(0)), word(t.at(i, "wb_dirty")), word(t.at(i, "avg_write_bw")));
    });

    const std::int64_t pid = t.at(i, "pid").value_or(0);
    if (const auto it = next_poll.find(pid); it != next_poll.end())
      judge(polls, it->second == word(t.at(i, "dirtied_pause")), t, i,
            [&] { return fmt::format("the kernel looked again after {} pages, ours would after {}", word(t.at(i, "dirtied_pause")), it->second); });
    if (decision.sleeps) next_poll[pid] = decision.after.nr_dirtied_pause;
    else next_poll.erase(pid);

    sim::PositionInputs position;
    position.thresh = word(t.at(i, "thresh"));
    position.background = word(t.at(i, "bg_thresh"));
    position.dirty_limit = word(t.at(i, "limit"));
    position.dirty = word(t.at(i, "dirty"));
    position.wb_thresh = word(t.at(i, "wb_thresh"));
    position.wb_background = position.thresh ? position.wb_thresh * position.background / position.thresh : 0;
    position.wb_dirty = word(t.at(i, "wb_dirty"));
    const auto update = sides.update_of.find(i);
    // In a pass that updates, the ratio saw the estimate of before, which the update's event shows.
    position.avg_write_bandwidth = update != sides.update_of.end() ? word(updates->at(update->second, "avg_write_bw")) : word(t.at(i, "avg_write_bw"));
    const auto ratio = sim::position_ratio(position);
    judge(ratios, ratio == pos_ratio, t, i, [&] {
      return fmt::format("the kernel's pos_ratio is {}, ours {}, from dirty {}, limit {}, thresh {}, wb_dirty {}, wb_thresh {}, avg_write_bw {}", pos_ratio, ratio, position.dirty,
                         position.dirty_limit, position.thresh, position.wb_dirty, position.wb_thresh, position.avg_write_bandwidth);
    });
  }
  for (Check* check : {&pauses, &rates, &ratios, &polls}) out.checks.push_back(std::move(*check));
}

void check_updates(const TraceTable& t, const TraceTable* decisions, const Sides& sides, Conformance& out) {
  Check balanced_rates{.name = "balanced rates", .why_not_all = {}, .diverged = {}};
  Check task_rates{.name = "rates of the update's pass", .why_not_all = {}, .diverged = {}};
  Check steps{.name = "steps of the rate limit", .why_not_all = {}, .diverged = {}};
  std::optional<sim::RateLimit> state;  // before the first line it is not known
  for (std::size_t i = 0; i < t.size(); ++i) {
    const KernelWord task = word(t.at(i, "task_ratelimit"));
    const KernelWord balanced = sim::balanced_rate(task, word(t.at(i, "avg_write_bw")), word(t.at(i, "dirty_rate")));
    const KernelWord real_balanced = word(t.at(i, "balanced_dirty_ratelimit")), real = word(t.at(i, "dirty_ratelimit"));
    judge(balanced_rates, balanced == real_balanced, t, i, [&] {
      return fmt::format("the kernel's balanced rate is {} pages/s, ours {}, from task_ratelimit {}, avg_write_bw {}, dirty_rate {}", real_balanced, balanced, task,
                         word(t.at(i, "avg_write_bw")), word(t.at(i, "dirty_rate")));
    });
    const auto decision = sides.decision_of.find(i);
    std::optional<bool> below;
    if (decision != sides.decision_of.end()) below = *decisions->at(decision->second, "dirty") < *decisions->at(decision->second, "setpoint");
    if (state && decision != sides.decision_of.end() && decisions->at(decision->second, "exact").value_or(1) == 1) {
      const auto pos_ratio = word(decisions->at(decision->second, "pos_ratio"));
      const KernelWord ours = (state->dirty_ratelimit * pos_ratio >> sim::kRatioShift) + 1;
      judge(task_rates, ours == task, t, i,
            [&] { return fmt::format("the kernel's task_ratelimit is {} pages/s, ours {}, from dirty_ratelimit {} before and pos_ratio {}", task, ours, state->dirty_ratelimit, pos_ratio); });
    }
    if (state) {
      const auto step = [&](bool side) { return sim::step_dirty_ratelimit(state->dirty_ratelimit, state->balanced_dirty_ratelimit, real_balanced, task, side); };
      // Without the decision nobody knows on which side of the setpoint the dirty pages were: either will do.
      const bool same = below ? step(*below) == real : step(true) == real || step(false) == real;
      judge(steps, same, t, i, [&] {
        return fmt::format("the kernel moves dirty_ratelimit from {} to {} pages/s, ours to {}{}, balanced rates {} and {} before", state->dirty_ratelimit, real, step(below.value_or(true)),
                           below ? "" : fmt::format(" or {}", step(false)), real_balanced, state->balanced_dirty_ratelimit);
      });
    }
    state = sim::RateLimit{real, real_balanced};
  }
  for (Check* check : {&balanced_rates, &steps, &task_rates}) out.checks.push_back(std::move(*check));
}

}  // namespace

bool Conformance::met() const {
  std::int64_t checked = 0;
  for (const Check& check : checks) {
    if (!check.met()) return false;
    checked += check.checked;
  }
  return checked > 0;
}

const Divergence* Conformance::first() const {
  const Divergence* first = nullptr;
  for (const Check& check : checks)
    if (!check.diverged.empty() && check.required_pct > 0 && (!first || check.diverged.front().t_s < first->t_s)) first = &check.diverged.front();
  return first;
}

Result<Conformance> conform(const TraceTable* decisions, const TraceTable* updates, int hz, double pauses_pct) {
  Conformance out;
  if (decisions) {
    SPILLWAY_TRY(decisions->require({"t_mono_s", "pid", "limit", "setpoint", "dirty", "wb_dirty", "dirty_ratelimit", "task_ratelimit", "dirtied", "dirtied_pause", "pause_ms",
                                     "period_ms", "think_ms", "thresh", "bg_thresh", "wb_thresh", "avg_write_bw", "pos_ratio"}));
    out.hz = static_cast<int>(decisions->comment("HZ").value_or(hz));
    static const std::set<int> kKnown{100, 250, 300, 1000};
    if (!kKnown.contains(out.hz))
      return fail(ErrorKind::bad_input, fmt::format("{}: HZ is {}; expected a comment \"HZ=250\" (or 100, 300, 1000) or --hz", decisions->where(), out.hz == 0 ? "not said" : fmt::format("{}", out.hz)));
    out.decisions = static_cast<std::int64_t>(decisions->size());
  }
  if (updates) {
    SPILLWAY_TRY(updates->require({"t_mono_s", "pid", "avg_write_bw", "dirty_rate", "dirty_ratelimit", "task_ratelimit", "balanced_dirty_ratelimit"}));
    out.updates = static_cast<std::int64_t>(updates->size());
  }
  const Sides sides = match(decisions, updates);
  if (decisions) check_decisions(*decisions, updates, sides, out.hz, pauses_pct, out);
  if (updates) check_updates(*updates, decisions, sides, out);
  return out;
}

std::string conformance_text(const Conformance& result) {
  std::string text = fmt::format("{} decisions", result.decisions);
  if (result.hz > 0) text += fmt::format(" (HZ {})", result.hz);
  text += fmt::format(", {} updates of the rate limit\n", result.updates);
  if (result.decisions_not_exact > 0)
    text += fmt::format("{} decisions lack the kernel's own variables (exact=0): not judged\n", result.decisions_not_exact);
  text += fmt::format("{:<28} {:>8} {:>8} {:>9} {:>10}\n", "", "exact", "of", "%", "required %");
  for (const Check& c : result.checks) {
    text += fmt::format("{:<28} {:>8} {:>8} ", c.name, c.exact, c.checked);
    text += c.checked > 0 ? fmt::format("{:>9.2f} ", std::floor(static_cast<double>(c.exact) * 1e4 / static_cast<double>(c.checked)) / 100) : fmt::format("{:>9} ", "-");
    text += c.required_pct > 0 ? fmt::format("{:>10.0f}{}\n", c.required_pct, c.met() ? "" : "  missed") : fmt::format("{:>10}\n", "-");
  }
  if (const Divergence* d = result.first()) text += fmt::format("first divergence: {}, line {}, at {:.6f} s: {}\n", d->file, d->line, d->t_s, d->what);
  else if (result.met()) text += "no divergence\n";
  if (result.decisions + result.updates == 0) text += "the trace is empty: nothing was throttled, so nothing was shown\n";
  return text;
}

}  // namespace spillway::conform
