#include "workload/kernel/cpio.hpp"
#include "workload/kernel/disk_content.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace spillway;
using namespace spillway::kernel;

TEST_CASE("kernel disk content: what was written comes back, at any offset and length", "[workload][kernel]") {
  constexpr std::size_t kSize = 64 * 1024;
  DiskContent disk{Bytes{kSize}};
  std::vector<std::byte> shadow(kSize, std::byte{0});
  std::mt19937 random(7);  // only where and how much; any draws will do
  for (int round = 0; round < 500; ++round) {
    const std::size_t offset = random() % kSize;
    const std::size_t length = 1 + random() % (kSize - offset);
    std::vector<std::byte> bytes(length, static_cast<std::byte>(random()));
    // Every other write is of one byte throughout, as replayed files are.
    if (round % 2 == 0) {
      for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    }
    disk.write(static_cast<std::int64_t>(offset), bytes);
    std::copy(bytes.begin(), bytes.end(), shadow.begin() + static_cast<std::ptrdiff_t>(offset));
    std::vector<std::byte> back(kSize);
    disk.read(0, back);
    REQUIRE(back == shadow);
  }
}

TEST_CASE("kernel disk content: pages of one byte take no memory, and turning a kept page into one gives it back", "[workload][kernel]") {
  DiskContent disk{Bytes{kGiB}};
  const std::vector<std::byte> plain(1 << 20, std::byte{0x5a});
  for (std::int64_t at = 0; at < kGiB; at += 1 << 20) disk.write(at, plain);
  CHECK(disk.kept_pages() == 0);
  std::vector<std::byte> odd(4096, std::byte{1});
  odd[17] = std::byte{2};
  disk.write(8192, odd);
  CHECK(disk.kept_pages() == 1);
  disk.write(0, plain);
  CHECK(disk.kept_pages() == 0);
}

TEST_CASE("kernel cpio: headers of the new format, padded, ended, and ready for a compressed archive behind", "[workload][kernel]") {
  const auto archive = cpio_archive({{"run", "", true, false}, {"run/a", "hello", false, true}});
  CHECK(archive.size() % 512 == 0);
  CHECK(archive.substr(0, 6) == "070701");
  // 110 bytes of header, "run" and its zero, padded to 4: the second entry starts at 116.
  CHECK(archive.substr(116, 6) == "070701");
  CHECK(archive.substr(116 + 14, 8) == "000081ED");  // 0100755
  CHECK(archive.substr(116 + 54, 8) == "00000005");  // five bytes
  CHECK(archive.substr(116 + 110, 6) == std::string("run/a\0", 6));
  CHECK(archive.substr(116 + 116, 5) == "hello");
  CHECK(archive.find("TRAILER!!!") != std::string::npos);
}
