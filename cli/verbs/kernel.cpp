/// spillway kernel: builds and lists the kernels of `--box kernel:NAME`.

#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/kernel/child.hpp"
#include "workload/kernel/kernel_store.hpp"

#include <filesystem>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace spillway::cli {

namespace {

int list_kernels(bool json) {
  const auto kernels = kernel::stored_kernels();
  if (json) {
    nlohmann::ordered_json out{{"schema", "spillway.kernel/1"}, {"folder", kernel::kernel_folder().string()}, {"kernels", nlohmann::ordered_json::array()}};
    for (const auto& k : kernels)
      out["kernels"].push_back({{"name", k.name}, {"release", k.release}, {"hz", k.hz}, {"content", k.content}, {"made_from", k.made_from}});
    fmt::print("{}\n", out.dump(1));
    return kDone;
  }
  if (kernels.empty()) {
    say(fmt::format("There is no kernel in {} yet; spillway kernel build makes Debian's 6.1.", kernel::kernel_folder().string()));
    return kDone;
  }
  fmt::print("{:<16} {:<12} {:>4}  {:<20}  {}\n", "--box kernel:", "release", "HZ", "content", "made from");
  for (const auto& k : kernels) {
    bool first = true;
    for (const auto& line : k.made_from) {
      if (first) fmt::print("{:<16} {:<12} {:>4}  {:<20}  {}\n", k.name, k.release, k.hz, k.content, line);
      else fmt::print("{:58}  {}\n", "", line);
      first = false;
    }
    if (first) fmt::print("{:<16} {:<12} {:>4}  {:<20}\n", k.name, k.release, k.hz, k.content);
  }
  return kDone;
}

/// A script's own sentences are on stderr; its exit codes are the program's.
int run_script(const std::string& name, const std::vector<std::string>& arguments) {
  const auto script = kernel::find_script(name);
  if (!script) return report(script.error());
  const auto code = kernel::run_in_foreground(*script, arguments);
  return code ? *code : report(code.error());
}

int build_kernel(const Options::Parsed& parsed) {
  std::vector<std::string> words;
  for (const char* option : {"source", "name", "hz", "jobs"}) {
    if (parsed.has(option)) words.insert(words.end(), {fmt::format("--{}", option), parsed.get<std::string>(option)});
  }
  for (const char* option : {"patch", "edit"}) {
    for (const std::string& value : parsed.all(option)) words.insert(words.end(), {fmt::format("--{}", option), value});
  }
  if (const int code = run_script("kernel-build", words); code != kDone) return code;
  if (!kernel::find_root()) {
    if (const int code = run_script("kernel-root", {}); code != kDone) return code;
  }
  return kDone;
}

}  // namespace

int run_kernel(const std::vector<std::string>& arguments) {
  Options options("kernel build|list",
                  "Builds a kernel for `--box kernel:NAME` (User-Mode Linux in virtual time), or lists those that are there. Needs no\n"
                  "root. A build is cached by its content: the same source, patches and configuration are built once. The tree that is\n"
                  "given is not touched. `spillway run FILE --box kernel:A` and `--box kernel:B` run one experiment on two kernels.");
  options.group("Build")("source", po::value<std::string>()->value_name("WHAT"), "a kernel tree, a tarball, or debian:VERSION (default: debian:6.1)")
      ("name", po::value<std::string>()->value_name("NAME"), "what --box kernel:NAME shall call it (default: from the source)")
      ("patch", po::value<std::vector<std::string>>()->value_name("FILE"), "a patch for patch -p1; may be repeated")
      ("edit", po::value<std::vector<std::string>>()->value_name("FILE:SED"), "a one-line change of a file of the tree; may be repeated")
      ("hz", po::value<std::string>()->value_name("N"), "ticks a second (default: 250)")
      ("jobs", po::value<std::string>()->value_name("N"), "compilers at once (default: one a core)");
  options.group("List")("json", po::bool_switch(), "one object on stdout, schema spillway.kernel/1");
  options.positional("what", "build or list.", 1);
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  const auto what = parsed->all("what");
  if (what == std::vector<std::string>{"build"}) return build_kernel(*parsed);
  if (what == std::vector<std::string>{"list"}) return list_kernels(parsed->get<bool>("json"));
  return report({ErrorKind::bad_input, 0, what.empty() ? "kernel: say build or list" : fmt::format("kernel: \"{}\" is neither build nor list", what.front())});
}

}  // namespace spillway::cli
