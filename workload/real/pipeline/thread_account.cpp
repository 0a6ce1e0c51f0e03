#include "workload/real/pipeline/thread_account.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

/// include/uapi/linux/sched/types.h, first version; glibc 2.36 has no wrapper.
struct SchedAttr {
  std::uint32_t size = 48, policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};

Result<SchedAttr> attributes() {
  SchedAttr attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return fail(ErrorKind::unsupported, fmt::format("sched_getattr: {}", std::strerror(errno)), errno);
  return attributes;
}

}  // namespace

ThreadAccount::ThreadAccount(std::string stage, int number) {
  use_.stage = std::move(stage);
  use_.number = number;
  fd_ = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  begin_ = look();
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  voluntary_begin_ = usage.ru_nvcsw;
  involuntary_begin_ = usage.ru_nivcsw;
}

ThreadAccount::~ThreadAccount() {
  if (fd_ >= 0) ::close(fd_);
}

ThreadAccount::Counters ThreadAccount::look() const {
  char text[128];
  const ssize_t n = fd_ < 0 ? -1 : ::pread(fd_, text, sizeof text, 0);
  Counters counters;
  if (n <= 0) return counters;
  const auto words = split_words({text, static_cast<std::size_t>(n)});
  if (words.size() < 3) return counters;
  counters.cpu_ns = first_number(words[0]).value_or(0);
  counters.runqueue_ns = first_number(words[1]).value_or(0);
  counters.slices = first_number(words[2]).value_or(0);
  return counters;
}

void ThreadAccount::before_sleep() {
  sampling_ = ++sleeps_ % kSampled == 0;
  if (sampling_) before_ = look();
}

void ThreadAccount::after_sleep() {
  if (!sampling_) return;
  sampling_ = false;
  const Counters now = look();
  // One slice more is one wake-up; otherwise the thread had not slept, or was pushed out on the way as well.
  if (now.slices == before_.slices + 1) use_.wakeup_delays_ns.push_back(now.runqueue_ns - before_.runqueue_ns);
}

ThreadUse ThreadAccount::finish() {
  const Counters now = look();
  use_.cpu_ns = now.cpu_ns - begin_.cpu_ns;
  use_.runqueue_ns = now.runqueue_ns - begin_.runqueue_ns;
  use_.slices = now.slices - begin_.slices;
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  use_.voluntary_switches = usage.ru_nvcsw - voluntary_begin_;
  use_.involuntary_switches = usage.ru_nivcsw - involuntary_begin_;
  return std::move(use_);
}

Status set_slice(Duration slice) {
  SPILLWAY_ASSIGN(SchedAttr wanted, attributes());
  wanted.size = sizeof wanted;
  wanted.flags = 0;
  wanted.runtime = static_cast<std::uint64_t>(slice.count());
  if (::syscall(SYS_sched_setattr, 0, &wanted, 0) != 0) return fail(ErrorKind::refused, fmt::format("a scheduler slice of {} ns: {}", slice.count(), std::strerror(errno)), errno);
  const Duration now = slice_now();
  // Kernels before 6.12 take the call and keep their own slice.
  if (now != slice)
    return fail(ErrorKind::unsupported, fmt::format("this kernel keeps a scheduler slice of {} ns where {} ns were asked for: slices of single threads need Linux 6.12, and lie between 0.1 and 100 ms", now.count(), slice.count()));
  return {};
}

Duration slice_now() {
  const auto now = attributes();
  return now ? Duration{static_cast<std::int64_t>(now->runtime)} : Duration{0};
}

}  // namespace spillway::real
