/// spillway extract: the extraction engine on its own.

#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/experiment/quantity.hpp"
#include "workload/extract/durable.hpp"
#include "workload/extract/extract.hpp"
#include "workload/extract/verify_tree.hpp"
#include "workload/interrupt/interrupt.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/stat.h>

namespace spillway::cli {

namespace {

using Json = nlohmann::ordered_json;
using extract::ExtractOptions;
using extract::ExtractReport;
using extract::Message;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

/// A name from an archive, for a terminal: control characters as \ooo, as GNU tar and ls have them.
std::string printable(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) out += fmt::format("\\{:03o}", byte);
    else out += c;
  }
  return out;
}

template <class T>
Result<T> one_of(const std::string& option, const std::string& given, std::initializer_list<std::pair<const char*, T>> known) {
  std::string names;
  for (const auto& [name, value] : known) {
    if (given == name) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return fail(ErrorKind::bad_input, fmt::format("extract: --{} {} is not one of {}", option, given, names));
}

enum class After { none, sync, fsync_each };

/// What is asked, apart from ARCHIVE and DIR.
struct Request {
  ExtractOptions options;
  After after = After::none;
  bool extracts = true;
  bool verifies = false;
};

Result<Request> request_from(const Options::Parsed& parsed) {
  Request request;
  ExtractOptions& options = request.options;
  options = extract::default_options();
  using extract::DirectMode;
  using extract::Engine;
  using extract::Existing;
  const auto& engine = parsed.get<std::string>("engine");
  if (engine == "tar" || engine == "bsdtar")
    return fail(ErrorKind::bad_input, fmt::format("extract: {} is a program of its own; the engines here are posix, uring and libarchive", engine));
  SPILLWAY_ASSIGN(options.engine, one_of<Engine>("engine", engine, {{"posix", Engine::posix}, {"uring", Engine::uring}, {"libarchive", Engine::libarchive}}));
  SPILLWAY_ASSIGN(options.direct, one_of<DirectMode>("direct", parsed.get<std::string>("direct"),
                                                     {{"false", DirectMode::off}, {"true", DirectMode::on}, {"auto", DirectMode::automatic}}));
  SPILLWAY_ASSIGN(options.existing, one_of<Existing>("existing", parsed.get<std::string>("existing"),
                                                     {{"unlink", Existing::unlink}, {"overwrite", Existing::overwrite}}));
  SPILLWAY_ASSIGN(request.after, one_of<After>("after", parsed.get<std::string>("after"),
                                               {{"none", After::none}, {"sync", After::sync}, {"fsync_each", After::fsync_each}}));
  options.writers = parsed.get<int>("writers");
  options.drop_behind = parsed.get<bool>("drop-behind");
  options.concatenated = parsed.get<bool>("concatenated");
  if (parsed.get<bool>("no-owner")) options.preserve_owner = false;
  if (parsed.get<bool>("exact-mode")) options.preserve_mode = true;
  options.preserve_mtime = !parsed.get<bool>("no-mtime");
  options.preserve_xattrs = !parsed.get<bool>("no-xattrs");
  options.limits.entries = parsed.get<std::int64_t>("max-entries");
  options.limits.depth = parsed.get<int>("max-depth");
  if (options.limits.entries < 1 || options.limits.depth < 1) return fail(ErrorKind::bad_input, "extract: --max-entries and --max-depth are at least 1");
  if (parsed.has("max-bytes")) {
    const auto& text = parsed.get<std::string>("max-bytes");
    const auto bytes = read_size(text);
    if (!bytes) return fail(ErrorKind::bad_input, fmt::format("extract: --max-bytes {} {}", text, bytes.error()));
    options.limits.file_bytes = *bytes;
  }
  options.stop = [] { return interrupted(); };
  request.extracts = !parsed.get<bool>("only-verify");
  request.verifies = parsed.get<bool>("verify") || !request.extracts;
  return request;
}

Json to_json(const std::vector<Message>& messages) {
  Json json = Json::array();
  for (const Message& m : messages) {
    Json one{{"name", m.name}, {"what", m.what}};
    if (m.sys_errno != 0) one["errno"] = m.sys_errno;
    json.push_back(std::move(one));
  }
  return json;
}

Json to_json(const ExtractReport& r) {
  Json json{{"ok", r.ok()},
            {"archive_complete", r.archive_complete},
            {"engine", name_of(r.engine)},
            {"writers", r.writers},
            {"entries", r.entries},
            {"files", r.files},
            {"directories", r.directories},
            {"symlinks", r.symlinks},
            {"hard_links", r.hard_links},
            {"specials", r.specials},
            {"data_bytes", r.data_bytes},
            {"apparent_bytes", r.apparent_bytes},
            {"direct_bytes", r.direct_bytes},
            {"error_count", r.error_count},
            {"errors", to_json(r.errors)},
            {"warning_count", r.warning_count},
            {"warnings", to_json(r.warnings)},
            {"collision_count", r.collision_count},
            {"collisions", r.collisions},
            {"partial_files", Json::array()},
            {"trailing", {{"bytes", r.trailing.bytes}, {"all_zero", r.trailing.all_zero}}},
            {"threads", Json::array()}};
  if (r.fell_back) json["fell_back"] = *r.fell_back;
  for (const auto& p : r.partial_files) json["partial_files"].push_back({{"name", p.name}, {"written_bytes", p.written}, {"expected_bytes", p.expected}});
  for (const auto& t : r.threads) json["threads"].push_back({{"role", t.role}, {"user_s", seconds(t.user)}, {"system_s", seconds(t.system)}});
  return json;
}

Json to_json(const extract::TreeComparison& c) {
  Json json{{"same", c.same()}, {"members", c.members}, {"names", c.names}, {"data_bytes", c.data_bytes}, {"refused_names", c.refused_names},
            {"difference_count", c.difference_count}, {"differences", Json::array()}};
  for (const auto& d : c.differences) json["differences"].push_back({{"name", d.name}, {"what", d.what}});
  return json;
}

void tell(const ExtractReport& r, double elapsed_s) {
  fmt::print("{} files, {} directories, {} links{}, {:.1f} MB in {:.2f} s, CPU {:.2f} s; engine {}, {} writer{}\n", r.files, r.directories,
             r.symlinks + r.hard_links, r.specials > 0 ? fmt::format(", {} special files", r.specials) : "", static_cast<double>(r.data_bytes) * 1e-6,
             elapsed_s, seconds(r.cpu()), name_of(r.engine), r.writers, r.writers == 1 ? "" : "s");
}

/// What is wrong, or worth knowing, one sentence a line on stderr.
void complain(const ExtractReport& r) {
  const auto line = [](const char* kind, const Message& m) {
    say(fmt::format("{}{}{}{}", kind, printable(m.name), m.name.empty() ? "" : ": ", printable(m.what)));
  };
  const auto rest = [](std::int64_t count, std::size_t shown, const char* what) {
    if (count > static_cast<std::int64_t>(shown)) say(fmt::format("... and {} more {}", count - static_cast<std::int64_t>(shown), what));
  };
  if (r.fell_back) say("note: " + *r.fell_back);
  for (const Message& m : r.warnings) line("warning: ", m);
  rest(r.warning_count, r.warnings.size(), "warnings");
  for (const Message& m : r.errors) line("error: ", m);
  rest(r.error_count, r.errors.size(), "errors");
  for (const auto& p : r.partial_files) say(fmt::format("partial: {}: {} of {} bytes of data are there", printable(p.name), p.written, p.expected));
  if (r.collision_count > 0)
    say(fmt::format("note: {} member{} had the name of an earlier one, which the later replaced: first {}", r.collision_count,
                    r.collision_count == 1 ? "" : "s", printable(r.collisions.empty() ? "" : r.collisions[0])));
  if (!r.trailing.all_zero)
    say(fmt::format("note: {} bytes follow the end of the archive and were not read; --concatenated reads a second archive", r.trailing.bytes));
  if (!r.archive_complete) say("error: the archive was not read to its end");
}

/// 3 when the box said no to anything, 2 when it was all the archive's fault.
int code_for(const ExtractReport& r) {
  if (r.ok()) return kDone;
  constexpr int kBoxSaysNo[] = {EIO, ENOSPC, EDQUOT, EROFS, EACCES, EPERM, EMFILE, ENFILE, ENOMEM, EFBIG, ENXIO, ENODEV};
  for (const Message& m : r.errors)
    if (std::find(std::begin(kBoxSaysNo), std::end(kBoxSaysNo), m.sys_errno) != std::end(kBoxSaysNo)) return kRefused;
  return kWrongUse;
}

extract::VerifyOptions verify_options(const ExtractOptions& options, bool extra_names) {
  extract::VerifyOptions what;
  what.owner = options.preserve_owner;
  if (!options.preserve_mode) {
    const mode_t mask = ::umask(022);
    ::umask(mask);
    what.mode_mask = 0777 & ~mask;
  }
  what.mtime = options.preserve_mtime;
  what.xattrs = options.preserve_xattrs;
  what.concatenated = options.concatenated;
  what.extra_names = extra_names;
  what.stop = options.stop;
  return what;
}

Options all_options() {
  const ExtractOptions defaults = extract::default_options();
  Options options("extract ARCHIVE DIR",
                  "Extracts an archive (tar, zip, cpio, 7z, ISO 9660 and what else libarchive reads; gzip, zstd, xz, lz4, bzip2)\n"
                  "into DIR and never outside it. DIR is made if it is missing. A member that cannot be extracted is named, the others\n"
                  "are. Exit: 0 all is there; 1 --verify found a difference; 2 the archive is at fault; 3 the box refused something.");
  options.group("How")
      ("engine", po::value<std::string>()->default_value("posix"), "posix, uring (direct writes through io_uring) or libarchive")
      ("writers", po::value<int>()->default_value(1), "writer threads, 1 to 64; the tree does not depend on it")
      ("direct", po::value<std::string>()->default_value("false"), "O_DIRECT for file data: true, false, or auto: for files of 1 MiB and more beyond the kernel's freerun mark")
      ("drop-behind", po::bool_switch(), "start writeback of large files at once, and drop their pages and the archive's")
      ("after", po::value<std::string>()->default_value("none"), "none; sync: syncfs of DIR's file system; fsync_each: every file and directory");
  options.group("What")
      ("existing", po::value<std::string>()->default_value("unlink"), "files that are there: unlink them, or overwrite them in place")
      ("concatenated", po::bool_switch(), "go on behind the end mark: cat a.tar b.tar")
      ("no-owner", po::bool_switch(), "files belong to whoever extracts (the default but for root)")
      ("exact-mode", po::bool_switch(), "the archive's modes without regard to the umask (the default for root)")
      ("no-mtime", po::bool_switch(), "files have the time of their making")
      ("no-xattrs", po::bool_switch(), "no extended attributes and ACLs");
  options.group("Limits")
      ("max-entries", po::value<std::int64_t>()->default_value(defaults.limits.entries), "members")
      ("max-bytes", po::value<std::string>()->value_name("SIZE"), "data of all members together, such as 10GB (16 TiB)")
      ("max-depth", po::value<int>()->default_value(defaults.limits.depth), "directories on the way to a member");
  options.group("Comparison")
      ("verify", po::bool_switch(), "then compare DIR with the archive, as an independent reader has it")
      ("only-verify", po::bool_switch(), "compare only, extract nothing");
  options.group("Output")("json", po::bool_switch(), "one object on stdout, schema spillway.extract/1");
  options.positional("word", "ARCHIVE is a file or - for standard input; DIR is a directory.", 2);
  return options;
}

}  // namespace

