#include "workload/real/monitors/taskstats.hpp"

#include <fmt/format.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>

namespace spillway::real {
namespace {

using Buffer = std::vector<std::byte>;

template <class T>
T at(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// A generic netlink request with one attribute.
Status request(int socket, int family, std::uint8_t command, std::uint16_t attribute, std::string_view value) {
  struct {
    nlmsghdr header;
    genlmsghdr generic;
    nlattr attribute;
    char value[256];
  } message{};
  const std::size_t length = value.size() + 1;  // with its final zero
  if (length > sizeof message.value) return fail(ErrorKind::internal, "netlink attribute too long");
  message.attribute.nla_type = attribute;
  message.attribute.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + length);
  std::memcpy(message.value, value.data(), value.size());
  message.header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_LENGTH(GENL_HDRLEN) + NLA_ALIGN(message.attribute.nla_len));
  message.header.nlmsg_type = static_cast<std::uint16_t>(family);
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  message.generic.cmd = command;
  message.generic.version = 1;
  if (::send(socket, &message, message.header.nlmsg_len, 0) < 0)
    return fail(ErrorKind::refused, fmt::format("netlink: {}", std::strerror(errno)), errno);
  return {};
}

/// Calls `use` for each attribute of a list.
template <class F>
void each_attribute(std::span<const std::byte> list, F use) {
  while (list.size() >= NLA_HDRLEN) {
    const auto header = at<nlattr>(list, 0);
    if (header.nla_len < NLA_HDRLEN || header.nla_len > list.size()) return;
    use(header.nla_type & NLA_TYPE_MASK, list.subspan(NLA_HDRLEN, header.nla_len - NLA_HDRLEN));
    list = list.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), list.size()));
  }
}

/// Calls `use(type, payload)` for each netlink message in what was received.
template <class F>
void each_message(std::span<const std::byte> received, F use) {
  while (received.size() >= NLMSG_HDRLEN) {
    const auto header = at<nlmsghdr>(received, 0);
    if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > received.size()) return;
    use(header.nlmsg_type, received.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN));
    received = received.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), received.size()));
  }
}

}  // namespace

std::optional<TaskDelays> parse_taskstats(std::span<const std::byte> bytes) {
  if (bytes.size() < offsetof(taskstats, cpu_run_virtual_total) + 8) return std::nullopt;
  const auto ns = [&](std::size_t offset) { return static_cast<std::int64_t>(at<std::uint64_t>(bytes, offset)); };
  TaskDelays delays;
  delays.cpu_ns = ns(offsetof(taskstats, cpu_delay_total));
  delays.blkio_ns = ns(offsetof(taskstats, blkio_delay_total));
  delays.run_ns = ns(offsetof(taskstats, cpu_run_virtual_total));
  delays.reclaim_ns = ns(offsetof(taskstats, freepages_delay_total));
  delays.switches = ns(offsetof(taskstats, nvcsw));
  delays.involuntary_switches = ns(offsetof(taskstats, nivcsw));
  delays.elapsed_us = ns(offsetof(taskstats, ac_etime));
  delays.pid = static_cast<int>(at<std::uint32_t>(bytes, offsetof(taskstats, ac_pid)));
  delays.parent = static_cast<int>(at<std::uint32_t>(bytes, offsetof(taskstats, ac_ppid)));
  char comm[TS_COMM_LEN + 1]{};
  const std::size_t offset = offsetof(taskstats, ac_comm);
  if (offset + TS_COMM_LEN <= bytes.size()) std::memcpy(comm, bytes.data() + offset, TS_COMM_LEN);
  delays.comm = comm;
  return delays;
}

Result<std::unique_ptr<Taskstats>> Taskstats::start() {
  std::unique_ptr<Taskstats> stats{new Taskstats};
  stats->socket_ = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
  if (stats->socket_ < 0) return fail(ErrorKind::unsupported, fmt::format("no netlink: {}", std::strerror(errno)), errno);
  const int room = 4 << 20;  // a burst of exits must not be lost
  if (::setsockopt(stats->socket_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0)
    ::setsockopt(stats->socket_, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  if (::bind(stats->socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return fail(ErrorKind::refused, fmt::format("netlink: {}", std::strerror(errno)), errno);
  SPILLWAY_TRY(request(stats->socket_, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME));
  Buffer buffer(16384);
  // The answer, then its acknowledgement.
  for (int reads = 0; reads < 2; ++reads) {
    pollfd ready{stats->socket_, POLLIN, 0};
    if (::poll(&ready, 1, 1000) <= 0) break;
    const ssize_t n = ::recv(stats->socket_, buffer.data(), buffer.size(), 0);
    if (n <= 0) break;
    each_message({buffer.data(), static_cast<std::size_t>(n)}, [&](int type, std::span<const std::byte> payload) {
      if (type != GENL_ID_CTRL || payload.size() < GENL_HDRLEN) return;
      each_attribute(payload.subspan(GENL_HDRLEN), [&](int attribute, std::span<const std::byte> value) {
        if (attribute == CTRL_ATTR_FAMILY_ID) stats->family_ = at<std::uint16_t>(value, 0);
      });
    });
  }
  if (stats->family_ == 0) return fail(ErrorKind::unsupported, "this kernel has no taskstats (CONFIG_TASKSTATS)");
  SPILLWAY_TRY(request(stats->socket_, stats->family_, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK,
                       fmt::format("0-{}", ::sysconf(_SC_NPROCESSORS_CONF) - 1)));
  pollfd ready{stats->socket_, POLLIN, 0};
  if (::poll(&ready, 1, 1000) > 0) {
    const ssize_t n = ::recv(stats->socket_, buffer.data(), buffer.size(), 0);
    int refused = 0;
    if (n > 0)
      each_message({buffer.data(), static_cast<std::size_t>(n)}, [&](int type, std::span<const std::byte> payload) {
        if (type == NLMSG_ERROR) refused = -at<int>(payload, 0);
      });
    if (refused != 0)
      return fail(ErrorKind::refused, fmt::format("taskstats: {} (needs root)", std::strerror(refused)), refused);
  }
  stats->thread_ = std::thread{[raw = stats.get()] { raw->loop(); }};
  return stats;
}

void Taskstats::loop() {
  Buffer buffer(65536);
  while (!stop_) {
    pollfd ready{socket_, POLLIN, 0};
    if (::poll(&ready, 1, 50) <= 0) continue;
    const ssize_t n = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (n < 0) {
      if (errno == ENOBUFS) ++lost_;
      continue;
    }
    each_message({buffer.data(), static_cast<std::size_t>(n)}, [&](int type, std::span<const std::byte> payload) {
      if (type != family_ || payload.size() < GENL_HDRLEN) return;
      each_attribute(payload.subspan(GENL_HDRLEN), [&](int outer, std::span<const std::byte> group) {
        if (outer != TASKSTATS_TYPE_AGGR_PID) return;
        each_attribute(group, [&](int inner, std::span<const std::byte> value) {
          if (inner != TASKSTATS_TYPE_STATS) return;
          if (const auto delays = parse_taskstats(value)) {
            const std::scoped_lock lock{mutex_};
            exits_[delays->pid] = *delays;
          }
        });
      });
    });
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    own_cpu_s_ = static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  }
}

std::map<int, TaskDelays> Taskstats::collect(int wait_for_pid, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    {
      const std::scoped_lock lock{mutex_};
      if (wait_for_pid == 0 || exits_.contains(wait_for_pid) || std::chrono::steady_clock::now() > deadline) return exits_;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

Taskstats::~Taskstats() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  if (socket_ >= 0) ::close(socket_);
}

}  // namespace spillway::real
