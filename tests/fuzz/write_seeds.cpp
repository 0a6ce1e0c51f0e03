/// write_seeds DIR: the archive cases of the tests, small ones only, as seeds for the fuzzer.

#include <fstream>
#include <string>

#include "tests/workload/extract/archive_cases.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const auto& c : spillway::test::archive_cases("/outside")) {
    if (c.bytes.size() > 65536) continue;
    std::ofstream out(std::string(argv[1]) + "/" + c.id, std::ios::binary);
    out << std::string("\0\2", 2) << c.bytes;
    if (!out.flush()) return 1;
  }
  return 0;
}
