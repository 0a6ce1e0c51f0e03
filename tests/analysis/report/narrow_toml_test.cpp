#include "analysis/report/narrow_toml.hpp"

#include <catch2/catch.hpp>
#include <toml++/toml.h>

#include <fstream>
#include <filesystem>
#include <sstream>

#include "analysis/report/text.hpp"

using namespace spillway::analysis;

namespace {

/// Narrowed, no line is over 72 columns and it parses to the same table.
void check_same(const std::string& source) {
  CAPTURE(source);
  const auto narrow = narrow_toml(source);
  REQUIRE(narrow);
  CAPTURE(*narrow);
  CHECK(widest_line(*narrow) <= 72);
  try {
    CHECK(toml::parse(source) == toml::parse(*narrow));
  } catch (const toml::parse_error& error) {
    FAIL("does not parse: " << error.description() << " at line " << error.source().begin.line);
  }
}

}  // namespace

TEST_CASE("report: an experiment in 72 columns says the same", "[analysis][report]") {
  check_same("a = 1\n\n[b]\nc = \"short\"  # and a short comment\n");
  check_same("title = \"Eight untars of one tree, one after another, on XFS on a 12-disk stripe with a write cache\"\n");
  check_same("title = \"quotes \\\"inside\\\" and a path C:\\\\temp, long enough that it has to be broken in two or three\"\n");
  check_same("title = \"\\u00e4\\u00f6\\u00fc escapes must not be cut \\u00e4\\u00f6\\u00fc\\u00e4\\u00f6\\u00fc\\u00e4\\u00f6\\u00fc\\u00e4\\u00f6\\u00fc\\u00e4\\u00f6\\u00fc\"\n");
  check_same("title = '  literal with \"quotes\" and \\ backslashes, which begins with two blanks and is far too long for one'\n");
  check_same("path = \"" + std::string(300, 'p') + "\"\n");
  check_same("title = \"" + std::string(60, 'w') + "          many          blanks          inside          of          it\"\n");
  check_same("values = [\"125MB\", \"250MB\", \"500MB\", \"1GB\", \"2GB\", \"4GB\", \"8GB\", \"16GB\", \"32GB\", \"64GB\"]\n");
  check_same("rows = [[\"posix\", 1, \"a, b\"], [\"tar\", 2, \"" + std::string(90, 'x') + "\"], [\"libarchive\", 3, \"c\"]]\n");
  check_same("values = [\n  \"125MB\", \"250MB\", \"500MB\", \"1GB\", \"2GB\", \"4GB\", \"8GB\", \"16GB\", \"32GB\", \"64GB\",\n]\n");
  check_same("of = { \"memory.dirty_bytes\" = \"500MB\", \"replay.at_once\" = 4, \"filesystem.mount_options\" = [\"logbsize=256k\"] }\n");
  check_same("[[expect]]\nof = { \"replay.at_once\" = 1, \"device.model\" = \"raid5\" } # the base case, which is the slow one of the two\n");
  check_same("text = \"\"\"\nkept as it is # no comment\n\"\"\"\nb = 2\n");
  check_same("a = \"# not a comment, but a string that is longer than seventy-two columns in any case\" # and a comment\n");
  check_same("\"/sys/block/{dev}/queue/a_rather_long_name_of_a_knob\" = \"a value that is too long to stand in that line\"\n");
  check_same("a = 1\r\nb = \"with a carriage return at the end of the line, and longer than seventy-two columns\"\r\n");
}

TEST_CASE("report: what cannot be broken is refused with its line", "[analysis][report]") {
  const auto refused = narrow_toml("a = 1\n\"" + std::string(80, 'k') + "\" = 1\n");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("Line 2") != std::string::npos);
}

TEST_CASE("report: every experiment of the repository can stand in a mail", "[analysis][report]") {
  std::size_t files = 0;
  const std::filesystem::path root = std::filesystem::path{SPILLWAY_SOURCE_DIR} / "experiments";
  if (!std::filesystem::exists(root)) return;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{root}) {
    if (entry.path().extension() != ".toml") continue;
    std::ostringstream text;
    text << std::ifstream{entry.path()}.rdbuf();
    CAPTURE(entry.path().string());
    check_same(text.str());
    ++files;
  }
  CHECK(files > 0);
}
