#define FUSE_USE_VERSION 35
#include "workload/real/modeled_disk/disk_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

#include "workload/real/modeled_disk/disk_data.hpp"
#include "workload/real/modeled_disk/report.hpp"

namespace spillway::real {

namespace {

using sim::device::Completion;
using sim::device::Device;
using sim::device::Request;

constexpr fuse_ino_t kFile = 2;  // 1 is the root directory
constexpr unsigned kMaxTransfer = 1 << 20;
constexpr const char* kFileName = "disk.img";
constexpr double kForever = 1e9;  // s; attributes never change

Duration monotonic_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::chrono::seconds{t.tv_sec} + Duration{t.tv_nsec};
}

class DiskServer {
 public:
  DiskServer(const ModeledDiskOptions& options, std::unique_ptr<Device> device, std::unique_ptr<DiskData> data)
      : options_(options), device_(std::move(device)), data_(std::move(data)), start_(monotonic_now()),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  [[nodiscard]] std::int64_t size() const { return options_.size.value(); }
  [[nodiscard]] unsigned background() const {
    const int depth = options_.queue_depth > 0 ? options_.queue_depth : std::min(128, device_->queue_depth());
    return static_cast<unsigned>(std::max(1, depth));
  }

  // --- Called by the receiving thread -------------------------------------------------------------------------------

  void write(fuse_req_t req, const char* from, std::size_t size, std::int64_t offset) {
    if (!inside(size, offset)) return (void)fuse_reply_err(req, ENOSPC);
    const Duration received = monotonic_now();
    if (const int error = data_->write(from, size, offset); error != 0) return (void)fuse_reply_err(req, error);
    submit(req, Kind::write, size, offset, received);
  }
  void read(fuse_req_t req, std::size_t size, std::int64_t offset) {
    if (offset >= this->size()) return (void)fuse_reply_buf(req, nullptr, 0);
    size = std::min(size, static_cast<std::size_t>(this->size() - offset));
    submit(req, Kind::read, size, offset, monotonic_now());
  }
  void flush(fuse_req_t req) { submit(req, Kind::flush, 0, 0, monotonic_now()); }
  void discard(fuse_req_t req, std::int64_t offset, std::int64_t length) {
    if (offset < 0 || length < 0 || offset + length > size()) return (void)fuse_reply_err(req, ENOSPC);
    fuse_reply_err(req, data_->discard(length, offset));
  }

  // --- The timekeeper -----------------------------------------------------------------------------------------------

