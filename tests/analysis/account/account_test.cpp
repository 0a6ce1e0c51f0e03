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

TEST_CASE("account: dated sleeps put the throttled part where it was, and every second adds up", "[analysis][account]") {
  Record record;
  UntarResult untar;
  untar.number = 1;
  untar.elapsed_s = 4;
  untar.account = {.user_s = 0.2, .system_s = 1.8, .throttled_s = 1.9, .unknown_s = 0.1};
  record.untars.push_back(untar);
  record.untars_end_s = 4;
  // Ten sleeps of 0.19 s, all in the last two seconds.
  std::vector<DatedPause> pauses;
  for (int i = 0; i < 10; ++i) pauses.push_back({2.0 + 0.2 * i, 0.19});
  const auto bars = account_per_step(record, 1, pauses);
  REQUIRE(bars.size() == 4);
  CHECK(bars[0].account.throttled_s == Approx(0).margin(1e-9));
  CHECK(bars[2].account.throttled_s == Approx(0.95));
  CHECK(bars[3].account.throttled_s == Approx(0.95));
  CHECK(bars[0].account.system_s == Approx(1.8 * 1.0 / 2.1));
  Account sum;
  for (const AccountBar& bar : bars) {
    CHECK(bar.account.total_s() == Approx(1));
    sum = sum + bar.account;
  }
  for (std::size_t i = 0; i < kAccountParts; ++i) CHECK(account_parts(sum)[i] == Approx(account_parts(untar.account)[i]));
  // Undated: spread evenly, as before.
  CHECK(account_per_step(record, 1)[0].account.throttled_s == Approx(1.9 / 4));
}

TEST_CASE("account: a sleep that was asked for longer than it lasted fills its step and no more", "[analysis][account]") {
  Record record;
  UntarResult untar;
  untar.number = 1;
  untar.elapsed_s = 2;
  untar.account = {.system_s = 0.2, .throttled_s = 1.8};
  record.untars.push_back(untar);
  const std::vector<DatedPause> pauses{{1.0, 0.2}};  // 0.2 s dated of 1.8 s: the trace lost the rest
  const auto bars = account_per_step(record, 1, pauses);
  REQUIRE(bars.size() == 2);
  CHECK(bars[1].account.throttled_s == Approx(1));
  CHECK(bars[0].account.throttled_s == Approx(0.8));
  for (const AccountBar& bar : bars) CHECK(bar.account.total_s() == Approx(1));
}

TEST_CASE("account: sleeps are read from the traces of every box", "[analysis][account]") {
  Record record;
  CHECK(read_pauses("t_s,untar,pause_ms\n0.5,1,20\n0.6,1,0\n0.7,1,-4\n", record).size() == 1);
  const auto kernel = read_pauses("t_ms,comm,pause_ms\n500,tar,20\n", record);
  REQUIRE(kernel.size() == 1);
  CHECK(kernel[0].t_s == Approx(0.5));
  CHECK(kernel[0].pause_s == Approx(0.02));
  const std::string real = "# a comment\nt_mono_s,pid,pause_ms\n7473.5,1,20\n";
  CHECK(read_pauses(real, record).empty());  // nobody knows when the first untar began
  record.counters["monotonic_origin_s"] = 7473;
  REQUIRE(read_pauses(real, record).size() == 1);
  CHECK(read_pauses(real, record)[0].t_s == Approx(0.5));
  CHECK(read_pauses("no,such,columns\n1,2,3\n", record).empty());
}

TEST_CASE("account: steps are 1, 2 or 5 times a power of ten", "[analysis][account]") {
  Record record;
  record.untars.emplace_back().elapsed_s = 18;
  CHECK(nice_step(record, 40) == Approx(0.5));
  record.untars[0].elapsed_s = 243;
  CHECK(nice_step(record, 40) == Approx(10));
  record.untars[0].elapsed_s = 40;
  CHECK(nice_step(record, 40) == Approx(1));
}
