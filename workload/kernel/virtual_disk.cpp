#include "workload/kernel/virtual_disk.hpp"

#include "workload/kernel/disk_content.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <map>
#include <optional>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace spillway::kernel {
namespace {

// --- the clock's messages: struct um_timetravel_msg ------------------------------------------------------------------
enum ClockOp : std::uint32_t { kAck = 0, kStart = 1, kRequest = 2, kWait = 3, kGet = 4, kUpdate = 5, kRun = 6, kFreeUntil = 7, kTimeOfDay = 8 };
struct ClockMessage {
  std::uint32_t op = 0, sequence = 0;
  std::uint64_t time = 0;
};
static_assert(sizeof(ClockMessage) == 16);
// The wall clock inside at time 0, fixed so that times stamped on files repeat.
constexpr std::uint64_t kStartOfTimeNs = 1'800'000'000'000'000'000ULL;
// As far ahead as the guest may run when the device has nothing to do: the guest's own times are signed.
constexpr std::uint64_t kForever = 1ULL << 62;

// --- the disk's messages: struct vhost_user_msg ----------------------------------------------------------------------
enum DiskOp : std::uint32_t {
  kGetFeatures = 1, kSetFeatures = 2, kSetOwner = 3, kSetMemTable = 5, kSetVringNum = 8, kSetVringAddr = 9, kSetVringBase = 10,
  kGetProtocolFeatures = 15, kSetProtocolFeatures = 16, kSetVringEnable = 18, kSetRequestFd = 21, kGetConfig = 24, kSetConfig = 25, kVringKick = 35,
};
constexpr std::uint32_t kRequestVringCall = 4;
constexpr std::uint32_t kVersion = 1, kReply = 4, kNeedReply = 8;
constexpr std::uint64_t kReplyAck = 1ULL << 3, kSlaveRequest = 1ULL << 5, kConfig = 1ULL << 9, kInband = 1ULL << 14;
constexpr std::uint64_t kProtocolFeatures = 1ULL << 30;
struct DiskHeader {
  std::uint32_t request = 0, flags = 0, size = 0;
};
static_assert(sizeof(DiskHeader) == 12);
struct Region {
  std::uint64_t guest = 0, size = 0, user = 0, offset = 0;
};

// --- the split ring, virtio 1.1 section 2.6 (the kernel's header is not C++) ----------------------------------------------
constexpr int kIndirectFeature = 28;
constexpr std::uint16_t kNext = 1, kIndirect = 4;
struct RingDescriptor {
  std::uint64_t address;
  std::uint32_t length;
  std::uint16_t flags, next;
};
struct RingAvailable {
  std::uint16_t flags, index;
};  // ring of uint16 follows
struct RingUsedElement {
  std::uint32_t id, length;
};
struct RingUsed {
  std::uint16_t flags, index;
};  // ring of RingUsedElement follows

// Segments of one request; with two more descriptors it fits an indirect table of one page.
constexpr std::uint32_t kMaxSegments = 254;

bool send_all(int fd, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const auto done = send(fd, at, size, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

bool receive_all(int fd, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const auto done = recv(fd, at, size, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

Result<int> listen_on(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.string().size() >= sizeof address.sun_path) {
    return fail(ErrorKind::refused, fmt::format("The path {} is too long for a socket; choose a shorter --out.", path.string()));
  }
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  unlink(path.c_str());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, 1) != 0) {
    const int error = errno;
    if (fd >= 0) close(fd);
    return fail(ErrorKind::refused, fmt::format("Cannot listen on {}: {}.", path.string(), std::strerror(error)), error);
  }
  return fd;
}

SimTime at_ns(std::uint64_t ns) { return SimTime{Duration{static_cast<std::int64_t>(ns)}}; }
std::uint64_t to_ns(SimTime time) { return static_cast<std::uint64_t>(time.time_since_epoch().count()); }

}  // namespace

struct VirtualDisk::Ends {
  std::filesystem::path folder;
  std::unique_ptr<sim::device::Device> device;
  Bytes size;
  DiskContent content;
  int clock_listener = -1, disk_listener = -1;
  int clock = -1, disk = -1, calls = -1;  // connections; `calls` is the guest's end for interrupts
  std::atomic<bool> stopping{false};
  std::string trouble;

  // The clock.
  std::uint64_t now = 0;
  bool guest_waits = false;
  std::optional<std::uint64_t> guest_wants;
  std::uint64_t free_until = 0;
  std::uint32_t sequence = 0;

