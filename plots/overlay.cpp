#include "plots/overlay.hpp"

#include "plots/heading.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace spillway::plots {

Figure overlay_figure(std::span<const Record> real, const Record& simulated, const std::vector<double>& null_finish_s) {
  Figure figure;
  figure.name = "overlay";
  figure.key_rows = 2;
  figure.title = "Predicted over measured: when each untar ends";
  figure.subtitle = subtitle_of(real.front(), real.size());
  DataTable table{"overlay.dat", {"untar", "real_median_s", "real_least_s", "real_greatest_s", "simulated_s", "null_model_s"}, {}, {}};
  const std::size_t count = std::min(real.front().untars.size(), simulated.untars.size());
  const auto finish = [](const Record& record, std::size_t i) { return record.untars[i].start_s + record.untars[i].elapsed_s; };
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> ends;
    for (const Record& record : real) {
      if (i < record.untars.size()) ends.push_back(finish(record, i));
    }
    std::sort(ends.begin(), ends.end());
    const double median = ends.size() % 2 == 1 ? ends[ends.size() / 2] : (ends[ends.size() / 2 - 1] + ends[ends.size() / 2]) / 2;
    std::optional<double> null;
    if (i < null_finish_s.size()) null = null_finish_s[i];
    table.rows.push_back({static_cast<double>(i + 1), median, ends.front(), ends.back(), finish(simulated, i), null});
  }
  figure.tables.push_back(std::move(table));
  const std::string axes = fmt::format("set xlabel \"untar, in start order\"\nset xrange [0.6:{}]\nset xtics 1,{}\nset yrange [0:*]\n",
                                       static_cast<double>(count) + 0.4, std::max<std::size_t>(1, (count + 19) / 20));
  figure.body = axes + fmt::format(
      "set ylabel \"finished after (s)\"\n"
      "set grid ytics lt 1 lw 0.5 lc rgb \"#CCCCCC\"\n"
      "set key outside bottom center horizontal maxrows 2\n"
      "plot \"overlay.dat\" using 1:3:4 with filledcurves fs solid 0.3 noborder lc rgb \"{}\" title \"measured, least to greatest\", \\\n"
      "     \"\" using 1:2 with linespoints lw 2 pt 7 lc rgb \"{}\" title \"measured, median\", \\\n"
      "     \"\" using 1:5 with linespoints lw 2 dt (8,4) pt 4 ps 1.6 lc rgb \"{}\" title \"predicted by the simulated box\"",
      colour::background, colour::time, colour::limit);
  if (!null_finish_s.empty()) {
    figure.body += fmt::format(", \\\n     \"\" using 1:6 with linespoints lw 1.5 dt (2,4) pt 2 lc rgb \"{}\" title \"null model\"", colour::black);
  }
  figure.body += "\n";
  figure.text_body = axes +
      "set ylabel \"s\"\n"
      "set key outside bottom center horizontal maxrows 2\n"
      "plot \"overlay.dat\" using 1:2 with lines lt 1 title \"measured\", \\\n"
      "     \"\" using 1:5 with points pt 1 title \"predicted\"";
  if (!null_finish_s.empty()) figure.text_body += ", \\\n     \"\" using 1:6 with points pt 2 title \"null model\"";
  figure.text_body += "\n";
  return figure;
}

}  // namespace spillway::plots
