#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "tests/support/skip.hpp"

#include <cstdlib>
#include <iostream>
#include <string>

namespace {
int skipped = 0;
bool box_is_required() {
  const char* value = std::getenv("SPILLWAY_REQUIRE_BOX");
  return value != nullptr && std::string_view{value} == "1";
}
}  // namespace

namespace spillway::test {
void skip(std::string_view reason) {
  const std::string name = Catch::getResultCapture().getCurrentTestName();
  if (box_is_required()) {
    FAIL("skipped although SPILLWAY_REQUIRE_BOX=1: " << reason);
    return;
  }
  ++skipped;
  std::cerr << "skipped: " << name << ": " << reason << "\n";
}
}  // namespace spillway::test

int main(int argc, char* argv[]) {
  const int result = Catch::Session().run(argc, argv);
  if (result != 0) return 1;
  return skipped > 0 ? 77 : 0;
}
