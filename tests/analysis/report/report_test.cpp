#include <catch2/catch.hpp>

#include "analysis/report/kernel_command_line.hpp"
#include "analysis/report/mail.hpp"
#include "analysis/report/text.hpp"
#include "analysis/report/text_plot.hpp"
#include "analysis/report/untar_table.hpp"
#include "tests/analysis/sample_record.hpp"

using namespace spillway;
using namespace spillway::analysis;
using namespace spillway::analysis::test;

namespace {

Timeline rising() {
  Timeline timeline;
  for (int i = 0; i <= 4000; ++i) {
    TimelineRow row;
    row.t_s = 0.1 * i;
    row.nr_dirty_pages = std::min(2'000'000.0, 1000.0 * i);
    row.nr_writeback_pages = 10'000;
    row.thresh_pages = 2'500'000;
    row.background_pages = 1'250'000;
    timeline.rows.push_back(row);
  }
  return timeline;
}

}  // namespace

TEST_CASE("report: the founding mail's line, letter by letter, with throughput after it", "[analysis][report]") {
  const Record record = founding_record();
  CHECK(untar_line(record.untars[4]).starts_with("5...7.36sec 0.12usr 5.69sys (78.94% cpu)"));
  CHECK(untar_line(record.untars[4]).ends_with("462 MB/s"));
  CHECK(untar_line(record.untars[7]).ends_with("33.5 MB/s"));
  CHECK(phase_line(record.phases[1]) == "sync...222.95sec 0.00usr 0.23sys (0.10% cpu)");
  const std::string table = untar_table(record);
  CHECK(table.starts_with("remove...1.82sec 0.07usr 12.91sys (713.19% cpu)\n1...5.03sec"));
  CHECK(table.find("apparent 111.8 MB/s") != std::string::npos);
  CHECK(table.find("durable  58.3 MB/s") != std::string::npos);
  CHECK(widest_line(table) <= 72);
}

TEST_CASE("report: repeats are given with an interval only where there are enough", "[analysis][report]") {
  std::vector<Record> records(6, founding_record());
  for (std::size_t i = 0; i < records.size(); ++i) records[i].untars[7].elapsed_s += static_cast<double>(i);
  std::vector<const Record*> all;
  for (const Record& record : records) all.push_back(&record);
  const std::string six = repeats_table(all);
  CHECK(six.find("95 % interval of the median") != std::string::npos);
  CHECK(six.find("101.640 to 106.640") != std::string::npos);
  all.resize(3);
  const std::string three = repeats_table(all);
  CHECK(three.find("range") != std::string::npos);
  CHECK(three.find("needs 6") != std::string::npos);
  CHECK(widest_line(six) <= 72);
}

TEST_CASE("report: text wraps at 72 columns, keeps every word, cuts what is longer than a line", "[analysis][report]") {
  const std::string words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen";
  const std::string wrapped = wrap(words, "* ", "  ", 30);
  CHECK(widest_line(wrapped) <= 30);
  std::string joined;
  for (const char c : wrapped) joined += c == '\n' ? ' ' : c;
  CHECK(joined.find("fifteen") != std::string::npos);
  CHECK(wrapped.starts_with("* one two three"));
  CHECK(widest_line(wrap(std::string(200, 'x'))) == 72);
  CHECK(columns_of("µs") == 2);
  CHECK(quote_block("a\tb\n" + std::string(100, 'y')).find('\t') == std::string::npos);
  CHECK(widest_line(quote_block(std::string(300, 'y'))) <= 72);
  const std::string info = quote_block("         =                       crc=1        finobt=1, sparse=1, rmapbt=0");
  CHECK(info.find("rmapbt=0") != std::string::npos);  // not cut in the middle
  CHECK(widest_line(info) <= 72);
}

TEST_CASE("report: text plots have axes and fit", "[analysis][report]") {
  const std::string bars = untar_bars(founding_record());
  CHECK(bars.find("   8 |####") != std::string::npos);
  CHECK(bars.find("101.64") != std::string::npos);
  CHECK(widest_line(bars) <= 72);
  const std::string plot = dirty_plot(rising(), 400);
  CHECK(plot.find('L') != std::string::npos);
  CHECK(plot.find("400.0 s") != std::string::npos);
  CHECK(plot.find("10240 |") != std::string::npos);  // 2.5 million pages of 4096 B
  CHECK(widest_line(plot) <= 72);
  CHECK(dirty_plot(Timeline{}, 10).empty());
}

