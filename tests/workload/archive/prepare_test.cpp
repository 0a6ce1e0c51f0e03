#include "workload/archive/catalogue.hpp"
#include "workload/archive/read_catalogue.hpp"
#include "workload/archive/sha256.hpp"
#include "workload/record/file_io.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <unistd.h>

#include "tests/support/temp_dir.hpp"

namespace fs = std::filesystem;
using namespace spillway;

namespace {

/// A folder with its own cache, both gone with the test.
struct Scratch : test::TempDir {
  Scratch() : TempDir("archive") { ::setenv("SPILLWAY_CACHE_DIR", (path / "cache").c_str(), 1); }
  ~Scratch() { ::unsetenv("SPILLWAY_CACHE_DIR"); }
};

/// A tar of everything that catalogues know, written by libarchive, compressed as asked ("" = plain).
void write_mixed(const fs::path& file, const std::string& filter) {
  archive* a = archive_write_new();
  archive_write_set_format_pax(a);
  if (!filter.empty()) REQUIRE(archive_write_add_filter_by_name(a, filter.c_str()) == ARCHIVE_OK);
  REQUIRE(archive_write_open_filename(a, file.c_str()) == ARCHIVE_OK);
  archive_entry* e = archive_entry_new();
  const auto put = [&](const char* name, int type, std::int64_t size, const std::string& data, auto extra) {
    archive_entry_clear(e);
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, static_cast<unsigned>(type));
    archive_entry_set_perm(e, 0640);
    archive_entry_set_size(e, size);
    extra();
    REQUIRE(archive_write_header(a, e) == ARCHIVE_OK);
    if (!data.empty()) archive_write_data(a, data.data(), data.size());
  };
  const auto nothing = [] {};
  put("./top/", AE_IFDIR, 0, "", nothing);
  put("./top/a b%c", AE_IFREG, 5, "hello", nothing);
  put("top/link", AE_IFLNK, 0, "", [e] { archive_entry_set_symlink(e, "../out side"); });
  put("top/hard", AE_IFREG, 0, "", [e] { archive_entry_set_hardlink(e, "top/a b%c"); });
  put("top/fifo", AE_IFIFO, 0, "", nothing);
  const std::string longname = "top/" + std::string(200, 'n');
  put(longname.c_str(), AE_IFREG, 3, "abc", nothing);
  put("top/sparse", AE_IFREG, 1'000'000, std::string(1'000'000, '\0'), [e] {
    archive_entry_sparse_add_entry(e, 4096, 4096);
    archive_entry_sparse_add_entry(e, 900'096, 99'904);
  });
  archive_entry_free(e);
  REQUIRE(archive_write_close(a) == ARCHIVE_OK);
  archive_write_free(a);
}

}  // namespace

