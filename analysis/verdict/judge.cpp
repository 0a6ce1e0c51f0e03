#include "analysis/verdict/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/account/account.hpp"
#include "analysis/knee/knee.hpp"
#include "analysis/metrics/metric_value.hpp"
#include "analysis/statistics/blocks.hpp"
#include "analysis/statistics/equivalence.hpp"
#include "analysis/statistics/many_tests.hpp"
#include "analysis/statistics/repeats.hpp"
#include "analysis/statistics/summary.hpp"
#include "analysis/statistics/two_samples.hpp"
#include "analysis/verdict/mechanism.hpp"
#include "analysis/verdict/validity.hpp"
#include "analysis/verdict/words.hpp"

namespace spillway::analysis {
namespace {

/// Fewer repeats than this have an interval too wide to be worth printing (t with one degree of freedom).
constexpr std::size_t kLeastForInterval = 3;

bool in_box(const Expectation& e, const CaseRecords& item) {
  return e.box == ExpectBox::any || (e.box == ExpectBox::simulated) == item.simulated;
}

/// The repeats that count, and what was left out.
struct Sample {
  std::vector<const Record*> repeats;
  std::vector<double> values;
  std::vector<std::string> notes;
};

std::vector<const Record*> undisturbed(const CaseRecords& item, std::vector<std::string>& notes) {
  std::vector<const Record*> quiet;
  for (const Record* record : item.repeats) {
    if (record->disturbances.empty()) quiet.push_back(record);
  }
  const std::size_t disturbed = item.repeats.size() - quiet.size();
  if (disturbed == 0) return item.repeats;
  if (quiet.size() < 2) {
    notes.push_back(fmt::format("{} of {} repeats of {} were disturbed and are used all the same", disturbed, item.repeats.size(), item.name()));
    return item.repeats;
  }
  notes.push_back(fmt::format("{} disturbed repeat{} of {} left out", disturbed, disturbed == 1 ? "" : "s", item.name()));
  return quiet;
}

Result<Sample> sample_of(const CaseRecords& item, const MetricName& metric) {
  Sample sample;
  sample.repeats = undisturbed(item, sample.notes);
  for (const Record* record : sample.repeats) {
    SPILLWAY_ASSIGN(const double value, metric_value(*record, metric));
    sample.values.push_back(value);
  }
  return sample;
}

void leave_out(Sample& sample, std::size_t leading, const std::string& whose) {
  if (leading == 0) return;
  sample.repeats.erase(sample.repeats.begin(), sample.repeats.begin() + static_cast<std::ptrdiff_t>(leading));
  sample.values.erase(sample.values.begin(), sample.values.begin() + static_cast<std::ptrdiff_t>(leading));
  sample.notes.push_back(fmt::format("{} leading repeat{} of {} left out as warm-up", leading, leading == 1 ? "" : "s", whose));
}

std::optional<Interval> printable_interval(std::span<const double> values, double level) {
  if (values.size() < kLeastForInterval) return std::nullopt;
  return mean_interval(values, level);
}

std::string unit_of(const MetricName& metric) {
  return metric.info == nullptr || metric.info->unit == "count" ? std::string{} : std::string{metric.info->unit};
}

/// A ratio of two samples with all that the judgement needs of it.
struct Compared {
  Ratio ratio;
  bool point = false;  ///< no interval: deterministic prediction, or a single repeat
  std::size_t repeats = 0;
};

bool ran_in_blocks(const CaseRecords& item) { return case_value(item, "order") == "blocks"; }

/// Pairs by repeat number; empty unless every repeat has its partner.
bool same_repeats(const Sample& a, const Sample& b) {
  return std::ranges::equal(a.repeats, b.repeats, {}, [](const Record* r) { return r->repeat; }, [](const Record* r) { return r->repeat; });
}

Result<Compared> compare_samples(const Sample& base, const Sample& changed, bool blocks, double level) {
  Compared found;
  found.repeats = std::min(base.values.size(), changed.values.size());
  const bool single = found.repeats < 2;
  const bool no_spread = variance_of(base.values) == 0 && variance_of(changed.values) == 0;
  // What is gone altogether has no logarithm and needs none: every repeat had some, and now none has.
  const bool gone = std::ranges::all_of(base.values, [](double x) { return x > 0; }) && std::ranges::all_of(changed.values, [](double x) { return x == 0; });
  if (single || no_spread || gone) {
    const double a = mean_of(base.values);
    const double b = mean_of(changed.values);
    if (a == 0 && b == 0) {
      found.ratio.ratio = 1;
    } else if (a <= 0 || b < 0) {
      return fail(ErrorKind::bad_input, fmt::format("A ratio of {:.4g} to {:.4g} says nothing.", b, a));
    } else {
      found.ratio.ratio = b / a;
    }
    found.ratio.interval = {found.ratio.ratio, found.ratio.ratio, 0};
    found.point = true;
    return found;
  }
  SPILLWAY_ASSIGN(found.ratio, blocks && same_repeats(base, changed) ? paired_ratio(base.values, changed.values, level)
                                                                     : ratio_of(base.values, changed.values, level));
  return found;
}

class Judge {
 public:
  Judge(std::span<const Expectation> expectations, std::span<const Record> records, const JudgeOptions& options)
      : expectations_(expectations), cases_(group_by_case(records)), options_(options) {}