  // The guest's memory and its ring.
  struct Mapping {
    std::uint64_t guest = 0, size = 0;
    std::byte* memory = nullptr;
    std::size_t length = 0;
    void* base = nullptr;
  };
  std::vector<Mapping> mappings;
  std::uint32_t ring_size = 0;
  std::uint64_t desc_at = 0, avail_at = 0, used_at = 0;
  std::uint16_t next_avail = 0;
  struct InFlight {
    std::uint16_t head = 0;
    std::uint32_t type = 0;
    std::int64_t offset = 0;
    std::vector<std::span<std::byte>> data;
    std::byte* status = nullptr;
    std::uint32_t written = 0;
  };
  std::map<std::uint64_t, InFlight> in_flight;
  std::uint64_t next_id = 1;
  std::vector<sim::device::Completion> done;  // completed by the device, not yet told to the guest

  Ends(std::filesystem::path where, std::unique_ptr<sim::device::Device> model, Bytes bytes)
      : folder(std::move(where)), device(std::move(model)), size(bytes), content(bytes) {}
  ~Ends() {
    for (const int fd : {clock_listener, disk_listener, clock, disk, calls}) {
      if (fd >= 0) close(fd);
    }
    for (const auto& mapping : mappings) munmap(mapping.base, mapping.length);
    std::error_code ignored;
    std::filesystem::remove(folder / "clock", ignored);
    std::filesystem::remove(folder / "disk", ignored);
  }

  bool broken(std::string what) {
    if (trouble.empty()) trouble = std::move(what);
    return false;
  }

  // ---- memory ----
  std::byte* translate(std::uint64_t address, std::uint64_t length) {
    for (const auto& mapping : mappings) {
      if (address >= mapping.guest && address + length <= mapping.guest + mapping.size) return mapping.memory + (address - mapping.guest);
    }
    broken(fmt::format("the guest gave the address {:#x}, which is outside the memory it shares", address));
    return nullptr;
  }

  // ---- clock ----
  // When the device next has something to tell.
  std::optional<std::uint64_t> device_event() const {
    if (!done.empty()) return now;
    const auto next = device->next_event();
    if (!next) return std::nullopt;
    return std::max(to_ns(*next), now);
  }

  bool clock_send(std::uint32_t op, std::uint64_t time) {
    const ClockMessage message{op, ++sequence, time};
    if (!send_all(clock, &message, sizeof message)) return broken("the guest's clock connection broke");
    // The guest acknowledges before it does anything else that depends on it; what it still says meanwhile is handled.
    while (true) {
      ClockMessage answer;
      if (!receive_all(clock, &answer, sizeof answer)) return false;
      if (answer.op == kAck) return true;
      if (!clock_handle(answer)) return false;
    }
  }

  bool clock_handle(const ClockMessage& message) {
    ClockMessage answer{kAck, message.sequence, 0};
    switch (message.op) {
      case kStart: break;
      case kRequest: guest_wants = message.time; break;
      case kWait: guest_waits = true; break;
      case kGet: answer.time = now; break;
      case kUpdate: now = std::max(now, message.time); break;
      case kTimeOfDay: answer.time = kStartOfTimeNs + now; break;
      default: return broken(fmt::format("the guest's clock sent operation {}", message.op));
    }
    return send_all(clock, &answer, sizeof answer);
  }

  bool grant_free_run() {
    const std::uint64_t until = device_event().value_or(kForever);
    if (until == free_until) return true;
    free_until = until;
    return clock_send(kFreeUntil, until);
  }

  // The guest waits: let whoever is first go on.
  bool step() {
    const auto event = device_event();
    if (event && (!guest_wants || *event <= *guest_wants)) {
      now = *event;
      device->advance(at_ns(now), done);
      if (done.empty()) return true;
      if (!complete()) return false;
      return interrupt();
    }
    if (!guest_wants) return broken("the guest waits for nothing and the device has nothing to do");
    now = std::max(now, *guest_wants);
    guest_wants.reset();
    guest_waits = false;
    // The wait itself ended any earlier permission.
    free_until = 0;
    return grant_free_run() && clock_send(kRun, now);
  }

  // ---- ring ----
  template <class T>
  T* ring_part(std::uint64_t address, std::uint64_t length) { return reinterpret_cast<T*>(translate(address, length)); }

