#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "tests/workload/extract/archive_cases.hpp"
#include "tests/workload/extract/scratch.hpp"
#include "tests/workload/extract/tree_snapshot.hpp"
#include "workload/extract/extract.hpp"

namespace fs = std::filesystem;
using namespace spillway::extract;
using namespace spillway::test;

namespace {

/// "path kind" with the content of small files, the size of others, and the target of links, as the table has it.
std::vector<std::string> brief_tree(const fs::path& root, const std::vector<std::string>& expected) {
  std::vector<std::string> lines;
  std::error_code error;
  for (const auto& item : fs::recursive_directory_iterator(root, error)) {
    const std::string path = item.path().string().substr(root.string().size() + 1);
    if (item.is_symlink()) lines.push_back(path + " l -> " + fs::read_symlink(item.path()).string());
    else if (item.is_directory()) lines.push_back(path + " d");
    else if (item.is_regular_file()) {
      const std::string by_size = fmt::format("{} f {}", path, item.file_size());
      const bool wanted_by_size = std::find(expected.begin(), expected.end(), by_size) != expected.end();
      lines.push_back(wanted_by_size || item.file_size() > 600'000 ? by_size : path + " f " + contents(item.path()));
    } else {
      lines.push_back(path + " special");
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

struct Place {
  explicit Place(const Scratch& scratch, const std::string& name) : outside(scratch.directory(name + "/outside")), target(scratch.directory(name + "/target")) {
    scratch.file(name + "/outside/secret", "secret");
  }
  [[nodiscard]] bool outside_untouched() const {
    struct stat s {};
    return ::lstat((outside / "secret").c_str(), &s) == 0 && s.st_nlink == 1 && contents(outside / "secret") == "secret" &&
           std::distance(fs::directory_iterator(outside), fs::directory_iterator{}) == 1;
  }
  fs::path outside;
  fs::path target;
};

bool mentions(const std::vector<Message>& messages, const std::string& part) {
  return std::any_of(messages.begin(), messages.end(), [&](const Message& m) { return m.what.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("extract: every published archive case has its outcome, with one writer and with eight", "[workload][extract]") {
  const Scratch scratch;
  int number = 0;
  const std::size_t count = archive_cases("/nowhere").size();
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::string> first;
    for (const Engine engine : {Engine::posix, Engine::uring}) {
      for (const int writers : {1, 8}) {
        const Place place(scratch, std::to_string(number++));
        const ArchiveCase c = archive_cases(place.outside)[i];
        CAPTURE(c.id, c.what, name_of(engine), writers);
        const auto archive = scratch.file("case.tar", c.bytes);
        if (c.before) c.before(place.target, place.outside);
        ExtractOptions options = default_options();
        options.engine = engine;
        options.writers = writers;
        if (c.options) c.options(options);
        const auto report = spillway::extract::extract(archive, place.target, options);
        REQUIRE(report.has_value());
        CHECK(brief_tree(place.target, c.tree) == [&] {
          auto sorted = c.tree;
          std::sort(sorted.begin(), sorted.end());
          return sorted;
        }());
        CHECK(place.outside_untouched());
        CHECK(report->archive_complete == (c.outcome != Outcome::cut));
        CHECK((report->error_count > 0) == (c.outcome != Outcome::good));
        if (!c.message.empty()) {
          const bool said = mentions(report->errors, c.message) || mentions(report->warnings, c.message);
          CAPTURE(report->errors.empty() ? std::string{} : report->errors[0].what);
          CHECK(said);
        }
        if (c.also) CHECK(c.also(place.target, *report) == "");
        const auto tree = snapshot(place.target, {.mtimes = true});
        // What no member describes has the time of its making.
        if (first.empty() && !tree.empty()) first = snapshot(place.target, {.mtimes = false});
        CHECK(snapshot(place.target, {.mtimes = false}).size() == first.size());
      }
    }
  }
}

TEST_CASE("extract: where GNU tar and bsdtar make the same tree, so do we", "[workload][extract]") {
  const Scratch scratch;
  int number = 0;
  int agreed = 0;
  const std::size_t count = archive_cases("/nowhere").size();
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::vector<std::string>> trees;
    std::string id;
    Peers peers = Peers::same;
    for (const std::string who : {"tar", "bsdtar", "ours"}) {
      // All at one path in turn, so that absolute link targets are the same text.
      std::error_code ignored;
      fs::remove_all(scratch / "p", ignored);
      const Place place(scratch, "p");
      ArchiveCase c = archive_cases(place.outside)[i];
      id = c.id;
      peers = c.peers;
      const auto archive = scratch.file("case.tar", c.bytes);
      ExtractOptions options = default_options();
      if (c.options) c.options(options);
      if (c.before) c.before(place.target, place.outside);
      if (who == "ours") {
        REQUIRE(spillway::extract::extract(archive, place.target, options).has_value());
      } else {
        const std::string extra = options.concatenated ? (who == "tar" ? "-i" : "--options read_concatenated_archives") : "";
        const std::string overwrite = options.existing == Existing::overwrite && who == "tar" ? "--overwrite" : "";
        const std::string command = fmt::format("{} {} {} -x -f {} -C {} >/dev/null 2>&1", who, extra, overwrite, archive.string(), place.target.string());
        (void)!std::system(command.c_str());
      }
      trees.push_back(snapshot(place.target, {.mtimes = false, .owners = false}));
    }
    ++number;
    CAPTURE(id);
    if (trees[0] == trees[1] && peers == Peers::same) {
      ++agreed;
      CHECK(trees[2] == trees[0]);
    }
  }
  // Most of the table is undisputed; if not, a peer is missing on this machine.
  CHECK(agreed > number / 2);
}
