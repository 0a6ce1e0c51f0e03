#include "tests/workload/extract/archive_cases.hpp"

#include <fmt/format.h>

#include <fstream>

#include "tests/workload/extract/tar_maker.hpp"
#include "tests/workload/extract/tree_snapshot.hpp"

namespace spillway::test {
namespace {

using extract::ExtractOptions;
using extract::ExtractReport;
namespace fs = std::filesystem;

constexpr std::int64_t kGiB1 = std::int64_t{1} << 30;

std::string octal12(std::int64_t value) {
  if (value >= std::int64_t{1} << 33) {  // GNU: base-256 where eleven octal digits do not do
    std::string text(12, '\0');
    for (int i = 11; i > 3; --i, value >>= 8) text[static_cast<std::size_t>(i)] = static_cast<char>(value & 0xff);
    text[0] = static_cast<char>(0x80);
    return text;
  }
  return fmt::format("{:011o}", value) + '\0';
}

/// Replace bytes of the last header in `bytes` and put its checksum right.
void patch_last_header(std::string& bytes, std::size_t at, std::string_view text) {
  const std::size_t start = bytes.size() - 512;
  bytes.replace(start + at, text.size(), text);
  for (std::size_t i = 148; i < 156; ++i) bytes[start + i] = ' ';
  unsigned sum = 0;
  for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(bytes[start + i]);
  bytes.replace(start + 148, 8, fmt::format("{:06o}", sum) + '\0' + ' ');
}

/// An old GNU sparse member with two runs: `head` at 0, `tail` at `tail_at`.
std::string gnu_sparse(std::string name, std::string_view head, std::string_view tail, std::int64_t tail_at) {
  TarHeader h;
  h.name = std::move(name);
  h.type = 'S';
  h.magic = TarMaker::gnu_magic();
  h.size = static_cast<std::int64_t>(head.size() + tail.size());
  std::string bytes = TarMaker{}.header(h).bytes();
  const auto size = tail_at + static_cast<std::int64_t>(tail.size());
  patch_last_header(bytes, 386, octal12(0) + octal12(static_cast<std::int64_t>(head.size())) + octal12(tail_at) +
                                    octal12(static_cast<std::int64_t>(tail.size())));
  patch_last_header(bytes, 483, octal12(size));
  return TarMaker{}.raw(bytes).raw(head).raw(tail).pad().bytes();
}

/// star's own sparse member with runs at 0 and then at multiples of `step`, the first four in the header and the rest
/// in a continuation block.
std::string star_sparse(const std::string& name, const std::vector<std::string>& runs, std::int64_t step) {
  TarHeader h;
  h.name = name;
  h.type = 'S';
  for (const std::string& run : runs) h.size += static_cast<std::int64_t>(run.size());
  std::string bytes = TarMaker{}.header(h).bytes();
  std::string first, more;
  for (std::size_t i = 0; i < runs.size(); ++i)
    (i < 4 ? first : more) += octal12(static_cast<std::int64_t>(i) * step) + octal12(static_cast<std::int64_t>(runs[i].size()));
  patch_last_header(bytes, 355, std::string(1, more.empty() ? '\0' : '1'));
  patch_last_header(bytes, 356, first);
  patch_last_header(bytes, 452, octal12(static_cast<std::int64_t>(runs.size() - 1) * step + static_cast<std::int64_t>(runs.back().size())));
  // What makes it star's: access and change time with a blank behind, and the mark at the end.
  patch_last_header(bytes, 476, "07346545000 07346545000 ");
  patch_last_header(bytes, 508, std::string("tar\0", 4));
  if (!more.empty()) {
    more.resize(512, '\0');
    bytes += more;
  }
  TarMaker maker;
  maker.raw(bytes);
  for (const std::string& run : runs) maker.raw(run);
  return maker.pad().bytes();
}

/// pax sparse 1.0: the map in front of the data. `size_record`: what pax and header say is stored; -1: the truth.
std::string pax_sparse_10(const std::string& name, std::string_view head, std::string_view tail, std::int64_t tail_at,
                          std::int64_t size_record = -1, bool header_size_zero = false) {
  const std::int64_t real = tail_at + static_cast<std::int64_t>(tail.size());
  std::string map = fmt::format("2\n0\n{}\n{}\n{}\n", head.size(), tail_at, tail.size());
  map.resize((map.size() + 511) / 512 * 512, '\0');
  std::string data = map;
  data += head;
  data += tail;
  const std::int64_t stored = size_record >= 0 ? size_record : static_cast<std::int64_t>(data.size());
  TarMaker maker;
  maker.pax({{"GNU.sparse.major", "1"}, {"GNU.sparse.minor", "0"}, {"GNU.sparse.name", name},
             {"GNU.sparse.realsize", std::to_string(real)}, {"size", std::to_string(stored)}});
  TarHeader h;
  h.name = "GNUSparseFile.1/" + name;
  h.size = header_size_zero ? 0 : stored;
  return maker.header(h).raw(data).pad().bytes();
}

std::function<std::string(const fs::path&, const ExtractReport&)> sparse_check(std::string name, std::int64_t size, long long at_most) {
  return [=](const fs::path& target, const ExtractReport&) -> std::string {
    std::error_code error;
    if (static_cast<std::int64_t>(fs::file_size(target / name, error)) != size)
      return fmt::format("{} has {} bytes, not {}", name, fs::file_size(target / name, error), size);
    const long long allocated = allocated_bytes(target / name);
    return allocated <= at_most ? "" : fmt::format("{} takes {} bytes on disk", name, allocated);
  };
}

}  // namespace

std::vector<ArchiveCase> archive_cases(const fs::path& outside) {
  std::vector<ArchiveCase> cases;
  const auto add = [&cases](ArchiveCase one) { cases.push_back(std::move(one)); };
  const std::string out = outside.string();
  const std::string long15 = "abcdefghijklmno";

  // ---- sparse -----------------------------------------------------------------------------------------------------
  {
    ArchiveCase c{"A01-gnu", "a 10 GiB hole between 4 and 4 bytes, old GNU header", "libarchive issue 464",
                  gnu_sparse("hole", "abc\n", "wxyz", 10 * kGiB1) + TarMaker{}.file("after", "x").end().bytes()};
    c.tree = {"after f x", "hole f 10737418244"};
    c.also = sparse_check("hole", 10 * kGiB1 + 4, 16384);
    add(c);
    c.id = "A01-pax10";
    c.what = "the same as pax sparse 1.0";
    c.bytes = pax_sparse_10("hole", "abc\n", "wxyz", 10 * kGiB1) + TarMaker{}.file("after", "x").end().bytes();
    add(c);
    c.id = "A01-pax01";
    c.what = "the same as pax sparse 0.1";
    c.bytes = TarMaker{}
                  .pax({{"GNU.sparse.size", "10737418244"}, {"GNU.sparse.numblocks", "2"}, {"GNU.sparse.map", "0,4,10737418240,4"},
                        {"GNU.sparse.name", "hole"}})
                  .file("GNUSparseFile.1/hole", "abc\nwxyz").file("after", "x").end().bytes();
    add(c);
    c.id = "A01-pax00";
    c.what = "the same as pax sparse 0.0";
    c.bytes = TarMaker{}
                  .pax({{"GNU.sparse.size", "10737418244"}, {"GNU.sparse.numblocks", "2"}, {"GNU.sparse.offset", "0"},
                        {"GNU.sparse.numbytes", "4"}, {"GNU.sparse.offset", "10737418240"}, {"GNU.sparse.numbytes", "4"}})
                  .file("hole", "abc\nwxyz").file("after", "x").end().bytes();
    add(c);
    c.id = "A01-direct";
    c.what = "the same, written with O_DIRECT";
    c.options = [](ExtractOptions& o) { o.direct = extract::DirectMode::on; };
    add(c);
  }
  {
    ArchiveCase c{"A01-star", "star's sparse header, with a continuation", "GNU tar src/sparse.c, star_get_sparse_info",
                  star_sparse("hole", {"abc\n", "11", "22", "33", "44", "wxyz"}, 1'000'000) + TarMaker{}.file("after", "x").end().bytes()};
    c.tree = {"after f x", "hole f 5000004"};
    c.also = sparse_check("hole", 5'000'004, 65536);
    c.peers = Peers::differ;
    c.why = "libarchive does not know star's sparse members";
    add(c);
    c.id = "A01-star-pax";
    c.what = "a real size in star's pax record";
    c.bytes = TarMaker{}.pax({{"SCHILY.realsize", "5000004"}, {"GNU.sparse.map", "0,4,5000000,4"}}).file("hole", "abc\nwxyz").file("after", "x").end().bytes();
    c.also = sparse_check("hole", 5'000'004, 65536);
    add(c);
  }
  {
    ArchiveCase c{"A02", "size 0 in the header, the true size in pax", "libarchive issue 880", {}};
    TarHeader h;
    h.name = "f";
    h.size = 0;
    c.bytes = TarMaker{}.pax({{"size", "600"}}).header(h).raw(std::string(600, 'q')).pad().file("after", "x").end().bytes();
    c.tree = {"after f x", "f f " + std::string(600, 'q')};
    add(c);
  }
  {
    ArchiveCase c{"A02-base256", "a size in base 256", "libarchive issue 880", {}};
    TarHeader h;
    h.name = "f";
    h.size = 5;
    h.base256_size = true;
    c.bytes = TarMaker{}.header(h).raw("hello").pad().file("after", "x").end().bytes();
    c.tree = {"after f x", "f f hello"};
    add(c);
  }
  {
    ArchiveCase c{"A03", "a size record larger than the sparse map: written before the member was shrunk", "libarchive pull 1653",
                  pax_sparse_10("hole", "abc\n", "wxyz", 8192, 8196 + 512) + TarMaker{}.file("after", "x").file("last", "y").end().bytes()};
    c.tree = {"after f x", "hole f 8196", "last f y"};
    c.message = "next header was found where the map ends";
    c.peers = Peers::differ;
    c.why = "both trust the record and lose the members that follow";
    add(c);
  }
  {
    // The map's last run is the empty one at the end of the file, twice: subtly wrong, complete all the same.
    ArchiveCase c{"A04", "a sparse map with empty runs at its end", "libarchive issue 2138", {}};
    std::string map = "4\n0\n4\n8192\n4\n8196\n0\n8196\n0\n";
    map.resize(512, '\0');
    TarHeader h;
    h.name = "GNUSparseFile.1/hole";
    h.size = 520;
    c.bytes = TarMaker{}.pax({{"GNU.sparse.major", "1"}, {"GNU.sparse.minor", "0"}, {"GNU.sparse.name", "hole"}, {"GNU.sparse.realsize", "8196"}})
                  .header(h).raw(map + "abc\nwxyz").pad().file("after", "x").end().bytes();
    c.tree = {"after f x", "hole f 8196"};
    add(c);
  }
  {
    ArchiveCase c{"A05", "real size and size both given, header size 0, map padded to 512", "libarchive issue 2548",
                  pax_sparse_10("hole", std::string(1000, 'a'), std::string(3000, 'b'), kGiB1, -1, true) +
                      TarMaker{}.file("after", "x").end().bytes()};
    c.tree = {"after f x", "hole f 1073744824"};
    c.also = sparse_check("hole", kGiB1 + 3000, 32768);
    add(c);
  }

  // ---- ends -------------------------------------------------------------------------------------------------------
  {
    ArchiveCase c{"A07", "garbage behind the end mark", "systemd pull 16930",
                  TarMaker{}.file("a", "1").end().raw("garbage!").bytes()};
    c.tree = {"a f 1"};
    c.also = [](const fs::path&, const ExtractReport& r) -> std::string {
      return r.trailing.bytes == 8 && !r.trailing.all_zero ? "" : fmt::format("trailing data: {} bytes", r.trailing.bytes);
    };
    add(c);
  }
  {
    ArchiveCase c{"A08", "cat a.tar b.tar", "libarchive pull 1620",
                  TarMaker{}.file("a", "1").file("c", "1").end().file("b", "2").file("c", "2").end().bytes()};
    c.tree = {"a f 1", "c f 1"};
    c.also = [](const fs::path&, const ExtractReport& r) -> std::string {
      return r.trailing.bytes > 2048 && !r.trailing.all_zero ? "" : fmt::format("trailing data: {} bytes", r.trailing.bytes);
    };
    add(c);
    c.id = "A08-concatenated";
    c.what = "cat a.tar b.tar, read on: the second c wins";
    c.options = [](ExtractOptions& o) { o.concatenated = true; };
    c.tree = {"a f 1", "b f 2", "c f 2"};
    c.also = [](const fs::path&, const ExtractReport& r) -> std::string {
      return r.collision_count == 1 && r.collisions == std::vector<std::string>{"c"} ? "" : "the collision is not reported";
    };
    add(c);
  }
  {
    std::string whole = TarMaker{}.file("first", "1").file("second", std::string(5000, 's')).end().bytes();
    ArchiveCase c{"A09", "cut inside a file's data", "libarchive issue 149", whole.substr(0, 512 * 3 + 700)};
    c.outcome = Outcome::cut;
    c.message = "ends at byte 2236";
    c.tree = {"first f 1", "second f " + std::string(700, 's')};
    c.also = [](const fs::path&, const ExtractReport& r) -> std::string {
      return r.partial_files.size() == 1 && r.partial_files[0].name == "second" && r.partial_files[0].expected == 5000 &&
                     r.partial_files[0].written == 700 ? "" : "the partial file is not named";
    };
    c.peers = Peers::differ;
    c.why = "how much of a partial file is there differs; all three fail";
    add(c);
    c.id = "A09-header";
    c.what = "cut inside a header";
    c.bytes = whole.substr(0, 1024 + 100);
    c.message = "ends inside the header at byte 1024";
    c.tree = {"first f 1"};
    c.also = nullptr;
    add(c);
  }
  {
    ArchiveCase c{"A10", "zero blocks behind the end mark", "mender pull 1702",
                  TarMaker{}.file("a", "1").end().raw(std::string(8192, '\0')).bytes()};
    c.tree = {"a f 1"};
    c.also = [](const fs::path&, const ExtractReport& r) -> std::string {
      return r.trailing.bytes == 8192 && r.trailing.all_zero && r.warning_count == 0 ? "" : "padding is not told from garbage";
    };
    add(c);
  }
  {
    ArchiveCase c{"A10-lone", "one zero block only", "mender pull 1702", TarMaker{}.file("a", "1").raw(std::string(512, '\0')).bytes()};
    c.tree = {"a f 1"};
    add(c);
    c.id = "A10-none";
    c.what = "no end mark at all";
    c.bytes = TarMaker{}.file("a", "1").bytes();
    c.message = "no end mark";
    add(c);
  }
  {
    ArchiveCase c{"A10-empty", "an end mark and nothing else", "GNU tar tests/extrac05 and others", std::string(10240, '\0')};
    c.tree = {};
    add(c);
    c.id = "A10-empty-then-another";
    c.what = "an empty archive in front of another one";
    c.bytes = TarMaker{}.end().file("a", "1").end().bytes();
    c.also = [](const fs::path&, const ExtractReport& r) -> std::string { return r.trailing.all_zero ? "the second archive is not reported" : ""; };
    add(c);
  }
  {
    ArchiveCase c{"damage", "a damaged header between good ones", "ours", {}};
    TarHeader bad;
    bad.name = "bad";
    bad.bad_checksum = true;
    c.bytes = TarMaker{}.file("a", "1").member(bad, "data").file("b", "2").end().bytes();
    c.outcome = Outcome::errors;
    c.message = "The header at byte 1024 is damaged";
    c.tree = {"a f 1", "b f 2"};
    add(c);
  }

  // ---- escapes ----------------------------------------------------------------------------------------------------
  {
    ArchiveCase c{"A11", "a file through a link that an earlier archive left, pointing out", "CVE-2025-45582",
                  TarMaker{}.file("x/file", "evil").file("after", "x").end().bytes()};
    c.before = [](const fs::path& target, const fs::path& beside) { fs::create_directory_symlink(beside, target / "x"); };
    c.outcome = Outcome::errors;
    c.message = "passes through the symbolic link \"x\"";
    c.tree = {"after f x", "x l -> " + out};
    c.peers = Peers::differ;
    c.why = "GNU tar follows it";
    add(c);
    c.id = "A11-one-archive";
    c.what = "the same within one archive";
    c.before = nullptr;
    c.bytes = TarMaker{}.symlink("x", out).file("x/file", "evil").file("after", "x").end().bytes();
    add(c);
    c.id = "A11-directory";
    c.what = "a directory member through it";
    c.bytes = TarMaker{}.symlink("x", out).directory("x/sub/", 0777).file("after", "x").end().bytes();
    add(c);
    c.id = "A11-link-inside";
    c.what = "through a link that stays inside";
    c.bytes = TarMaker{}.directory("real/").symlink("x", "real").file("x/file", "inside").file("after", "x").end().bytes();
    c.tree = {"after f x", "real d", "x l -> real"};
    c.why = "GNU tar follows it; bsdtar refuses, as we do";
    add(c);
    c.id = "A11-link-to-link";
    c.what = "through a link to a link out";
    c.bytes = TarMaker{}.symlink("y", out).symlink("x", "y").file("x/file", "evil").file("after", "x").end().bytes();
    c.tree = {"after f x", "x l -> y", "y l -> " + out};
    c.why = "";
    c.peers = Peers::same;
    add(c);
  }
  {
    ArchiveCase c{"A12", "a link out, then a file of the same name", "CVE-2018-12015",
                  TarMaker{}.symlink("moo", out + "/moo").file("moo", "evil").end().bytes()};
    c.tree = {"moo f evil"};
    c.also = [](const fs::path&, const ExtractReport& r) -> std::string {
      return r.collision_count == 1 ? "" : "the collision is not reported";
    };
    add(c);
    c.id = "A12-overwrite";
    c.what = "the same with existing = overwrite";
    c.options = [](ExtractOptions& o) { o.existing = extract::Existing::overwrite; };
    add(c);
    c.id = "A12-directory";
    c.what = "a link out, then a directory of the same name and a file in it";
    c.options = nullptr;
    c.bytes = TarMaker{}.symlink("moo", out).directory("moo/").file("moo/f", "in").end().bytes();
    c.tree = {"moo d", "moo/f f in"};
    add(c);
  }
  {
    ArchiveCase c{"A13", "a hard link whose target leaves the root", "node-tar up to 7.5.7",
                  TarMaker{}.hard_link("h", "../outside/secret").hard_link("h2", out + "/secret").file("after", "x").end().bytes()};
    c.outcome = Outcome::errors;
    c.message = "hard link to \"../outside/secret\"";
    c.tree = {"after f x"};
    add(c);
    c.id = "A13-symlink";
    c.what = "a hard link through a link out";
    c.bytes = TarMaker{}.symlink("x", out).hard_link("h", "x/secret").file("after", "x").end().bytes();
    c.message = "passes through the symbolic link \"x\"";
    c.tree = {"after f x", "x l -> " + out};
    add(c);
    c.id = "A13-to-symlink";
    c.what = "a hard link to a link out, then a file of that name";
    c.outcome = Outcome::good;
    c.message = "";
    c.bytes = TarMaker{}.symlink("x", out + "/secret").hard_link("h", "x").file("h", "mine").end().bytes();
    c.tree = {"h f mine", "x l -> " + out + "/secret"};
    add(c);
  }
  {
    ArchiveCase c{"A14-dotdot", "..", "CVE-2020-36193",
                  TarMaker{}.file("../outside/evil", "e").file("a/../../outside/evil2", "e").file("after", "x").end().bytes()};
    c.outcome = Outcome::errors;
    c.message = "contains \"..\"";
    c.tree = {"after f x"};
    c.peers = Peers::differ;
    c.why = "GNU tar removes the prefix up to the dots; bsdtar refuses, as we do";
    add(c);
  }
  {
    ArchiveCase c{"A14-absolute", "an absolute name", "CVE-2020-36193", TarMaker{}.file("/abs/f", "1").end().bytes()};
    c.tree = {"abs d", "abs/f f 1"};
    c.message = "leading \"/\"";
    add(c);
    c.id = "A14-root";
    c.what = "a file with the root's name";
    c.bytes = TarMaker{}.file("./", "1").file("after", "x").end().bytes();
    c.tree = {"after f x"};
    c.message = "";
    add(c);
    c.id = "A14-links-out";
    c.what = "links that point out are made as they are";
    c.bytes = TarMaker{}.symlink("l1", "../../etc/passwd").symlink("l2", out).end().bytes();
    c.tree = {"l1 l -> ../../etc/passwd", "l2 l -> " + out};
    add(c);
  }

  // ---- names ------------------------------------------------------------------------------------------------------
  {
    std::string deep;
    for (int i = 0; i < 12; ++i) deep += long15 + "/";
    ArchiveCase c{"A15", "linkpath of 193 characters, symbolic and hard", "tar-rs pull 252", {}};
    c.bytes = TarMaker{}
                  .pax({{"path", deep + "f"}}).file("short", "1")
                  .pax({{"linkpath", deep + "f"}}).symlink("soft", long15)
                  .pax({{"linkpath", deep + "f"}}).hard_link("hard", long15).end().bytes();
    std::string at;
    for (int i = 0; i < 12; ++i) {
      at += (i > 0 ? "/" : "") + long15;
      c.tree.push_back(at + " d");
    }
    c.tree.push_back(deep + "f f 1");
    c.tree.push_back("hard f 1");
    c.tree.push_back("soft l -> " + deep + "f");
    add(c);
    c.id = "A15-gnu";
    c.what = "the same with GNU long names and links";
    c.bytes = TarMaker{}
                  .gnu_long('L', deep + "f").file("short", "1")
                  .gnu_long('K', deep + "f").symlink("soft", long15)
                  .gnu_long('K', deep + "f").hard_link("hard", long15).end().bytes();
    add(c);
  }
  for (const bool large : {false, true}) {
    const std::string directory(101, 'd');
    const std::string name = directory + "/" + std::string(60, 'n');
    const std::string data = large ? std::string(500'000, 'z') : "z";
    ArchiveCase c{large ? "A17-large" : "A17-tiny", "long path elements, plain and sparse", "libarchive issue 901", {}};
    c.bytes = TarMaker{}.pax({{"path", name}}).file("cut", data).bytes() + pax_sparse_10(name + "s", data, data, 1'000'000) +
              TarMaker{}.end().bytes();
    c.tree = {directory + " d", name + " f " + data, name + fmt::format("s f {}", 1'000'000 + data.size())};
    add(c);
  }
  {
    ArchiveCase c{"A18", "names that share their first 100 characters", "mbedtls issue 9523", {}};
    const std::string stem(100, 's');
    c.bytes = TarMaker{}.file(stem, "0").pax({{"path", stem + "1"}}).file(stem, "1").pax({{"path", stem + "2"}}).file(stem, "2").end().bytes();
    c.tree = {stem + " f 0", stem + "1 f 1", stem + "2 f 2"};
    c.also = [](const fs::path&, const ExtractReport& r) -> std::string {
      return r.files == 3 && r.collision_count == 0 ? "" : "files and members differ";
    };
    add(c);
  }
  {
    const std::string directory(120, 'p');
    const std::string name(90, 'n');
    for (const std::string format : {"ustar", "posix", "gnu"}) {
      ArchiveCase c{"A19-" + format, "one tree in three formats", "XADMaster issue 155, php-src issue 19311", {}};
      TarHeader h;
      TarMaker maker;
      if (format == "ustar") {
        h.prefix = directory;
        h.name = name;
      } else if (format == "posix") {
        maker.pax({{"path", directory + "/" + name}});
        h.name = name;
      } else {
        maker.gnu_long('L', directory + "/" + name);
        h.name = (directory + "/" + name).substr(0, 100);
        h.magic = TarMaker::gnu_magic();
      }
      c.bytes = maker.member(h, "same").end().bytes();
      c.tree = {directory + " d", directory + "/" + name + " f same"};
      add(c);
    }
  }

  // ---- order and attributes ---------------------------------------------------------------------------------------
  {
    ArchiveCase c{"A20-thrice", "the same name three times", "ours", TarMaker{}.file("d/f", "1").file("d/f", "22").file("d/f", "333").end().bytes()};
    c.tree = {"d d", "d/f f 333"};
    c.also = [](const fs::path&, const ExtractReport& r) -> std::string { return r.collision_count == 2 ? "" : "collisions"; };
    add(c);
  }
  {
    ArchiveCase c{"A20-0555", "a directory of mode 0555 before its children", "ours",
                  TarMaker{}.directory("d/", 0555).file("d/f", "1").directory("d/e/", 0500).file("d/e/g", "2").end().bytes()};
    c.tree = {"d d", "d/e d", "d/e/g f 2", "d/f f 1"};
    add(c);
  }
  {
    ArchiveCase c{"A20-xattr", "an extended attribute of nearly 64 KiB", "ours", {}};
    const std::string value(3500, 'v');  // ext4 keeps no more than a block; the record is what matters here
    c.bytes = TarMaker{}.pax({{"SCHILY.xattr.user.note", value}, {"comment", std::string(60'000, 'c')}}).file("f", "1").end().bytes();
    c.tree = {"f f 1"};
    add(c);
  }
  {
    ArchiveCase c{"link-before-target", "a hard link before its target", "ours",
                  TarMaker{}.hard_link("h", "t").file("t", "1").end().bytes()};
    c.outcome = Outcome::errors;
    c.message = "cannot be made";
    c.tree = {"t f 1"};
    add(c);
  }
  {
    ArchiveCase c{"link-to-itself", "a hard link to its own name", "ours", TarMaker{}.file("t", "1").hard_link("t", "t").end().bytes()};
    c.tree = {"t f 1"};
    add(c);
  }
  {
    ArchiveCase c{"file-over-directory", "a file where a directory with a file is", "ours",
                  TarMaker{}.file("d/f", "1").file("d", "2").file("d/g", "3").end().bytes()};
    c.outcome = Outcome::errors;
    c.message = "not empty";
    c.tree = {"d d", "d/f f 1", "d/g f 3"};
    add(c);
    c.id = "file-over-empty-directory";
    c.what = "a file where an empty directory is, then a file below it";
    c.bytes = TarMaker{}.directory("d/").file("d", "2").file("d/g", "3").end().bytes();
    c.message = "not a directory";
    c.tree = {"d f 2"};
    c.peers = Peers::differ;
    c.why = "bsdtar removes the file for the directory; GNU tar refuses, as we do";
    add(c);
  }
  {
    ArchiveCase c{"chain", "links to links, then the first is replaced", "ours",
                  TarMaker{}.file("a", "1").hard_link("b", "a").hard_link("c", "b").file("a", "2").hard_link("d", "a").end().bytes()};
    c.tree = {"a f 2", "b f 1", "c f 1", "d f 2"};
    add(c);
    c.id = "chain-overwrite";
    c.what = "the same with existing = overwrite: a file with other names is not written through";
    c.options = [](ExtractOptions& o) { o.existing = extract::Existing::overwrite; };
    c.peers = Peers::differ;
    c.why = "GNU tar --overwrite writes through the link";
    add(c);
  }
  {
    ArchiveCase c{"v7", "no magic, a directory by its slash", "ours", {}};
    TarHeader d;
    d.name = "old/";
    d.type = '\0';
    d.magic = "";
    d.mode = 0755;
    TarHeader f = d;
    f.name = "old/f";
    f.mode = 0644;
    c.bytes = TarMaker{}.header(d).member(f, "7").end().bytes();
    c.tree = {"old d", "old/f f 7"};
    add(c);
  }
  {
    ArchiveCase c{"v7-directory-size", "an old directory that has a size and no data", "libarchive test_compat_tar_directory_1.tar", {}};
    TarHeader d;
    d.name = "one/";
    d.type = '\0';
    d.magic = "";
    d.mode = 0755;
    d.size = 1;
    TarHeader e = d;
    e.name = "two/";
    e.size = 0;
    c.bytes = TarMaker{}.header(d).header(e).file("two/f", "x").end().bytes();
    c.tree = {"one d", "two d", "two/f f x"};
    add(c);
  }
  {
    ArchiveCase c{"size-behind-nul", "a size field that begins with NUL is 0", "libarchive test_read_format_tar_timestamp_overflow.tar", {}};
    TarHeader h;
    h.name = "f";
    std::string header = TarMaker{}.header(h).bytes();
    patch_last_header(header, 124, std::string("\0\0\0\0\0\0\0" "0016\0", 12));
    c.bytes = header + TarMaker{}.file("after", "x").end().bytes();
    c.tree = {"after f x", "f f "};
    add(c);
  }
  {
    ArchiveCase c{"sparse-map-comments", "a sparse map with comments", "libarchive test_read_format_gtar_sparse_1_17_posix10_modified.tar", {}};
    std::string map = "# two runs\n2\n0\n4\n#a comment\n8192\n4\n";
    map.resize(512, '\0');
    TarHeader h;
    h.name = "GNUSparseFile.1/hole";
    h.size = 520;
    c.bytes = TarMaker{}.pax({{"GNU.sparse.major", "1"}, {"GNU.sparse.minor", "0"}, {"GNU.sparse.name", "hole"}, {"GNU.sparse.realsize", "8196"}})
                  .header(h).raw(map + "abc\nwxyz").pad().file("after", "x").end().bytes();
    c.tree = {"after f x", "hole f 8196"};
    add(c);
  }
  {
    ArchiveCase c{"unknown-type", "a type nobody defines", "ours", {}};
    TarHeader h;
    h.name = "u";
    h.type = 'Z';
    c.bytes = TarMaker{}.member(h, "data").file("after", "x").end().bytes();
    c.tree = {"after f x", "u f data"};
    c.message = "type 'Z' is unknown";
    add(c);
  }
  {
    ArchiveCase c{"bad-pax", "a pax record with a wrong length", "libarchive test_read_format_tar_invalid_pax_size", {}};
    TarHeader h;
    h.name = "PaxHeader";
    h.type = 'x';
    c.bytes = TarMaker{}.member(h, "30 path=evil\n").file("f", "1").file("after", "x").end().bytes();
    c.tree = {"after f x", "f f 1"};
    c.message = "wrong length";
    add(c);
  }
  {
    ArchiveCase c{"huge-size", "a size of 2^62", "ours", {}};
    TarHeader h;
    h.name = "huge";
    h.base256_size = true;
    h.size = std::int64_t{1} << 62;
    c.bytes = TarMaker{}.header(h).file("after", "x").end().bytes();
    c.outcome = Outcome::errors;
    c.message = "size is not readable";
    c.tree = {"after f x"};
    c.peers = Peers::differ;
    c.why = "bsdtar and GNU tar give up at it";
    add(c);
  }
  {
    ArchiveCase c{"overlapping-runs", "a sparse map whose runs overlap", "ours", {}};
    c.bytes = TarMaker{}
                  .pax({{"GNU.sparse.size", "100"}, {"GNU.sparse.numblocks", "2"}, {"GNU.sparse.map", "0,50,20,50"}, {"GNU.sparse.name", "o"}})
                  .file("o", std::string(100, 'o')).file("after", "x").end().bytes();
    c.outcome = Outcome::errors;
    c.message = "overlaps";
    c.tree = {"after f x"};
    c.peers = Peers::differ;
    c.why = "the file's content is anybody's guess";
    add(c);
  }
  return cases;
}

}  // namespace spillway::test