  Verdict all() {
    for (std::size_t i = 0; i < expectations_.size(); ++i) one(i);
    correct_for_many();
    find_disagreements();
    return std::move(verdict_);
  }

 private:
  void one(std::size_t index) {
    const Expectation& e = expectations_[index];
    const std::size_t before = verdict_.judgements.size();
    const auto metric = parse_metric(e.metric);
    const bool needs_metric = e.op != ExpectOp::knee_at && e.op != ExpectOp::bottleneck;
    for (const CaseRecords& item : cases_) {
      if (!in_box(e, item)) continue;
      if (e.op == ExpectOp::ordered) {
        if (metric && item.keys.size() > 0) ordered(index, *metric, item);
        continue;
      }
      if (!matches(item, e.of)) continue;
      if (e.versus && matches(item, *e.versus) && e.of.empty()) continue;  // `of` empty: every case but the base itself
      Judgement j = begin(index, item);
      if (needs_metric && !metric) {
        j.words = metric.error().what;
      } else {
        switch (e.op) {
          case ExpectOp::knee_at: knee(j, e, item); break;
          case ExpectOp::bottleneck: bottleneck(j, e, item); break;
          default:
            if (e.versus) {
              versus(j, e, *metric, item);
            } else {
              point_value(j, e, *metric, item);
            }
        }
      }
      verdict_.judgements.push_back(std::move(j));
    }
    if (verdict_.judgements.size() == before) nothing_to_judge(index);
  }

  Judgement begin(std::size_t index, const CaseRecords& item) const {
    Judgement j;
    j.expectation = index;
    j.metric = expectations_[index].metric;
    j.claim = claim_words(expectations_[index]);
    j.case_name = item.name();
    j.keys = item.keys;
    j.box = item.box;
    j.simulated = item.simulated;
    j.expected = expectations_[index].value;
    j.repeats = item.repeats.size();
    return j;
  }

  void nothing_to_judge(std::size_t index) {
    const Expectation& e = expectations_[index];
    Judgement j;
    j.expectation = index;
    j.metric = e.metric;
    j.claim = claim_words(e);
    j.words = e.box == ExpectBox::real && std::ranges::all_of(cases_, &CaseRecords::simulated)
                  ? "for real boxes only, and no real record is here"
              : e.box == ExpectBox::simulated && std::ranges::none_of(cases_, &CaseRecords::simulated)
                  ? "for the simulated box only, and no simulated record is here"
              : e.of.empty() ? "no complete record is here"
                             : fmt::format("no complete record of a case with {} is here", selector_words(e.of));
    verdict_.judgements.push_back(std::move(j));
  }

  /// Refuses where the verdict would mean nothing. `other`: the case compared with, if any.
  static bool refuse(Judgement& j, const Expectation& e, const CaseRecords& item, const CaseRecords* other) {
    std::vector<std::pair<std::string, std::string>> compared;
    if (other != nullptr) {
      for (const auto& [key, value] : item.keys) {
        const std::string base = case_value(*other, key).value_or("");
        if (!same_value(base, value)) compared.emplace_back(key, value + " " + base);
      }
    }
    auto reason = why_not_valid(topics_of(e, compared), *item.repeats.front());
    if (!reason) reason = why_not_modelled(compared, *item.repeats.front());
    if (!reason && other != nullptr) reason = why_not_modelled(compared, *other->repeats.front());
    if (!reason) return false;
    j.outcome = Outcome::refused;
    j.words = *reason;
    return true;
  }

