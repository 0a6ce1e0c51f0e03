#pragma once
/// skip(reason): this test cannot run on this box. The test program then exits 77 if nothing failed.
/// With SPILLWAY_REQUIRE_BOX=1 in the environment (CI) a skip is a failure instead.

#include <string_view>

namespace spillway::test {

/// Call as `return skip("needs root");` inside a TEST_CASE.
void skip(std::string_view reason);

}  // namespace spillway::test
