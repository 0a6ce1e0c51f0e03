#include "cli/talk.hpp"

#include "cli/exit_code.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace spillway::cli {

namespace {

bool live_line_stands = false;

std::size_t terminal_columns() {
  struct winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
  return 80;
}

}  // namespace

bool on_terminal() {
  static const bool terminal = ::isatty(STDERR_FILENO) == 1;
  return terminal;
}

void say(std::string_view sentence) {
  clear_live();
  fmt::print(stderr, "{}\n", sentence);
}

int report(const Error& error) {
  say(fmt::format("spillway: {}", error.what));
  return exit_code_of(error.kind);
}

void live(std::string_view text) {
  if (!on_terminal()) return;
  const std::string_view shown = text.substr(0, std::min(text.size(), terminal_columns() - 1));
  fmt::print(stderr, "\r\033[K{}", shown);
  std::fflush(stderr);
  live_line_stands = true;
}

void clear_live() {
  if (!live_line_stands) return;
  fmt::print(stderr, "\r\033[K");
  live_line_stands = false;
}

}  // namespace spillway::cli
