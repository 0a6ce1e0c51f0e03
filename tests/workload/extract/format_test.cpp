#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/workload/extract/scratch.hpp"
#include "tests/workload/extract/tar_maker.hpp"
#include "tests/workload/extract/tree_snapshot.hpp"
#include "workload/extract/extract.hpp"
#include "workload/extract/verify_tree.hpp"

namespace fs = std::filesystem;
using namespace spillway;
using namespace spillway::extract;
using namespace spillway::test;

namespace {

void run(const std::string& command) {
  CAPTURE(command);
  REQUIRE(std::system((command + " >/dev/null 2>&1").c_str()) == 0);
}

ExtractOptions with(Engine engine, int writers) {
  ExtractOptions options = default_options();
  options.engine = engine;
  options.writers = writers;
  return options;
}

/// A zip that was written as a stream: the local headers have no sizes, and a reader that cannot seek learns them only
/// behind the data. Stored by hand, since no program here writes what one has to expect.
std::string streamed_zip(const std::vector<std::pair<std::string, std::string>>& files) {
  const auto number = [](std::uint32_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
  };
  const auto crc = [](std::string_view data) {
    std::uint32_t sum = 0xffffffffU;
    for (const char c : data) {
      sum ^= static_cast<unsigned char>(c);
      for (int i = 0; i < 8; ++i) sum = sum >> 1 ^ (0xedb88320U & (0U - (sum & 1U)));
    }
    return ~sum;
  };
  std::string zip, directory;
  for (const auto& [name, data] : files) {
    // Deflate in stored blocks of at most 65535 bytes: its own end mark tells where the data ends.
    std::string deflated;
    std::size_t at = 0;
    do {
      const std::size_t take = std::min<std::size_t>(65535, data.size() - at);
      deflated += number(at + take == data.size() ? 1 : 0, 1) + number(static_cast<std::uint32_t>(take), 2) +
                  number(static_cast<std::uint32_t>(~take), 2) + data.substr(at, take);
      at += take;
    } while (at < data.size());
    const std::string sizes = number(crc(data), 4) + number(static_cast<std::uint32_t>(deflated.size()), 4) + number(static_cast<std::uint32_t>(data.size()), 4);
    const std::string common = number(20, 2) + number(8, 2) + number(8, 2) + number(0x21, 4);
    directory += "PK\x01\x02" + number(0x31e, 2) + common + sizes + number(static_cast<std::uint32_t>(name.size()), 2) + number(0, 8) +
                 number(0100644U << 16, 4) + number(static_cast<std::uint32_t>(zip.size()), 4) + name;
    zip += "PK\x03\x04" + common + std::string(12, '\0') + number(static_cast<std::uint32_t>(name.size()), 2) + number(0, 2) + name + deflated +
           "PK\x07\x08" + sizes;
  }
  const auto count = static_cast<std::uint32_t>(files.size());
  return zip + directory + "PK\x05\x06" + number(0, 4) + number(count, 2) + number(count, 2) +
         number(static_cast<std::uint32_t>(directory.size()), 4) + number(static_cast<std::uint32_t>(zip.size()), 4) + number(0, 2);
}

/// What `bytes` written into a FIFO by another thread becomes.
Result<ExtractReport> extract_from_pipe(const Scratch& scratch, const std::string& bytes, const fs::path& target, const ExtractOptions& options) {
  const fs::path fifo = scratch / "fifo";
  fs::remove(fifo);
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  std::thread writer([&] {
    std::ofstream out(fifo, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  });
  auto report = spillway::extract::extract(fifo, target, options);
  writer.join();
  return report;
}

}  // namespace

TEST_CASE("extract: members whose size only their end tells are complete", "[workload][extract][format]") {
  const Scratch scratch;
  const std::string large(1'300'000, 'z');
  const std::string bytes = streamed_zip({{"a", "hello"}, {"d/large", large}, {"empty", ""}, {"last", "end"}});
  int number = 0;
  for (const auto& [engine, writers] : {std::pair{Engine::posix, 1}, {Engine::posix, 2}, {Engine::posix, 8}, {Engine::uring, 2}, {Engine::libarchive, 1}}) {
    for (const bool pipe : {true, false}) {
      CAPTURE(name_of(engine), writers, pipe);
      const auto target = scratch.directory(std::to_string(number++));
      const auto report = pipe ? extract_from_pipe(scratch, bytes, target, with(engine, writers))
                               : spillway::extract::extract(scratch.file("z.zip", bytes), target, with(engine, writers));
      REQUIRE(report);
      CAPTURE(report->errors.empty() ? "" : report->errors[0].what);
      CHECK(report->ok());
      CHECK(contents(target / "a") == "hello");
      CHECK(contents(target / "d/large") == large);
      CHECK(contents(target / "empty").empty());
      CHECK(contents(target / "last") == "end");
      CHECK(report->data_bytes == static_cast<std::int64_t>(8 + large.size()));
      CHECK(report->apparent_bytes == report->data_bytes);
    }
  }
}

TEST_CASE("extract: the limit of bytes holds where a header promises none", "[workload][extract][format][limits]") {
  const Scratch scratch;
  const std::string bytes = streamed_zip({{"a", "hello"}, {"bomb", std::string(3'000'000, 'b')}, {"after", "x"}});
  for (const auto& [engine, writers] : {std::pair{Engine::posix, 1}, {Engine::posix, 4}, {Engine::libarchive, 1}}) {
    CAPTURE(name_of(engine), writers);
    ExtractOptions options = with(engine, writers);
    options.limits.file_bytes = Bytes{1'000'000};
    const auto target = scratch.directory(std::string(name_of(engine)) + std::to_string(writers));
    const auto report = extract_from_pipe(scratch, bytes, target, options);
    REQUIRE(report);
    CHECK_FALSE(report->ok());
    CHECK_FALSE(report->archive_complete);
    REQUIRE(report->error_count >= 1);
    CHECK(report->errors[0].what.find("more than 1000000 bytes") != std::string::npos);
    REQUIRE(report->partial_files.size() == 1);
    CHECK(report->partial_files[0].name == "bomb");
    CHECK(fs::file_size(target / "bomb") <= 1'000'000);
    CHECK_FALSE(fs::exists(target / "after"));
  }
}

TEST_CASE("extract: limits of members, bytes, size and depth stop a bomb", "[workload][extract][limits]") {
  const Scratch scratch;
  TarMaker maker;
  for (int i = 0; i < 50; ++i) maker.file(fmt::format("f{}", i), std::string(1000, 'x'));
  const auto flat = scratch.file("flat.tar", maker.end().bytes());
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "d/";
  const auto tower = scratch.file("deep.tar", TarMaker{}.pax({{"path", deep + "f"}}).file("f", "deep").file("after", "x").end().bytes());
  const auto huge = scratch.file("huge.tar", TarMaker{}
                                                 .pax({{"GNU.sparse.size", "4000000000000000000"}, {"GNU.sparse.numblocks", "1"}, {"GNU.sparse.map", "0,4"}})
                                                 .file("huge", "data").file("after", "x").end().bytes());
  int number = 0;
  for (const auto& [engine, writers] : {std::pair{Engine::posix, 1}, {Engine::posix, 8}, {Engine::uring, 2}, {Engine::libarchive, 1}}) {
    CAPTURE(name_of(engine), writers);
    const auto done = [&](const fs::path& archive, auto change) {
      ExtractOptions options = with(engine, writers);
      change(options.limits);
      const auto target = scratch.directory(std::to_string(number++));
      auto report = spillway::extract::extract(archive, target, options);
      REQUIRE(report);
      return std::pair{std::move(*report), target};
    };
    {
      const auto [report, target] = done(flat, [](Limits& l) { l.entries = 10; });
      CHECK_FALSE(report.ok());
      CHECK(report.files == 10);
      CHECK(report.errors.at(0).what.find("more than 10 members") != std::string::npos);
    }
    {
      const auto [report, target] = done(flat, [](Limits& l) { l.file_bytes = Bytes{20'500}; });
      CHECK_FALSE(report.ok());
      CHECK(report.files == 20);
      CHECK(report.errors.at(0).what.find("more than 20500 bytes") != std::string::npos);
    }
    {
      const auto [report, target] = done(tower, [](Limits& l) { l.depth = 100; });
      CHECK(report.error_count == 1);
      CHECK(report.archive_complete);
      CHECK(report.errors.at(0).what.find("201 directories deep") != std::string::npos);
      CHECK(fs::exists(target / "after"));
      CHECK_FALSE(fs::exists(target / "d"));
    }
    {
      const auto [report, target] = done(tower, [](Limits&) {});
      CHECK(report.ok());
      CHECK(contents(target / (deep + "f")) == "deep");
    }
    {
      const auto [report, target] = done(huge, [](Limits&) {});
      CHECK_FALSE(report.ok());
      CHECK_FALSE(fs::exists(target / "huge"));
      CHECK(contents(target / "after") == "x");
    }
  }
}

TEST_CASE("extract: an ISO 9660 image is not an empty tar, though it begins with zeros", "[workload][extract][format]") {
  const Scratch scratch;
  scratch.directory("source/d");
  scratch.file("source/d/f", "from the image");
  const auto image = scratch / "image.iso";
  run(fmt::format("bsdtar --format=iso9660 -cf {} -C {} d", image.string(), (scratch / "source").string()));
  REQUIRE(contents(image).substr(0, 512) == std::string(512, '\0'));
  int number = 0;
  for (const bool compressed : {false, true}) {
    if (compressed) run(fmt::format("gzip -f {}", image.string()));
    const auto archive = compressed ? scratch / "image.iso.gz" : image;
    for (const auto& [engine, writers] : {std::pair{Engine::posix, 1}, {Engine::posix, 8}, {Engine::libarchive, 1}}) {
      CAPTURE(name_of(engine), writers, compressed);
      const auto target = scratch.directory(std::to_string(number++));
      const auto report = spillway::extract::extract(archive, target, with(engine, writers));
      REQUIRE(report);
      CHECK(report->ok());
      CHECK(report->files == 1);
      CHECK(contents(target / "d/f") == "from the image");
      const auto compared = verify_tree(archive, target);
      REQUIRE(compared);
      CAPTURE(compared->same() ? "" : compared->differences[0].name + " " + compared->differences[0].what);
      CHECK(compared->same());
    }
  }
}

TEST_CASE("extract: zeros with something else behind are no archive, and that is said", "[workload][extract][format]") {
  const Scratch scratch;
  const std::size_t zeros = GENERATE(std::size_t{512}, std::size_t{32768}, std::size_t{70'000}, std::size_t{3'000'064});
  const auto file = scratch.file("disk.img", std::string(zeros, '\0') + "something else" + std::string(4096, 'x'));
  for (const int writers : {1, 2}) {
    CAPTURE(zeros, writers);
    const auto report = spillway::extract::extract(file, scratch.directory("out"), with(Engine::posix, writers));
    const std::string said = !report ? report.error().what : report->errors.empty() ? "" : report->errors[0].what;
    CHECK(said.find("begins with") != std::string::npos);
    CHECK(said.find("no archive of a known format") != std::string::npos);
    CHECK_FALSE((report && report->ok()));
  }
}

TEST_CASE("extract: a compressed archive that is cut names the partial file", "[workload][extract][format]") {
  const Scratch scratch;
  // Text that compresses a little, so that the cut lies well inside the second file.
  std::string data;
  std::uint64_t state = 7;
  for (int i = 0; i < 400'000; ++i) data += static_cast<char>('a' + (state = state * 6364136223846793005ULL + 1) % 1000 / 50);
  const auto tar = scratch.file("a.tar", TarMaker{}.file("first", "1").file("second", data).file("third", "3").end().bytes());
  int number = 0;
  for (const char* const program : {"gzip", "zstd", "xz", "lz4", "bzip2"}) {
    run(fmt::format("bsdtar --{} -cf {}.z @{}", program, tar.string(), tar.string()));
    const std::string whole = contents(tar.string() + ".z");
    REQUIRE(whole.size() > 10'000);
    for (const auto& [engine, writers] : {std::pair{Engine::posix, 1}, {Engine::posix, 8}, {Engine::libarchive, 1}}) {
      CAPTURE(program, name_of(engine), writers);
      const auto complete = scratch.directory(std::to_string(number++));
      const auto good = spillway::extract::extract(scratch.file("whole.z", whole), complete, with(engine, writers));
      REQUIRE(good);
      CHECK(good->ok());
      CHECK(contents(complete / "second") == data);

      const auto target = scratch.directory(std::to_string(number++));
      CAPTURE(good->errors.empty() ? "" : good->errors[0].what);
      const auto report = spillway::extract::extract(scratch.file("cut.z", whole.substr(0, whole.size() * 2 / 3)), target, with(engine, writers));
      if (!report) {  // libarchive's lz4 reader delivers nothing of a cut file, so it is not seen to be a tar
        CHECK(engine == Engine::libarchive);
        continue;
      }
      CHECK_FALSE(report->ok());
      CHECK_FALSE(report->archive_complete);
      CHECK_FALSE(fs::exists(target / "third"));
      // xz and bzip2 give nothing of a block that is not complete, so the second file may not even have begun.
      if (fs::exists(target / "second")) {
        REQUIRE(report->partial_files.size() == 1);
        CHECK(report->partial_files[0].name == "second");
        CHECK(report->partial_files[0].expected == 400'000);
        // libarchive makes the file as long as it should be; what is missing is zero.
        if (engine != Engine::libarchive)
          CHECK(report->partial_files[0].written == static_cast<std::int64_t>(fs::file_size(target / "second")));
      }
    }
  }
}

TEST_CASE("extract: a hard link's data is not written into a file that was there before", "[workload][extract][format]") {
  // cpio gives data with the last name. Here the other name is a file of the tree's that has a name outside.
  const Scratch scratch;
  scratch.directory("source");
  scratch.file("source/a", "data of both");
  fs::create_hard_link(scratch / "source/a", scratch / "source/b");
  const auto archive = scratch / "a.cpio";
  run(fmt::format("cd {} && printf 'a\\nb\\n' | bsdtar --format=newc -cf {} -T -", (scratch / "source").string(), archive.string()));
  for (const int writers : {1, 8}) {
    CAPTURE(writers);
    const auto target = scratch.directory(fmt::format("out{}", writers));
    scratch.file("outside", "precious");
    fs::create_hard_link(scratch / "outside", target / "a");
    const auto report = spillway::extract::extract(archive, target, with(Engine::posix, writers));
    REQUIRE(report);
    CHECK(report->ok());
    CHECK(contents(scratch / "outside") == "precious");
    CHECK(contents(target / "a") == "data of both");
    CHECK(contents(target / "b") == "data of both");
    struct stat s {};
    REQUIRE(::stat((target / "a").c_str(), &s) == 0);
    CHECK(s.st_nlink == 2);
  }
}

TEST_CASE("extract: a request to stop ends it, and what is missing is said", "[workload][extract]") {
  const Scratch scratch;
  TarMaker maker;
  for (int i = 0; i < 500; ++i) maker.file(fmt::format("f{}", i), std::string(2000, 'x'));
  const auto archive = scratch.file("a.tar", maker.end().bytes());
  for (const auto& [engine, writers] : {std::pair{Engine::posix, 1}, {Engine::posix, 4}, {Engine::libarchive, 1}}) {
    CAPTURE(name_of(engine), writers);
    std::atomic<int> asked = 0;
    ExtractOptions options = with(engine, writers);
    options.stop = [&asked] { return ++asked > 100; };
    const auto report = spillway::extract::extract(archive, scratch.directory(std::string(name_of(engine)) + std::to_string(writers)), options);
    REQUIRE(report);
    CHECK_FALSE(report->ok());
    CHECK(report->files < 110);
    REQUIRE(report->error_count >= 1);
    CHECK(report->errors.back().what.find("interrupted") != std::string::npos);
  }
}
