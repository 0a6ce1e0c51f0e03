#include "workload/simulated/box.hpp"

#include "sim/box/box.hpp"
#include "sim/random.hpp"
#include "workload/archive/catalogue.hpp"
#include "workload/experiment/quantity.hpp"
#include "workload/record/file_io.hpp"
#include "workload/record/record_io.hpp"
#include "workload/simulated/pipeline_case.hpp"
#include "workload/simulated/to_record.hpp"
#include "workload/simulated/translate.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/core.h>
#include <fmt/format.h>
#include <map>

namespace spillway::simulated {

namespace {

class SimulatedBox : public Box {
 public:
  explicit SimulatedBox(SimulatedBoxOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::string name() const override { return "simulated"; }

  Status check(const Case& item) override { return can_simulate(item.experiment); }

  Result<std::vector<std::string>> plan(const Case& item) override {
    if (const auto& p = item.experiment.pipeline)
      return std::vector<std::string>{fmt::format("Simulates a pipeline of {} sources and {} stages; nothing on this machine is changed.", p->sources, p->stages.size())};
    SPILLWAY_ASSIGN(const auto catalogue, catalogue_for(item.experiment));
    SPILLWAY_ASSIGN(const Translation t, translate(item, catalogue, options_.like, item.experiment.seed));
    if (t.inputs.replay.untars == 0)
      return std::vector<std::string>{
          fmt::format("Simulates {} jobs on {}, kernel {}; nothing on this machine is changed.", t.inputs.jobs.size(), t.device_text, t.profile.kernel),
          fmt::format("The box is the profile \"{}\": {}.", t.profile.name, t.profile.meaning)};
    return std::vector<std::string>{
        fmt::format("Simulates {} untars of {} files, {}, on {}, kernel {}; nothing on this machine is changed.", t.inputs.replay.untars, catalogue->files.size(),
                    size_text(catalogue->bytes()), t.device_text, t.profile.kernel),
        fmt::format("The box is the profile \"{}\": {}.", t.profile.name, t.profile.meaning)};
  }

  Result<Record> run(const Case& item, const RepeatContext& context) override {
    if (item.experiment.pipeline) return run_pipeline_case(item, context);
    SPILLWAY_ASSIGN(const auto catalogue, catalogue_for(item.experiment));
    SPILLWAY_ASSIGN(Translation translation, translate(item, catalogue, options_.like, context.seed));
    if (context.repeat > 1 && options_.range_over_unknown_state) draw_unknown_state(translation, context.seed);
    if (context.live) context.live({fmt::format("simulating {} untars and {} jobs", translation.inputs.replay.untars, translation.inputs.jobs.size())});
    SPILLWAY_ASSIGN(const sim::BoxOutputs outputs, sim::simulate(translation.inputs));
    Record record = to_record(item, context, translation, outputs);
    if (options_.range_over_unknown_state && !translation.unknown_state.empty()) SPILLWAY_TRY(add_range(translation, record));
    if (!context.dir.empty()) {
      SPILLWAY_TRY(write_timeline(to_timeline(outputs), context.dir / "timeline.csv"));
      if (!outputs.throttle_trace.empty()) {
        SPILLWAY_TRY(write_file_atomically(context.dir / "bdp.csv", throttle_csv(outputs)));
        record.files.emplace_back("bdp.csv");
      }
    }
    return record;
  }

 private:
  /// The catalogue of the last archive is kept: sweeps mostly vary something else.
  Result<std::shared_ptr<const sim::FileCatalogue>> catalogue_for(const Experiment& e) {
    if (!e.has_replay) return std::make_shared<const sim::FileCatalogue>();
    const std::string key = e.folder + "|" + nlohmann::ordered_json(e.archive.path).dump() +
                            fmt::format("|{}|{}|{}|{}|{}|{}|{}|{}|{}", e.archive.decompress, e.archive.seed, e.archive.files, e.archive.bytes.value(), e.archive.sizes, e.archive.sigma,
                                        e.archive.min.value(), e.archive.max.value(), e.archive.files_per_directory) + histogram_text(e.archive);
    if (catalogue_ == nullptr || key != catalogue_key_) {
      SPILLWAY_ASSIGN(const Catalogue catalogue, catalogue_of(e.archive, e.folder));
      catalogue_ = file_catalogue(catalogue);
      catalogue_key_ = key;
      if (catalogue_->files.empty()) return fail(ErrorKind::bad_input, "the archive has no files, so there is nothing to simulate");
    }
    return catalogue_;
  }
  static std::string histogram_text(const ArchiveSpec& archive) {
    std::string out;
    for (const auto& [size, weight] : archive.histogram) out += fmt::format("|{}:{}", size.value(), weight);
    return out;
  }

  /// Repeats after the first begin in a state drawn from the ranges of what is not known, so that their spread, and an interval over
  /// them, says how much the prediction depends on it. All cases of a repeat draw the same (they share its seed).
  static void draw_unknown_state(Translation& translation, std::uint64_t seed) {
    if (translation.unknown_state.empty()) return;
    sim::Random random{seed, "unknown state"};
    sim::BoxInputs& in = translation.inputs;
    // Every number is drawn, used or not: what one experiment leaves open moves nothing in another.
    const double share = random.uniform(), total = std::exp2(random.uniform(std::log2(5'000.0), std::log2(80'000.0)));
    const auto halving = std::chrono::milliseconds{100 + static_cast<std::int64_t>(random.below(2'800))};
    const double dirtyable = random.uniform(0.75, 0.96);
    const auto unknown = [&](std::string_view what) { return std::find(translation.unknown_state.begin(), translation.unknown_state.end(), what) != translation.unknown_state.end(); };
    if (unknown("completion share")) {
      in.before.global_completions = in.before.avg_write_bandwidth.value() / 4096 * 9 / 2;
      in.before.device_completions = static_cast<std::int64_t>(share * static_cast<double>(in.before.global_completions));
      in.before.next_halving = halving;
    }
    if (unknown(kUnknownCompletions)) {
      in.before.global_completions = static_cast<std::int64_t>(total);
      in.before.next_halving = halving;
    }
    if (unknown("phase of the completion counters' halving")) in.before.next_halving = halving;
    if (unknown("dirtyable memory")) in.memory.dirtyable = Bytes{static_cast<std::int64_t>(dirtyable * static_cast<double>(in.memory.ram.value()))};
    translation.notes.push_back(fmt::format("this repeat begins in a state drawn from what is not known ({})", fmt::join(translation.unknown_state, ", ")));
    translation.unknown_state.clear();  // no range over what has been drawn
  }

  /// Simulates other states that are as likely as the one taken, and notes how far each untar moves.
  static Status add_range(const Translation& translation, Record& record) {
    std::vector<sim::BoxInputs> variants;
    const auto unknown = [&](std::string_view what) { return std::find(translation.unknown_state.begin(), translation.unknown_state.end(), what) != translation.unknown_state.end(); };
    const sim::BoxInputs& base = translation.inputs;
    if (unknown("completion share")) {
      // The device may have done all of the recent writing, or none of it while another one did.
      const std::int64_t total = base.before.avg_write_bandwidth.value() / 4096 * 9 / 2;
      for (const double share : {0.0, 0.5, 1.0}) {
        sim::BoxInputs in = base;
        in.before.global_completions = total;
        in.before.device_completions = static_cast<std::int64_t>(share * static_cast<double>(total));
        in.before.next_halving = std::chrono::milliseconds{1500};
        variants.push_back(in);
      }
    }
    if (unknown(kUnknownCompletions)) {
      for (const std::int64_t total : {std::int64_t{5'000}, std::int64_t{80'000}})
        for (const int ms : {500, 2500}) {
          sim::BoxInputs in = base;
          in.before.global_completions = total;
          in.before.next_halving = std::chrono::milliseconds{ms};
          variants.push_back(in);
        }
    }
    if (unknown(kUnknownOrder)) {
      // Which of several equal writers looks first after a tick decides who sleeps longest, and nobody can know it.
      for (std::uint64_t draw = 1; draw <= 5; ++draw) {
        sim::BoxInputs in = base;
        in.seed += 1'000'003 * draw;
        variants.push_back(in);
      }
    }
    if (unknown("phase of the completion counters' halving")) {
      for (const int ms : {100, 800, 2200, 2900}) {
        sim::BoxInputs in = base;
        in.before.next_halving = std::chrono::milliseconds{ms};
        variants.push_back(in);
      }
    }
    if (unknown("dirtyable memory")) {
      // Free memory and page cache less reserves: nine tenths of RAM is taken, 75 to 96 % is common.
      for (const double share : {0.75, 0.85, 0.96}) {
        sim::BoxInputs in = base;
        in.memory.dirtyable = Bytes{static_cast<std::int64_t>(share * static_cast<double>(base.memory.ram.value()))};
        variants.push_back(in);
      }
    }
    std::map<int, std::pair<double, double>> range;
    std::map<std::string, std::pair<double, double>> jobs;
    for (const JobResult& j : record.jobs) jobs[j.name] = {j.elapsed_s, j.elapsed_s};
    for (const UntarResult& u : record.untars) range[u.number] = {u.elapsed_s, u.elapsed_s};
    std::pair<double, double> durable{record.durable_s, record.durable_s};
    const auto widen = [](std::pair<double, double>& r, double x) { r = {std::min(r.first, x), std::max(r.second, x)}; };
    for (sim::BoxInputs& in : variants) {
      in.sample_every = Duration{0};
      in.trace_throttling = false;
      SPILLWAY_ASSIGN(const sim::BoxOutputs outputs, sim::simulate(in));
      for (const auto& u : outputs.untars) widen(range[u.index], to_seconds(u.elapsed));
      for (const auto& j : outputs.jobs) widen(jobs[j.name], job_elapsed_s(j));
      if (!outputs.untars.empty()) widen(durable, to_seconds(outputs.durable - outputs.untars.front().start));
    }
    std::string text = fmt::format("the state before the run is not known ({}): over {} other states", fmt::join(translation.unknown_state, ", "), variants.size());
    bool moved = false;
    for (const auto& [number, r] : range) {
      record.counters[fmt::format("range.untar_{}.elapsed_s.low", number)] = r.first;
      record.counters[fmt::format("range.untar_{}.elapsed_s.high", number)] = r.second;
      if (r.second <= 1.05 * r.first) continue;
      text += fmt::format("{} untar {} takes {:.2f} to {:.2f} s", moved ? "," : "", number, r.first, r.second);
      moved = true;
    }
    for (const auto& [name, r] : jobs) {
      record.counters[fmt::format("range.job_{}.elapsed_s.low", name)] = r.first;
      record.counters[fmt::format("range.job_{}.elapsed_s.high", name)] = r.second;
      if (r.second <= 1.05 * r.first) continue;
      text += fmt::format("{} job {} takes {:.2f} to {:.2f} s", moved ? "," : "", name, r.first, r.second);
      moved = true;
    }
    record.counters["range.durable_s.low"] = durable.first;
    record.counters["range.durable_s.high"] = durable.second;
    if (!moved) text += " no untar or job moves by more than 5 %";
    record.notes.push_back(text);
    return {};
  }

  SimulatedBoxOptions options_;
  std::shared_ptr<const sim::FileCatalogue> catalogue_;
  std::string catalogue_key_;
};

}  // namespace

std::unique_ptr<Box> make_simulated_box(SimulatedBoxOptions options) { return std::make_unique<SimulatedBox>(std::move(options)); }

}  // namespace spillway::simulated
