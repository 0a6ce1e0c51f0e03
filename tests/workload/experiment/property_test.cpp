/// Random experiments: whatever is accepted survives its effective form, and nothing that people could type by mistake
/// does more than give a sentence.

#include "sim/random.hpp"
#include "workload/experiment/keys.hpp"
#include "workload/experiment/parse.hpp"
#include "workload/record/file_io.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fmt/core.h>

using namespace spillway;

namespace {

const char* const kBase = R"([replay]
untars = 8
[[job]]
name = "a"
size = "1GiB"
[[job]]
name = "b"
size = "1GiB"
[pipeline]
[[pipeline.stage]]
name = "s"
)";

template <class T>
const T& pick(sim::Random& random, const std::vector<T>& list) {
  return list[random.below(list.size())];
}

/// A value of the key's kind, as typed on the command line.
std::string random_value(const KeyInfo& info, sim::Random& random) {
  if (info.kind == "choice") return pick(random, info.choices);
  if (info.kind == "list of choices") {
    std::string out;
    for (const std::string& choice : info.choices) {
      if (random.below(2) == 0) out += (out.empty() ? "" : ",") + choice;
    }
    return out.empty() ? "[]" : out;
  }
  if (info.kind == "list of texts") return pick(random, std::vector<std::string>{"[]", "noatime", "largeio,allocsize=64k"});
  if (info.kind == "size") return fmt::format("{}{}", 1 + random.below(999), pick(random, std::vector<std::string>{"B", "kB", "KiB", "MB", "MiB", "GB"}));
  if (info.kind == "rate") return fmt::format("{}{}", random.below(999), pick(random, std::vector<std::string>{"kB/s", "MB/s", "MiB/s", "Mbit/s"}));
  if (info.kind == "time") return fmt::format("{}{}", random.below(999), pick(random, std::vector<std::string>{"us", "ms", "s", "min"}));
  if (info.kind == "whole number") return fmt::format("{}", random.below(40));
  if (info.kind == "number") return fmt::format("{}", random.uniform());
  if (info.kind == "true or false") return random.below(2) == 0 ? "true" : "false";
  if (info.kind.starts_with("true, false")) return pick(random, std::vector<std::string>{"true", "false", "auto"});
  return pick(random, std::vector<std::string>{"x", "y-1"});
}

std::string address(const KeyInfo& info) {
  std::string key = info.key;
  if (key.starts_with("job[].")) key.replace(0, 5, "job[b]");
  if (key.starts_with("pipeline.stage[].")) key.replace(0, 16, "pipeline.stage[1]");
  return key;
}

}  // namespace

TEST_CASE("experiment: random experiments that are accepted survive their effective form", "[workload][experiment][property]") {
  const std::uint64_t seed = 20261130;
  CAPTURE(seed);
  sim::Random random{seed, "experiments"};
  std::vector<KeyInfo> keys;
  for (const KeyInfo& info : all_keys()) {
    const bool plain = info.section != "[[sweep]]" && info.section != "[[expect]]" && !info.key.ends_with(".NAME") && info.kind != "table of numbers" && !info.kind.starts_with("list of [");
    if (plain && info.key != "archive.path" && info.key != "archive.sha256" && info.key != "archive.decompress") keys.push_back(info);
  }
  int accepted = 0;
  for (int i = 0; i < 1500; ++i) {
    Overrides overrides;
    const std::uint64_t count = 1 + random.below(6);
    for (std::uint64_t k = 0; k < count; ++k) {
      const KeyInfo& info = pick(random, keys);
      overrides.set.push_back(address(info) + "=" + random_value(info, random));
    }
    const auto file = parse_experiment(kBase, "p.toml", overrides);
    if (!file) {
      // A refusal is a sentence that names an option or the file.
      const std::string& what = file.error().what;
      if (!what.starts_with("--set ") && !what.starts_with("p.toml")) FAIL(what);
      continue;
    }
    ++accepted;
    const Case& item = file->cases.at(0);
    const auto again = case_from_effective(item.effective);
    if (!again) FAIL(again.error().what << " for " << item.effective.dump());
    if (again->effective.dump() != item.effective.dump()) FAIL(again->effective.dump() << "\n" << item.effective.dump());
  }
  CHECK(accepted > 300);
}

TEST_CASE("experiment: damaged files give a sentence, never worse", "[workload][experiment][property]") {
  const std::uint64_t seed = 7;
  CAPTURE(seed);
  sim::Random random{seed, "damage"};
  const std::string text = read_file(std::filesystem::path{SPILLWAY_SOURCE_DIR} / "experiments" / "xfs-untar.toml").value().substr(0, 3000);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string damaged = text;
    const std::uint64_t edits = 1 + random.below(4);
    for (std::uint64_t k = 0; k < edits; ++k) {
      const std::size_t at = random.below(damaged.size());
      const std::uint64_t kind = random.below(3);
      if (kind == 0) damaged.erase(at, 1 + random.below(20));
      if (kind == 1) damaged.insert(at, 1, static_cast<char>(random.below(256)));
      if (kind == 2) damaged[at] = static_cast<char>(32 + random.below(95));
    }
    const auto file = parse_experiment(damaged, "d.toml");
    if (file) continue;
    ++refused;
    if (!file.error().what.starts_with("d.toml")) FAIL(file.error().what);
    CHECK(file.error().kind == ErrorKind::bad_input);
  }
  CHECK(refused > 50);
}
