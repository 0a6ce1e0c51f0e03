/// spillway watch: monitors and account of a command, or of what is going on, changing nothing.

#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/experiment/quantity.hpp"
#include "workload/real/watch/watch.hpp"
#include "workload/record/record_io.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace spillway::cli {

namespace {

namespace fs = std::filesystem;

/// Rewrites the table in place on a terminal; elsewhere frames follow each other.
class Screen {
 public:
  void draw(const real::WatchFrame& frame) {
    struct winsize size{};
    std::size_t columns = 100, rows = 0;
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) columns = size.ws_col, rows = size.ws_row;
    auto lines = real::frame_lines(frame, columns - 1);
    if (rows > 3 && lines.size() > rows - 2) lines.resize(rows - 2);
    if (on_terminal() && last_ > 0) fmt::print(stderr, "\033[{}A\033[J", last_);
    for (const auto& line : lines) fmt::print(stderr, "{}\n", line);
    if (!on_terminal()) fmt::print(stderr, "\n");
    std::fflush(stderr);
    last_ = lines.size();
  }

 private:
  std::size_t last_ = 0;
};

/// out/watch/rN with the first N that is free.
fs::path next_folder() {
  for (int n = 1;; ++n)
    if (fs::path folder = fs::path{"out"} / "watch" / fmt::format("r{}", n); !fs::exists(folder)) return folder;
}

void print_account(const Record& record) {
  fmt::print("{:>3} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8}  {}\n", "", "elapsed_s", "cpu_s", "throttled", "device", "lock", "log", "runqueue", "unknown", "longest stall");
  for (const auto& untar : record.untars)
    fmt::print("{:>3} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f}  {:.2f} s\n", untar.number, untar.elapsed_s, untar.account.user_s + untar.account.system_s,
               untar.account.throttled_s, untar.account.device_s, untar.account.lock_s, untar.account.log_s, untar.account.runqueue_s, untar.account.unknown_s, untar.longest_pause_s);
  for (const auto& phase : record.phases)
    fmt::print("{}...{:.2f}sec {:.2f}usr {:.2f}sys ({:.2f}% cpu)\n", phase.name, phase.elapsed_s, phase.user_s, phase.system_s, phase.elapsed_s > 0 ? 100 * (phase.user_s + phase.system_s) / phase.elapsed_s : 0.0);
  for (const auto& worker : record.kworkers) fmt::print("kworkers {:<14} {:>3}  {:.2f} s CPU  {}\n", worker.queue, worker.count, worker.cpu_s, worker.busiest_state);
  for (const auto& note : record.notes) fmt::print("{}\n", note);
}

}  // namespace

int run_watch(const std::vector<std::string>& arguments) {
  Options options("watch [-- CMD...]",
                  "Looks at a command and all that it starts, or at the untars and writers that run now, and changes nothing:\n"
                  "dirty pages against background, freerun and limit, who is throttled and how long, kernel workers by queue.\n"
                  "Needs no root; root sees more, and what is not seen is said. Leaves a record at the end.");
  options.group("Watching")("place", po::value<std::string>()->default_value("")->value_name("PATH"), "a path on the file system that is asked about (default: the current folder)")
      ("interval", po::value<std::string>()->value_name("TIME"), "between two frames (default: 1s, 5s without a terminal)")
      ("for", po::value<std::string>()->value_name("TIME"), "stop after this (default: Ctrl-C, or when CMD has ended)");
  options.group("Output")("out", po::value<std::string>()->value_name("DIR"), "folder of the record and its timeline (default: out/watch/rN)")
      ("json", po::bool_switch(), "one object on stdout, schema spillway.watch/1");
  const auto dashes = std::ranges::find(arguments, "--");
  auto parsed = options.parse({arguments.begin(), dashes});
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  real::WatchOptions watching;
  if (dashes != arguments.end()) watching.command.assign(dashes + 1, arguments.end());
  if (dashes != arguments.end() && watching.command.empty()) return report({ErrorKind::bad_input, 0, "watch --: a command should follow"});
  watching.place = parsed->get<std::string>("place");
  watching.interval = on_terminal() ? std::chrono::seconds{1} : std::chrono::seconds{5};
  for (const char* key : {"interval", "for"}) {
    if (!parsed->has(key)) continue;
    const auto time = read_time(parsed->get<std::string>(key));
    if (!time || time->count() <= 0) return report({ErrorKind::bad_input, 0, fmt::format("--{} {}: expected a time above 0, for example 2s", key, parsed->get<std::string>(key))});
    if (std::string_view{key} == "interval") watching.interval = std::chrono::duration_cast<std::chrono::milliseconds>(*time);
    else watching.seconds = to_seconds(*time);
  }
  if (watching.interval < std::chrono::milliseconds{100}) return report({ErrorKind::bad_input, 0, "--interval: expected at least 100ms"});
  watching.directory = parsed->has("out") ? fs::path{parsed->get<std::string>("out")} : next_folder();
  std::error_code error;
  fs::create_directories(watching.directory, error);
  if (error) return report({ErrorKind::refused, error.value(), fmt::format("cannot make the folder {}: {}; choose another with --out", watching.directory.string(), error.message())});
  Screen screen;
  const bool json = parsed->get<bool>("json");
  const auto result = real::watch(watching, [&](const real::WatchFrame& frame) { screen.draw(frame); });
  if (!result) return report(result.error());
  if (auto written = write_record(result->record, watching.directory); !written) return report(written.error());
  if (json) fmt::print("{}\n", nlohmann::ordered_json{{"schema", "spillway.watch/1"}, {"record", (watching.directory / "record.json").string()}, {"exit_code", result->exit_code}, {"not_seen", result->not_seen}}.dump(1));
  else print_account(result->record);
  std::fflush(stdout);
  say(fmt::format("record: {}", (watching.directory / "record.json").string()));
  return watching.command.empty() ? kDone : result->exit_code;
}

}  // namespace spillway::cli
