#include "analysis/report/narrow_toml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/report/text.hpp"

namespace spillway::analysis {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// Position after the one-line string that begins at `at`; npos if it does not end on this line.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

bool at_multiline(std::string_view text, std::size_t at) {
  return text.substr(at, 3) == "\"\"\"" || text.substr(at, 3) == "'''";
}

/// Splits code from its comment ("#" outside strings).
std::pair<std::string_view, std::string_view> split_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == '#') return {trimmed(line.substr(0, i)), trimmed(line.substr(i + 1))};
    if (line[i] == '"' || line[i] == '\'') {
      const std::size_t end = end_of_string(line, i);
      if (end == std::string_view::npos) break;
      i = end;
    } else {
      ++i;
    }
  }
  return {trimmed(line), {}};
}

/// Position of the first of `wanted` outside strings and brackets, from `from` on.
std::size_t find_outside(std::string_view text, char wanted, std::size_t from = 0) {
  int depth = 0;
  for (std::size_t i = from; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = end_of_string(text, i);
      if (end == std::string_view::npos) return end;
      i = end;
      continue;
    }
    if (c == wanted && depth == 0) return i;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    ++i;
  }
  return std::string_view::npos;
}

/// Parts of the inside of brackets, split at commas.
std::vector<std::string_view> elements_of(std::string_view inside) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = find_outside(inside, ',');
    const std::string_view part = trimmed(inside.substr(0, comma));
    if (!part.empty()) parts.push_back(part);
    if (comma == std::string_view::npos) return parts;
    inside.remove_prefix(comma + 1);
  }
}

