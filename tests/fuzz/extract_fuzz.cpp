/// libFuzzer's entry: see extract_fuzz.hpp; run by scripts/fuzz.

#include "tests/fuzz/extract_fuzz.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  spillway::test::fuzz_reader_to_plan({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