TEST_CASE("catalogue: types, links, long names and holes are read", "[workload][archive]") {
  const Scratch scratch;
  write_mixed(scratch.path / "m.tar", "");
  const auto catalogue = read_catalogue(scratch.path / "m.tar");
  REQUIRE(catalogue);
  REQUIRE(catalogue->entries.size() == 7);
  const auto& e = catalogue->entries;
  CHECK(e[0].path == "top");
  CHECK(e[0].type == EntryType::directory);
  CHECK(e[1].path == "top/a b%c");
  CHECK(e[1].size == Bytes{5});
  CHECK(e[1].mode == 0640);
  CHECK(e[2].type == EntryType::symlink);
  CHECK(e[2].link == "../out side");
  CHECK(e[3].type == EntryType::hardlink);
  CHECK(e[3].link == "top/a b%c");
  CHECK(e[4].type == EntryType::fifo);
  CHECK(e[5].path.size() == 204);
  CHECK(e[6].size == Bytes{1'000'000});
  CHECK(e[6].stored == Bytes{4096 + 99'904});
  CHECK(e[6].holes == std::vector<std::pair<Bytes, Bytes>>{{Bytes{0}, Bytes{4096}}, {Bytes{8192}, Bytes{900'096 - 8192}}});
  CHECK(catalogue->files == 3);
  CHECK(catalogue->data_bytes == Bytes{5 + 3 + 4096 + 99'904});
}

TEST_CASE("catalogue: the compact file reads back the same", "[workload][archive]") {
  const Scratch scratch;
  write_mixed(scratch.path / "m.tar", "");
  Catalogue before = read_catalogue(scratch.path / "m.tar").value();
  before.sha256 = sha256_of("x");
  const std::string text = catalogue_text(before);
  const auto after = catalogue_from_text(text, "c");
  REQUIRE(after);
  CHECK(catalogue_text(*after) == text);
  CHECK(after->sha256 == before.sha256);
  CHECK(after->data_bytes == before.data_bytes);
  CHECK(after->entries[6].holes == before.entries[6].holes);
  CHECK(after->entries[1].path == "top/a b%c");
  for (const std::string& damaged : std::vector<std::string>{text.substr(0, text.size() / 2), "", "spillway.catalogue/1 - 5\n", text.substr(0, text.size() - 4)}) {
    const auto result = catalogue_from_text(damaged, "c");
    REQUIRE_FALSE(result);
    CHECK_THAT(result.error().what, Catch::Contains("damaged catalogue"));
  }
}

TEST_CASE("prepare: a made archive is made once and then found", "[workload][archive]") {
  const Scratch scratch;
  ArchiveSpec spec;
  spec.files = 50;
  spec.bytes = Bytes{2 * kMB};
  const auto first = prepare_archive(spec, ".");
  REQUIRE(first);
  CHECK(first->catalogue.sha256 == sha256_of_file(first->path).value());
  CHECK(first->catalogue.data_bytes == Bytes{2 * kMB});
  const auto made_at = fs::last_write_time(first->path);
  const auto second = prepare_archive(spec, ".");
  REQUIRE(second);
  CHECK(second->path == first->path);
  CHECK(second->catalogue.sha256 == first->catalogue.sha256);
  CHECK(fs::last_write_time(first->path) == made_at);

  // One that was cut off is made again.
  fs::resize_file(first->path, 1000);
  const auto third = prepare_archive(spec, ".");
  REQUIRE(third);
  CHECK(sha256_of_file(third->path).value() == first->catalogue.sha256);
  for (const auto& item : fs::directory_iterator{first->path.parent_path()}) CHECK(item.path().extension() != ".part");

  // The simulated box needs no data at all.
  fs::remove_all(scratch.path / "cache");
  const auto catalogue = catalogue_of(spec, ".");
  REQUIRE(catalogue);
  CHECK(catalogue->entries.size() == first->catalogue.entries.size());
  CHECK_FALSE(fs::exists(scratch.path / "cache"));
}

TEST_CASE("prepare: a compressed archive is unpacked once into a plain tar", "[workload][archive]") {
  const Scratch scratch;
  const std::string filter = GENERATE("gzip", "xz", "zstd", "bzip2");
  CAPTURE(filter);
  write_mixed(scratch.path / "m.tar.compressed", filter);
  write_mixed(scratch.path / "m.tar", "");
  ArchiveSpec spec;
  spec.path = "m.tar.compressed";
  const auto prepared = prepare_archive(spec, scratch.path);
  REQUIRE(prepared);
  CHECK(prepared->path.parent_path() == scratch.path / "cache" / "plain");
  CHECK(read_file(prepared->path).value() == read_file(scratch.path / "m.tar").value());
  CHECK(prepared->catalogue.sha256 == sha256_of_file(scratch.path / "m.tar").value());
  CHECK(prepared->catalogue.entries.size() == 7);
  const auto again = prepare_archive(spec, scratch.path);
  REQUIRE(again);
  CHECK(catalogue_text(again->catalogue) == catalogue_text(prepared->catalogue));

  spec.decompress = "each";
  const auto each = prepare_archive(spec, scratch.path);
  REQUIRE(each);
  CHECK(each->path == scratch.path / "m.tar.compressed");
  CHECK(each->catalogue.entries.size() == 7);
}

TEST_CASE("prepare: a plain tar is used where it is; a wrong hash, a missing and a broken archive are one sentence", "[workload][archive]") {
  const Scratch scratch;
  write_mixed(scratch.path / "m.tar", "");
  ArchiveSpec spec;
  spec.path = "m.tar";
  const auto prepared = prepare_archive(spec, scratch.path);
  REQUIRE(prepared);
  CHECK(prepared->path == scratch.path / "m.tar");

  spec.sha256 = std::string(64, '0');
  CHECK_THAT(prepare_archive(spec, scratch.path).error().what, Catch::Contains("the experiment expects archive.sha256 = 000"));
  spec.sha256 = prepared->catalogue.sha256;
  CHECK(prepare_archive(spec, scratch.path));

  spec.sha256.clear();
  spec.path = "none.tar";
  CHECK_THAT(prepare_archive(spec, scratch.path).error().what, Catch::StartsWith("archive.path = \"none.tar\": there is no archive "));

  std::ofstream{scratch.path / "text.tar"} << "this is not an archive at all, only a text that goes on for a while\n";
  spec.path = "text.tar";
  CHECK_THAT(prepare_archive(spec, scratch.path).error().what, Catch::Contains("is it an archive, and whole?"));

  write_mixed(scratch.path / "cut.tar.gz", "gzip");
  fs::resize_file(scratch.path / "cut.tar.gz", fs::file_size(scratch.path / "cut.tar.gz") / 2);
  spec.path = "cut.tar.gz";
  CHECK_FALSE(prepare_archive(spec, scratch.path));
  for (const auto& item : fs::recursive_directory_iterator{scratch.path / "cache"}) CHECK(item.path().extension() != ".part");
}

TEST_CASE("prepare: an archive that changed is read again", "[workload][archive]") {
  const Scratch scratch;
  write_mixed(scratch.path / "m.tar", "");
  ArchiveSpec spec;
  spec.path = "m.tar";
  const auto before = prepare_archive(spec, scratch.path).value();
  std::ofstream{scratch.path / "m.tar", std::ios::app} << std::string(10240, '\0');
  const auto after = prepare_archive(spec, scratch.path);
  REQUIRE(after);
  CHECK(after->catalogue.sha256 != before.catalogue.sha256);
}

TEST_CASE("prepare: archives that a script fetched are found in the cache", "[workload][archive]") {
  const Scratch scratch;
  fs::create_directories(scratch.path / "cache" / "archives");
  write_mixed(scratch.path / "cache" / "archives" / "fetched.tar", "");
  ArchiveSpec spec;
  spec.path = "fetched.tar";
  CHECK(prepare_archive(spec, scratch.path / "elsewhere"));
}
