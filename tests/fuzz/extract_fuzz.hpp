#pragma once
/// What is fuzzed of the extraction engine: an archive's bytes through the header walk, the checks of names and limits,
/// and the plan of who writes what. No file is touched. Whoever calls it may be libFuzzer (extract_fuzz.cpp) or a test
/// that replays and mutates the archive cases (extract_fuzz_test.cpp).

#include <cstddef>
#include <span>

namespace spillway::test {

/// Aborts when something does not hold that must hold for every input: a planned name is below the target, runs lie
/// within the file, data arrives in order, within the runs and not beyond what was promised, a wait is for an earlier
/// member of another writer. The first two bytes choose options; the rest is the archive.
void fuzz_reader_to_plan(std::span<const std::byte> input);

}  // namespace spillway::test