  bool read_chain(std::uint16_t head, InFlight& request, virtio_blk_outhdr& header) {
    auto* table = ring_part<RingDescriptor>(desc_at, sizeof(RingDescriptor) * ring_size);
    if (table == nullptr) return false;
    std::uint32_t count = ring_size, index = head;
    if ((table[head].flags & kIndirect) != 0) {
      count = table[head].length / sizeof(RingDescriptor);
      table = ring_part<RingDescriptor>(table[head].address, table[head].length);
      if (table == nullptr) return false;
      index = 0;
    }
    std::vector<std::span<std::byte>> parts;
    for (std::uint32_t steps = 0; steps <= count; ++steps) {
      if (index >= count) return broken("the guest's descriptor chain leaves its table");
      const auto& descriptor = table[index];
      auto* memory = translate(descriptor.address, descriptor.length);
      if (memory == nullptr) return false;
      parts.emplace_back(memory, descriptor.length);
      if ((descriptor.flags & kNext) == 0) break;
      index = descriptor.next;
    }
    if (parts.size() < 2 || parts.front().size() < sizeof header || parts.back().empty()) return broken("the guest sent a block request without header or status");
    std::memcpy(&header, parts.front().data(), sizeof header);
    request.head = head;
    request.status = parts.back().data();
    request.data.assign(parts.begin() + 1, parts.end() - 1);
    return true;
  }

  bool take_requests() {
    if (ring_size == 0) return true;
    auto* avail = ring_part<RingAvailable>(avail_at, sizeof(RingAvailable) + 2ULL * ring_size);
    if (avail == nullptr) return false;
    // What is due up to now comes first, as the model asks.
    device->advance(at_ns(now), done);
    while (next_avail != __atomic_load_n(&avail->index, __ATOMIC_ACQUIRE)) {
      const std::uint16_t head = reinterpret_cast<const std::uint16_t*>(avail + 1)[next_avail % ring_size];
      ++next_avail;
      InFlight request;
      virtio_blk_outhdr header{};
      if (!read_chain(head, request, header)) return false;
      request.type = header.type;
      std::int64_t bytes = 0;
      for (const auto& piece : request.data) bytes += static_cast<std::int64_t>(piece.size());
      request.offset = static_cast<std::int64_t>(header.sector) * 512;
      if (request.offset < 0 || request.offset + bytes > size.value()) return broken("the guest asked for a place beyond the disk's end");
      sim::device::Request asked;
      asked.id = next_id++;
      switch (header.type) {
        case VIRTIO_BLK_T_OUT: {
          asked.write = true;
          std::int64_t at = request.offset;
          for (const auto& piece : request.data) {
            content.write(at, piece);
            at += static_cast<std::int64_t>(piece.size());
          }
          break;
        }
        case VIRTIO_BLK_T_IN: break;
        case VIRTIO_BLK_T_FLUSH: asked.flush = true; asked.write = true; bytes = 0; break;
        default:
          // Nothing else was offered; the identification is asked for all the same.
          *request.status = static_cast<std::byte>(VIRTIO_BLK_S_UNSUPP);
          request.written = 1;
          push_used(request);
          unanswered = true;
          continue;
      }
      if (bytes == 0 && !asked.flush) {
        *request.status = static_cast<std::byte>(VIRTIO_BLK_S_OK);
        request.written = 1;
        push_used(request);
        unanswered = true;
        continue;
      }
      asked.start = Sectors{static_cast<std::int64_t>(asked.flush ? 0 : header.sector)};
      asked.length = Sectors{bytes / 512};
      in_flight.emplace(asked.id, std::move(request));
      device->submit(at_ns(now), asked);
    }
    return true;
  }

  bool unanswered = false;  // something was put on the used ring at once, without the device

  void push_used(const InFlight& request) {
    auto* used = ring_part<RingUsed>(used_at, sizeof(RingUsed) + sizeof(RingUsedElement) * ring_size);
    if (used == nullptr) return;
    reinterpret_cast<RingUsedElement*>(used + 1)[used->index % ring_size] = {.id = request.head, .length = request.written};
    __atomic_store_n(&used->index, static_cast<std::uint16_t>(used->index + 1), __ATOMIC_RELEASE);
  }

  bool complete() {
    for (const auto& completion : done) {
      const auto found = in_flight.find(completion.id);
      if (found == in_flight.end()) return broken("the device completed a request that it was not given");
      auto& request = found->second;
      if (request.type == VIRTIO_BLK_T_IN) {
        std::int64_t at = request.offset;
        for (const auto& piece : request.data) {
          content.read(at, piece);
          at += static_cast<std::int64_t>(piece.size());
          request.written += static_cast<std::uint32_t>(piece.size());
        }
      }
      request.written += 1;
      *request.status = static_cast<std::byte>(VIRTIO_BLK_S_OK);
      push_used(request);
      in_flight.erase(found);
    }
    done.clear();
    return trouble.empty();
  }

