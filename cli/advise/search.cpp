#include "cli/advise/search.hpp"

#include "analysis/metrics/metric_value.hpp"
#include "cli/advise/memory_store.hpp"
#include "cli/campaign/campaign.hpp"
#include "cli/talk.hpp"
#include "workload/interrupt/interrupt.hpp"
#include "workload/record/notes.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace spillway::cli {

namespace {

/// Within this, two values of an aim are the same: then the next aim, or the smaller change, decides. As the judge's no-effect margin.
constexpr double kSame = 0.02;
/// So many of the best of each kind are combined.
constexpr std::size_t kCombined = 4;

struct Tried {
  Settings settings;
  Record record;
  std::vector<double> values;  ///< of the aims
};

class Search {
 public:
  Search(const SearchQuestion& question, std::vector<Box*> boxes) : question_(question), boxes_(std::move(boxes)) {}

  Result<SearchResult> all() {
    SPILLWAY_ASSIGN(result_.file, load_experiment(question_.file, {.set = question_.set, .sweep = {}}));
    if (result_.file.cases.size() != 1) {
      return fail(ErrorKind::bad_input, fmt::format("{}: it has {} cases, and advise answers for one: pin each swept key with --set KEY=VALUE", question_.file, result_.file.cases.size()));
    }
    const Experiment& e = result_.file.cases.front().experiment;
    if (!e.has_replay) return fail(ErrorKind::bad_input, fmt::format("{}: it has no [replay], and advise knows settings of untars only", question_.file));
    SPILLWAY_ASSIGN(std::vector<Tried> base, run({Settings{}}));
    if (base.empty()) return std::unexpected(base_error_);
    base_ = base.front();
    result_.base = base_.record;
    if (base_.values.front() <= 0) {
      return fail(ErrorKind::bad_input, fmt::format("{}: {} is predicted to be {:.3g} as it is: nothing can be gained", question_.file, question_.aims.front(), base_.values.front()));
    }

    SPILLWAY_ASSIGN(std::vector<Tried> memory, run(memory_candidates(e, base_.record)));
    SPILLWAY_ASSIGN(std::vector<Tried> others, run(other_candidates(e)));
    std::vector<Settings> combined;
    order(memory);
    order(others);
    for (std::size_t i = 0; i < std::min(kCombined, memory.size()); ++i) {
      for (std::size_t k = 0; k < std::min(kCombined, others.size()); ++k) {
        Settings both = memory[i].settings;
        both.insert(both.end(), others[k].settings.begin(), others[k].settings.end());
        combined.push_back(std::move(both));
      }
    }
    SPILLWAY_ASSIGN(std::vector<Tried> pairs, run(combined));
    std::vector<Tried> all = std::move(memory);
    all.insert(all.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
    all.insert(all.end(), std::make_move_iterator(pairs.begin()), std::make_move_iterator(pairs.end()));
    order(all);
    keep_best(all);
    SPILLWAY_TRY(vary());
    return std::move(result_);
  }

 private:
  /// Runs the file with each of these settings on top; those that fail or have no effect are named and left out.
  Result<std::vector<Tried>> run(const std::vector<Settings>& candidates, const Settings& under = {}) {
    std::vector<Case> cases;
    std::vector<Settings> of_case;
    for (const Settings& settings : candidates) {
      std::vector<std::string> set = question_.set;
      for (const Settings* some : {&under, &settings}) {
        for (const auto& [key, value] : *some) set.push_back(key + "=" + value);
      }
      auto file = load_experiment(question_.file, {.set = set, .sweep = {}});
      if (!file) {
        if (settings.empty() && under.empty()) return std::unexpected(file.error());
        drop(settings, file.error().what);
        continue;
      }
      cases.push_back(std::move(file->cases.front()));
      of_case.push_back(settings);
    }
    MemoryStore store;
    campaign::Options options;
    options.interrupted = [] { return interrupted(); };
    options.event = [this](const campaign::Options::Event& event) {
      if (event.kind == campaign::Options::Event::Kind::done) live(fmt::format("{} settings simulated", result_.simulated + event.progress.ended()));
    };
    SPILLWAY_ASSIGN(const campaign::Outcome outcome, campaign::run_campaign(campaign::source_of(cases), boxes_, store, options));
    clear_live();
    if (outcome.interrupted) return fail(ErrorKind::refused, "advise: interrupted; nothing is written");
    std::vector<Tried> out;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Record* record = store.record(i);
      if (record == nullptr) {
        const Error* error = store.error(i);
        if (of_case[i].empty()) base_error_ = error != nullptr ? *error : Error{ErrorKind::internal, 0, "advise: the base could not be simulated"};
        drop(of_case[i], error != nullptr ? error->what : "not run");
        continue;
      }
      ++result_.simulated;
      if (const auto without = without_effect(of_case[i], *record)) {
        drop(of_case[i], *without);
        continue;
      }
      Tried one{of_case[i], *record, {}};
      for (const std::string& aim : question_.aims) {
        SPILLWAY_ASSIGN(const double value, analysis::metric_value(*record, aim));
        one.values.push_back(value);
      }
      out.push_back(std::move(one));
    }
    return out;
  }

