#include "cli/campaign/campaign.hpp"

#include "sim/check.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/core.h>
#include <map>
#include <memory>
#include <mutex>
#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

namespace spillway::campaign {

namespace {

namespace fs = std::filesystem;
using Event = Options::Event;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kFailuresTold = 20;

/// One point on its way: out of the sequence, through a box, into the store.
struct Work {
  Point point;
  Case item;
  /// skipped: nothing came of it, because the campaign is ending. kept: it was done before.
  enum class State { skipped, kept, ran } state = State::skipped;
  Result<Record> result = Record{};
};

std::string label_of(const Case& item, int repeat) { return fmt::format("{} r{}", item.folder, repeat); }

class Campaign {
 public:
  Campaign(const CaseSource& cases, std::span<Box* const> boxes, Store& store, const Options& options)
      : cases_(cases), boxes_(boxes), store_(store), options_(options), began_(Clock::now()) {
    SPILLWAY_CHECK(!boxes.empty(), "a campaign needs a box");
    SPILLWAY_CHECK(!options.stop || options.shard.whole(), "a stop rule sees all repeats of a case, so it cannot run in shards");
    for (Box* box : boxes_) free_boxes_.push(box);
    const std::size_t all = cases.count * static_cast<std::size_t>(std::max(options.repeats, 0));
    const auto index = static_cast<std::size_t>(options.shard.index), count = static_cast<std::size_t>(options.shard.count);
    progress_.total = all / count + (all % count >= index ? 1 : 0);
  }

  Result<Outcome> run() {
    if (options_.stop) run_with_stop_rule();
    else run_points(1, options_.repeats, nullptr);
    if (broken_) return std::unexpected(std::move(*broken_));
    outcome_.progress = progress_now();
    outcome_.left = outcome_.progress.total - std::min(outcome_.progress.total, outcome_.progress.ended());
    return std::move(outcome_);
  }

 private:
  /// Written order: a case's repeats until its rule is content, then the next case. Blocks: a repeat of every case
  /// that is not content yet, again and again. Rules are asked between rounds, so that the answer cannot depend on
  /// which point of a round ended first.
  void run_with_stop_rule() {
    if (options_.order == Order::written) {
      for (std::size_t c = 0; c < cases_.count && !stopping_; ++c) {
        std::vector<bool> open(cases_.count);
        open[c] = true;
        for (int repeat = 1; repeat <= options_.repeats && open[c] && !stopping_; ++repeat) run_round(repeat, open);
        records_of_.erase(c);
      }
      return;
    }
    std::vector<bool> open(cases_.count, true);
    for (int repeat = 1; repeat <= options_.repeats && !stopping_; ++repeat) run_round(repeat, open);
  }

  /// One repeat of every open case; closes those that need no more.
  void run_round(int repeat, std::vector<bool>& open) {
    run_points(repeat, repeat, &open);
    for (std::size_t c = 0; c < open.size() && !stopping_; ++c) {
      if (!open[c]) continue;
      const auto records = records_of_.find(c);
      // Without a record of this repeat the box cannot run the case: there is nothing to repeat.
      bool enough = records == records_of_.end() || records->second.size() < static_cast<std::size_t>(repeat);
      if (!enough) {
        const auto item = cases_.at(c);
        if (!item) return give_up(item.error());
        enough = options_.stop(*item, records->second);
      }
      if (enough) {
        open[c] = false;
        progress_.total -= static_cast<std::size_t>(options_.repeats - repeat);
      }
    }
  }

  /// Runs repeats first..last of the cases (of the open ones, where given).
  void run_points(int first_repeat, int last_repeat, const std::vector<bool>* open) {
    PointSequence sequence(cases_.count, first_repeat, last_repeat, options_.order, options_.seed);
    if (boxes_.size() == 1) {
      // On the caller's own thread: a real box forks and waits, and wants no threads around.
      while (auto work = next(sequence, open)) {
        perform(*work);
        settle(*work);
      }
      return;
    }
    // The pipeline keeps at most two points per box in flight, so memory does not grow with the number of points.
    // As many threads as boxes, also where the library would start fewer (more boxes than cores).
    const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, boxes_.size());
    tbb::task_arena arena(static_cast<int>(boxes_.size()));
    arena.execute([&] {
      tbb::parallel_pipeline(
          2 * boxes_.size(),
          tbb::make_filter<void, std::shared_ptr<Work>>(tbb::filter_mode::serial_in_order,
                                                        [&](tbb::flow_control& control) {
                                                          auto work = next(sequence, open);
                                                          if (!work) control.stop();
                                                          return work;
                                                        }) &
              tbb::make_filter<std::shared_ptr<Work>, std::shared_ptr<Work>>(tbb::filter_mode::parallel,
                                                                             [&](std::shared_ptr<Work> work) {
                                                                               perform(*work);
                                                                               return work;
                                                                             }) &
              tbb::make_filter<std::shared_ptr<Work>, void>(tbb::filter_mode::serial_out_of_order,
                                                            [&](const std::shared_ptr<Work>& work) { settle(*work); }));
    });
  }

  /// The next point to look at, or none: all handed out, Ctrl-C, out of time, or something is broken.
  std::shared_ptr<Work> next(PointSequence& sequence, const std::vector<bool>* open) {
    while (!stopping_) {
      if (options_.interrupted && options_.interrupted()) {
        end_early(&Outcome::interrupted);
        break;
      }
      if (options_.budget && would_end_late()) {
        end_early(&Outcome::out_of_budget);
        break;
      }
      const auto point = sequence.next();
      if (!point) break;
      if (open != nullptr && !(*open)[point->case_index]) continue;
      if (!options_.shard.holds(*point, options_.repeats)) continue;
      auto work = std::make_shared<Work>();
      work->point = *point;
      return work;
    }
    return nullptr;
  }

