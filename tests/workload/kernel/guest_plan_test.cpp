#include "workload/kernel/guest_plan.hpp"

#include <catch2/catch.hpp>

using namespace spillway::kernel;

TEST_CASE("kernel guest plan: what the box writes is what the guest reads", "[workload][kernel]") {
  GuestPlan plan;
  plan.device = "loop1";
  plan.limited_device = "loop0";
  plan.untars = 3;
  plan.at_once = 2;
  plan.write_bytes = 0;
  plan.direct = true;
  plan.unlink_existing = false;
  plan.before = {"remove", "skeleton"};
  plan.after = {"sync"};
  plan.cpus = 7;
  plan.costs = {.copy_ps_per_byte = 930, .file_ns = 30000, .directory_ns = 5, .unlink_ns = 6};
  plan.cgroups = {"/sys/fs/cgroup/s0"};
  plan.entries = {{.directory = true, .bytes = 0, .path = "a b"}, {.directory = false, .bytes = 123456789012, .path = "a b/file with  blanks"}};
  std::string bad;
  const auto read = plan_from_text(to_text(plan), &bad);
  CAPTURE(bad);
  REQUIRE(read);
  CHECK(to_text(*read) == to_text(plan));
  CHECK(read->entries.at(1).path == "a b/file with  blanks");
  CHECK(read->entries.at(1).bytes == 123456789012);
  CHECK(read->before == plan.before);
  CHECK(read->costs.copy_ps_per_byte == 930);
  CHECK_FALSE(read->unlink_existing);
}

TEST_CASE("kernel guest plan: a line that is not understood is named", "[workload][kernel]") {
  std::string bad;
  CHECK_FALSE(plan_from_text("spillway guest plan 1\nuntars three\n", &bad));
  CHECK(bad == "untars three");
  CHECK_FALSE(plan_from_text("spillway guest plan 1\nuntar 3\n", &bad));
  CHECK(bad == "untar 3");
  CHECK_FALSE(plan_from_text("something else\n", &bad));
  CHECK(bad == "something else");
  CHECK_FALSE(plan_from_text("", &bad));
}