  // Raises the queue's interrupt; the guest asks the clock before it answers.
  bool interrupt() {
    unanswered = false;
    if (calls < 0) return broken("the guest has given no connection for interrupts");
    const std::uint32_t call[5] = {kRequestVringCall, kVersion | kNeedReply, 8, /*queue*/ 0, 0};
    if (!send_all(calls, call, sizeof call)) return broken("the guest's interrupt connection broke");
    while (true) {
      pollfd fds[2] = {{.fd = calls, .events = POLLIN, .revents = 0}, {.fd = clock, .events = POLLIN, .revents = 0}};
      if (!wait_for(fds, 2)) return false;
      if ((fds[1].revents & (POLLIN | POLLHUP)) != 0) {
        ClockMessage message;
        if (!receive_all(clock, &message, sizeof message)) return false;
        if (message.op != kAck && !clock_handle(message)) return false;
      } else {
        std::byte answer[sizeof(DiskHeader) + 8];
        return receive_all(calls, answer, sizeof answer);
      }
    }
  }

  // ---- disk messages ----
  bool disk_reply(std::uint32_t op, const void* payload, std::uint32_t bytes) {
    const DiskHeader header{op, kVersion | kReply, bytes};
    return send_all(disk, &header, sizeof header) && send_all(disk, payload, bytes);
  }

  bool disk_handle() {
    DiskHeader header;
    std::vector<int> fds;
    // Descriptors come with the first byte.
    iovec part{.iov_base = &header, .iov_len = sizeof header};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const auto got = recvmsg(disk, &message, MSG_CMSG_CLOEXEC);
    if (got <= 0) return false;
    if (got < static_cast<ssize_t>(sizeof header) && !receive_all(disk, reinterpret_cast<char*>(&header) + got, sizeof header - static_cast<std::size_t>(got))) return false;
    for (auto* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
      const auto count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
        fds.push_back(fd);
      }
    }
    if (header.size > 4096) return broken(fmt::format("the guest's disk sent a message of {} bytes", header.size));
    std::vector<std::byte> payload(header.size);
    if (header.size > 0 && !receive_all(disk, payload.data(), payload.size())) return false;
    const auto number = [&payload](std::size_t at) {
      std::uint64_t value = 0;
      if (at + 8 <= payload.size()) std::memcpy(&value, payload.data() + at, 8);
      return value;
    };
    const auto half = [&payload](std::size_t at) {
      std::uint32_t value = 0;
      if (at + 4 <= payload.size()) std::memcpy(&value, payload.data() + at, 4);
      return value;
    };
    bool fine = true;
    switch (header.request) {
      case kGetFeatures: {
        std::uint64_t features = (1ULL << VIRTIO_F_VERSION_1) | kProtocolFeatures | (1ULL << kIndirectFeature) |
                                 (1ULL << VIRTIO_BLK_F_SEG_MAX) | (1ULL << VIRTIO_BLK_F_BLK_SIZE) | (1ULL << VIRTIO_BLK_F_TOPOLOGY);
        if (device->volatile_cache()) features |= 1ULL << VIRTIO_BLK_F_FLUSH;
        return disk_reply(header.request, &features, sizeof features);
      }
      case kGetProtocolFeatures: {
        const std::uint64_t features = kReplyAck | kSlaveRequest | kConfig | kInband;
        return disk_reply(header.request, &features, sizeof features);
      }
      case kGetConfig: {
        if (payload.size() < 12) return broken("the guest asked for the disk's properties without saying which");
        virtio_blk_config config{};
        config.capacity = static_cast<std::uint64_t>(size.value() / 512);
        config.seg_max = kMaxSegments;
        config.blk_size = static_cast<std::uint32_t>(device->logical_block().value());
        const auto blocks = [&config](Bytes bytes) { return static_cast<std::uint32_t>(bytes.value() / config.blk_size); };
        while ((blocks(device->physical_block()) >> (config.physical_block_exp + 1)) > 0) ++config.physical_block_exp;
        config.min_io_size = static_cast<std::uint16_t>(std::min<std::uint32_t>(blocks(device->stripe_unit()), 65535));
        config.opt_io_size = blocks(device->stripe_width());
        std::vector<std::byte> bytes(sizeof config);
        std::memcpy(bytes.data(), &config, sizeof config);
        bytes.resize(4096);
        const auto offset = half(0), wanted = half(4);
        for (std::uint32_t i = 0; i < wanted && 12 + i < payload.size() && offset + i < bytes.size(); ++i) payload[12 + i] = bytes[offset + i];
        return disk_reply(header.request, payload.data(), header.size);
      }
      case kSetMemTable: {
        const auto count = half(0);
        for (std::uint32_t i = 0; i < count && i < fds.size(); ++i) {
          const std::size_t at = 8 + 32ULL * i;
          const Region region{number(at), number(at + 8), number(at + 16), number(at + 24)};
          const std::size_t length = region.size + region.offset;
          void* base = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], 0);
          if (base == MAP_FAILED) fine = broken(fmt::format("cannot map the guest's memory: {}", std::strerror(errno)));
          else mappings.push_back({region.guest, region.size, static_cast<std::byte*>(base) + region.offset, length, base});
        }
        break;
      }
      case kSetVringNum: ring_size = half(4); break;
      case kSetVringAddr: desc_at = number(8); used_at = number(16); avail_at = number(24); break;
      case kSetVringBase: next_avail = static_cast<std::uint16_t>(half(4)); break;
      case kSetRequestFd:
        if (!fds.empty()) {
          calls = fds.front();
          fds.erase(fds.begin());
        }
        break;
      case kVringKick:
        fine = take_requests();
        // Before the guest runs on, it must know that the device may now have something to tell sooner.
        if (fine) fine = grant_free_run();
        break;
      case kSetFeatures: case kSetOwner: case kSetProtocolFeatures: case kSetVringEnable: case kSetConfig: break;
      default: fine = broken(fmt::format("the guest's disk sent request {}", header.request));
    }
    for (const int fd : fds) close(fd);
    if (fine && (header.flags & kNeedReply) != 0) {
      const std::uint64_t zero = 0;
      fine = disk_reply(header.request, &zero, sizeof zero);
    }
    return fine;
  }

  // ---- waiting ----
  bool wait_for(pollfd* fds, nfds_t count) {
    while (!stopping.load()) {
      const int ready = poll(fds, count, 100);
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
    return false;
  }

  bool accept_on(int listener, int& connection) {
    pollfd fd{.fd = listener, .events = POLLIN, .revents = 0};
    if (!wait_for(&fd, 1)) return false;
    connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    return connection >= 0;
  }

  // True while there is a guest.
  bool turn() {
    if (guest_waits) {
      if (unanswered) return interrupt();
      return step();
    }
    pollfd fds[3] = {{.fd = clock, .events = POLLIN, .revents = 0}, {.fd = disk, .events = POLLIN, .revents = 0}, {.fd = disk < 0 ? disk_listener : -1, .events = POLLIN, .revents = 0}};
    if (!wait_for(fds, 3)) return false;
    // The clock first: the guest says what time it is before it kicks the disk.
    if (fds[0].revents != 0) {
      ClockMessage message;
      return receive_all(clock, &message, sizeof message) && (message.op == kAck || clock_handle(message));
    }
    if (fds[2].revents != 0) return accept_on(disk_listener, disk);
    if (fds[1].revents != 0) return disk_handle();
    return true;
  }
};

