#pragma once
/// Figures to files. Script and data stay beside the picture: DIR/NAME.gp, DIR/*.dat, DIR/NAME.{png,svg,txt}.

#include "plots/figure.hpp"
#include "sim/result.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace spillway::plots {

enum class Format { png, svg, text };

/// "png", "svg" or "text".
Result<Format> parse_format(const std::string& text);

/// Writes the figure's files and runs gnuplot once per format. Returns the pictures. Text has at most 72 columns, no
/// form feed and no blanks at the ends of its lines. gnuplot missing: `unsupported`, with the package's name; script
/// and data are there all the same.
Result<std::vector<std::filesystem::path>> render(const Figure& figure, const std::filesystem::path& dir, std::span<const Format> formats);

}  // namespace spillway::plots
