/// How close the extraction engines come to a bare loop that makes the same files from memory, and to GNU tar and
/// bsdtar. Every round runs every engine once, in an order that rotates, each in a process of its own, on an emptied
/// directory; the medians are printed, with ratios taken within each round.
///
///   extract_bench --make mixed|small|large|tiny FILE.tar      an archive from a fixed seed
///   extract_bench [--rounds N] [--engines a,b,...] [--samples FILE] DIR ARCHIVE...
///
/// Engines: bare, bare2, tar, tar-Pm, bsdtar, libarchive, posix, posix2, posix8, uring, uring2, and with -direct -auto,
/// -drop or -ahead (a thread that reads ahead of one writer) behind it (posix-direct, uring-auto, ...).
///
/// --samples FILE keeps every single run there and prints the medians over all that it holds, so that nine rounds may be
/// measured in several short calls.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "workload/extract/extract.hpp"
#include "workload/extract/external.hpp"
#include "workload/extract/entry_name.hpp"
#include "workload/extract/tar_reader.hpp"
#include "tests/workload/extract/tar_maker.hpp"

namespace fs = std::filesystem;
using namespace spillway;
using namespace spillway::extract;

namespace {

struct Sample {
  double elapsed_s = -1;
  double cpu_s = 0;
};

double seconds(timeval t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }
double cpu_of(const rusage& u) { return seconds(u.ru_utime) + seconds(u.ru_stime); }
double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// ---- the bare loop -------------------------------------------------------------------------------------------------

struct BareFile {
  EntryType type;
  std::string name;   ///< base name
  std::string link;
  int directory;
  mode_t mode;
  timespec mtime;
  std::int64_t offset;
  std::int64_t length;
};
struct BareList {
  std::vector<std::string> directories;  ///< parents first
  std::vector<timespec> directory_mtimes;
  std::vector<BareFile> files;
  std::string path;
  std::vector<char> image;   ///< the archive's bytes, in memory
};

BareList bare_list(const std::string& archive) {
  BareList list;
  list.path = archive;
  auto opened = open_tar(archive, {});
  if (!opened || !opened->reader) {
    fmt::print(stderr, "{} is not a tar\n", archive);
    std::exit(2);
  }
  std::map<std::string, int> known{{"", 0}};
  list.directories.emplace_back("");
  list.directory_mtimes.push_back({0, 0});
  const auto directory = [&](const std::string& path, auto&& self) -> int {
    if (const auto found = known.find(path); found != known.end()) return found->second;
    self(std::string(parent_of(path)), self);
    list.directories.push_back(path);
    list.directory_mtimes.push_back({1'000'000'000, 0});
    return known[path] = static_cast<int>(list.directories.size()) - 1;
  };
  Entry entry;
  for (;;) {
    const auto more = opened->reader->next(entry);
    if (!more || !*more) break;
    const auto name = clean_name(entry.name);
    if (!name) continue;
    if (entry.type == EntryType::directory) {
      const int d = directory(name->path, directory);
      list.directory_mtimes[static_cast<std::size_t>(d)] = {entry.mtime_s, entry.mtime_ns};
      continue;
    }
    BareFile file{entry.type, std::string(base_of(name->path)), entry.link,
                  directory(std::string(parent_of(name->path)), directory), entry.mode, {entry.mtime_s, entry.mtime_ns}, 0, 0};
    if (entry.type == EntryType::file && entry.data_bytes > 0) {
      const auto stored = opened->reader->stored();
      file.offset = stored->offset;
      file.length = stored->length;
    }
    list.files.push_back(std::move(file));
  }
  std::ifstream in(archive, std::ios::binary);
  list.image.resize(fs::file_size(archive));
  in.read(list.image.data(), static_cast<std::streamsize>(list.image.size()));
  return list;
}

void bare_part(const BareList& list, const std::vector<int>& fds, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const BareFile& f = list.files[i];
    const int at = fds[static_cast<std::size_t>(f.directory)];
    const timespec times[2] = {{0, UTIME_OMIT}, f.mtime};
    if (f.type == EntryType::symlink) {
      if (::symlinkat(f.link.c_str(), at, f.name.c_str()) != 0) std::abort();
      ::utimensat(at, f.name.c_str(), times, AT_SYMLINK_NOFOLLOW);
      continue;
    }
    if (f.type != EntryType::file) continue;
    const int fd = ::openat(at, f.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, f.mode);
    if (fd < 0) std::abort();
    std::int64_t done = 0;
    while (done < f.length) {
      const ssize_t put = ::write(fd, list.image.data() + f.offset + done, static_cast<std::size_t>(f.length - done));
      if (put <= 0) std::abort();
      done += put;
    }
    ::futimens(fd, times);
    ::close(fd);
  }
}

Sample run_bare(const BareList& list, const fs::path& dir, int threads) {
  const double start = now_s();
  std::vector<int> fds;
  const int root = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY);
  fds.push_back(root);
  for (std::size_t i = 1; i < list.directories.size(); ++i) {
    if (::mkdirat(root, list.directories[i].c_str(), 0755) != 0) std::abort();
    fds.push_back(::openat(root, list.directories[i].c_str(), O_RDONLY | O_DIRECTORY));
    if (fds.back() < 0) std::abort();
  }
  if (threads == 1) {
    bare_part(list, fds, 0, list.files.size());
  } else {
    // Contiguous parts of equal cost: a file counts as its bytes and 64 KiB more.
    double total = 0;
    for (const BareFile& f : list.files) total += 65536.0 + static_cast<double>(f.length);
    std::vector<std::thread> workers;
    std::size_t begin = 0;
    double sum = 0;
    int part = 1;
    for (std::size_t i = 0; i < list.files.size(); ++i) {
      sum += 65536.0 + static_cast<double>(list.files[i].length);
      if (sum >= total * part / threads || i + 1 == list.files.size()) {
        workers.emplace_back([&list, &fds, begin, i] { bare_part(list, fds, begin, i + 1); });
        begin = i + 1;
        ++part;
      }
    }
    for (std::thread& worker : workers) worker.join();
  }
  for (std::size_t i = list.directories.size(); i-- > 1;) {
    const timespec times[2] = {{0, UTIME_OMIT}, list.directory_mtimes[i]};
    ::futimens(fds[i], times);
    ::close(fds[i]);
  }
  return {now_s() - start, 0};
}

// ---- one run in a process of its own -------------------------------------------------------------------------------

struct Shared {
  double elapsed_s;
  double cpu_s;
};

Sample run(const std::string& engine, const BareList& list, const fs::path& dir) {
  auto* const shared = static_cast<Shared*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  *shared = {-1, 0};
  std::string base = engine;
  ExtractOptions options = default_options();
  if (base.ends_with("-direct")) options.direct = DirectMode::on;
  if (base.ends_with("-auto")) options.direct = DirectMode::automatic;
  if (base.ends_with("-drop")) options.drop_behind = true;
  if (base.ends_with("-ahead")) options.read_ahead = true;
  std::vector<std::string> argv;
  if (base == "tar") argv = {"tar", "-xf", list.path, "-C", dir.string()};
  else if (base == "tar-Pm") argv = {"tar", "-P", "-m", "-xf", list.path, "-C", dir.string()};
  else if (base == "bsdtar") argv = {"bsdtar", "-xf", list.path, "-C", dir.string()};
  base = base.substr(0, base.find('-'));
  options.writers = 1;
  while (!base.empty() && base.back() >= '0' && base.back() <= '9') {
    options.writers = base.back() - '0';
    base.pop_back();
  }
  for (const Engine e : {Engine::libarchive, Engine::posix, Engine::uring})
    if (name_of(e) == base) options.engine = e;
  const double start = now_s();
  const pid_t child = ::fork();
  if (child == 0) {
    if (!argv.empty()) {
      std::vector<char*> raw;
      for (std::string& a : argv) raw.push_back(a.data());
      raw.push_back(nullptr);
      ::execvp(raw[0], raw.data());
      ::_exit(127);
    }
    rusage before{};
    ::getrusage(RUSAGE_SELF, &before);
    const double begin = now_s();
    if (base == "bare") {
      run_bare(list, dir, options.writers);
    } else {
      const auto report = spillway::extract::extract(list.path, dir, options);
      if (!report || !report->ok()) {
        fmt::print(stderr, "{}: {}\n", engine, report ? (report->errors.empty() ? "incomplete" : report->errors[0].what) : report.error().what);
        ::_exit(1);
      }
    }
    shared->elapsed_s = now_s() - begin;
    rusage after{};
    ::getrusage(RUSAGE_SELF, &after);
    shared->cpu_s = cpu_of(after) - cpu_of(before);
    ::_exit(0);
  }
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  Sample sample{now_s() - start, cpu_of(usage)};
  if (argv.empty()) sample = {shared->elapsed_s, shared->cpu_s};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) sample.elapsed_s = -1;
  ::munmap(shared, 4096);
  return sample;
}