int run_extract(const std::vector<std::string>& arguments) {
  Options options = all_options();
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  const std::vector<std::string> words = parsed->all("word");
  if (words.size() != 2)
    return report({ErrorKind::bad_input, 0, "extract: an ARCHIVE and a DIR are wanted, such as spillway extract linux.tar.xz /mnt/test"});
  const auto request = request_from(*parsed);
  if (!request) return report(request.error());
  const std::string archive = words[0] == "-" ? "/dev/stdin" : words[0];
  const std::filesystem::path directory = words[1];
  if (words[0] == "-" && request->verifies)
    return report({ErrorKind::bad_input, 0, "extract: a comparison reads the archive twice, which standard input does not allow; give a file"});

  struct stat there {};
  const bool made = request->extracts && ::stat(directory.c_str(), &there) != 0 && errno == ENOENT && ::mkdir(directory.c_str(), 0777) == 0;
  std::error_code error;
  const bool empty = made || std::filesystem::is_empty(directory, error);
  Json json{{"schema", "spillway.extract/1"}, {"archive", archive}, {"directory", directory.string()}};
  int code = kDone;
  if (request->extracts) {
    const auto start = std::chrono::steady_clock::now();
    const auto done = extract::extract(archive, directory, request->options);
    if (!done) {
      if (made) ::rmdir(directory.c_str());
      return report(done.error());
    }
    const double elapsed_s = seconds_since(start);
    json.update(to_json(*done));
    json["elapsed_s"] = elapsed_s;
    json["cpu_s"] = seconds(done->cpu());
    complain(*done);
    if (!parsed->get<bool>("json")) tell(*done, elapsed_s);
    code = interrupted() ? kSignalBase + interrupt_signal() : code_for(*done);
    if (request->after != After::none && !interrupted()) {
      const auto durable = request->after == After::sync ? extract::sync_file_system_of(directory) : extract::fsync_tree(directory);
      if (!durable) {
        code = report(durable.error());
        json["ok"] = false;
        json["not_durable"] = durable.error().what;
      } else {
        json["durable_s"] = seconds_since(start);
        if (!parsed->get<bool>("json")) fmt::print("on the device {:.2f} s after the start\n", seconds_since(start));
      }
    }
  }
  if (request->verifies && !interrupted()) {
    const auto compared = extract::verify_tree(archive, directory, verify_options(request->options, empty || !request->extracts));
    if (!compared) return report(compared.error());
    json["verify"] = to_json(*compared);
    for (const auto& d : compared->differences) say(fmt::format("differs: {}: {}", printable(d.name), printable(d.what)));
    if (!compared->same() && compared->difference_count > static_cast<std::int64_t>(compared->differences.size()))
      say(fmt::format("... and {} more differences", compared->difference_count - static_cast<std::int64_t>(compared->differences.size())));
    if (!parsed->get<bool>("json"))
      fmt::print("compared: {} names, {:.1f} MB of data, {}\n", compared->names, static_cast<double>(compared->data_bytes) * 1e-6,
                 compared->same() ? "no difference" : fmt::format("{} difference{}", compared->difference_count, compared->difference_count == 1 ? "" : "s"));
    if (code == kDone && !compared->same()) code = kNotMet;
  }
  if (parsed->get<bool>("json")) {
    json["exit_code"] = code;
    fmt::print("{}\n", json.dump(1, ' ', false, Json::error_handler_t::replace));  // names need not be UTF-8
  }
  return code;
}

}  // namespace spillway::cli