  /// A note that one of the settings, or one of its mount options, does nothing in this box.
  static std::optional<std::string> without_effect(const Settings& settings, const Record& record) {
    for (const auto& [key, value] : settings) {
      for (const std::string& note : record.notes) {
        if (note.find(kNoEffectNote) == std::string::npos) continue;
        const std::size_t open = note.find('"');
        const std::string named = note.substr(open + 1, note.find('"', open + 1) - open - 1);
        if (named == key || value.find("\"" + named + "\"") != std::string::npos) return note;
      }
    }
    return std::nullopt;
  }

  void drop(const Settings& settings, const std::string& why) {
    const std::string sentence = fmt::format("{}: {}", analysis::settings_words(settings), why);
    if (seen_.insert(sentence).second && result_.not_judged.size() < 40) result_.not_judged.push_back(sentence);
  }

  [[nodiscard]] double better(double value, const std::string& aim) const { return smaller_is_better(aim) ? value : -value; }

  /// Best first; within kSame of the best of an aim, by the next aim, then by the fewer settings, then by what is durable first.
  void order(std::vector<Tried>& tried) const {
    std::ranges::stable_sort(tried, [&](const Tried& a, const Tried& b) {
      for (std::size_t i = 0; i < question_.aims.size(); ++i) {
        // Classes of 2 % instead of pairwise closeness: the order must be transitive.
        const auto kind = [&](const Tried& one) {
          const double size = std::max(std::abs(one.values[i]), 1e-9);
          return std::llround(better(std::log(size) / std::log1p(kSame), question_.aims[i]));
        };
        if (kind(a) != kind(b)) return kind(a) < kind(b);
      }
      if (a.settings.size() != b.settings.size()) return a.settings.size() < b.settings.size();
      return a.record.durable_s < b.record.durable_s;
    });
  }

  /// A part of these settings does as well: then the rest is padding.
  [[nodiscard]] bool is_padded(const Tried& one, const std::vector<Tried>& tried) const {
    return std::ranges::any_of(tried, [&](const Tried& other) {
      const bool part = other.settings.size() < one.settings.size() && std::ranges::all_of(other.settings, [&](const auto& setting) { return std::ranges::find(one.settings, setting) != one.settings.end(); });
      if (!part) return false;
      const std::string& aim = question_.aims.front();
      return smaller_is_better(aim) ? other.values.front() <= (1 + kSame) * one.values.front() : other.values.front() >= (1 - kSame) * one.values.front();
    });
  }

  /// The best few that gain more than the margin, each of another kind: two that change the same keys are one piece of advice.
  void keep_best(const std::vector<Tried>& tried) {
    std::set<std::string> kinds;
    for (const Tried& one : tried) {
      const double ratio = one.values.front() / base_.values.front();
      const double gain = smaller_is_better(question_.aims.front()) ? 1 - ratio : ratio - 1;
      if (gain <= kSame) break;
      if (is_padded(one, tried)) continue;
      std::string kind;
      for (const auto& [key, value] : one.settings) kind += key + ",";
      if (!kinds.insert(kind).second) continue;
      result_.advice.push_back({.settings = one.settings, .record = one.record, .ratio = ratio, .low = ratio, .high = ratio, .variations = {}});
      if (result_.advice.size() == question_.best) break;
    }
  }

  /// The advice and the base once more under each unknown input.
  Status vary() {
    if (result_.advice.empty()) return {};
    std::vector<Settings> both{Settings{}};
    for (const Advice& advice : result_.advice) both.push_back(advice.settings);
    for (const Unknown& unknown : unknown_inputs(result_.file.cases.front().experiment, result_.base, question_.box.like != nullptr)) {
      const std::size_t before = result_.simulated;
      SPILLWAY_ASSIGN(const std::vector<Tried> tried, run(both, unknown.settings));
      if (result_.simulated - before != both.size() || tried.size() != both.size()) continue;
      const double base = tried.front().values.front();
      if (base <= 0) continue;
      for (std::size_t i = 0; i < result_.advice.size(); ++i) {
        Advice& advice = result_.advice[i];
        const double ratio = tried[i + 1].values.front() / base;
        advice.variations.push_back({unknown.what, ratio});
        advice.low = std::min(advice.low, ratio);
        advice.high = std::max(advice.high, ratio);
      }
    }
    return {};
  }

  const SearchQuestion& question_;
  std::vector<Box*> boxes_;
  SearchResult result_;
  Tried base_;
  Error base_error_;
  std::set<std::string> seen_;
};

}  // namespace

bool smaller_is_better(const std::string& metric) {
  const auto name = parse_metric(metric);
  return !name || name->info == nullptr || name->info->better <= 0;
}

Result<SearchResult> search_settings(const SearchQuestion& question) {
  SPILLWAY_ASSIGN(const auto boxes, make_boxes(question.box));
  std::vector<Box*> pointers;
  for (const auto& box : boxes) pointers.push_back(box.get());
  return Search{question, std::move(pointers)}.all();
}

}  // namespace spillway::cli