double median(std::vector<double> values) {
  if (values.empty()) return -1;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// ---- archives from a seed ------------------------------------------------------------------------------------------

int make(const std::string& kind, const std::string& path) {
  std::uint64_t state = 1;
  const auto random = [&state] {  // splitmix64
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  };
  std::string noise(std::size_t{1} << 22, '\0');
  for (std::size_t i = 0; i < noise.size(); i += 8) {
    const std::uint64_t r = random();
    std::memcpy(noise.data() + i, &r, 8);
  }
  int files = 0, per_directory = 0;
  double mean = 0;
  bool lognormal = false;
  if (kind == "mixed") files = 2400, per_directory = 100, mean = 125'000, lognormal = true;
  else if (kind == "small") files = 36'000, per_directory = 1000, mean = 4096;
  else if (kind == "large") files = 20, per_directory = 20, mean = 50e6;
  else if (kind == "tiny") files = 60, per_directory = 20, mean = 30'000, lognormal = true;
  else return 2;
  std::ofstream out(path, std::ios::binary);
  std::string data;
  for (int i = 0; i < files; ++i) {
    test::TarMaker maker;
    if (i % per_directory == 0) maker.directory(fmt::format("top/d{:03}/", i / per_directory));
    double size = mean;
    if (lognormal) {  // sigma 1.5, so the median is mean / exp(1.125)
      const double u1 = (static_cast<double>(random() >> 11) + 1) / 9007199254740993.0;
      const double u2 = static_cast<double>(random() >> 11) / 9007199254740992.0;
      size = mean * std::exp(-1.125 + 1.5 * std::sqrt(-2 * std::log(u1)) * std::cos(6.283185307179586 * u2));
    }
    data.clear();
    auto left = static_cast<std::size_t>(size);
    while (left > 0) {
      const std::size_t from = random() % (noise.size() / 2);
      const std::size_t take = std::min(left, noise.size() / 2);
      data.append(noise, from, take);
      left -= take;
    }
    maker.file(fmt::format("top/d{:03}/f{:05}", i / per_directory, i), data);
    out << maker.bytes();
  }
  out << test::TarMaker{}.end().bytes();
  return out.good() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 3 && args[0] == "--make") return make(args[1], args[2]);
  int rounds = 9;
  bool sync_between = true;
  std::string samples_file;
  std::vector<std::string> engines = {"bare", "bare2", "tar", "tar-Pm", "bsdtar", "libarchive", "posix", "posix2", "uring", "uring2"};
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--rounds" && i + 1 < args.size()) rounds = std::stoi(args[++i]);
    else if (args[i] == "--samples" && i + 1 < args.size()) samples_file = args[++i];
    else if (args[i] == "--no-sync") sync_between = false;
    else if (args[i] == "--engines" && i + 1 < args.size()) {
      engines.clear();
      std::string list = args[++i];
      for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        engines.push_back(list.substr(at, end - at));
        at = end + 1;
      }
    } else rest.push_back(args[i]);
  }
  if (rest.size() < 2) {
    fmt::print(stderr, "usage: extract_bench [--rounds N] [--engines a,b] [--samples FILE] DIR ARCHIVE...\n"
                       "       extract_bench --make mixed|small|large|tiny FILE\n");
    return 2;
  }
  const fs::path dir = fs::path(rest[0]) / "extract-bench";
  for (std::size_t a = 1; a < rest.size(); ++a) {
    const BareList list = bare_list(rest[a]);
    std::map<std::string, std::vector<Sample>> samples;
    bool failed = false;
    const std::string key = fs::path(rest[a]).filename().string() + " " + rest[0];
    if (!samples_file.empty()) {
      std::ifstream in(samples_file);
      std::string archive, where, engine;
      for (Sample s; in >> archive >> where >> engine >> s.elapsed_s >> s.cpu_s;)
        if (archive + " " + where == key) samples[engine].push_back(s);
    }
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t e = 0; e < engines.size(); ++e) {
        const std::string& engine = engines[(e + static_cast<std::size_t>(round)) % engines.size()];
        fs::remove_all(dir);
        fs::create_directories(dir);
        if (sync_between) {
          const int fd = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY);
          ::syncfs(fd);
          ::close(fd);
        }
        const Sample sample = run(engine, list, dir);
        if (sample.elapsed_s < 0) failed = true;
        samples[engine].push_back(sample);
        if (!samples_file.empty())
          std::ofstream(samples_file, std::ios::app) << key << ' ' << engine << ' ' << sample.elapsed_s << ' ' << sample.cpu_s << '\n';
      }
    }
    fs::remove_all(dir);
    fmt::print("{} on {}: {} files, {:.0f} MB, medians of {} rounds\n", fs::path(rest[a]).filename().string(), rest[0],
               list.files.size(), static_cast<double>(list.image.size()) * 1e-6, samples.begin()->second.size());
    fmt::print("{:<14} {:>8} {:>8} {:>8} {:>10} {:>9} {:>9} {:>8}\n", "engine", "s", "min s", "CPU s", "bare/this", "tar/this", "bsd/this", "CPU/tar");
    for (const std::string& engine : engines) {
      const auto& mine = samples[engine];
      std::vector<double> elapsed, cpu;
      for (const Sample& s : mine) elapsed.push_back(s.elapsed_s), cpu.push_back(s.cpu_s);
      const auto ratio = [&](const std::string& other, bool of_cpu) -> std::string {
        const auto found = samples.find(other);
        if (found == samples.end()) return "-";
        std::vector<double> ratios;
        for (std::size_t i = 0; i < std::min(mine.size(), found->second.size()); ++i)
          ratios.push_back(of_cpu ? mine[i].cpu_s / found->second[i].cpu_s : found->second[i].elapsed_s / mine[i].elapsed_s);
        return fmt::format("{:.2f}", median(ratios));
      };
      const bool two = engine.find('2') != std::string::npos;
      fmt::print("{:<14} {:>8.3f} {:>8.3f} {:>8.3f} {:>10} {:>9} {:>9} {:>8}\n", engine, median(elapsed), *std::min_element(elapsed.begin(), elapsed.end()),
                 median(cpu), ratio(two ? "bare2" : "bare", false), ratio("tar", false), ratio("bsdtar", false), ratio("tar", true));
    }
    if (failed) return 1;
  }
  return 0;
}
