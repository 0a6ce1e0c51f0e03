#include "workload/record/box_differences.hpp"

#include <catch2/catch.hpp>

using namespace spillway;

namespace {

BoxInfo box() {
  BoxInfo info;
  info.kind = "real";
  info.kernel = "6.18.44";
  info.hz = 250;
  info.cpus = 2;
  info.ram_bytes = 25'000'000'000;
  info.target = "loop";
  info.environment = {{"vm", {{"dirty_ratio", "20"}}}, {"memory", {{"MemFree", "1 kB"}}}, {"device", {{"name", "loop65"}, {"queue", {{"nr_requests", "128"}}}}}};
  return info;
}

}  // namespace

TEST_CASE("box differences: the same box has none, whatever its free memory and device numbers", "[record]") {
  BoxInfo now = box();
  now.environment["memory"]["MemFree"] = "2 kB";
  now.environment["device"]["name"] = "loop67";
  now.ram_bytes += 1'000'000;
  CHECK(box_differences(box(), now).empty());
}

TEST_CASE("box differences: each one that may decide is a sentence with both values", "[record]") {
  BoxInfo now = box();
  now.kernel = "6.1.0";
  now.ram_bytes = 8'000'000'000;
  now.environment["vm"]["dirty_ratio"] = "10";
  now.environment["device"]["queue"]["nr_requests"] = "64";
  now.environment["vm"].emplace("dirty_bytes", "5");
  const auto found = box_differences(box(), now);
  CHECK(found == std::vector<std::string>{"the kernel was 6.18.44, is 6.1.0", "RAM was 25.00 GB, is 8.00 GB", "vm.dirty_ratio was 20, is 10",
                                          "vm.dirty_bytes is 5, and was not known there", "device.queue.nr_requests was 128, is 64"});
}