  /// Runs for ever; ends the process on SIGTERM and its like.
  void keep_time() {
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    // An answer that is due must not wait for the next tick behind the program under test. A wish only; it sleeps nearly
    // all the time, so it starves nobody.
    sched_param priority{};
    priority.sched_priority = 1;
    (void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
    sigset_t set;
    sigemptyset(&set);
    for (const int s : {SIGUSR1, SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, s);
    const int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    pollfd fds[2] = {{signals, POLLIN, 0}, {wake_, POLLIN, 0}};
    for (;;) {
      const auto next = pump();
      timespec timeout{};
      if (next) {
        const Duration left = std::max(Duration{0}, (*next - SimTime{}) - (monotonic_now() - start_));
        timeout = {static_cast<time_t>(left.count() / 1'000'000'000), static_cast<long>(left.count() % 1'000'000'000)};
      }
      if (ppoll(fds, 2, next ? &timeout : nullptr, nullptr) <= 0) continue;
      if (fds[1].revents != 0) {
        std::uint64_t count = 0;
        (void)!::read(wake_, &count, sizeof count);
      }
      if (fds[0].revents != 0) {
        signalfd_siginfo info{};
        while (::read(signals, &info, sizeof info) == sizeof info) {
          if (info.ssi_signo == SIGUSR1) {
            write_report();
          } else {
            end();
          }
        }
      }
    }
  }

  /// Writes the last report, takes the mount down and ends the process. Nothing else can: the receiving thread may be
  /// asleep in a read that never returns.
  [[noreturn]] void end() {
    write_report();
    umount2(options_.directory.c_str(), MNT_DETACH);
    _exit(0);
  }

 private:
  enum class Kind : std::uint8_t { read, write, flush };
  struct Pending {
    fuse_req_t req = nullptr;
    Kind kind = Kind::read;
    std::size_t size = 0;
    std::int64_t offset = 0;
    Duration received{0};
  };

  bool inside(std::size_t size, std::int64_t offset) const {
    return offset >= 0 && offset + static_cast<std::int64_t>(size) <= this->size();
  }

  void submit(fuse_req_t req, Kind kind, std::size_t size, std::int64_t offset, Duration received) {
    {
      const std::lock_guard lock(mutex_);
      std::uint64_t slot = pending_.size();
      if (free_.empty()) {
        pending_.emplace_back();
      } else {
        slot = free_.back();
        free_.pop_back();
      }
      pending_[slot] = {req, kind, size, offset, received};
      Request r{.id = slot, .write = kind != Kind::read, .flush = kind == Kind::flush};
      if (kind != Kind::flush) {
        const std::int64_t sector = kSectorSize.value();
        const std::int64_t end = offset + static_cast<std::int64_t>(size);
        r.start = Sectors{offset / sector};
        r.length = Sectors{std::max<std::int64_t>(1, (end + sector - 1) / sector - offset / sector)};
      }
      const SimTime now = model_now();
      device_->advance(now, done_);
      device_->submit(now, r);
    }
    const std::uint64_t one = 1;
    (void)!::write(wake_, &one, sizeof one);
  }

  /// Answers whatever is due; returns when the next thing will be.
  std::optional<SimTime> pump() {
    std::optional<SimTime> next;
    std::vector<std::pair<Pending, Completion>> due;
    {
      const std::lock_guard lock(mutex_);
      device_->advance(model_now(), done_);
      for (const Completion& c : done_) {
        due.emplace_back(pending_[c.id], c);
        free_.push_back(c.id);
      }
      done_.clear();
      next = device_->next_event();
    }
    for (const auto& [request, completion] : due) answer(request, completion);
    return next;
  }

  void answer(const Pending& p, const Completion& c) {
    if (p.kind == Kind::read) {
      const char* data = data_->read(p.size, p.offset);
      data != nullptr ? fuse_reply_buf(p.req, data, p.size) : fuse_reply_err(p.req, errno);
    } else if (p.kind == Kind::write) {
      fuse_reply_write(p.req, p.size);
    } else {
      fuse_reply_err(p.req, 0);
    }
    const Duration delivered = monotonic_now() - p.received, requested = c.at - c.submitted;
    const std::lock_guard lock(mutex_);
    requested_.add(requested);
    delivered_.add(delivered);
    late_.add(delivered - requested);
  }

  /// With the lock held, so that the model never sees time go back.
  SimTime model_now() const { return SimTime{} + (monotonic_now() - start_); }

  void write_report() {
    ModeledDiskReport report;
    {
      const std::lock_guard lock(mutex_);
      const SimTime now = model_now();
      device_->advance(now, done_);
      report = {options_.spec.name, options_.seed, options_.size, now - SimTime{}, device_->sequential_write_rate(),
                device_->counters(now), requested_, delivered_, late_};
    }
    const std::string text = to_json(report), temporary = options_.report_path + ".new";
    const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return;
    const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(fd);
    if (written) rename(temporary.c_str(), options_.report_path.c_str());
  }

  ModeledDiskOptions options_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<DiskData> data_;
  Duration start_;
  int wake_;
  std::mutex mutex_;
  std::vector<Pending> pending_;
  std::vector<std::uint64_t> free_;
  std::vector<Completion> done_;
  ServiceTimes requested_, delivered_, late_;
};

// --- The FUSE operations: nothing but translation ---------------------------------------------------------------------

DiskServer& server_of(fuse_req_t req) { return *static_cast<DiskServer*>(fuse_req_userdata(req)); }

struct stat attributes(const DiskServer& server, fuse_ino_t ino) {
  struct stat st {};
  st.st_ino = ino;
  st.st_blksize = 4096;
  if (ino == kFile) {
    st.st_mode = S_IFREG | 0600;
    st.st_nlink = 1;
    st.st_size = server.size();
  } else {
    st.st_mode = S_IFDIR | 0700;
    st.st_nlink = 2;
  }
  return st;
}

void on_init(void* userdata, fuse_conn_info* conn) {
  const auto& server = *static_cast<DiskServer*>(userdata);
  conn->want |= conn->capable & FUSE_CAP_ASYNC_DIO;
  conn->want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
                                       FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_AUTO_INVAL_DATA);
  conn->max_write = kMaxTransfer;
  conn->max_read = kMaxTransfer;
  conn->max_background = server.background();
  conn->congestion_threshold = server.background();
}

void on_lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  if (parent != FUSE_ROOT_ID || std::strcmp(name, kFileName) != 0) return (void)fuse_reply_err(req, ENOENT);
  fuse_entry_param entry{};
  entry.ino = kFile;
  entry.attr = attributes(server_of(req), kFile);
  entry.attr_timeout = entry.entry_timeout = kForever;
  fuse_reply_entry(req, &entry);
}

void on_getattr(fuse_req_t req, fuse_ino_t ino, fuse_file_info*) {
  const struct stat st = attributes(server_of(req), ino);
  fuse_reply_attr(req, &st, kForever);
}

void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat*, int, fuse_file_info*) { on_getattr(req, ino, nullptr); }

