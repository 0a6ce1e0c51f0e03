#pragma once
/// Stacked bars, told apart by pattern and letter as well as by colour: the body shared by the figures that show what a whole is made of.

#include "plots/figure.hpp"

#include <string>
#include <vector>

namespace spillway::plots {

struct StackPart {
  std::string name;     ///< in the key, and with blanks replaced as column name
  std::string column;   ///< of the data file, with unit
  char letter;          ///< in the text figure
  int pattern;          ///< gnuplot's fill patterns: 1 cross-hatched, 2 dense, 3 solid, 4 and 5 diagonal, 0 empty
  const char* colour;
};

struct Stack {
  std::string file;                            ///< "account.dat"
  std::vector<StackPart> parts;                ///< bottom first
  std::vector<std::string> names;              ///< of the bars
  std::vector<std::vector<double>> values;     ///< a row a bar, a value a part
  std::string x_label, y_label;
  double bar_width = 0.7;
};

/// At most so many names stand under the bars.
inline constexpr std::size_t kStackNames = 20;

/// The table and the gnuplot commands.
void draw_stack(Figure& figure, const Stack& stack);

/// Lines of letters for the text figure, `columns` wide at the greatest sum. What stands before each bar is the caller's.
std::vector<std::string> stack_letters(const Stack& stack, int columns);
/// "u user, s system (one letter is 0.12 s)".
std::string stack_legend(const Stack& stack, int columns, const std::string& unit);

}  // namespace spillway::plots
