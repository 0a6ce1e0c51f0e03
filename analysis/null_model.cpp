#include "analysis/null_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/quantity.hpp"
#include "sim/units.hpp"

namespace spillway::analysis {
namespace {

constexpr double kTiny = 1e-9;

struct Active {
  std::size_t untar;
  double left_bytes;
  double full_rate;
};

/// (freerun + limit) / 2 with freerun = (background + limit) / 2.
double setpoint(double background, double limit) { return ((background + limit) / 2 + limit) / 2; }

std::optional<double> cap_from(const Record& real, const Timeline* timeline) {
  if (timeline != nullptr) {
    for (const TimelineRow& row : timeline->rows) {
      if (row.thresh_pages && row.background_pages) {
        return setpoint(*row.background_pages, *row.thresh_pages) * static_cast<double>(kPageSize.value());
      }
    }
  }
  const auto limit = value_at(real.experiment, "memory.dirty_bytes");
  const auto background = value_at(real.experiment, "memory.dirty_background_bytes");
  if (!limit) return std::nullopt;
  return setpoint(background.value_or(*limit / 2), *limit);
}

}  // namespace

double NullResult::level_at(double t_s) const {
  if (level.empty()) return 0;
  const auto above = std::ranges::lower_bound(level, t_s, {}, &std::pair<double, double>::first);
  if (above == level.begin()) return level.front().second;
  if (above == level.end()) return level.back().second;
  const auto below = above - 1;
  const double width = above->first - below->first;
  return width <= 0 ? above->second : std::lerp(below->second, above->second, (t_s - below->first) / width);
}

NullResult run_null_model(const NullModel& model) {
  NullResult result;
  result.start_s.assign(model.untars.size(), 0);
  result.elapsed_s.assign(model.untars.size(), 0);
  const double leak = model.device_bytes_per_s;
  double now = 0;
  double level = 0;
  std::size_t next = 0;
  std::vector<Active> active;
  result.level.emplace_back(now, level);
  while (next < model.untars.size() || !active.empty()) {
    while (next < model.untars.size() && active.size() < static_cast<std::size_t>(std::max(1, model.at_once))) {
      const NullUntar& untar = model.untars[next];
      result.start_s[next] = now;
      active.push_back({next++, untar.bytes, untar.bytes / untar.full_speed_s});
    }
    double wanted = 0;
    for (const Active& one : active) wanted += one.full_rate;
    const bool full = level >= model.cap_bytes - kTiny && wanted > leak;
    const double share = full ? leak / wanted : 1.0;
    double step = std::numeric_limits<double>::infinity();
    for (const Active& one : active) step = std::min(step, one.left_bytes / (one.full_rate * share));
    const double rise = full ? 0.0 : wanted - leak;
    if (rise > 0) step = std::min(step, (model.cap_bytes - level) / rise);
    if (rise < 0 && level > 0) step = std::min(step, level / -rise);
    now += step;
    level = std::clamp(level + rise * step, 0.0, model.cap_bytes);
    if (model.cap_bytes - level < kTiny * model.cap_bytes) level = model.cap_bytes;
    result.level.emplace_back(now, level);
    for (Active& one : active) one.left_bytes -= one.full_rate * share * step;
    std::erase_if(active, [&](const Active& one) {
      if (one.left_bytes > kTiny * model.untars[one.untar].bytes) return false;
      result.elapsed_s[one.untar] = now - result.start_s[one.untar];
      return true;
    });
  }
  result.untars_end_s = now;
  result.sync_s = level / leak;
  result.level.emplace_back(result.durable_s(), 0.0);
  return result;
}

Result<NullModel> null_model_for(const Record& real, const Timeline* timeline) {
  NullModel model;
  for (const UntarResult& one : real.untars) {
    const double cpu = one.user_s + one.system_s;
    if (one.bytes <= 0 || cpu <= 0) {
      return fail(ErrorKind::unsupported, "There is no null model: the record lacks bytes or CPU time of an untar.");
    }
    model.untars.push_back({static_cast<double>(one.bytes), cpu});
  }
  if (model.untars.empty()) return fail(ErrorKind::unsupported, "There is no null model: the record has no untars.");
  model.at_once = static_cast<int>(value_at(real.experiment, "replay.at_once").value_or(1));
  model.device_bytes_per_s = value_at(real.experiment, "device.rate").value_or(0);
  if (model.device_bytes_per_s <= 0 && real.durable_s > 0) {
    model.device_bytes_per_s = static_cast<double>(real.device.write_bytes) / real.durable_s;
  }
  if (model.device_bytes_per_s <= 0) {
    return fail(ErrorKind::unsupported, "There is no null model: neither device.rate nor the bytes that the device wrote are known.");
  }
  const auto cap = cap_from(real, timeline);
  if (!cap || *cap <= 0) {
    return fail(ErrorKind::unsupported, "There is no null model: the dirty limit is neither in the timeline nor in the experiment.");
  }
  model.cap_bytes = *cap;
  return model;
}

}  // namespace spillway::analysis
