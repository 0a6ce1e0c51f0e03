#include "cli/exit_code.hpp"
#include "cli/talk.hpp"
#include "cli/verb.hpp"
#include "workload/interrupt/interrupt.hpp"

#include <exception>

int main(int argc, char* argv[]) {
  using namespace spillway;
  install_interrupt_handlers();
  try {
    return cli::run_program({argv + 1, argv + argc});
  } catch (const std::exception& exception) {
    // Ours throw nothing; this is a library that did (out of memory, mostly).
    return cli::report({ErrorKind::internal, 0, std::string{"a library failed: "} + exception.what()});
  }
}
