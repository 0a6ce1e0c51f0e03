#include "plots/workers.hpp"

#include "plots/heading.hpp"
#include "plots/stacked.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <sstream>

namespace spillway::plots {

namespace {

constexpr std::size_t kQueuesNamed = 6;
constexpr std::size_t kMostSteps = 40;
constexpr int kBarColumns = 52;

struct Look {
  int pattern;
  const char* colour;
};
constexpr Look kLooks[] = {{3, colour::time}, {4, colour::limit}, {5, colour::freerun}, {1, colour::other}, {6, colour::writeback}, {2, colour::black}, {0, colour::black}};

/// A letter for each queue that no other one of the figure has: the first of its name that is free.
char letter_of(const std::string& queue, const std::vector<StackPart>& taken) {
  for (const char c : queue + "abcdefghijkmnopqrstuvwxyz") {
    const bool letter = c >= 'a' && c <= 'z';
    if (letter && std::none_of(taken.begin(), taken.end(), [c](const StackPart& part) { return part.letter == c; })) return c;
  }
  return '*';
}

}  // namespace

std::vector<WorkerLook> read_workers(std::string_view csv) {
  std::vector<WorkerLook> out;
  std::istringstream in{std::string{csv}};
  bool heading = true;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (heading) {
      if (line != "t_s,queue,busy,cpu_s") return {};
      heading = false;
      continue;
    }
    std::istringstream cells(line);
    std::string t, queue, busy, cpu;
    if (!std::getline(cells, t, ',') || !std::getline(cells, queue, ',') || !std::getline(cells, busy, ',') || !std::getline(cells, cpu, ',')) continue;
    out.push_back({std::strtod(t.c_str(), nullptr), queue, std::strtod(busy.c_str(), nullptr), std::strtod(cpu.c_str(), nullptr)});
  }
  return out;
}

std::optional<Figure> workers_time_figure(const Record& record, const std::vector<WorkerLook>& looks) {
  std::map<std::string, double> total;
  std::map<double, bool> times;
  double end = 0;
  for (const WorkerLook& look : looks) {
    if (look.t_s < 0) continue;
    total[look.queue] += look.busy;
    times[look.t_s] = true;
    end = std::max(end, look.t_s);
  }
  std::erase_if(total, [](const auto& one) { return one.second <= 0; });
  if (total.empty() || times.size() < 5) return std::nullopt;
  std::vector<std::pair<std::string, double>> queues(total.begin(), total.end());
  std::ranges::stable_sort(queues, std::ranges::greater{}, &std::pair<std::string, double>::second);

  // Looks are 0.2 s apart; no step is shorter than one.
  const double least = std::max(0.2, end / static_cast<double>(kMostSteps));
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  }
  const auto steps = static_cast<std::size_t>(std::ceil(end / step + 1e-9));
  std::vector<double> seen(steps, 0.0);
  for (const auto& [t, unused] : times) seen[std::min(steps - 1, static_cast<std::size_t>(t / step))] += 1;

  Stack stack;
  stack.file = "kworkers_time.dat";
  stack.x_label = "time since the first untar began (s)";
  stack.y_label = "kernel workers running or blocked (mean)";
  stack.bar_width = 1;
  const std::size_t named = std::min(kQueuesNamed, queues.size());
  for (std::size_t i = 0; i < named; ++i) {
    stack.parts.push_back({queues[i].first, queues[i].first + "_workers", letter_of(queues[i].first, stack.parts), kLooks[i].pattern, kLooks[i].colour});
  }
  if (queues.size() > named) stack.parts.push_back({"others", "others_workers", '?', kLooks[kQueuesNamed].pattern, kLooks[kQueuesNamed].colour});
  stack.values.assign(steps, std::vector<double>(stack.parts.size(), 0.0));
  for (const WorkerLook& look : looks) {
    if (look.t_s < 0 || look.busy <= 0) continue;
    const auto at = std::ranges::find(queues, look.queue, &std::pair<std::string, double>::first);
    const auto place = std::min(static_cast<std::size_t>(at - queues.begin()), stack.parts.size() - 1);
    const std::size_t i = std::min(steps - 1, static_cast<std::size_t>(look.t_s / step));
    if (seen[i] > 0) stack.values[i][place] += look.busy / seen[i];
  }
  for (std::size_t i = 0; i < steps; ++i) stack.names.push_back(fmt::format("{:.4g}", step * static_cast<double>(i)));

  Figure figure;
  figure.name = "kworkers_time";
  figure.title = "Kernel workers by work queue, over time";
  figure.subtitle = subtitle_of(record);
  figure.key_rows = 2;
  draw_stack(figure, stack);
  figure.text = cut(figure.title, 72) + "\n" + wrapped(figure.subtitle, 72) + "\n\n  from\n";
  const auto letters = stack_letters(stack, kBarColumns);
  for (std::size_t i = 0; i < letters.size(); ++i) figure.text += fmt::format("{:>7.4g} s |{}\n", step * static_cast<double>(i), letters[i]);
  while (figure.text.ends_with(" \n")) figure.text.erase(figure.text.size() - 2, 1);
  figure.text += "\n" + wrapped(stack_legend(stack, kBarColumns, "workers"), 72) + "\n";
  return figure;
}

}  // namespace spillway::plots