  void point_value(Judgement& j, const Expectation& e, const MetricName& metric, const CaseRecords& item) const {
    if (refuse(j, e, item, nullptr)) return;
    auto sample = sample_of(item, metric);
    if (!sample) {
      j.words = sample.error().what;
      return;
    }
    if (!item.simulated) leave_out(*sample, warm_up(sample->values), item.name());
    j.notes = sample->notes;
    j.repeats = sample->values.size();
    j.observed = median_of(sample->values);
    j.interval = printable_interval(sample->values, options_.level);
    const std::string unit = unit_of(metric);
    if (!e.value) {
      j.words = "the expectation has no value to compare with";
      return;
    }
    decide_bound(j, e, *j.observed);
    j.words = fmt::format("{} {}", verb_of(j.simulated), value_words(*j.observed, j.interval, unit));
    if (e.op == ExpectOp::value && *e.value != 0) {
      j.words += fmt::format(", {:+.1f} % off {}", 100 * (*j.observed / *e.value - 1), number_words(*e.value));
    }
    if (j.outcome == Outcome::undecided) undecided_bound(j, e);
  }

  /// value, at_most, at_least against a number: by the centre; a bound inside the interval leaves it undecided.
  static void decide_bound(Judgement& j, const Expectation& e, double centre) {
    const double bound = *e.value;
    const auto inside = [&](double x) {
      switch (e.op) {
        case ExpectOp::at_most: return x <= bound;
        case ExpectOp::at_least: return x >= bound;
        default: {
          // Without a tolerance a published number is met within 10 %: assumed, and better than never.
          const double slack = e.tolerance_abs ? *e.tolerance_abs : e.tolerance.value_or(0.1) * std::abs(bound);
          return std::abs(x - bound) <= slack;
        }
      }
    };
    j.outcome = inside(centre) ? Outcome::met : Outcome::not_met;
    if (!j.interval || e.op == ExpectOp::value) return;
    if (inside(j.interval->low) != inside(j.interval->high)) j.outcome = Outcome::undecided;
  }

  static void undecided_bound(Judgement& j, const Expectation& e) {
    const double distance = std::abs(*j.observed - *e.value);
    const double shrink = distance > 0 ? j.interval->half_width() / distance : 1e9;
    const double needed = std::ceil(static_cast<double>(j.repeats) * shrink * shrink);
    if (needed <= 1000) {
      j.more_repeats = static_cast<std::size_t>(needed) - j.repeats;
      j.words = fmt::format("undecided: {} and the bound lies in the interval, {} more repeats", j.words, std::max<std::size_t>(1, *j.more_repeats));
    } else {
      j.words = fmt::format("undecided: {} and the bound lies in the interval", j.words);
    }
  }

  /// The case that `versus` means for `item`: the same box, the same other swept keys.
  const CaseRecords* base_of(const Expectation& e, const CaseRecords& item) const {
    std::vector<std::string> free;
    for (const auto& [key, value] : *e.versus) free.push_back(key);
    for (const auto& [key, value] : e.of) free.push_back(key);
    const CaseRecords* found = nullptr;
    for (const CaseRecords& other : cases_) {
      if (&other == &item || !matches(other, *e.versus) || !same_but_for(item, other, free)) continue;
      // Zipped sweeps leave several; the first written one is meant.
      if (found == nullptr) found = &other;
    }
    return found;
  }

  void versus(Judgement& j, const Expectation& e, const MetricName& metric, const CaseRecords& item) {
    const CaseRecords* base = base_of(e, item);
    if (base == nullptr) {
      j.words = fmt::format("no complete record of the case {} to compare with is here", selector_words(*e.versus));
      return;
    }
    if (refuse(j, e, item, base)) return;
    const auto compared = compare(j, metric, *base, item);
    if (!compared) return;
    j.mechanism = mechanism_words(*base, item);
    if (e.op == ExpectOp::value || e.op == ExpectOp::at_most || e.op == ExpectOp::at_least) {
      if (!e.value) {
        j.words = "the expectation has no value to compare with";
        return;
      }
      decide_bound(j, e, compared->ratio.ratio);
      j.words = fmt::format("{} a ratio of {}", verb_of(j.simulated), value_words(compared->ratio.ratio, j.interval, ""));
      if (j.outcome == Outcome::undecided) undecided_bound(j, e);
      return;
    }
    decide_claim(j, e, *compared);
  }

