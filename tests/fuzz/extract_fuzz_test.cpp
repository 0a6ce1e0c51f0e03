#include <catch2/catch.hpp>

#include <chrono>
#include <cstring>
#include <random>
#include <vector>

#include "tests/fuzz/extract_fuzz.hpp"
#include "tests/workload/extract/archive_cases.hpp"

using namespace spillway::test;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// The checksum of the header at `at`, put right: what a mutation spoils is then looked at and not skipped as damage.
void mend_checksum(std::string& archive, std::size_t at) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(archive[at + i]);
  char text[9];
  std::snprintf(text, sizeof text, "%06o", sum);
  std::memcpy(archive.data() + at + 148, text, 7);
  archive[at + 155] = ' ';
}

}  // namespace

TEST_CASE("fuzz: the archive cases, as they are and mutated, never break the reader's promises", "[workload][extract][fuzz]") {
  // The same walk that libFuzzer takes (scripts/fuzz), without clang and for two seconds: what fails aborts.
  std::vector<std::string> seeds;
  for (auto& c : archive_cases("/outside"))
    if (c.bytes.size() <= 65536) seeds.push_back(std::move(c.bytes));
  REQUIRE(seeds.size() > 40);
  for (unsigned options = 0; options < 16; ++options)
    for (const std::string& seed : seeds) fuzz_reader_to_plan(bytes_of(std::string{static_cast<char>(options), '\3'} + seed));
  std::mt19937 random(20261201);
  const auto pick = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{2};
  int inputs = 0;
  while (std::chrono::steady_clock::now() < until) {
    std::string input = seeds[pick(seeds.size())];
    if (pick(4) == 0) input += seeds[pick(seeds.size())];
    const std::size_t blocks = input.size() / 512;
    if (blocks == 0) continue;
    for (std::size_t change = pick(4); change-- > 0;) {
      const std::size_t block = pick(blocks) * 512;
      switch (pick(5)) {
        case 0: input[block + pick(512)] = static_cast<char>(random()); break;
        case 1: input[block + 124 + pick(12)] = static_cast<char>('0' + pick(8)); break;                  // size
        case 2: input[block + 156] = "0123456LKxgSDMVXN"[pick(17)]; break;                                // type
        case 3: std::memcpy(input.data() + block, input.data() + pick(blocks) * 512, 512); break;         // another block
        case 4: input[block + pick(512)] = static_cast<char>(0x80 + pick(128)); break;                    // base 256, signs
      }
      if (pick(3) != 0) mend_checksum(input, block);
    }
    if (pick(8) == 0) input.resize(pick(input.size()));
    input.insert(0, std::string{static_cast<char>(pick(16)), static_cast<char>(pick(8))});
    fuzz_reader_to_plan(bytes_of(input));
    ++inputs;
  }
  CHECK(inputs > 1000);
}
