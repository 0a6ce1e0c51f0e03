#include "workload/simulated/profile.hpp"

#include <catch2/catch.hpp>

using namespace spillway;
using namespace spillway::simulated;

TEST_CASE("profile: every built-in one loads, and every value says where it comes from", "[workload][simulated]") {
  const auto names = built_in_profiles();
  CHECK(names == std::vector<std::string>{"founding-mail", "generic", "kernel-box", "page-cache-anchor", "reference-vm"});
  for (const std::string& name : names) {
    const auto profile = load_profile(name, ".");
    if (!profile) FAIL(profile.error().what);
    CHECK(profile->name == name);
    CHECK(profile->described["costs"].size() >= 19);
    for (const char* section : {"box", "memory", "costs"}) {
      for (const auto& [key, value] : profile->described[section].items()) {
        CAPTURE(name, key);
        const std::string mark = value["mark"];
        CHECK((mark == "cited" || mark == "measured" || mark == "assumed"));
        CHECK_FALSE(value["source"].get<std::string>().empty());
      }
    }
  }
  CHECK(load_profile("", ".")->name == "generic");
}

TEST_CASE("profile: the founding mail's CPU time follows from its costs", "[workload][simulated]") {
  // 3.4 GB in pages, two calls for each 10 KiB, 5,000 files: the mail's first untar took 5.02 CPU seconds.
  const Profile p = load_profile("founding-mail", ".").value();
  const double pages = 3.4e9 / 4096;
  const double page_s = to_seconds(p.costs.read_page + p.costs.write_page + p.tar_user_per_page + p.tar_system_per_page) + 2 * to_seconds(p.costs.io_call) * 4096 / 10240;
  const double file_s = to_seconds(p.costs.create_file + p.costs.close_written + p.costs.user_per_file);
  CHECK(pages * page_s + 5000 * file_s == Approx(5.02).epsilon(0.05));
}

TEST_CASE("profile: what is wrong is one sentence", "[workload][simulated]") {
  const auto sentence = [](const std::string& text) {
    const auto profile = parse_profile(text, "p.toml");
    REQUIRE_FALSE(profile);
    return profile.error().what;
  };
  CHECK(sentence("name = \"x\"\n[box]\nhz = 250\n") == "p.toml, line 3: box.hz should be { value = ..., mark = \"cited\", source = \"...\" }");
  CHECK(sentence("name = \"x\"\n[box]\nhz = { value = 250, mark = \"guessed\", source = \"me\" }\n") == "p.toml, line 3: box.hz: mark should be cited, measured or assumed, found \"guessed\"");
  CHECK(sentence("name = \"x\"\n[box]\nhz = { value = 250, mark = \"cited\", source = \"\" }\n") == "p.toml, line 3: box.hz has no source");
  CHECK(sentence("name = \"x\"\n[box]\nhzz = { value = 250, mark = \"cited\", source = \"s\" }\n") == "p.toml, line 3: a profile has no \"box.hzz\"; the nearest is \"box.hz\"");
  CHECK(sentence("name = \"x\"\n[costs]\nwrite_page = { value = 650, mark = \"cited\", source = \"s\" }\n") == "p.toml, line 3: costs.write_page should be a time in quotes, found 650");
  CHECK(sentence("[box]\n") == "p.toml: a profile needs a name");
  CHECK(sentence("name = \"x\"\n[cpu]\n") == "p.toml, line 2: a profile has the sections [box], [memory], [device] and [costs], not \"cpu\"");
  CHECK_THAT(load_profile("nowhere.toml", "/none").error().what, Catch::StartsWith("box.profile = \"nowhere.toml\" is neither a built-in profile (founding-mail, generic, kernel-box, page-cache-anchor, reference-vm) nor a file:"));
}

TEST_CASE("profile: box.costs replaces a cost, by its name in microseconds", "[workload][simulated]") {
  Profile p = load_profile("generic", ".").value();
  REQUIRE(set_cost(p, "write_page_us", 0.65));
  CHECK(p.costs.write_page == std::chrono::nanoseconds{650});
  REQUIRE(set_cost(p, "tar_user_per_page_us", 1.5));
  CHECK(p.tar_user_per_page == std::chrono::nanoseconds{1500});
  CHECK_THAT(set_cost(p, "write_page", 1).error().what, Catch::StartsWith("box.costs.write_page is not a cost of the simulated box; those are write_page_us, "));
  for (const std::string& name : cost_names()) CHECK(set_cost(p, name, 1));
}