void on_open(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi) {
  if (ino != kFile) return (void)fuse_reply_err(req, EISDIR);
  fi->direct_io = 1;  // never through the page cache: the disk makes no dirty pages
  fuse_reply_open(req, fi);
}

void on_readdir(fuse_req_t req, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info*) {
  if (offset > 0) return (void)fuse_reply_buf(req, nullptr, 0);
  char buffer[256];
  const struct stat st = attributes(server_of(req), kFile);
  const std::size_t used = fuse_add_direntry(req, buffer, sizeof buffer, kFileName, &st, 1);
  used <= size ? fuse_reply_buf(req, buffer, used) : fuse_reply_err(req, EINVAL);
}

void on_read(fuse_req_t req, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info*) {
  server_of(req).read(req, size, offset);
}

void on_write(fuse_req_t req, fuse_ino_t, const char* data, std::size_t size, off_t offset, fuse_file_info*) {
  server_of(req).write(req, data, size, offset);
}

void on_fsync(fuse_req_t req, fuse_ino_t, int, fuse_file_info*) { server_of(req).flush(req); }

void on_fallocate(fuse_req_t req, fuse_ino_t, int mode, off_t offset, off_t length, fuse_file_info*) {
  constexpr int kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  constexpr int kZero = FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;
  if (mode != kPunch && mode != kZero && mode != FALLOC_FL_ZERO_RANGE) return (void)fuse_reply_err(req, EOPNOTSUPP);
  server_of(req).discard(req, offset, length);
}

const fuse_lowlevel_ops& operations() {
  static const fuse_lowlevel_ops ops = [] {
    fuse_lowlevel_ops o{};
    o.init = on_init;
    o.lookup = on_lookup;
    o.getattr = on_getattr;
    o.setattr = on_setattr;
    o.open = on_open;
    o.readdir = on_readdir;
    o.read = on_read;
    o.write = on_write;
    o.fsync = on_fsync;
    o.fallocate = on_fallocate;
    return o;
  }();
  return ops;
}

}  // namespace

void serve_modeled_disk(const ModeledDiskOptions& options, const std::function<void(const std::string&)>& ready) {
  prctl(PR_SET_NAME, "spillway-disk", 0, 0, 0);
  // A disk needs no CPU time; this one does, and should get it before the programs under test. Wishes only.
  (void)setpriority(PRIO_PROCESS, 0, -10);
#ifdef PR_SET_IO_FLUSHER
  (void)prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);  // do not wait for one's own writeback when memory is short
#endif
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int s : {SIGUSR1, SIGTERM, SIGINT, SIGHUP, SIGPIPE}) sigaddset(&blocked, s);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);

  auto device = sim::device::make_device(options.spec, options.seed);
  if (!device) return ready(device.error().what);
  auto data = options.data_file.empty() ? memory_data(options.size, options.prefault) : file_data(options.size, options.data_file);
  if (!data) return ready(data.error().what);
  // Never destroyed: the process ends by _exit, with threads in the middle of things.
  auto* server = new DiskServer(options, std::move(*device), std::move(*data));

  // The kernel wants max_read as a mount option beside the negotiated one.
  const std::string mount_options = fmt::format("max_read={},fsname=spillway-disk,subtype=modeled", kMaxTransfer);
  const char* argv[] = {"spillway-disk", "-o", mount_options.c_str(), nullptr};
  fuse_args args = FUSE_ARGS_INIT(3, const_cast<char**>(argv));
  fuse_session* session = fuse_session_new(&args, &operations(), sizeof(fuse_lowlevel_ops), server);
  if (session == nullptr) return ready("libfuse refused to make a session for the modeled disk.");
  if (fuse_session_mount(session, options.directory.c_str()) != 0) {
    return ready(fmt::format("Cannot mount the modeled disk on {}: is /dev/fuse there, and are you root?",
                             options.directory));
  }
  ready("");

  std::thread([server] { server->keep_time(); }).detach();
  fuse_buf buffer{};
  for (;;) {
    const int got = fuse_session_receive_buf(session, &buffer);
    if (got == -EINTR || got == -EAGAIN) continue;
    if (got <= 0 || fuse_session_exited(session)) break;
    fuse_session_process_buf(session, &buffer);
  }
  server->end();
}

}  // namespace spillway::real