  /// The ratio of `item` to `base`, with observed, interval, notes and repeats filled in.
  std::optional<Compared> compare(Judgement& j, const MetricName& metric, const CaseRecords& base, const CaseRecords& item) const {
    auto before = sample_of(base, metric);
    auto after = sample_of(item, metric);
    if (!before || !after) {
      j.words = !before ? before.error().what : after.error().what;
      return std::nullopt;
    }
    if (!item.simulated) {
      const std::size_t leading = std::max(warm_up(before->values), warm_up(after->values));
      leave_out(*before, std::min(leading, before->values.size() - 1), base.name());
      leave_out(*after, std::min(leading, after->values.size() - 1), item.name());
    }
    j.notes.insert(j.notes.end(), before->notes.begin(), before->notes.end());
    j.notes.insert(j.notes.end(), after->notes.begin(), after->notes.end());
    const auto compared = compare_samples(*before, *after, ran_in_blocks(item) && ran_in_blocks(base), options_.level);
    if (!compared) {
      j.words = compared.error().what;
      return std::nullopt;
    }
    j.repeats = compared->repeats;
    j.observed = compared->ratio.ratio;
    if (!compared->point) {
      j.interval = compared->ratio.interval;
      if (!j.simulated) j.p = compared->ratio.p;
    }
    return *compared;
  }

  /// up, down, unchanged.
  void decide_claim(Judgement& j, const Expectation& e, const Compared& compared) {
    const double ratio = compared.ratio.ratio;
    const std::string verb{verb_of(j.simulated)};
    const double margin = e.op == ExpectOp::unchanged ? e.margin.value_or(0.05) : options_.no_effect_margin;
    if (compared.point && !j.simulated && compared.repeats < 2) {
      j.outcome = Outcome::undecided;
      j.more_repeats = 4;
      j.words = fmt::format("undecided: one repeat has no interval ({}), 4 more repeats", change_words(ratio, std::nullopt));
      return;
    }
    if (compared.point) {
      const double floor = e.op == ExpectOp::unchanged ? margin : options_.prediction_floor;
      j.direction = std::abs(std::log(ratio)) <= std::log1p(floor) ? Direction::unchanged : ratio > 1 ? Direction::up : Direction::down;
      j.words = j.direction == Direction::unchanged ? fmt::format("{} unchanged within {} %", verb, number_words(100 * floor))
                                                    : fmt::format("{} {}", verb, change_words(ratio, std::nullopt));
    } else {
      const bool within = equivalence_of(compared.ratio, margin, options_.level).unchanged;
      const bool up = compared.ratio.interval.low > 1.0;
      const bool down = compared.ratio.interval.high < 1.0;
      if (e.op == ExpectOp::unchanged) {
        const double edge = std::log1p(margin);
        const bool outside = std::log(compared.ratio.interval.low) > edge || std::log(compared.ratio.interval.high) < -edge;
        j.direction = within ? Direction::unchanged : outside ? (ratio > 1 ? Direction::up : Direction::down) : Direction::none;
      } else {
        // A model is not better than its floor, however narrow the interval over what it does not know.
        const double floor = std::log1p(options_.prediction_floor) + 1e-9;
        const bool hair = j.simulated && std::abs(std::log(compared.ratio.interval.low)) <= floor && std::abs(std::log(compared.ratio.interval.high)) <= floor;
        j.direction = hair ? Direction::unchanged : up ? Direction::up : down ? Direction::down : within ? Direction::unchanged : Direction::none;
      }
      if (j.direction == Direction::unchanged) {
        j.words = fmt::format("{} unchanged within {} %", verb, number_words(100 * margin));
      } else if (j.direction == Direction::none) {
        too_wide(j, e, compared, margin);
        return;
      } else {
        j.words = fmt::format("{} {}", verb, change_words(ratio, j.interval));
      }
    }
    const Direction claimed = e.op == ExpectOp::up ? Direction::up : e.op == ExpectOp::down ? Direction::down : Direction::unchanged;
    j.outcome = j.direction == claimed ? Outcome::met : Outcome::not_met;
  }

