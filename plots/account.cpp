#include "plots/account.hpp"

#include "plots/heading.hpp"
#include "plots/stacked.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace spillway::plots {

namespace {

struct Part {
  const char* name;
  double Account::*seconds;
  char letter;
  int pattern;
  const char* colour;
};

constexpr Part kParts[] = {
    {"user", &Account::user_s, 'u', 3, colour::background},
    {"system", &Account::system_s, 's', 3, colour::time},
    {"waiting for a core", &Account::runqueue_s, 'q', 1, colour::other},
    {"throttled", &Account::throttled_s, 't', 4, colour::limit},
    {"device", &Account::device_s, 'd', 5, colour::freerun},
    {"lock", &Account::lock_s, 'l', 2, colour::black},
    {"log", &Account::log_s, 'j', 6, colour::writeback},
    {"unknown", &Account::unknown_s, '?', 0, colour::black},
};

constexpr int kBarColumns = 52;
constexpr std::size_t kMostSteps = 40;

/// Parts that no bar has are left out of picture and key.
Stack stack_of(const std::vector<analysis::AccountBar>& bars, std::string file) {
  Stack stack;
  stack.file = std::move(file);
  std::vector<const Part*> parts;
  for (const Part& part : kParts) {
    const bool any = std::any_of(bars.begin(), bars.end(), [&](const analysis::AccountBar& bar) { return bar.account.*part.seconds > 0.0005 * bar.elapsed_s; });
    if (any) parts.push_back(&part);
  }
  for (const Part* part : parts) {
    std::string column = fmt::format("{}_s", part->letter == '?' ? "unknown" : part->name);
    std::replace(column.begin(), column.end(), ' ', '_');
    stack.parts.push_back({part->name, column, part->letter, part->pattern, part->colour});
  }
  for (const analysis::AccountBar& bar : bars) {
    std::vector<double> row;
    for (const Part* part : parts) row.push_back(bar.account.*part->seconds);
    stack.values.push_back(std::move(row));
  }
  return stack;
}

}  // namespace

Figure account_figure(const Record& record) {
  Figure figure;
  figure.name = "account";
  figure.title = record.experiment_title.empty() ? "Where the time went" : "Where the time went: " + record.experiment_title;
  figure.subtitle = subtitle_of(record);
  figure.key_rows = 2;
  Stack stack = stack_of(analysis::account_per_untar(record), "account.dat");
  for (const UntarResult& untar : record.untars) stack.names.push_back(fmt::format("{}", untar.number));
  stack.x_label = "untar, in start order";
  stack.y_label = "elapsed (s)";
  draw_stack(figure, stack);
  figure.text = cut(figure.title, 72) + "\n" + wrapped(figure.subtitle, 72) + "\n\n untar  elapsed\n";
  const auto letters = stack_letters(stack, kBarColumns);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    figure.text += fmt::format("{:>6} {:>7.2f}s |{}\n", record.untars[i].number, record.untars[i].elapsed_s, letters[i]);
  }
  figure.text += "\n" + wrapped(stack_legend(stack, kBarColumns, "s"), 72) + "\n";
  return figure;
}

std::optional<Figure> account_time_figure(const Record& record, std::span<const analysis::DatedPause> pauses) {
  if (pauses.empty()) return std::nullopt;
  const double step = analysis::nice_step(record, kMostSteps);
  const auto bars = analysis::account_per_step(record, step, pauses);
  if (bars.size() < 2) return std::nullopt;
  Figure figure;
  figure.name = "account_time";
  figure.title = record.experiment_title.empty() ? "Where the time went, over time" : "Where the time went, over time: " + record.experiment_title;
  figure.subtitle = subtitle_of(record);
  figure.key_rows = 2;
  Stack stack = stack_of(bars, "account_time.dat");
  for (const analysis::AccountBar& bar : bars) stack.names.push_back(fmt::format("{:.4g}", bar.from_s));
  stack.x_label = "time since the first untar began (s)";
  stack.y_label = fmt::format("untars' time in each {:g} s (s)", step);
  stack.bar_width = 1;
  draw_stack(figure, stack);
  figure.text = cut(figure.title, 72) + "\n" + wrapped(figure.subtitle, 72) + "\n\n  from\n";
  const auto letters = stack_letters(stack, kBarColumns);
  for (std::size_t i = 0; i < letters.size(); ++i) figure.text += fmt::format("{:>7.4g} s |{}\n", bars[i].from_s, letters[i]);
  figure.text += "\n" + wrapped(stack_legend(stack, kBarColumns, "s"), 72) + "\n";
  return figure;
}

}  // namespace spillway::plots