TEST_CASE("report: the mail has every part, no line over 72 columns, and the experiment can be cut out", "[analysis][report]") {
  std::vector<Record> records{founding_record()};
  Record& record = records[0];
  record.experiment["question"] = "Does having six or more kworkers that flush XFS to one disk at the same time improve the throughput of that disk?";
  record.experiment["memory"]["dirty_ratio"] = 20;
  record.experiment["knobs"]["/sys/block/{dev}/queue/nr_requests"] = "64";
  record.box.environment["kernel"] = "Linux box 3.2.0 #1 SMP";
  record.box.environment["meminfo"] = "MemTotal:       98304000 kB\nMemFree:        90304000 kB";
  record.box.environment["mounts"] =
      "/dev/mapper/x /mnt xfs rw,nodiratime,relatime,swalloc,attr2,largeio,inode64,allocsize=128k,logbsize=256k,sunit=128,swidth=1536,noquota 0 0";
  record.box.environment["vm"] = {{"dirty_ratio", 20}, {"dirty_background_ratio", 10}};
  record.box.environment["disks"] = {{"name", "sda"}, {"queue", {{"scheduler", "none"}, {"nr_requests", "128"}}}};
  record.notes = {"RAM is assumed to be 96 GiB, since the mail does not say it, and this sentence is long enough to be wrapped once or twice."};
  const std::string source =
      "title = \"A title that is much too long for a line of a mail, and therefore has to be broken somewhere near its middle\"\n"
      "[replay]\nuntars = 8 # a comment that makes this line far longer than seventy-two columns, as comments will\n";
  const Timeline timeline = rising();
  Expectation e;
  e.metric = "untar[8].elapsed_s";
  e.value = 100;
  e.tolerance = 0.2;
  // Dirty memory in `rising` passes 1.25 million pages after 125.0 s; freerun, 1.875 million with writeback, after 186.5 s.
  CHECK(timeline_sentences(timeline, 240, 1).starts_with("Dirty memory crosses background at 125.0 s, freerun at 186.5 s."));
  const auto mail = report_mail({.records = records, .timeline = &timeline, .experiment_source = source,
                                 .command = "spillway run experiments/xfs-untar.toml --box real --repeat 5 --out results --set memory.dirty_ratio=20",
                                 .verdict = judge(std::vector{e}, records)});
  REQUIRE(mail);
  for (const std::string part : {"Subject: Eight untars", "Question\n--------", "Answer", "Results", "Where the time went", "Environment", "Assumed", "put back",
                                 "To repeat it", "5...7.36sec", "begin at untar 5 (5 to 6)", "Bottleneck: throttled", "met: untar[8].elapsed_s is 100 s within 20 %",
                                 "kernel: Linux box 3.2.0", "MemFree:", "dirty_background_ratio = 10", "not recorded: xfsprogs", "queue: scheduler = none, nr_requests = 128", "nr_requests", "apparent", "durable"}) {
    CAPTURE(part);
    CHECK(mail->find(part) != std::string::npos);
  }
  CHECK(widest_line(*mail) <= 72);
  const auto cut = cut_experiment(*mail);
  REQUIRE(cut);
  CHECK(cut->find("untars = 8") != std::string::npos);
  CHECK_FALSE(cut_experiment("no scissors here"));
}

TEST_CASE("report: a simulated record predicts, several cases are listed, and no record is an error", "[analysis][report]") {
  std::vector<Record> records{founding_record(), founding_record()};
  records[0].box.kind = records[1].box.kind = "simulated";
  records[1].case_keys = {{"memory.dirty_bytes", "1GB"}};
  const auto mail = report_mail({.records = records, .experiment_source = "", .command = ""});
  REQUIRE(mail);
  CHECK(mail->find("predicted") != std::string::npos);
  CHECK(mail->find("measured") == std::string::npos);
  CHECK(mail->find("simulated: memory.dirty_bytes=1GB") != std::string::npos);
  CHECK(mail->find("Nothing: the box is simulated") != std::string::npos);
  records[0].complete = records[1].complete = false;
  CHECK_FALSE(report_mail({.records = records, .experiment_source = "", .command = ""}));
}

TEST_CASE("report: of the kernel's command line only what bears on speed is told, the rest is counted", "[analysis][report]") {
  CHECK(public_command_line("BOOT_IMAGE=/vmlinuz root=UUID=1-2 mitigations=off token=s3cret mem=8G quiet") == "mitigations=off mem=8G (4 other words left out)");
  CHECK(public_command_line("root=/dev/sda1") == "nothing that bears on this; 1 other word left out");
  CHECK(public_command_line("") == "empty");
  Record record = founding_record();
  record.box.environment["kernel"] = {{"release", "6.18"}, {"command_line", "ds=nocloud;s=http://10.0.0.1/ nr_cpus=4"}};
  const std::string text = environment_text(record);
  CHECK(text.find("nr_cpus=4") != std::string::npos);
  CHECK(text.find("10.0.0.1") == std::string::npos);
}
