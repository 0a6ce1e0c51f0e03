#pragma once
/// A figure as data: tables, and a gnuplot script that draws them. Making one is a function from records to values;
/// only render.hpp touches files and runs gnuplot, so tests compare scripts and not pixels.
///
/// What is readable by everybody: colours are the eight of Okabe and Ito (2008, made for colour-blind readers), and
/// nothing is told by colour alone: lines differ in dashes and points, areas in patterns.

#include <optional>
#include <string>
#include <vector>

namespace spillway::plots {

/// Columns of numbers, one file beside the picture. A missing value becomes NaN, which gnuplot leaves out.
struct DataTable {
  std::string file;                    ///< "untars.dat"
  std::vector<std::string> columns;    ///< with their units: "elapsed_s"
  std::vector<std::vector<std::optional<double>>> rows;
  /// Row names for a first, quoted column `name`, where rows are things and not numbers; empty: none.
  /// They hold no double quotes.
  std::vector<std::string> names;
};

struct Figure {
  std::string name;                    ///< stem of its files: "untars"
  std::string title;                   ///< first line
  std::string subtitle;                ///< second line: box, kernel, device, case
  std::vector<DataTable> tables;
  std::string body;                    ///< gnuplot commands after terminal and title, for the pictures
  std::string text_body;               ///< the same for the text terminal; empty: `body`
  /// Text made by us where a character terminal cannot draw it (stacked areas); then text_body is not used.
  std::string text;
  int width = 1000, height = 600;      ///< of the pictures, in pixels
  int key_rows = 1;                    ///< lines of the key below the picture
  int text_rows = 26;
};

/// Okabe and Ito's colours by what we use them for; the same thing has the same colour in every figure.
namespace colour {
inline constexpr const char* time = "#0072B2";        // blue
inline constexpr const char* cpu = "#D55E00";         // vermillion
inline constexpr const char* dirty = "#0072B2";       // blue
inline constexpr const char* writeback = "#E69F00";   // orange
inline constexpr const char* limit = "#D55E00";       // vermillion
inline constexpr const char* freerun = "#009E73";     // bluish green
inline constexpr const char* background = "#56B4E9";  // sky blue
inline constexpr const char* other = "#CC79A7";       // reddish purple
inline constexpr const char* black = "#000000";
}  // namespace colour

/// Text as a gnuplot expression. Single quotes: in double ones gnuplot runs what stands between backticks.
std::string quoted(const std::string& text);

/// The script: `gnuplot NAME.gp` beside the data draws NAME.png; -e 'format="svg"' or "text" the others.
std::string script_of(const Figure& figure);

/// A table as its file: a comment line with the columns, then rows.
std::string data_text(const DataTable& table);

/// Breaks at spaces into lines of at most `width` characters; a longer word is cut.
std::string wrapped(const std::string& text, std::size_t width);

/// The same with one line, cut with "..." where it is too long.
std::string cut(const std::string& text, std::size_t width);

}  // namespace spillway::plots
