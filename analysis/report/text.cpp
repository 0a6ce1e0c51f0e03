#include "analysis/report/text.hpp"

#include <algorithm>

namespace spillway::analysis {
namespace {

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

/// The first `columns` code points of `text`.
std::string_view head(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  std::size_t seen = 0;
  while (at < text.size()) {
    if (starts_code_point(text[at]) && seen++ == columns) break;
    ++at;
  }
  return text.substr(0, at);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string printable(std::string_view text) {
  std::string out{text};
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20U || c == 0x7F) c = ' ';
  }
  return out;
}

void end_line(std::string& out) {
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out += '\n';
}

}  // namespace

std::size_t columns_of(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(line, starts_code_point));
}

std::string wrap(std::string_view text, std::string_view first, std::string_view rest, std::size_t width) {
  std::string out{first};
  std::size_t column = columns_of(first);
  std::size_t indent = column;
  const auto new_line = [&] {
    end_line(out);
    out += rest;
    column = indent = columns_of(rest);
  };
  bool first_line = true;
  for (const std::string_view line : lines_of(text)) {
    if (!first_line) new_line();
    first_line = false;
    const std::string clean = printable(line);
    std::string_view left = clean;
    while (true) {
      left.remove_prefix(std::min(left.find_first_not_of(' '), left.size()));
      if (left.empty()) break;
      std::string_view word = left.substr(0, left.find(' '));
      left.remove_prefix(word.size());
      while (!word.empty()) {
        const std::size_t size = columns_of(word);
        const std::size_t blank = column > indent ? 1 : 0;
        if (column + blank + size <= width) {
          if (blank > 0) out += ' ';
          out += word;
          column += blank + size;
          break;
        }
        if (column > indent) {
          new_line();
          continue;
        }
        const std::string_view part = head(word, std::max<std::size_t>(1, width - std::min(width - 1, column)));
        out += part;
        word.remove_prefix(part.size());
        column += columns_of(part);
        if (!word.empty()) new_line();
      }
    }
  }
  end_line(out);
  return out;
}

std::string quote_block(std::string_view block, std::string_view prefix, std::size_t width) {
  std::string out;
  for (const std::string_view line : lines_of(block)) {
    const std::string clean = printable(line);
    std::string_view left = clean;
    std::string indent{prefix};
    do {
      std::string_view part = head(left, width - columns_of(indent));
      // A line that is too long is broken at its last blank, if that leaves most of it; else in the middle of a word.
      if (part.size() < left.size() && left[part.size()] != ' ') {
        const std::size_t blank = part.find_last_of(' ');
        if (blank != std::string_view::npos && blank > part.size() / 2) part = part.substr(0, blank + 1);
      }
      out += indent;
      out += part;
      end_line(out);
      left.remove_prefix(part.size());
      indent = std::string{prefix} + "  ";
    } while (!left.empty());
  }
  return out;
}

std::string heading(std::string_view title) {
  std::string out{title};
  return "\n" + out + "\n" + std::string(std::min(columns_of(title), kMailColumns), '-') + "\n";
}

std::size_t widest_line(std::string_view text) {
  std::size_t widest = 0;
  for (const std::string_view line : lines_of(text)) widest = std::max(widest, columns_of(line));
  return widest;
}

}  // namespace spillway::analysis