/// The text of a literal string as the inside of a basic one.
std::string escaped(std::string_view literal) {
  std::string out;
  for (const char c : literal) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

class Narrow {
 public:
  explicit Narrow(std::size_t width) : width_(width) {}

  Result<std::string> all(std::string_view source) {
    std::size_t number = 0;
    while (!source.empty()) {
      ++number;
      const std::size_t end = source.find('\n');
      const std::string_view line = source.substr(0, end);
      source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);
      if (!one(line)) {
        return fail(ErrorKind::bad_input, fmt::format("Line {} of the experiment does not fit into {} columns and cannot be broken: \"{:.40}...\"", number, width_, line));
      }
    }
    return out_;
  }

 private:
  bool fits(std::string_view line) const { return columns_of(line) <= width_; }
  void put(std::string_view line) {
    out_ += line;
    out_ += '\n';
  }

  bool one(std::string_view line) {
    const std::string_view text = trimmed(line);
    if (inside_multiline_) {
      if (text.find(*inside_multiline_) != std::string_view::npos) inside_multiline_.reset();
      put(line);
      return fits(line);
    }
    if (opens_multiline(text)) {
      put(line);
      return fits(line);
    }
    if (fits(line)) {
      // Blanks at the end of a line do not survive a mail.
      put(line.substr(0, static_cast<std::size_t>(text.empty() ? 0 : text.data() + text.size() - line.data())));
      return true;
    }
    const auto [code, comment] = split_comment(line);
    if (!comment.empty()) out_ += wrap(comment, "# ", "# ", width_);
    if (code.empty()) return true;
    if (fits(code)) {
      put(code);
      return true;
    }
    const std::size_t equals = find_outside(code, '=');
    if (equals == std::string_view::npos) return loose_value(code);
    return assignment(trimmed(code.substr(0, equals)), trimmed(code.substr(equals + 1)));
  }

  bool opens_multiline(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
      if (text[i] == '#') return false;
      if (at_multiline(text, i)) {
        const std::string_view mark = text.substr(i, 3);
        const std::size_t close = text.find(mark, i + 3);
        if (close == std::string_view::npos) {
          inside_multiline_ = std::string{mark};
          return true;
        }
        i = close + 3;
      } else if (text[i] == '"' || text[i] == '\'') {
        const std::size_t end = end_of_string(text, i);
        if (end == std::string_view::npos) return false;
        i = end;
      } else {
        ++i;
      }
    }
    return false;
  }

  /// A line inside an array that is spread over lines already: elements and commas.
  bool loose_value(std::string_view code) {
    std::string_view rest = code;
    while (!rest.empty()) {
      const std::size_t comma = find_outside(rest, ',');
      const std::string_view part = trimmed(rest.substr(0, comma));
      const bool more = comma != std::string_view::npos;
      if (!part.empty() && !value("  ", part, more ? "," : "")) return false;
      if (!more) return true;
      rest.remove_prefix(comma + 1);
    }
    return true;
  }

  bool assignment(std::string_view key, std::string_view value_text) {
    return value(fmt::format("{} = ", key), value_text, "", key);
  }

  /// `before` + value + `after`, on as many lines as it takes. `key`: what a table's members are prefixed with.
  bool value(std::string_view before, std::string_view text, std::string_view after, std::string_view key = {}) {
    const std::string whole = fmt::format("{}{}{}", before, text, after);
    if (fits(whole)) {
      put(whole);
      return true;
    }
    if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
      const std::string_view inside = text.substr(1, text.size() - 2);
      return string_value(before, text.front() == '"' ? std::string{inside} : escaped(inside), after);
    }
    if (text.starts_with('[') && text.ends_with(']')) {
      put(fmt::format("{}[", before));
      for (const std::string_view part : elements_of(text.substr(1, text.size() - 2))) {
        if (!value("  ", part, ",")) return false;
      }
      put(fmt::format("]{}", after));
      return true;
    }
    if (text.starts_with('{') && text.ends_with('}') && !key.empty()) {
      for (const std::string_view part : elements_of(text.substr(1, text.size() - 2))) {
        const std::size_t equals = find_outside(part, '=');
        if (equals == std::string_view::npos) return false;
        if (!assignment(fmt::format("{}.{}", key, trimmed(part.substr(0, equals))), trimmed(part.substr(equals + 1)))) return false;
      }
      return true;
    }
    return false;
  }

  /// """\ ... """ with a backslash at each line's end: TOML drops it with the line end and the blanks that follow.
  bool string_value(std::string_view before, const std::string& inside, std::string_view after) {
    const std::string open = fmt::format("{}\"\"\"\\", before);
    if (!fits(open)) return false;
    put(open);
    // A blank at the very beginning would be dropped with the line end before it.
    const std::string kept = inside.starts_with(' ') ? "\\u0020" + inside.substr(1) : inside;
    std::string_view left = kept;
    while (!left.empty()) {
      if (columns_of(left) + 3 + after.size() <= width_) break;
      // As much as fits before the backslash; better at a blank, never inside an escape or a code point, and never so that
      // the next line would begin with a blank (it would be dropped).
      std::size_t best = 0;
      std::size_t best_blank = 0;
      std::size_t columns = 0;
      for (std::size_t i = 0; i < left.size();) {
        std::size_t step = left[i] == '\\' ? (left.substr(i + 1).starts_with('u') ? 6 : left.substr(i + 1).starts_with('U') ? 10 : 2) : 1;
        while (i + step < left.size() && (static_cast<unsigned char>(left[i + step]) & 0xC0U) == 0x80U) ++step;
        columns += columns_of(left.substr(i, step));
        if (columns + 1 > width_) break;
        i += step;
        if (i < left.size() && left[i] == ' ') continue;
        best = i;
        if (left[i - 1] == ' ') best_blank = i;
      }
      const std::size_t cut = best_blank > 0 ? best_blank : best;
      if (cut == 0) return false;
      put(fmt::format("{}\\", left.substr(0, cut)));
      left.remove_prefix(cut);
    }
    put(fmt::format("{}\"\"\"{}", left, after));
    return true;
  }

  std::size_t width_;
  std::string out_;
  std::optional<std::string> inside_multiline_;
};

}  // namespace

Result<std::string> narrow_toml(std::string_view source, std::size_t width) { return Narrow{width}.all(source); }

}  // namespace spillway::analysis
