#include <catch2/catch.hpp>

#include <sys/stat.h>

#include "tests/workload/extract/scratch.hpp"
#include "tests/workload/extract/tar_maker.hpp"
#include "workload/extract/extract.hpp"

using namespace spillway;
using namespace spillway::extract;
using spillway::test::contents;
using spillway::test::Scratch;
using spillway::test::TarMaker;

TEST_CASE("extract: files, directories and links arrive with mode and time", "[workload][extract]") {
  const Engine engine = GENERATE(Engine::posix, Engine::libarchive);
  const Scratch scratch;
  const auto archive = scratch.file(
      "a.tar", TarMaker{}.directory("d/", 0555).file("d/f", "hello", 0640).symlink("d/s", "f").hard_link("h", "d/f").end().bytes());
  const auto target = scratch.directory("out");
  ExtractOptions options = default_options();
  options.engine = engine;
  const auto report = spillway::extract::extract(archive, target, options);
  REQUIRE(report);
  CHECK(report->ok());
  CHECK(report->files == 1);
  CHECK(report->symlinks == 1);
  CHECK(report->hard_links == 1);
  CHECK(contents(target / "d/f") == "hello");
  struct stat f {};
  struct stat d {};
  REQUIRE(::stat((target / "d/f").c_str(), &f) == 0);
  REQUIRE(::stat((target / "d").c_str(), &d) == 0);
  CHECK(f.st_nlink == 2);
  CHECK((f.st_mode & 07777) == 0640);
  CHECK(f.st_mtime == 1'000'000'000);
  CHECK((d.st_mode & 07777) == 0555);
  CHECK(d.st_mtime == 1'000'000'000);
}
