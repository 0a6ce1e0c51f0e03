#include "analysis/account/account.hpp"

#include <catch2/catch.hpp>

#include "tests/analysis/sample_record.hpp"

using namespace spillway;
using namespace spillway::analysis;

TEST_CASE("account: parts per untar add up to the elapsed time, and a part counted twice shows", "[analysis][account]") {
  Record record = test::founding_record();
  const auto bars = account_per_untar(record);
  REQUIRE(bars.size() == 8);
  for (const AccountBar& bar : bars) CHECK(bar.residue_pct == Approx(0).margin(1e-9));
  CHECK(bars[7].label == "untar 8");
  CHECK(bars[7].unknown_pct == Approx(100 * 0.1 * (101.64 - 8.13) / 101.64));
  record.untars[7].account.device_s = 10.164;
  CHECK(account_per_untar(record)[7].residue_pct == Approx(10));
}

TEST_CASE("account: by the second, the sums are those of the untars", "[analysis][account]") {
  const Record record = test::founding_record();
  const auto all = account_of_all(record);
  REQUIRE(all);
  CHECK(all->elapsed_s == Approx(243.26));
  Account sum;
  for (const AccountBar& bar : account_per_step(record, 1.0)) {
    CHECK(bar.elapsed_s <= 1.0 + 1e-9);
    sum = sum + bar.account;
  }
  CHECK(sum.throttled_s == Approx(all->account.throttled_s));
  CHECK(sum.system_s == Approx(all->account.system_s));
  CHECK(account_per_step(record, 0).empty());
}

TEST_CASE("account: the bottleneck of the founding mail is throttling, with its evidence", "[analysis][account]") {
  const auto found = find_bottleneck(test::founding_record());
  REQUIRE(found);
  CHECK(found->key == "throttled");
  CHECK(found->share_pct == Approx(100 * 0.9 * (243.26 - 49.23) / 243.26));
  CHECK(found->sentence.find("balance_dirty_pages") != std::string::npos);
  CHECK(found->sentence.find("676 MB/s") != std::string::npos);  // 3400 MB in 5.03 s
  CHECK(found->sentence.find("58.3 MB/s") != std::string::npos);  // 27.2 GB in 466.21 s
  CHECK(found->sentence.find("first untar was bound by system, the last by throttled") != std::string::npos);
}

TEST_CASE("account: a large unknown part is named as such and not guessed away", "[analysis][account]") {
  Record record = test::founding_record();
  for (UntarResult& one : record.untars) {
    one.account.unknown_s += one.account.throttled_s;
    one.account.throttled_s = 0;
  }
  const auto found = find_bottleneck(record);
  REQUIRE(found);
  CHECK(found->key == "unknown");
  CHECK(found->sentence.find("no source explains") != std::string::npos);
}

TEST_CASE("account: sources are named, missing ones too", "[analysis][account]") {
  const auto lines = account_sources(test::founding_record());
  CHECK(std::ranges::find(lines, "throttled: taskstats blkio_delay_total") != lines.end());
  CHECK(std::ranges::find(lines, "system: source not recorded") != lines.end());
  CHECK(std::ranges::find(lines, "unknown: elapsed less all other parts") != lines.end());
}

TEST_CASE("account: apparent and durable rate", "[analysis][account]") {
  const auto rates = find_rates(test::founding_record());
  REQUIRE(rates);
  CHECK(rates->apparent_mb_per_s == Approx(27'200 / 243.26));
  CHECK(rates->durable_mb_per_s == Approx(27'200 / 466.21));
  CHECK_FALSE(find_rates(Record{}));
}

TEST_CASE("account: a pipeline's bottleneck is its busiest thread or its lock", "[analysis][account]") {
  Record record;
  record.stages = {{.name = "epoll", .threads = 2, .cpu_pct = 60, .cpu_pct_max = 30}, {.name = "fuse", .threads = 1, .cpu_pct = 97, .cpu_pct_max = 97}};
  CHECK(find_bottleneck(record)->key == "stage fuse");
  record.stages[0].lock_held_pct = 92;
  CHECK(find_bottleneck(record)->key == "lock");
  CHECK_FALSE(find_bottleneck(Record{}));
}
