#pragma once
/// Result<T>: a value, or an Error that says what was tried, on what, and what to do next.
/// Our code throws nothing; `main` and thread entries catch what libraries throw.

#include <expected>
#include <string>
#include <utility>

namespace spillway {

enum class ErrorKind {
  bad_input,    ///< the user asked for nonsense: exit 2
  refused,      ///< the box said no (no permission, no space, I/O error): exit 3
  unsupported,  ///< this box cannot do it at all: exit 77
  internal,     ///< a library failed in a way that is nobody's input: exit 3
};

/// One failure. `what` is a full sentence for a person: what was read or tried, where, what was expected, what to do.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  int sys_errno = 0;  ///< errno of the system call that failed, or 0.
  std::string what;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

inline std::unexpected<Error> fail(ErrorKind kind, std::string what, int sys_errno = 0) {
  return std::unexpected(Error{kind, sys_errno, std::move(what)});
}

}  // namespace spillway

#define SPILLWAY_CONCAT_(a, b) a##b
#define SPILLWAY_CONCAT(a, b) SPILLWAY_CONCAT_(a, b)

/// Return the error of a Status or Result from the enclosing function, else go on.
#define SPILLWAY_TRY(expression)                                                  \
  do {                                                                            \
    if (auto spillway_status_ = (expression); !spillway_status_) [[unlikely]]     \
      return std::unexpected(std::move(spillway_status_).error());                \
  } while (false)

/// `SPILLWAY_ASSIGN(auto x, f());`: bind the value, or return the error from the enclosing function.
#define SPILLWAY_ASSIGN(declaration, expression)                                                              \
  auto SPILLWAY_CONCAT(spillway_result_, __LINE__) = (expression);                                            \
  if (!SPILLWAY_CONCAT(spillway_result_, __LINE__)) [[unlikely]]                                              \
    return std::unexpected(std::move(SPILLWAY_CONCAT(spillway_result_, __LINE__)).error());                   \
  declaration = *std::move(SPILLWAY_CONCAT(spillway_result_, __LINE__))
