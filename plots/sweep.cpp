#include "plots/sweep.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace spillway::plots {

namespace {

/// Lines that differ in colour, dashes and points.
struct LineStyle {
  const char* colour;
  const char* dashes;
  int point;
};
constexpr LineStyle kLines[] = {{colour::time, "1", 7},         {colour::limit, "(8,4)", 5},   {colour::freerun, "(3,3)", 9},
                                {colour::writeback, "(12,4,3,4)", 11}, {colour::other, "(2,4)", 13}, {colour::black, "1", 6},
                                {colour::background, "(8,4)", 4}};

template <class Get>
std::vector<std::string> in_order(const std::vector<SweepPoint>& points, Get get) {
  std::vector<std::string> values;
  for (const SweepPoint& point : points) {
    if (std::find(values.begin(), values.end(), get(point)) == values.end()) values.push_back(get(point));
  }
  return values;
}

std::size_t place(const std::vector<std::string>& values, const std::string& value) {
  return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

}  // namespace

Figure sweep_figure(const std::vector<SweepPoint>& points, const SweepLabels& labels) {
  Figure figure;
  figure.name = "sweep";
  figure.title = labels.title;
  figure.subtitle = labels.subtitle;
  const auto series = in_order(points, [](const SweepPoint& point) { return point.series; });
  figure.key_rows = static_cast<int>((series.size() + 3) / 4);
  double least = 1e300, greatest = -1e300, highest = 1e-12;
  bool whiskers = false;
  for (const SweepPoint& point : points) {
    least = std::min(least, point.x);
    greatest = std::max(greatest, point.x);
    highest = std::max({highest, point.y, point.high.value_or(0)});
    whiskers = whiskers || (point.low && point.high && *point.high > *point.low);
  }
  std::string axes = fmt::format("set xlabel {}\nset ylabel {}\nset yrange [0:{:.6g}]\n", quoted(labels.x), quoted(labels.y), 1.06 * highest);
  const double margin = std::max(0.04 * (greatest - least), 1e-9);
  if (least > 0 && greatest >= 8 * least) axes += fmt::format("set logscale x 2\nset xrange [{:.7g}:{:.7g}]\n", least / 1.15, greatest * 1.15);
  else axes += fmt::format("set xrange [{:.7g}:{:.7g}]\n", least - margin, greatest + margin);
  // The swept values themselves are the tics.
  std::string tics;
  const auto x_texts = in_order(points, [](const SweepPoint& point) { return point.x_text; });
  if (x_texts.size() <= 12) {
    for (const std::string& text : x_texts) {
      const auto at = std::find_if(points.begin(), points.end(), [&](const SweepPoint& point) { return point.x_text == text; });
      tics += fmt::format("{}{} {:.9g}", tics.empty() ? "" : ", ", quoted(text), at->x);
    }
    // Long words side by side would run into each other: they lean.
    std::size_t letters = 0;
    for (const std::string& text : x_texts) letters += text.size();
    axes += std::string{"set xtics "} + (letters > 90 ? "rotate by 25 right " : "") + "(" + tics + ")\n";
  }
  figure.body = axes + "set grid ytics lt 1 lw 0.5 lc rgb \"#CCCCCC\"\n" +
                "set key outside bottom center horizontal\nplot ";
  figure.text_body = axes + "set key outside bottom center horizontal\nplot ";
  bool first = true;
  std::size_t index = 0;
  for (const std::string& name : series) {
    const std::string file = fmt::format("sweep{}.dat", index + 1);
    DataTable table{file, {"x", "y", "low", "high"}, {}, {}};
    for (const SweepPoint& point : points) {
      if (point.series == name) table.rows.push_back({point.x, point.y, point.low, point.high});
    }
    std::sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) { return *a[0] < *b[0]; });
    figure.tables.push_back(std::move(table));
    const LineStyle& style = kLines[index % std::size(kLines)];
    const std::string title = name.empty() ? "notitle" : "title " + quoted(labels.series + " " + name);
    figure.body += fmt::format("{}\"{}\" using 1:2 with linespoints lw 2 dt {} pt {} ps 1.2 lc rgb \"{}\" {}", first ? "" : ", \\\n     ", file,
                               style.dashes, style.point, style.colour, title);
    if (whiskers) figure.body += fmt::format(", \\\n     \"{}\" using 1:3:(0):($4-$3) with vectors nohead lw 1.5 lc rgb \"{}\" notitle", file, style.colour);
    figure.text_body += fmt::format("{}\"{}\" using 1:2 with linespoints lt {} {}", first ? "" : ", \\\n     ", file, index + 1, title);
    first = false;
    ++index;
  }
  figure.body += "\n";
  figure.text_body += "\n";
  return figure;
}

