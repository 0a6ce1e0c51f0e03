#pragma once
/// SPILLWAY_CHECK: an invariant of the program itself. On in every build; a failure prints the place and what was
/// expected and aborts. Not for bad input (that is a Result) and not for what the world refuses.

#include <string_view>

namespace spillway {

[[noreturn]] void check_failed(std::string_view file, int line, std::string_view condition,
                               std::string_view message);

}  // namespace spillway

#define SPILLWAY_CHECK(condition, message)                                      \
  do {                                                                          \
    if (!(condition)) [[unlikely]]                                              \
      ::spillway::check_failed(__FILE__, __LINE__, #condition, (message));      \
  } while (false)
