#include <catch2/catch.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/acl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "tests/workload/extract/scratch.hpp"
#include "tests/workload/extract/tree_snapshot.hpp"
#include "workload/extract/extract.hpp"
#include "workload/extract/verify_tree.hpp"

namespace fs = std::filesystem;
using namespace spillway;
using namespace spillway::extract;
using namespace spillway::test;

namespace {

constexpr std::int64_t kTail = 3'000'000;  ///< where the sparse file's second run begins: not a multiple of a block
const char* const kAcl = "user::rw-,user:12345:r--,group::r--,mask::rw-,other::---";

void run(const std::string& command) {
  CAPTURE(command);
  REQUIRE(std::system((command + " >/dev/null 2>&1").c_str()) == 0);
}

void put(const fs::path& path, std::string_view bytes, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  REQUIRE(fd >= 0);
  REQUIRE(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  ::fchmod(fd, mode);
  ::close(fd);
}

/// Whole seconds, so that every format can keep them; times of directories last.
void age(const fs::path& path, time_t when) {
  const timespec times[2] = {{when, 0}, {when, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
}

struct Wanted {
  bool long_names = true;
  bool xattrs = false;
  bool specials = ::geteuid() == 0;
};

/// A tree with one of everything that `wanted` allows.
fs::path make_source(const Scratch& scratch, const Wanted& wanted) {
  const fs::path root = scratch.directory("source");
  std::vector<fs::path> made;
  const auto add = [&made](const fs::path& path) { made.push_back(path); };
  fs::create_directories(root / "d/closed");
  put(root / "d/plain", "plain\n", 0640);
  put(root / "d/setuid", "s", 04755);
  put(root / "d/none", "", 0400);
  put(root / "d/closed/inside", "inside", 0444);
  put(root / "d/large", std::string(1'500'001, 'L'), 0644);
  fs::create_symlink("plain", root / "d/soft");
  fs::create_symlink("/nowhere/at/all", root / "d/dangling");
  ::link((root / "d/plain").c_str(), (root / "d/hard").c_str());
  // Data, hole, data, hole; and one that is all hole.
  put(root / "d/sparse", std::string(5000, 'a'), 0644);
  const int fd = ::open((root / "d/sparse").c_str(), O_WRONLY);
  REQUIRE(::pwrite(fd, "tail", 4, kTail) == 4);
  REQUIRE(::ftruncate(fd, 9'000'000) == 0);
  ::close(fd);
  put(root / "d/hole", "", 0644);
  REQUIRE(::truncate((root / "d/hole").c_str(), 5'000'000) == 0);
  if (wanted.long_names) {
    fs::path deep = root / std::string(120, 'p') / std::string(130, 'q');
    fs::create_directories(deep);
    put(deep / std::string(101, 'n'), "long", 0644);
    fs::create_symlink(std::string(150, 't'), deep / "longlink");
    ::link((deep / std::string(101, 'n')).c_str(), (deep / std::string(102, 'h')).c_str());
    put(root / std::string(100, 'c'), "exactly a hundred", 0644);
  }
  if (wanted.specials) {
    ::mkfifo((root / "d/fifo").c_str(), 0620);
    ::mknod((root / "d/null").c_str(), S_IFCHR | 0666, makedev(1, 3));
    ::mknod((root / "d/block").c_str(), S_IFBLK | 0640, makedev(7, 200));
    put(root / "d/owned", "owned", 0644);
    ::lchown((root / "d/owned").c_str(), 1234, 4321);
    ::lchown((root / "d/soft").c_str(), 77, 78);
  }
  if (wanted.xattrs) {
    ::setxattr((root / "d/plain").c_str(), "user.note", "a note\0with a zero", 18, 0);
    ::setxattr((root / "d").c_str(), "user.folder", "yes", 3, 0);
    acl_t acl = ::acl_from_text(kAcl);
    ::acl_set_file((root / "d/owned").c_str(), ACL_TYPE_ACCESS, acl);
    ::acl_free(acl);
    acl = ::acl_from_text("user::rwx,user:12345:rwx,group::r-x,mask::rwx,other::r-x");
    ::acl_set_file((root / "d").c_str(), ACL_TYPE_DEFAULT, acl);
    ::acl_free(acl);
  }
  ::chmod((root / "d/closed").c_str(), 0555);
  time_t when = 1'234'567'890;
  for (const auto& item : fs::recursive_directory_iterator(root)) add(item.path());
  for (const fs::path& path : made) age(path, when += 7);
  return root;
}

struct Maker {
  std::string name;
  std::string command;  ///< {0} the archive, {1} the source
  Wanted wanted;
};

std::vector<Maker> makers() {
  const bool root = ::geteuid() == 0;
  const Wanted plain{.long_names = false, .xattrs = false, .specials = root};
  const Wanted full{.long_names = true, .xattrs = false, .specials = root};
  const Wanted all{.long_names = true, .xattrs = root, .specials = root};
  return {
      {"GNU tar, ustar", "tar --format=ustar -cf {0} -C {1} .", plain},
      {"GNU tar, gnu with old sparse headers", "tar --format=gnu -S -cf {0} -C {1} .", full},
      {"GNU tar, oldgnu", "tar --format=oldgnu -S -cf {0} -C {1} .", full},
      {"GNU tar, pax sparse 0.0", "tar --format=posix -S --sparse-version=0.0 -cf {0} -C {1} .", full},
      {"GNU tar, pax sparse 0.1", "tar --format=posix -S --sparse-version=0.1 -cf {0} -C {1} .", full},
      {"GNU tar, pax sparse 1.0 with xattrs and ACLs",
       "tar --format=posix -S --sparse-version=1.0 --xattrs --xattrs-include='*' --acls -cf {0} -C {1} .", all},
      {"bsdtar, pax with xattrs and ACLs", "bsdtar --format=pax --read-sparse --xattrs --acls -cf {0} -C {1} .", all},
      {"bsdtar, gnutar", "bsdtar --format=gnutar -cf {0} -C {1} .", full},
      {"bsdtar, cpio newc", "bsdtar --format=newc -cf {0} -C {1} .", full},
      {"GNU tar, gzip", "tar --format=posix -S -czf {0} -C {1} .", full},
      {"bsdtar, zstd", "bsdtar --format=pax --zstd -cf {0} -C {1} .", full},
      {"bsdtar, xz", "bsdtar --format=pax --xz -cf {0} -C {1} .", full},
      {"bsdtar, lz4", "bsdtar --format=pax --lz4 -cf {0} -C {1} .", full},
      {"bsdtar, bzip2", "bsdtar --format=pax --bzip2 -cf {0} -C {1} .", full},
      {"bsdtar, compress, which only libarchive reads", "bsdtar --format=pax -Z -cf {0} -C {1} .", full},
  };
}

std::string acl_of(const fs::path& path, acl_type_t type) {
  acl_t acl = ::acl_get_file(path.c_str(), type);
  if (acl == nullptr) return "none";
  char* text = ::acl_to_text(acl, nullptr);
  std::string result = text;
  ::acl_free(text);
  ::acl_free(acl);
  return result;
}

std::string first_of(const TreeComparison& c) { return c.differences.empty() ? "" : c.differences[0].name + " " + c.differences[0].what; }

}  // namespace

TEST_CASE("extract: one of everything comes back, whoever made the archive, with any engine and number of writers", "[workload][extract][fidelity]") {
  for (const Maker& maker : makers()) {
    const Scratch scratch;
    const fs::path source = make_source(scratch, maker.wanted);
    const fs::path archive = scratch / "a";
    run(fmt::format(fmt::runtime(maker.command), archive.string(), source.string()));
    const std::vector<std::string> expected = snapshot(source);
    REQUIRE(expected.size() > 12);
    struct How {
      Engine engine;
      int writers;
      DirectMode direct;
    };
    for (const How& how : {How{Engine::posix, 1, DirectMode::off}, How{Engine::posix, 2, DirectMode::off}, How{Engine::posix, 3, DirectMode::on},
                           How{Engine::posix, 8, DirectMode::automatic}, How{Engine::uring, 1, DirectMode::on},
                           How{Engine::uring, 2, DirectMode::on}, How{Engine::libarchive, 1, DirectMode::off}}) {
      CAPTURE(maker.name, name_of(how.engine), how.writers, name_of(how.direct));
      const fs::path target = scratch.directory("out");
      ExtractOptions options = default_options();
      options.preserve_mode = true;
      options.engine = how.engine;
      options.writers = how.writers;
      options.direct = how.direct;
      const auto report = spillway::extract::extract(archive, target, options);
      REQUIRE(report);
      CAPTURE(report->errors.empty() ? "" : report->errors[0].name + ": " + report->errors[0].what);
      CHECK(report->ok());
      CHECK(report->warning_count == 0);
      CHECK(snapshot(target) == expected);
      // The sparse file's holes; formats without sparse headers carry zeros.
      if (maker.command.find("-S") != std::string::npos || maker.name.find("bsdtar, pax with") != std::string::npos) {
        CHECK(allocated_bytes(target / "d/sparse") <= 65536);
        CHECK(allocated_bytes(target / "d/hole") <= 4096);
      }
      if (maker.wanted.xattrs) {
        char value[64] = {};
        CHECK(::getxattr((target / "d/plain").c_str(), "user.note", value, sizeof value) == 18);
        CHECK(std::string(value, 18) == std::string("a note\0with a zero", 18));
        CHECK(::getxattr((target / "d").c_str(), "user.folder", value, sizeof value) == 3);
        CHECK(acl_of(target / "d/owned", ACL_TYPE_ACCESS) == acl_of(source / "d/owned", ACL_TYPE_ACCESS));
        CHECK(acl_of(target / "d", ACL_TYPE_DEFAULT) == acl_of(source / "d", ACL_TYPE_DEFAULT));
      }
      VerifyOptions what;
      what.owner = options.preserve_owner;
      const auto compared = verify_tree(archive, target, what);
      REQUIRE(compared);
      CAPTURE(first_of(*compared));
      CHECK(compared->same());
      CHECK(compared->names >= static_cast<std::int64_t>(expected.size()));
      run(fmt::format("chmod -R u+rwx {0} && rm -rf {0}", target.string()));
    }
    run(fmt::format("chmod -R u+rwx {}", source.string()));
  }
}

TEST_CASE("extract: nanoseconds and times before 1970 are kept", "[workload][extract][fidelity]") {
  const Scratch scratch;
  scratch.directory("source");
  const auto file = scratch.file("source/f", "x");
  const timespec times[2] = {{0, 0}, {-1'000'000'001, 123'456'789}};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  run(fmt::format("tar --format=posix -cf {} -C {} f", (scratch / "a").string(), (scratch / "source").string()));
  REQUIRE(spillway::extract::extract(scratch / "a", scratch.directory("out"), default_options()));
  struct stat s {};
  REQUIRE(::stat((scratch / "out/f").c_str(), &s) == 0);
  CHECK(s.st_mtim.tv_sec == -1'000'000'001);
  CHECK(s.st_mtim.tv_nsec == 123'456'789);
}

TEST_CASE("verify_tree: every kind of difference is found and named", "[workload][extract][verify]") {
  const bool root = ::geteuid() == 0;
  const Scratch scratch;
  const fs::path source = make_source(scratch, {.long_names = false, .xattrs = root, .specials = root});
  const fs::path archive = scratch / "a.tar";
  run(fmt::format("tar --format=posix -S --xattrs --xattrs-include='*' --acls -cf {} -C {} .", archive.string(), source.string()));
  struct Change {
    std::string what;                              ///< part of the difference's sentence
    std::string name;                              ///< where
    std::function<void(const fs::path&)> make;
    bool needs_root = false;
  };
  const auto again = [](const fs::path& path) { age(path, 1); };
  const std::vector<Change> changes = {
      {"mode: 0640 in the archive, 0600 in the tree", "d/hard", [](const fs::path& t) { ::chmod((t / "d/plain").c_str(), 0600); }},
      {"mtime:", "d/large", [&](const fs::path& t) { again(t / "d/large"); }},
      {"mtime:", "d/soft", [&](const fs::path& t) { again(t / "d/soft"); }},
      {"mtime:", "d", [&](const fs::path& t) { again(t / "d"); }},
      {"content: differs from byte 1000000 on", "d/large",
       [](const fs::path& t) {
         const int fd = ::open((t / "d/large").c_str(), O_WRONLY);
         (void)!::pwrite(fd, "x", 1, 1'000'000);
         ::close(fd);
       }},
      {"size: 1500001 in the archive, 1500002 in the tree", "d/large", [](const fs::path& t) { fs::resize_file(t / "d/large", 1'500'002); }},
      {"not all zero in the archive's hole", "d/sparse",
       [](const fs::path& t) {
         const int fd = ::open((t / "d/sparse").c_str(), O_WRONLY);
         (void)!::pwrite(fd, "x", 1, 2'000'000);
         ::close(fd);
       }},
      {"data blocks where the archive has a hole", "d/hole",
       [](const fs::path& t) {
         const int fd = ::open((t / "d/hole").c_str(), O_WRONLY);
         (void)!::pwrite(fd, std::string(65536, '\0').data(), 65536, 0);
         ::close(fd);
       }},
      {"link target: \"plain\" in the archive, \"elsewhere\" in the tree", "d/soft",
       [](const fs::path& t) {
         fs::remove(t / "d/soft");
         fs::create_symlink("elsewhere", t / "d/soft");
       }},
      {"is a file in the archive and not in the tree", "d/none", [](const fs::path& t) { fs::remove(t / "d/none"); }},
      {"is in the tree and not in the archive", "d/extra", [&](const fs::path& t) { put(t / "d/extra", "", 0644); }},
      {"is a file in the archive and a directory in the tree", "d/none",
       [](const fs::path& t) {
         fs::remove(t / "d/none");
         fs::create_directory(t / "d/none");
       }},
      {"is one file with", "d/plain",
       [](const fs::path& t) {
         fs::remove(t / "d/plain");
         put(t / "d/plain", "plain\n", 0640);
       }},
      {"names: 1 in the archive, 2 in the tree", "d/large", [](const fs::path& t) { fs::create_hard_link(t / "d/large", t / "d/second"); }},
      {"is a directory in the archive and a symbolic link in the tree", "d/closed",
       [](const fs::path& t) {
         fs::rename(t / "d/closed", t / "moved");
         fs::create_directory_symlink("../moved", t / "d/closed");
       }},
      {"owner: 1234:4321 in the archive, 9:9 in the tree", "d/owned", [](const fs::path& t) { ::lchown((t / "d/owned").c_str(), 9, 9); }, true},
      {"extended attribute user.note has another value", "d/hard", [](const fs::path& t) { ::setxattr((t / "d/plain").c_str(), "user.note", "other", 5, 0); }, true},
      {"extended attribute user.note is missing", "d/hard", [](const fs::path& t) { ::removexattr((t / "d/plain").c_str(), "user.note"); }, true},
      {"extended attribute user.more is not in the archive", "d/large", [](const fs::path& t) { ::setxattr((t / "d/large").c_str(), "user.more", "x", 1, 0); }, true},
      {"its ACL is not", "d/owned", [](const fs::path& t) { ::removexattr((t / "d/owned").c_str(), "system.posix_acl_access"); }, true},
      {"its default ACL is not", "d", [](const fs::path& t) { ::removexattr((t / "d").c_str(), "system.posix_acl_default"); }, true},
      {"device: 1,3 in the archive, 1,5 in the tree", "d/null",
       [](const fs::path& t) {
         fs::remove(t / "d/null");
         ::mknod((t / "d/null").c_str(), S_IFCHR | 0666, makedev(1, 5));
       },
       true},
  };
  for (const Change& change : changes) {
    if (change.needs_root && !root) continue;
    CAPTURE(change.what, change.name);
    const fs::path target = scratch.directory("out");
    ExtractOptions options = default_options();
    options.preserve_mode = true;
    REQUIRE(spillway::extract::extract(archive, target, options));
    const VerifyOptions what{.owner = root};
    const auto before = verify_tree(archive, target, what);
    REQUIRE(before);
    CAPTURE(first_of(*before));
    CHECK(before->same());
    run(fmt::format("chmod u+w {}", (target / "d/closed").string()));
    change.make(target);
    ::chmod((target / "d/closed").c_str(), 0555);
    const auto after = verify_tree(archive, target, what);
    REQUIRE(after);
    bool found = false;
    std::string all;
    for (const TreeDifference& d : after->differences) {
      found = found || (d.name == change.name && d.what.find(change.what) != std::string::npos);
      all += d.name + ": " + d.what + "\n";
    }
    CAPTURE(all);
    CHECK(found);
    run(fmt::format("chmod -R u+rwx {0} && rm -rf {0}", target.string()));
  }
  run(fmt::format("chmod -R u+rwx {}", source.string()));
}

TEST_CASE("extract: times before 1970 with a fraction come out as GNU tar wrote them", "[workload][extract][verify]") {
  const Scratch scratch;
  const fs::path source = scratch.directory("source");
  put(source / "old", "x", 0644);
  const timespec times[2] = {{0, UTIME_OMIT}, {-6, 999'999'999}};  // -5.000000001
  REQUIRE(::utimensat(AT_FDCWD, (source / "old").c_str(), times, 0) == 0);
  const fs::path archive = scratch / "a.tar";
  run(fmt::format("tar --format=pax -cf {} -C {} old", archive.string(), source.string()));
  for (const Engine engine : {Engine::posix, Engine::uring, Engine::libarchive}) {
    const fs::path target = scratch.directory(std::string{name_of(engine)});
    ExtractOptions options = default_options();
    options.engine = engine;
    REQUIRE(spillway::extract::extract(archive, target, options));
    struct stat made {};
    REQUIRE(::stat((target / "old").c_str(), &made) == 0);
    CAPTURE(name_of(engine));
    CHECK(made.st_mtim.tv_sec == -6);
    CHECK(made.st_mtim.tv_nsec == 999'999'999);
    const auto compared = verify_tree(archive, target, {.owner = false, .directory_mtime = false});
    REQUIRE(compared);
    CAPTURE(first_of(*compared));
    CHECK(compared->same());
    age(target / "old", 5);
    const auto other = verify_tree(archive, target, {.owner = false, .directory_mtime = false});
    REQUIRE(other);
    CHECK(first_of(*other).find("mtime: -5.000000001 in the archive") != std::string::npos);
  }
}

TEST_CASE("verify_tree: GNU tar's early directory times are counted, and are a difference only where asked for", "[workload][extract][verify]") {
  // "d-x" between "d/" and "d/file", as in a tree sorted by its bytes: GNU tar gives d/ its time before it writes d/file.
  const Scratch scratch;
  const fs::path source = scratch.directory("source");
  fs::create_directory(source / "d");
  put(source / "d/file", "x", 0644);
  put(source / "d-x", "x", 0644);
  age(source / "d", 100);
  const fs::path archive = scratch / "a.tar";
  run(fmt::format("tar --format=posix --no-recursion -cf {} -C {} d d-x d/file", archive.string(), source.string()));
  const fs::path target = scratch.directory("out");
  run(fmt::format("tar -xf {} -C {}", archive.string(), target.string()));
  age(target / "d", 50);  // whatever this tar does
  const auto strict = verify_tree(archive, target, {.owner = false});
  REQUIRE(strict);
  CHECK(strict->difference_count == 1);
  CHECK(strict->directory_mtimes == 0);
  const auto counted = verify_tree(archive, target, {.owner = false, .directory_mtime = false});
  REQUIRE(counted);
  CHECK(counted->same());
  CHECK(counted->directory_mtimes == 1);
  // A file's time is one all the same.
  age(target / "d/file", 50);
  const auto file = verify_tree(archive, target, {.owner = false, .directory_mtime = false});
  REQUIRE(file);
  CHECK(file->difference_count == 1);
}

TEST_CASE("verify_tree: what cannot be compared is an error with its reason", "[workload][extract][verify]") {
  const Scratch scratch;
  const auto target = scratch.directory("out");
  const auto missing = verify_tree(scratch / "nosuch.tar", target);
  REQUIRE_FALSE(missing);
  const auto archive = scratch.file("text", "this is no archive");
  const auto text = verify_tree(archive, target);
  REQUIRE_FALSE(text);
  CHECK(text.error().kind == ErrorKind::bad_input);
  const auto nowhere = verify_tree(archive, scratch / "nowhere");
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().kind == ErrorKind::bad_input);
}
