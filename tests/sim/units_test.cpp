#include "sim/units.hpp"

#include <catch2/catch.hpp>

using namespace spillway;
using namespace std::chrono_literals;

TEST_CASE("units: moving bytes takes time rounded up to a nanosecond", "[sim][units]") {
  CHECK(time_to_move(Bytes{40 * kMB}, BytesPerSec{40 * kMB}) == 1s);
  CHECK(time_to_move(Bytes{1}, BytesPerSec{3}) == 333'333'334ns);
  CHECK(time_to_move(Bytes{0}, BytesPerSec{1}) == 0ns);
  // 27.2 TB at 1 B/s would overflow 64-bit arithmetic of bytes times 10^9.
  CHECK(time_to_move(Bytes{27'200 * kGB}, BytesPerSec{kGB}) == 27'200s);
}

TEST_CASE("units: pages from bytes round as their names say", "[sim][units]") {
  CHECK(to_pages_ceil(Bytes{4097}) == Pages{2});
  CHECK(to_pages_floor(Bytes{8191}) == Pages{1});
  CHECK(to_bytes(Pages{3}) == Bytes{12288});
}