Figure heat_figure(const std::vector<SweepPoint>& points, const SweepLabels& labels) {
  Figure figure;
  figure.name = "heat";
  figure.key_rows = 0;
  figure.title = labels.title;
  figure.subtitle = labels.subtitle;
  const auto xs = in_order(points, [](const SweepPoint& point) { return point.x_text; });
  const auto ys = in_order(points, [](const SweepPoint& point) { return point.series; });
  double least = 1e300, greatest = -1e300;
  DataTable table{"heat.dat", {"x", "y", "value"}, {}, {}};
  for (const SweepPoint& point : points) {
    table.rows.push_back({static_cast<double>(place(xs, point.x_text)), static_cast<double>(place(ys, point.series)), point.y});
    least = std::min(least, point.y);
    greatest = std::max(greatest, point.y);
  }
  figure.tables.push_back(std::move(table));
  const auto tics = [](const std::vector<std::string>& values) {
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i) text += fmt::format("{}{} {}", i == 0 ? "" : ", ", quoted(values[i]), i);
    return text;
  };
  const double middle = (least + greatest) / 2;
  figure.body = fmt::format(
      "set xlabel {}\nset ylabel {}\nset cblabel {} offset 2,0\n"
      "set xtics ({}) nomirror scale 0\nset ytics ({}) nomirror scale 0\n"
      "set xrange [-0.5:{}]\nset yrange [-0.5:{}]\n"
      "unset key\nset rmargin 14\n"
      "set palette defined (0 \"#00224E\", 0.25 \"#434E6C\", 0.5 \"#7D7C78\", 0.75 \"#BCAF6F\", 1 \"#FEE838\")\n"
      "plot \"heat.dat\" using 1:2:3 with image pixels, \\\n"
      "     \"\" using 1:2:($3 >= {:.7g} ? sprintf(\"%.3g\", $3) : \"\") with labels textcolor rgb \"#000000\", \\\n"
      "     \"\" using 1:2:($3 < {:.7g} ? sprintf(\"%.3g\", $3) : \"\") with labels textcolor rgb \"#FFFFFF\"\n",
      quoted(labels.x), quoted(labels.series), quoted(labels.y), tics(xs), tics(ys), static_cast<double>(xs.size()) - 0.5,
      static_cast<double>(ys.size()) - 0.5, middle, middle);
  // A character terminal has no shades: the numbers themselves.
  std::size_t width = 8, head = labels.series.size();
  for (const std::string& x : xs) width = std::max(width, x.size() + 2);
  for (const std::string& y : ys) head = std::max(head, y.size());
  figure.text = cut(labels.title, 72) + "\n" + wrapped(labels.subtitle, 72) + "\n" + wrapped(labels.y + ", against " + labels.x, 72) + "\n\n";
  const std::size_t room = head < 60 ? (70 - head) / width : 1;
  for (std::size_t from = 0; from < xs.size(); from += room) {
    const std::size_t to = std::min(xs.size(), from + room);
    figure.text += fmt::format("{:<{}}", labels.series, head);
    for (std::size_t i = from; i < to; ++i) figure.text += fmt::format("{:>{}}", xs[i], width);
    figure.text += "\n";
    for (const std::string& y : ys) {
      figure.text += fmt::format("{:<{}}", y, head);
      for (std::size_t i = from; i < to; ++i) {
        const auto at = std::find_if(points.begin(), points.end(), [&](const SweepPoint& point) { return point.x_text == xs[i] && point.series == y; });
        figure.text += at == points.end() ? fmt::format("{:>{}}", "-", width) : fmt::format("{:>{}.4g}", at->y, width);
      }
      figure.text += "\n";
    }
    figure.text += "\n";
  }
  return figure;
}

}  // namespace spillway::plots
