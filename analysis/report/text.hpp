#pragma once
/// Plain text for a kernel list: at most 72 columns, no tabs, no trailing blanks.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::analysis {

inline constexpr std::size_t kMailColumns = 72;

/// Columns of a line: code points, not bytes.
std::size_t columns_of(std::string_view line);

/// Words of `text` in lines of at most `width`; the first line begins with `first`, the others with `rest` (both count).
/// A word that is longer than a line is cut. Line ends in `text` are kept.
std::string wrap(std::string_view text, std::string_view first = "", std::string_view rest = "", std::size_t width = kMailColumns);

/// Every line of a block (output of another program) with a prefix, cut where it is too long: "  " + line; what does not fit
/// goes on in the next line after "    ", from the last blank on where there is one in the second half. Control characters become blanks.
std::string quote_block(std::string_view block, std::string_view prefix = "  ", std::size_t width = kMailColumns);

/// A heading with a rule under it.
std::string heading(std::string_view title);

/// The widest line.
std::size_t widest_line(std::string_view text);

}  // namespace spillway::analysis