VirtualDisk::VirtualDisk(std::unique_ptr<Ends> ends) : ends_(std::move(ends)) {}
VirtualDisk::~VirtualDisk() = default;

Result<std::unique_ptr<VirtualDisk>> VirtualDisk::listen(const std::filesystem::path& folder, std::unique_ptr<sim::device::Device> device, Bytes size) {
  if (size.value() > device->capacity().value() * 512) {
    return fail(ErrorKind::bad_input, fmt::format("The disk is to have {} bytes, more than the {} of its model.", size.value(), device->capacity().value() * 512));
  }
  auto ends = std::make_unique<Ends>(folder, std::move(device), size);
  SPILLWAY_ASSIGN(ends->clock_listener, listen_on(folder / "clock"));
  SPILLWAY_ASSIGN(ends->disk_listener, listen_on(folder / "disk"));
  return std::unique_ptr<VirtualDisk>(new VirtualDisk(std::move(ends)));
}

std::vector<std::string> VirtualDisk::kernel_arguments() const {
  return {"time-travel=ext:" + (ends_->folder / "clock").string(), fmt::format("virtio_uml.device={}:{}", (ends_->folder / "disk").string(), 2)};
}

Status VirtualDisk::serve() {
  if (!ends_->accept_on(ends_->clock_listener, ends_->clock)) return {};
  while (ends_->turn()) {
  }
  if (!ends_->trouble.empty()) return fail(ErrorKind::refused, "The virtual disk stopped: " + ends_->trouble + ".");
  return {};
}

void VirtualDisk::stop() { ends_->stopping = true; }
sim::device::Counters VirtualDisk::counters() const { return ends_->device->counters(at_ns(ends_->now)); }
const sim::device::Device& VirtualDisk::device() const { return *ends_->device; }

}  // namespace spillway::kernel
