#pragma once
/// Talk goes to stderr: sentences, warnings, and one live line that the next overwrites. Results go to stdout or files.

#include "sim/result.hpp"

#include <string>
#include <string_view>

namespace spillway::cli {

/// One line on stderr, after removing a live line that stands there.
void say(std::string_view sentence);

/// Prints the error's sentence, and gives the exit code that belongs to its kind.
int report(const Error& error);

/// Replaces the live line. On a terminal it is rewritten in place and cut to its width; elsewhere live lines are
/// dropped, since a log wants events and not a tick every 100 ms.
void live(std::string_view text);
void clear_live();

/// Is stderr a terminal?
bool on_terminal();

}  // namespace spillway::cli
