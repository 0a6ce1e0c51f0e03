#pragma once
/// The program's verbs. Each has a file in cli/verbs/; the list in cli/verbs/verbs.cpp offers those whose parts are built.

#include <span>
#include <string>
#include <vector>

namespace spillway::cli {

struct Verb {
  const char* name;
  const char* summary;  ///< one line
  /// Parses its own arguments, prints its own help; returns the exit code. Throws nothing of ours.
  int (*run)(const std::vector<std::string>& arguments);
};

std::span<const Verb> verbs();

/// The program without its process: words after the program's name, to the exit code.
int run_program(const std::vector<std::string>& words);

}  // namespace spillway::cli
