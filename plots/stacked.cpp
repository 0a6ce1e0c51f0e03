#include "plots/stacked.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace spillway::plots {

namespace {

double greatest_sum(const Stack& stack) {
  double greatest = 1e-9;
  for (const auto& row : stack.values) {
    double sum = 0;
    for (const double value : row) sum += std::max(0.0, value);
    greatest = std::max(greatest, sum);
  }
  return greatest;
}

}  // namespace

void draw_stack(Figure& figure, const Stack& stack) {
  DataTable table{stack.file, {}, {}, stack.names};
  for (const StackPart& part : stack.parts) table.columns.push_back(part.column);
  for (const auto& row : stack.values) {
    std::vector<std::optional<double>> cells;
    for (const double value : row) cells.emplace_back(std::max(0.0, value));
    table.rows.push_back(std::move(cells));
  }
  const std::size_t step = std::max<std::size_t>(1, (stack.values.size() + kStackNames - 1) / kStackNames);
  figure.body = fmt::format(
      "set xlabel \"{}\"\n"
      "set ylabel \"{}\"\n"
      "set yrange [0:*]\n"
      "set grid ytics lt 1 lw 0.5 lc rgb \"#CCCCCC\"\n"
      "set key outside bottom center horizontal maxrows 2\n"
      "set style data histograms\n"
      "set style histogram rowstacked\n"
      "set boxwidth {:g}\n"
      "set xtics nomirror\n"
      "plot ",
      stack.x_label, stack.y_label, stack.bar_width);
  bool first = true;
  int column = 2;
  for (const StackPart& part : stack.parts) {
    figure.body += fmt::format("{}{} using {}{} fs pattern {} border lc rgb \"#000000\" lc rgb \"{}\" title \"{}\"", first ? "" : ", \\\n     ",
                               first ? fmt::format("\"{}\"", stack.file) : "\"\"", column,
                               first ? fmt::format(":xtic(int(column(0)) % {} == 0 ? strcol(1) : \"\")", step) : "", part.pattern, part.colour, part.name);
    first = false;
    ++column;
  }
  figure.body += "\n";
  figure.tables.push_back(std::move(table));
}

std::vector<std::string> stack_letters(const Stack& stack, int columns) {
  const double greatest = greatest_sum(stack);
  std::vector<std::string> bars;
  for (const auto& row : stack.values) {
    std::string bar;
    double upto = 0;
    for (std::size_t i = 0; i < stack.parts.size(); ++i) {
      upto += std::max(0.0, row[i]);
      const auto end = static_cast<std::size_t>(std::lround(upto / greatest * columns));
      if (end > bar.size()) bar.append(std::min<std::size_t>(end, static_cast<std::size_t>(columns)) - bar.size(), stack.parts[i].letter);
    }
    bars.push_back(std::move(bar));
  }
  return bars;
}

std::string stack_legend(const Stack& stack, int columns, const std::string& unit) {
  std::string legend;
  for (const StackPart& part : stack.parts) legend += fmt::format("{}{} {}", legend.empty() ? "" : ", ", part.letter, part.name);
  return fmt::format("{} (one letter is {:.2g}{}{})", legend, greatest_sum(stack) / columns, unit.empty() ? "" : " ", unit);
}

}  // namespace spillway::plots
