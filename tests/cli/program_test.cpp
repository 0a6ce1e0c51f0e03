#include "cli/nearest.hpp"
#include "cli/options.hpp"
#include "cli/verb.hpp"
#include "tests/cli/temporary_folder.hpp"
#include "workload/kernel/child.hpp"
#include "workload/kernel/kernel_store.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace spillway;
using namespace spillway::cli;

namespace {

Result<cli::Options::Parsed> parsed(const std::vector<std::string>& words) {
  cli::Options options("run FILE", "Runs.");
  options.group("What")("set", po::value<std::vector<std::string>>(), "change a key")("repeat", po::value<int>()->default_value(1), "N");
  options.positional("file", "FILE is an experiment.", 1);
  return options.parse(words);
}

}  // namespace

TEST_CASE("program: every verb answers --help with 0 and a wrong option with 2", "[cli][program]") {
  REQUIRE(!verbs().empty());
  const int out = ::dup(1), err = ::dup(2);
  std::vector<std::pair<int, int>> codes;
  std::fflush(nullptr);
  REQUIRE(::freopen("/dev/null", "w", stdout) != nullptr);
  REQUIRE(::freopen("/dev/null", "w", stderr) != nullptr);
  for (const Verb& verb : verbs()) codes.emplace_back(verb.run({"--help"}), verb.run({"--no-such-option"}));
  const int unknown = run_program({"nosuchverb"}), none = run_program({}), help = run_program({"--help"});
  std::fflush(nullptr);
  ::dup2(out, 1);
  ::dup2(err, 2);
  ::close(out);
  ::close(err);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    CAPTURE(verbs()[i].name);
    CHECK(codes[i].first == 0);
    CHECK(codes[i].second == 2);
  }
  CHECK(unknown == 2);
  CHECK(none == 2);
  CHECK(help == 0);
}

TEST_CASE("options: a wrong one names the nearest valid one", "[cli][options]") {
  const auto sentence = [](const std::vector<std::string>& words) {
    const auto result = parsed(words);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().kind == ErrorKind::bad_input);
    return result.error().what;
  };
  CHECK(sentence({"--repat", "3"}) == "run: there is no option --repat, the nearest is --repeat; `spillway run --help` lists the options");
  CHECK(sentence({"--rep", "3"}).find("the nearest is --repeat") != std::string::npos);  // nothing is abbreviated
  CHECK(sentence({"--xyzzyqwert"}).find("nearest") == std::string::npos);
  CHECK(sentence({"a", "b"}).find("takes at most 1 word besides options") != std::string::npos);
  CHECK(sentence({"--repeat", "many"}).find("many") != std::string::npos);
}

TEST_CASE("options: values, defaults and repeated options arrive", "[cli][options]") {
  const auto result = parsed({"quick.toml", "--set", "a=1", "--set", "b=2"});
  REQUIRE(result.has_value());
  CHECK(result->all("file") == std::vector<std::string>{"quick.toml"});
  CHECK(result->all("set") == std::vector<std::string>{"a=1", "b=2"});
  CHECK(result->get<int>("repeat") == 1);
  CHECK_FALSE(result->has("nothing"));
}

TEST_CASE("nearest: slips are found, other words are not", "[cli][options]") {
  const std::vector<std::string> known = {"simulate", "run", "report", "restore"};
  CHECK(nearest("simulat", known) == "simulate");
  CHECK(nearest("reprot", known) == "report");
  CHECK(nearest("rnu", known) == "run");
  CHECK(nearest("banana", known).empty());
}

TEST_CASE("kernels: what was built is listed with its release, ticks and what it was made from", "[cli][kernel]") {
  const test::TemporaryFolder folder;
  const auto kernels = folder.path() / "kernels";
  std::filesystem::create_directories(kernels / "0123abcd");
  std::filesystem::create_directories(kernels / "by-name");
  std::ofstream(kernels / "0123abcd" / "linux") << "x";
  std::ofstream(kernels / "0123abcd" / "release") << "6.1.192\n";
  std::ofstream(kernels / "0123abcd" / "config") << "CONFIG_SMP=n\nCONFIG_HZ=250\n";
  std::ofstream(kernels / "0123abcd" / "made_from") << "source linux-source-6.1.tar.xz\n\nedit mm/page-writeback.c:s/8/64/\n";
  std::filesystem::create_symlink("../0123abcd", kernels / "by-name" / "mine");
  ::setenv("SPILLWAY_CACHE_DIR", folder.path().c_str(), 1);
  const auto found = kernel::find_kernel("mine");
  const auto missing = kernel::find_kernel("other");
  ::unsetenv("SPILLWAY_CACHE_DIR");
  REQUIRE(found);
  CHECK(found->release == "6.1.192");
  CHECK(found->hz == 250);
  CHECK(found->content == "0123abcd");
  CHECK(found->made_from == std::vector<std::string>{"source linux-source-6.1.tar.xz", "edit mm/page-writeback.c:s/8/64/"});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == ErrorKind::unsupported);
  CHECK(missing.error().what.find("(there: mine)") != std::string::npos);
  CHECK(missing.error().what.find("spillway kernel build --name other --source YOUR_TREE") != std::string::npos);
}

TEST_CASE("kernels: the verb says what is wrong with its words, and passes a script's exit code on", "[cli][kernel]") {
  CHECK(run_program({"kernel"}) == 2);
  CHECK(run_program({"kernel", "bake"}) == 2);
  const auto code = kernel::run_in_foreground("/bin/sh", {"-c", "exit 7"});
  REQUIRE(code);
  CHECK(*code == 7);
  const auto killed = kernel::run_in_foreground("/bin/sh", {"-c", "kill -9 $$"});
  REQUIRE(killed);
  CHECK(*killed == 128 + 9);
  CHECK_FALSE(kernel::run_in_foreground("/nonexistent/program", {}));
}
