#include <catch2/catch.hpp>

#include <cstring>

#include "tests/workload/extract/tar_maker.hpp"
#include "workload/extract/auto_direct.hpp"
#include "workload/extract/entry_name.hpp"
#include "workload/extract/tar_header.hpp"

using namespace spillway;
using namespace spillway::extract;
using spillway::test::pax_record;
using spillway::test::TarMaker;

namespace {
std::span<const std::byte> bytes_of(std::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }
}  // namespace

TEST_CASE("tar_header: numbers are octal or base 256, and nonsense is neither", "[workload][extract]") {
  using namespace std::string_view_literals;
  CHECK(parse_number(bytes_of("0000644\0"sv)) == 0644);
  CHECK(parse_number(bytes_of("   644 \0"sv)) == 0644);
  CHECK(parse_number(bytes_of("\0\0\0\0"sv)) == 0);
  CHECK(parse_number(bytes_of("77777777777\0"sv)) == 8'589'934'591);
  CHECK(parse_number(bytes_of("\x80\0\0\0\0\0\0\x02\x80\0\0\x04"sv)) == 10'737'418'244);
  CHECK(parse_number(bytes_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"sv)) == -1);
  CHECK(!parse_number(bytes_of("\x80\x01\0\0\0\0\0\0\0\0\0\0"sv)));
  CHECK(!parse_number(bytes_of("12x4"sv)));
  CHECK(!parse_number(bytes_of("777777777777777777777777"sv)));
}

TEST_CASE("tar_header: the checksum is right exactly when no byte was changed", "[workload][extract]") {
  std::string header = TarMaker{}.file("name", "data").bytes().substr(0, 512);
  REQUIRE(has_valid_checksum(Block(bytes_of(header).data(), 512)));
  for (std::size_t i = 0; i < 512; ++i) {
    if (i >= 148 && i < 156) continue;
    std::string changed = header;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CAPTURE(i);
    CHECK(!has_valid_checksum(Block(bytes_of(changed).data(), 512)));
  }
}

TEST_CASE("tar_header: pax records set what they name and stop at a wrong length", "[workload][extract]") {
  PaxValues values;
  parse_pax(pax_record("path", "a=b\nc") + pax_record("size", "12345678901") + pax_record("mtime", "-1.25") +
                pax_record("SCHILY.xattr.user.x", std::string("a\0b", 3)) + pax_record("LIBARCHIVE.xattr.user.y%20z", "aGk") +
                pax_record("SCHILY.acl.access", "user::rw-,user:lisa:rwx:1001,group::r--,mask::rwx,other::r--"),
            values, 10);
  CHECK(values.problem.empty());
  CHECK(values.path == "a=b\nc");
  CHECK(values.size == 12345678901);
  CHECK(values.mtime_s == -2);
  CHECK(values.mtime_ns == 750'000'000);
  REQUIRE(values.xattrs.size() == 2);
  CHECK(values.xattrs[0].value == std::string("a\0b", 3));
  CHECK(values.xattrs[1].name == "user.y z");
  CHECK(values.xattrs[1].value == "hi");
  CHECK(values.acl_access == "user::rw-,user:1001:rwx,group::r--,mask::rwx,other::r--");

  PaxValues broken;
  parse_pax(pax_record("path", "good") + "99 path=evil\n", broken, 10);
  CHECK(broken.path == "good");
  CHECK(!broken.problem.empty());
}

TEST_CASE("tar_header: runs that overlap, descend or reach beyond the file are refused", "[workload][extract]") {
  const auto [runs, size, good] = GENERATE(table<std::vector<Run>, std::int64_t, bool>({
      {{{0, 4}, {8, 4}}, 12, true},
      {{{0, 4}, {8, 4}}, 11, false},
      {{{0, 4}, {4, 4}}, 8, true},
      {{{0, 4}, {3, 4}}, 8, false},
      {{{8, 4}, {0, 4}}, 12, false},
      {{{0, -1}}, 12, false},
      {{{9223372036854775807, 1}}, 12, false},
      {{{12, 0}}, 12, true},
  }));
  auto copy = runs;
  CHECK(normalise_runs(copy, size) == good);
}

TEST_CASE("entry_name: a clean name has no way out", "[workload][extract]") {
  const auto [raw, clean] = GENERATE(table<std::string, std::string>({
      {"a", "a"}, {"./a//b/", "a/b"}, {"/etc/passwd", "etc/passwd"}, {"///a", "a"}, {".", ""}, {"./", ""}, {"a/./b", "a/b"}, {"..a/b..", "..a/b.."}}));
  const auto name = clean_name(raw);
  REQUIRE(name);
  CHECK(name->path == clean);
  for (const std::string bad : {"..", "../a", "a/..", "a/../b", "/..", "a/.."}) {
    CAPTURE(bad);
    CHECK(!clean_name(bad));
  }
  CHECK(!clean_name(""));
  CHECK(!clean_name(std::string("a\0b", 3)));
}

TEST_CASE("auto_direct: buffered below the freerun mark, direct beyond, never for small files", "[workload][extract]") {
  DirtyState state;
  state.limit = Pages{1000};
  state.background = Pages{500};
  const auto megabytes = [](std::int64_t n) { return Bytes{n * kMiB}; };
  state.dirty = Pages{750 - 256};
  CHECK_FALSE(auto_direct(state, megabytes(1), DirectPays::unknown));
  state.writeback = Pages{1};
  CHECK(auto_direct(state, megabytes(1), DirectPays::unknown));
  CHECK(auto_direct(state, megabytes(1), DirectPays::yes));
  CHECK_FALSE(auto_direct(state, megabytes(1), DirectPays::no));
  CHECK_FALSE(auto_direct(state, Bytes{kMiB - 1}, DirectPays::yes));
  CHECK(read_dirty_state());
}
