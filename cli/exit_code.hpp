#pragma once
/// What the program ends with; scripts rely on it.

#include "sim/result.hpp"

namespace spillway::cli {

enum ExitCode : int {
  kDone = 0,
  kNotMet = 1,       ///< an expectation is not met
  kWrongUse = 2,     ///< wrong use, or a bad file
  kRefused = 3,      ///< the box said no: permission, space, an I/O error
  kCannot = 77,      ///< skipped: this box cannot do it at all
  kSignalBase = 128, ///< ended by a signal: 128 + its number, as a shell would say
};

constexpr int exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input: return kWrongUse;
    case ErrorKind::unsupported: return kCannot;
    case ErrorKind::refused:
    case ErrorKind::internal: return kRefused;
  }
  return kRefused;
}

}  // namespace spillway::cli
