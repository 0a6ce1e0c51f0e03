#include "plots/shares.hpp"

#include "plots/heading.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>

namespace spillway::plots {

namespace {

constexpr std::size_t kTextColumns = 72;

/// Bars with names, in their order: a picture of boxes, and text of '#' signs with the number behind.
void bars(Figure& figure, const std::string& file, const std::string& column, const std::string& x_label, const std::string& y_label,
          const std::vector<std::pair<std::string, double>>& values) {
  DataTable table{file, {column}, {}, {}};
  double greatest = 1e-12;
  std::size_t longest = 0;
  for (const auto& [name, value] : values) {
    std::string plain = name;
    std::replace(plain.begin(), plain.end(), '"', '\'');
    table.names.push_back(plain);
    table.rows.push_back({value});
    greatest = std::max(greatest, value);
    longest = std::max(longest, name.size());
  }
  figure.tables.push_back(std::move(table));
  figure.key_rows = 0;
  const bool many = values.size() * longest > 90;  // names would touch each other: they are turned
  figure.body = fmt::format(
      "set xlabel {}\nset ylabel {}\nset yrange [0:{:.6g}]\nunset key\n"
      "set xtics nomirror scale 0{}\n{}"
      "set grid ytics lt 1 lw 0.5 lc rgb \"#CCCCCC\"\n"
      "set boxwidth 0.65\nset style fill solid 0.5 border lc rgb \"#000000\"\nset offsets 0.6, 0.6, 0, 0\n"
      "plot \"{}\" using 0:2:xtic(1) with boxes lc rgb \"{}\", \\\n"
      "     \"\" using 0:2:($2 >= 1000 ? sprintf(\"%.0f\", $2) : sprintf(\"%.3g\", $2)) with labels offset 0,0.7\n",
      quoted(x_label), quoted(y_label), 1.15 * greatest, many ? " rotate by -30" : "", many ? "set bmargin 8\n" : "", file, colour::time);
  figure.text = cut(figure.title, kTextColumns) + "\n" + wrapped(figure.subtitle, kTextColumns) + "\n" + wrapped(y_label + " by " + x_label, kTextColumns) + "\n\n";
  const std::size_t head = std::min<std::size_t>(longest, 28);
  const std::size_t room = kTextColumns - head - 12;
  for (const auto& [name, value] : values) {
    figure.text += fmt::format("{:<{}} |{} {:.4g}\n", cut(name, head), head,
                               std::string(static_cast<std::size_t>(std::lround(value / greatest * static_cast<double>(room))), '#'), value);
  }
}

}  // namespace

std::optional<Figure> device_figure(const Record& record) {
  if (record.device.split_pct.empty()) return std::nullopt;
  Figure figure;
  figure.name = "device";
  figure.title = "Where the device's time went, from the first untar to durable";
  figure.subtitle = subtitle_of(record);
  std::vector<std::pair<std::string, double>> values;
  for (const char* part : {"transfer", "seek", "rotation", "rmw", "alignment", "metadata", "log", "idle"}) {
    if (const auto found = record.device.split_pct.find(part); found != record.device.split_pct.end()) values.emplace_back(part, found->second);
  }
  for (const auto& [part, value] : record.device.split_pct) {
    if (std::none_of(values.begin(), values.end(), [&](const auto& pair) { return pair.first == part; })) values.emplace_back(part, value);
  }
  bars(figure, "device.dat", "share_pct", "what the device did", "share of its time (%)", values);
  return figure;
}

std::optional<Figure> kworkers_figure(const Record& record) {
  if (record.kworkers.empty()) return std::nullopt;
  Figure figure;
  figure.name = "kworkers";
  figure.title = "CPU of kernel workers by work queue";
  figure.subtitle = subtitle_of(record);
  std::vector<std::pair<std::string, double>> values;
  for (const KworkerResult& worker : record.kworkers) {
    if (worker.cpu_pct <= 0) continue;  // seen, but below the clock tick of its CPU time
    values.emplace_back(worker.count > 1 ? fmt::format("{} x{}", worker.queue, worker.count) : worker.queue, worker.cpu_pct);
  }
  if (values.empty()) return std::nullopt;
  std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (values.size() > 12) values.resize(12);
  bars(figure, "kworkers.dat", "cpu_pct", "work queue (x workers seen)", "CPU (% of one core)", values);
  return figure;
}

std::optional<Figure> pauses_figure(const Record& record, const std::vector<double>& pauses_ms) {
  std::vector<std::int64_t> counts;
  constexpr double kSmallest = 1;  // ms; a pause is a whole number of jiffies, the shortest of 1 ms at HZ = 1000
  for (const double pause : pauses_ms) {
    if (!(pause > 0)) continue;
    const auto place = static_cast<std::size_t>(std::max(0.0, std::floor(std::log2(pause / kSmallest))));
    if (counts.size() <= place) counts.resize(place + 1);
    ++counts[place];
  }
  if (counts.empty()) return std::nullopt;
  Figure figure;
  figure.name = "pauses";
  figure.title = "How long writers slept in balance_dirty_pages";
  figure.subtitle = subtitle_of(record);
  std::vector<std::pair<std::string, double>> values;
  // Classes below the shortest pause are empty at every tick rate but the fastest: not shown.
  const auto first = static_cast<std::size_t>(std::find_if(counts.begin(), counts.end(), [](std::int64_t n) { return n > 0; }) - counts.begin());
  for (std::size_t i = first; i < counts.size(); ++i) {
    values.emplace_back(fmt::format("{}-{}", 1 << i, (1 << (i + 1)) - 1), static_cast<double>(counts[i]));
  }
  bars(figure, "pauses.dat", "count", "length of a pause (ms)", "pauses (count)", values);
  return figure;
}

std::optional<Figure> extents_figure(const Record& record) {
  std::vector<std::pair<std::int64_t, double>> counts;
  constexpr std::string_view kName = "files_by_extents.";
  for (const auto& [name, count] : record.counters) {
    if (name.starts_with(kName)) counts.emplace_back(std::strtoll(name.c_str() + kName.size(), nullptr, 10), count);
  }
  if (counts.empty()) return std::nullopt;
  std::ranges::sort(counts);
  Figure figure;
  figure.name = "extents";
  figure.title = record.extents_mean ? fmt::format("Extents of a file: {:.3g} in the mean", *record.extents_mean) : "Extents of a file";
  figure.subtitle = subtitle_of(record);
  std::vector<std::pair<std::string, double>> values;
  for (const auto& [most, count] : counts) {
    values.emplace_back(most <= 2 ? fmt::format("{}", most) : fmt::format("{}-{}", most / 2 + 1, most), count);
  }
  bars(figure, "extents.dat", "files", "extents", "files (count)", values);
  return figure;
}

}  // namespace spillway::plots
