#include "plots/figure.hpp"

#include <cmath>
#include <fmt/format.h>

namespace spillway::plots {

namespace {

constexpr std::size_t kTextColumns = 72;
constexpr double kPixelsPerCharacter = 8.2;  // measured: DejaVu Sans 11 in pngcairo, mean over English text

}  // namespace

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\n') out += "'.\"\\n\".'";
    else if (c == '\'') out += "''";
    else out += c;
  }
  return out + "'";
}

std::string script_of(const Figure& figure) {
  const auto picture_columns = static_cast<std::size_t>(figure.width / kPixelsPerCharacter);
  const std::string title = wrapped(figure.title, picture_columns) + "\n" + wrapped(figure.subtitle, picture_columns);
  const std::string text_title = wrapped(figure.title, kTextColumns - 4) + "\n" + wrapped(figure.subtitle, kTextColumns - 4);
  std::string script = fmt::format(
      "# {0}\n"
      "# Run beside its data: gnuplot {1}.gp draws {1}.png; gnuplot -e 'format=\"svg\"' {1}.gp, or \"text\", the others.\n"
      "if (!exists(\"format\")) format = \"png\"\n"
      "if (format eq \"png\") {{\n"
      "  set terminal pngcairo noenhanced size {2},{3} font \"DejaVu Sans,11\" background \"#FFFFFF\"\n"
      "  set output \"{1}.png\"\n"
      "}}\n"
      "if (format eq \"svg\") {{\n"
      "  set terminal svg noenhanced size {2},{3} font \"DejaVu Sans,11\" background \"#FFFFFF\"\n"
      "  set output \"{1}.svg\"\n"
      "}}\n"
      "if (format eq \"text\") {{\n"
      "  set terminal dumb nofeed noenhanced mono size {4},{5}\n"
      "  set output \"{1}.txt\"\n"
      "}}\n"
      // Room for the key below the axis label; gnuplot's own guess lets them touch.
      "if (format ne \"text\") {{ set bmargin {8} }}\n"
      "set title (format eq \"text\") ? {6} : {7}\n",
      figure.title.substr(0, figure.title.find('\n')), figure.name, figure.width, figure.height, kTextColumns, figure.text_rows,
      quoted(text_title), quoted(title), 4 + 1.4 * figure.key_rows);
  if (figure.text_body.empty()) return script + figure.body;
  return script + "if (format ne \"text\") {\n" + figure.body + "} else {\n" + figure.text_body + "}\n";
}

std::string data_text(const DataTable& table) {
  std::string text = "#";
  if (!table.names.empty()) text += " name";
  for (const std::string& column : table.columns) text += " " + column;
  text += "\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::string line;
    if (!table.names.empty()) line = '"' + table.names[i] + '"';
    for (const auto& value : table.rows[i]) {
      if (!line.empty()) line += ' ';
      line += value && std::isfinite(*value) ? fmt::format("{:.7g}", *value) : "NaN";
    }
    text += line + "\n";
  }
  return text;
}

std::string wrapped(const std::string& text, std::size_t width) {
  std::string out, line;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (word.size() > width) word = cut(word, width);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line.clear();
    }
    line += line.empty() ? word : " " + word;
  }
  return out + line;
}

std::string cut(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  return width > 3 ? text.substr(0, width - 3) + "..." : text.substr(0, width);
}

}  // namespace spillway::plots
