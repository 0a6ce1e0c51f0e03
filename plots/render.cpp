// The only file that sees gnuplot-iostream: it is slow to compile, and slower under sanitizers.
#include "plots/render.hpp"

#include "workload/record/file_io.hpp"

#include <fmt/core.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <gnuplot-iostream.h>
#pragma GCC diagnostic pop

namespace spillway::plots {

namespace {

namespace fs = std::filesystem;

const char* name_of(Format format) {
  switch (format) {
    case Format::png: return "png";
    case Format::svg: return "svg";
    case Format::text: return "text";
  }
  return "";
}

const char* extension_of(Format format) { return format == Format::text ? "txt" : name_of(format); }

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
  return out + "'";
}

/// Text without form feeds and without blanks at line ends; no empty lines at either end.
std::string tidied(const std::string& text) {
  std::string out, line;
  const auto end_line = [&] {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!out.empty() || !line.empty()) out += line + "\n";
    line.clear();
  };
  for (const char c : text) {
    if (c == '\f') continue;
    if (c == '\n') end_line();
    else line += c;
  }
  if (!line.empty()) end_line();
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

/// Runs gnuplot in the figure's folder on the script that lies there.
Status run_gnuplot(const Figure& figure, const fs::path& dir, Format format) {
  const fs::path complaints = dir / (figure.name + ".err");
  {
    Gnuplot gnuplot("cd " + shell_quoted(dir.string()) + " && gnuplot 2> " + shell_quoted(figure.name + ".err"));
    gnuplot << "format = \"" << name_of(format) << "\"\n" << "load \"" << figure.name << ".gp\"\n" << std::flush;
  }
  std::error_code ignored;
  const fs::path picture = dir / fmt::format("{}.{}", figure.name, extension_of(format));
  const std::string said = spillway::read_file(complaints).value_or("");
  fs::remove(complaints, ignored);
  if (fs::exists(picture, ignored) && fs::file_size(picture, ignored) > 0 && said.find("line ") == std::string::npos) return {};
  if (said.find("not found") != std::string::npos && said.find("gnuplot") != std::string::npos && said.find("line 0") == std::string::npos) {
    return fail(ErrorKind::unsupported, fmt::format("gnuplot is not installed, so {} has only its script and data; apt-get install gnuplot-nox",
                                                    (dir / figure.name).string()));
  }
  return fail(ErrorKind::internal, fmt::format("gnuplot could not draw {}: {}", picture.string(), said.empty() ? "it said nothing" : said));
}

}  // namespace

Result<Format> parse_format(const std::string& text) {
  for (const Format format : {Format::png, Format::svg, Format::text}) {
    if (text == name_of(format)) return format;
  }
  return fail(ErrorKind::bad_input, fmt::format("format \"{}\": expected png, svg or text", text));
}

Result<std::vector<fs::path>> render(const Figure& figure, const fs::path& dir, std::span<const Format> formats) {
  std::error_code error;
  fs::create_directories(dir, error);
  if (error) {
    return fail(ErrorKind::refused, fmt::format("cannot make the folder {} for figures: {}", dir.string(), error.message()), error.value());
  }
  for (const DataTable& table : figure.tables) SPILLWAY_TRY(write_file_atomically(dir / table.file, data_text(table)));
  SPILLWAY_TRY(write_file_atomically(dir / (figure.name + ".gp"), script_of(figure)));
  std::vector<fs::path> pictures;
  for (const Format format : formats) {
    const fs::path picture = dir / fmt::format("{}.{}", figure.name, extension_of(format));
    fs::remove(picture, error);
    if (format == Format::text && !figure.text.empty()) {
      SPILLWAY_TRY(write_file_atomically(picture, tidied(figure.text)));
    } else {
      SPILLWAY_TRY(run_gnuplot(figure, dir, format));
      if (format == Format::text) {
        SPILLWAY_ASSIGN(const std::string text, spillway::read_file(picture));
        SPILLWAY_TRY(write_file_atomically(picture, tidied(text)));
      }
    }
    pictures.push_back(picture);
  }
  return pictures;
}

}  // namespace spillway::plots
