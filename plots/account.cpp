#include "plots/account.hpp"

#include "plots/heading.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace spillway::plots {

namespace {

struct Part {
  const char* name;
  double Account::*seconds;
  char letter;
  int pattern;          ///< gnuplot's fill patterns: 1 cross-hatched, 2 dense, 3 solid, 4 and 5 diagonal, 0 empty
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

}  // namespace

Figure account_figure(const Record& record) {
  Figure figure;
  figure.name = "account";
  figure.title = record.experiment_title.empty() ? "Where the time went" : "Where the time went: " + record.experiment_title;
  figure.subtitle = subtitle_of(record);
  figure.key_rows = 2;
  // Parts that no untar has are left out of picture and key.
  std::vector<const Part*> parts;
  for (const Part& part : kParts) {
    const bool any = std::any_of(record.untars.begin(), record.untars.end(),
                                 [&](const UntarResult& untar) { return untar.account.*part.seconds > 0.0005 * untar.elapsed_s; });
    if (any) parts.push_back(&part);
  }
  DataTable table{"account.dat", {}, {}, {}};
  for (const Part* part : parts) table.columns.push_back(fmt::format("{}_s", part->letter == '?' ? "unknown" : part->name));
  for (std::string& column : table.columns) std::replace(column.begin(), column.end(), ' ', '_');
  double longest = 1e-9;
  for (const UntarResult& untar : record.untars) {
    table.names.push_back(fmt::format("{}", untar.number));
    std::vector<std::optional<double>> row;
    for (const Part* part : parts) row.emplace_back(std::max(0.0, untar.account.*part->seconds));
    table.rows.push_back(std::move(row));
    longest = std::max(longest, untar.elapsed_s);
  }
  const std::size_t step = std::max<std::size_t>(1, (record.untars.size() + 19) / 20);
  figure.body = fmt::format(
      "set xlabel \"untar, in start order\"\n"
      "set ylabel \"elapsed (s)\"\n"
      "set yrange [0:*]\n"
      "set grid ytics lt 1 lw 0.5 lc rgb \"#CCCCCC\"\n"
      "set key outside bottom center horizontal maxrows 2\n"
      "set style data histograms\n"
      "set style histogram rowstacked\n"
      "set boxwidth 0.7\n"
      "set xtics nomirror\n"
      "plot ");
  bool first = true;
  int column = 2;
  for (const Part* part : parts) {
    figure.body += fmt::format("{}{} using {}{} fs pattern {} border lc rgb \"#000000\" lc rgb \"{}\" title \"{}\"",
                               first ? "" : ", \\\n     ", first ? "\"account.dat\"" : "\"\"", column,
                               first ? fmt::format(":xtic(int(column(0)) % {} == 0 ? strcol(1) : \"\")", step) : "", part->pattern, part->colour, part->name);
    first = false;
    ++column;
  }
  figure.body += "\n";
  figure.tables.push_back(std::move(table));

  figure.text = cut(figure.title, 72) + "\n" + wrapped(figure.subtitle, 72) + "\n\n untar  elapsed\n";
  for (const UntarResult& untar : record.untars) {
    std::string bar;
    double upto = 0;
    for (const Part* part : parts) {
      upto += std::max(0.0, untar.account.*part->seconds);
      const auto end = static_cast<std::size_t>(std::lround(upto / longest * kBarColumns));
      if (end > bar.size()) bar.append(std::min<std::size_t>(end, kBarColumns) - bar.size(), part->letter);
    }
    figure.text += fmt::format("{:>6} {:>7.2f}s |{}\n", untar.number, untar.elapsed_s, bar);
  }
  std::string legend;
  for (const Part* part : parts) legend += fmt::format("{}{} {}", legend.empty() ? "" : ", ", part->letter, part->name);
  figure.text += "\n" + wrapped(fmt::format("{} (one letter is {:.2g} s)", legend, longest / kBarColumns), 72) + "\n";
  return figure;
}

}  // namespace spillway::plots