  void too_wide(Judgement& j, const Expectation& e, const Compared& compared, double margin) const {
    j.outcome = Outcome::undecided;
    // "Unchanged" is decided by the margin only; a difference inside the margin does not help it.
    j.more_repeats =
        more_repeats_to_decide(compared.ratio, compared.repeats, margin, options_.level, e.op != ExpectOp::unchanged);
    const std::string found = change_words(compared.ratio.ratio, j.interval);
    j.words = j.more_repeats ? fmt::format("undecided: interval too wide ({} {}), {} more repeats", verb_of(j.simulated), found, *j.more_repeats)
                             : fmt::format("undecided: interval too wide ({} {}), and no number of repeats below 1000 would do", verb_of(j.simulated), found);
  }

  /// One judgement per group of cases that differ only in the ordered key; made at the group's first case.
  void ordered(std::size_t index, const MetricName& metric, const CaseRecords& item) {
    const Expectation& e = expectations_[index];
    if (!matches(item, e.of)) return;
    const auto value = case_value(item, e.order_key);
    if (!value || e.order.empty() || !same_value(*value, e.order.front())) return;
    Judgement j = begin(index, item);
    std::vector<std::string> found;
    j.outcome = Outcome::met;
    const CaseRecords* before = &item;
    for (std::size_t i = 1; i < e.order.size(); ++i) {
      const auto next = std::ranges::find_if(cases_, [&](const CaseRecords& other) {
        const auto v = case_value(other, e.order_key);
        return v && same_value(*v, e.order[i]) && same_but_for(item, other, {e.order_key});
      });
      if (next == cases_.end()) {
        j.outcome = Outcome::missing;
        j.words = fmt::format("no complete record of {}={} is here", e.order_key, e.order[i]);
        break;
      }
      if (refuse(j, e, *next, before)) break;
      Judgement step = begin(index, *next);
      const auto compared = compare(step, metric, *before, *next);
      if (!compared) {
        j.outcome = Outcome::missing;
        j.words = step.words;
        break;
      }
      Expectation up = e;
      up.op = ExpectOp::up;
      decide_claim(step, up, *compared);
      j.repeats = std::min(j.repeats, step.repeats);
      if (step.more_repeats) j.more_repeats = std::max(j.more_repeats.value_or(0), *step.more_repeats);
      found.push_back(fmt::format("{} to {}: {}", e.order[i - 1], e.order[i], step.words));
      if (step.outcome == Outcome::not_met) j.outcome = Outcome::not_met;
      if (step.outcome == Outcome::undecided && j.outcome == Outcome::met) j.outcome = Outcome::undecided;
      before = &*next;
    }
    if (j.outcome == Outcome::met || j.outcome == Outcome::not_met || j.outcome == Outcome::undecided) {
      j.direction = j.outcome == Outcome::met ? Direction::up : Direction::none;
      for (const std::string& one : found) j.words += (j.words.empty() ? "" : "; ") + one;
    }
    verdict_.judgements.push_back(std::move(j));
  }

  void knee(Judgement& j, const Expectation& e, const CaseRecords& item) const {
    if (refuse(j, e, item, nullptr)) return;
    const std::vector<const Record*> repeats = undisturbed(item, j.notes);
    std::vector<std::vector<double>> series;
    for (const Record* record : repeats) series.push_back(untar_rates(*record));
    j.repeats = repeats.size();
    if (series.front().size() < kKneeLeast) {
      j.words = fmt::format("{} untars are too few to show a knee", series.front().size());
      return;
    }
    const auto found = find_knee(series, {.level = options_.level, .seed = options_.seed});
    const std::string verb{verb_of(j.simulated)};
    const bool none_expected = !e.value || *e.value == 0;
    if (!found) {
      j.outcome = none_expected ? Outcome::met : Outcome::not_met;
      j.words = verb + " no knee";
      return;
    }
    j.observed = static_cast<double>(found->first().at + 1);
    j.interval = Interval{found->interval.low + 1, found->interval.high + 1, found->interval.level};
    j.words = fmt::format("{} a knee at untar {:.0f} ({:.0f} to {:.0f}), throughput down {:.1f}-fold there and {:.1f}-fold in all", verb,
                          *j.observed, j.interval->low, j.interval->high, found->first().ratio, found->before / found->after);
    if (none_expected) {
      j.outcome = Outcome::not_met;
      return;
    }
    const double slack = e.tolerance_abs ? *e.tolerance_abs : e.tolerance.value_or(0) * *e.value;
    const bool at = std::abs(*j.observed - *e.value) <= slack + 1e-9;
    const bool possible = j.interval->low - slack <= *e.value && *e.value <= j.interval->high + slack;
    j.outcome = at ? Outcome::met : possible ? Outcome::undecided : Outcome::not_met;
  }