  bool would_end_late() {
    const Progress progress = progress_now();
    const Duration mean = progress.run > 0 ? progress.elapsed / static_cast<std::int64_t>(progress.run) : Duration{0};
    return progress.elapsed + mean > *options_.budget || progress.elapsed >= *options_.budget;
  }

  /// Runs one point, unless it is done. Called from several threads at once, each with a box of its own.
  void perform(Work& work) {
    auto item = cases_.at(work.point.case_index);
    if (!item) return give_up(item.error());
    work.item = *std::move(item);
    const auto done = store_.done(work.item, work.point);
    if (!done) return give_up(done.error());
    if (*done) {
      if (options_.stop) return load(work);
      work.state = Work::State::kept;
      return;
    }
    if (stopping_) return;  // Something broke while this point waited its turn.
    auto folder = store_.begin(work.item, work.point);
    if (!folder) return give_up(folder.error());
    Box* box = nullptr;
    free_boxes_.pop(box);
    work.result = run_on(*box, work, *folder);
    work.state = Work::State::ran;
    free_boxes_.push(box);
  }

  Result<Record> run_on(Box& box, const Work& work, const fs::path& folder) {
    SPILLWAY_TRY(box.check(work.item));
    const std::string label = label_of(work.item, work.point.repeat);
    RepeatContext context;
    context.repeat = work.point.repeat;
    context.seed = seed_of_repeat(work.item, options_.seed, work.point.repeat);
    context.dir = folder;
    if (options_.event && boxes_.size() == 1) {
      tell(Event::Kind::started, label);
      context.live = [&](const LiveLine& line) { tell(Event::Kind::live, label + ": " + line.text); };
    }
    SPILLWAY_ASSIGN(Record record, box.run(work.item, context));
    record.experiment_title = work.item.experiment.title;
    record.experiment_name = work.item.experiment.name;
    record.experiment = work.item.effective;
    record.case_keys = work.item.keys;
    record.repeat = work.point.repeat;
    record.seed = context.seed;
    record.complete = true;
    return record;
  }

  void load(Work& work) {
    auto record = store_.load(work.item, work.point);
    if (!record) return give_up(record.error());
    SPILLWAY_CHECK(record->has_value(), "a stop rule needs a store that keeps records");
    work.result = **std::move(record);
    work.state = Work::State::kept;
  }

  /// Keeps what came out. Called from one thread at a time.
  void settle(Work& work) {
    if (work.state == Work::State::skipped) return;
    const std::string label = label_of(work.item, work.point.repeat);
    if (work.state == Work::State::kept) {
      remember(work);
      count(&Progress::kept);
      return tell(Event::Kind::kept, label);
    }
    if (work.result) {
      if (auto kept = store_.keep(work.item, work.point, *work.result); !kept) return give_up(kept.error());
      const bool disturbed = !work.result->disturbances.empty();
      remember(work);
      count(&Progress::run);
      return tell(Event::Kind::done, label + (disturbed ? " (disturbed)" : ""));
    }
    const Error& error = work.result.error();
    if (options_.interrupted && options_.interrupted()) {
      // The box was stopped in the middle of it; its folder will be cleared when the campaign is resumed.
      return end_early(&Outcome::interrupted);
    }
    if (auto kept = store_.keep_failure(work.item, work.point, error); !kept) return give_up(kept.error());
    count(&Progress::run);
    count(&Progress::failed);
    if (error.kind == ErrorKind::unsupported) ++outcome_.unsupported;
    else stopping_ = true;
    tell(Event::Kind::failed, label + ": " + error.what);
    // Only settle() touches the list, and it runs on one thread at a time.
    if (outcome_.failures.size() < kFailuresTold) outcome_.failures.push_back({work.item.folder, work.point, error});
  }

  void remember(Work& work) {
    if (options_.stop) records_of_[work.point.case_index].push_back(*std::move(work.result));
  }

  /// Nothing more can be decided: stop and return this error. The first one counts.
  void give_up(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!broken_) broken_ = error;
    stopping_ = true;
  }

  void end_early(bool Outcome::*reason) {
    const std::lock_guard lock(mutex_);
    outcome_.*reason = true;
    stopping_ = true;
  }

  void count(std::size_t Progress::*member) {
    const std::lock_guard lock(mutex_);
    ++(progress_.*member);
  }

  Progress progress_now() {
    const std::lock_guard lock(mutex_);
    Progress progress = progress_;
    progress.elapsed = std::chrono::duration_cast<Duration>(Clock::now() - began_);
    return progress;
  }

  void tell(Event::Kind kind, const std::string& text) {
    if (options_.event) options_.event({kind, text, progress_now()});
  }

  const CaseSource& cases_;
  std::span<Box* const> boxes_;
  Store& store_;
  const Options& options_;
  const Clock::time_point began_;
  tbb::concurrent_bounded_queue<Box*> free_boxes_;
  std::atomic<bool> stopping_{false};
  std::map<std::size_t, std::vector<Record>> records_of_;  ///< only with a stop rule
  std::mutex mutex_;                                       ///< guards progress_, broken_ and why outcome_ ended early
  Progress progress_;
  std::optional<Error> broken_;
  Outcome outcome_;
};

}  // namespace

Result<Outcome> run_campaign(const CaseSource& cases, std::span<Box* const> boxes, Store& store, const Options& options) {
  return Campaign(cases, boxes, store, options).run();
}

}  // namespace spillway::campaign
