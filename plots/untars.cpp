#include "plots/untars.hpp"

#include "plots/heading.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace spillway::plots {

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace

Figure untars_figure(std::span<const Record> repeats) {
  Figure figure;
  const Record& first = repeats.front();
  figure.name = "untars";
  figure.title = first.experiment_title.empty() ? "Time and CPU of each untar" : first.experiment_title;
  figure.subtitle = subtitle_of(first, repeats.size());
  DataTable table{"untars.dat", {"untar", "elapsed_s", "elapsed_least_s", "elapsed_greatest_s", "cpu_pct", "cpu_least_pct", "cpu_greatest_pct"}, {}, {}};
  for (std::size_t i = 0; i < first.untars.size(); ++i) {
    std::vector<double> elapsed, cpu;
    for (const Record& record : repeats) {
      if (i >= record.untars.size()) continue;
      elapsed.push_back(record.untars[i].elapsed_s);
      cpu.push_back(record.untars[i].cpu_pct());
    }
    const auto [least, greatest] = std::minmax_element(elapsed.begin(), elapsed.end());
    const auto [cpu_least, cpu_greatest] = std::minmax_element(cpu.begin(), cpu.end());
    table.rows.push_back({static_cast<double>(first.untars[i].number), median(elapsed), *least, *greatest, median(cpu), *cpu_least, *cpu_greatest});
  }
  const std::size_t count = table.rows.size();
  figure.tables.push_back(std::move(table));

  const std::size_t step = std::max<std::size_t>(1, (count + 19) / 20);
  const std::string axes = fmt::format(
      "set xlabel \"untar, in start order\"\n"
      "set xrange [0.4:{}]\n"
      "set xtics 1,{} nomirror\n"
      "set ytics nomirror\n"
      "set yrange [0:*]\n"
      "set y2range [0:105]\n"
      "set y2tics 0,20,100\n",
      static_cast<double>(count) + 0.6, step);
  figure.body = axes + fmt::format(
      "set ylabel \"elapsed (s)\"\n"
      "set y2label \"CPU (% of one core)\"\n"
      "set grid ytics lt 1 lw 0.5 lc rgb \"#CCCCCC\"\n"
      "set key outside bottom center horizontal\n"
      "set boxwidth 0.6\n"
      "set style fill solid 0.45 border lc rgb \"{0}\"\n"
      "plot \"untars.dat\" using 1:2 axes x1y1 with boxes lc rgb \"{1}\" title \"elapsed (left axis)\"",
      colour::black, colour::time);
  if (repeats.size() > 1) {
    figure.body += fmt::format(", \\\n     \"\" using 1:3:(0):($4-$3) axes x1y1 with vectors nohead lw 2 lc rgb \"{}\" notitle", colour::black);
  }
  figure.body += fmt::format(", \\\n     \"\" using 1:5 axes x1y2 with linespoints lw 2 pt 7 ps 1.3 lc rgb \"{}\" title \"CPU (right axis)\"", colour::cpu);
  if (repeats.size() > 1) {
    figure.body += fmt::format(", \\\n     \"\" using 1:6:(0):($7-$6) axes x1y2 with vectors nohead lw 4 lc rgb \"{}\" notitle", colour::cpu);
  }
  figure.body += "\n";
  figure.text_body = axes +
      "set ylabel \"s\"\n"
      "set y2label \"%\"\n"
      "set key outside bottom center horizontal\n"
      "set boxwidth 0.5\n"
      "plot \"untars.dat\" using 1:2 axes x1y1 with boxes title \"elapsed (s, left)\", \\\n"
      "     \"\" using 1:5 axes x1y2 with points pt 1 title \"CPU (%, right)\"\n";
  return figure;
}

}  // namespace spillway::plots