  void bottleneck(Judgement& j, const Expectation& e, const CaseRecords& item) const {
    const std::vector<const Record*> repeats = undisturbed(item, j.notes);
    std::map<std::string, std::size_t> votes;
    std::optional<Bottleneck> last;
    for (const Record* record : repeats) {
      const auto found = find_bottleneck(*record);
      if (!found) continue;
      ++votes[found->key];
      if (found->key == e.text.value_or("") || !last) last = found;
    }
    j.repeats = repeats.size();
    if (!last) {
      j.words = "the record has no account of time";
      return;
    }
    const auto most = std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
    const std::string verb{verb_of(j.simulated)};
    if (2 * most->second <= repeats.size()) {
      j.outcome = Outcome::undecided;
      j.words = fmt::format("undecided: the repeats name {} different bottlenecks", votes.size());
      return;
    }
    // A wanted "fuse" matches "stage fuse" too.
    const std::string wanted = e.text.value_or("");
    j.outcome = most->first == wanted || most->first == "stage " + wanted ? Outcome::met : Outcome::not_met;
    j.words = fmt::format("{} {} as the bottleneck ({:.0f} % of the time)", verb, most->first, last->share_pct);
    if (last->key != most->first) j.words = fmt::format("{} {} as the bottleneck", verb, most->first);
  }

  /// Holm over all measured comparisons of this verdict: a map of many claims must not hold a false one by chance alone.
  void correct_for_many() {
    std::vector<std::size_t> family;
    std::vector<double> p;
    for (std::size_t i = 0; i < verdict_.judgements.size(); ++i) {
      const Judgement& j = verdict_.judgements[i];
      const ExpectOp op = expectations_[j.expectation].op;
      if (!j.p || (op != ExpectOp::up && op != ExpectOp::down)) continue;
      family.push_back(i);
      p.push_back(*j.p);
    }
    const std::vector<double> adjusted = holm(p);
    for (std::size_t k = 0; k < family.size(); ++k) {
      Judgement& j = verdict_.judgements[family[k]];
      j.p = adjusted[k];
      const bool directed = j.direction == Direction::up || j.direction == Direction::down;
      if (!directed || adjusted[k] <= 1.0 - options_.level) continue;
      j.outcome = Outcome::undecided;
      j.direction = Direction::none;
      j.words = fmt::format("undecided: {}, but not surely enough as one of {} comparisons (p = {:.2g} after correction)", j.words,
                            family.size(), adjusted[k]);
    }
  }

  void find_disagreements() {
    const auto decided = [](const Judgement& j) { return j.outcome == Outcome::met || j.outcome == Outcome::not_met; };
    for (std::size_t i = 0; i < verdict_.judgements.size(); ++i) {
      for (std::size_t k = i + 1; k < verdict_.judgements.size(); ++k) {
        const Judgement& a = verdict_.judgements[i];
        const Judgement& b = verdict_.judgements[k];
        if (a.expectation != b.expectation || a.case_name != b.case_name || a.box == b.box) continue;
        if (!decided(a) || !decided(b) || a.outcome == b.outcome) continue;
        verdict_.disagreements.push_back(fmt::format("boxes disagree: {} ({}): {} {}, {} {}", a.claim, a.case_name, a.box, a.words, b.box, b.words));
      }
    }
  }

  std::span<const Expectation> expectations_;
  std::vector<CaseRecords> cases_;
  JudgeOptions options_;
  Verdict verdict_;
};

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::met: return "met";
    case Outcome::not_met: return "not met";
    case Outcome::undecided: return "undecided";
    case Outcome::refused: return "refused";
    case Outcome::missing: return "missing";
  }
  return "";
}

std::size_t Verdict::count(Outcome outcome) const {
  return static_cast<std::size_t>(std::ranges::count(judgements, outcome, &Judgement::outcome));
}

Verdict judge(std::span<const Expectation> expectations, std::span<const Record> records, const JudgeOptions& options) {
  return Judge{expectations, records, options}.all();
}

std::string_view map_word(const Judgement& judgement) {
  if (judgement.outcome == Outcome::met) return "true";
  if (judgement.outcome == Outcome::not_met) return judgement.direction == Direction::unchanged ? "no effect" : "false";
  return "not decidable here";
}

}  // namespace spillway::analysis
