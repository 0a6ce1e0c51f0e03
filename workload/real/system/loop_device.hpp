#pragma once
/// Loop devices through /dev/loop-control and ioctls.
///
/// The kernel keeps what it has learnt about a device (bandwidth estimate, dirty rate limit, completion share) with the
/// device number, across detach and attach. A number that is new (LOOP_CTL_ADD) is cold; LOOP_CTL_REMOVE forgets.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "sim/result.hpp"

namespace spillway::real {

struct LoopDevice {
  int number = -1;
  [[nodiscard]] std::string path() const { return "/dev/loop" + std::to_string(number); }
  [[nodiscard]] std::string name() const { return "loop" + std::to_string(number); }
};

/// The lowest number from 64 on that no loop device has: numbers below belong to the distribution and to losetup -f.
Result<int> unused_loop_number(int from = 64);
/// LOOP_CTL_ADD of exactly this number.
Status add_loop(int number);
/// LOOP_CTL_REMOVE; done if there is none of that number.
Status remove_loop(int number);
/// Attach `backing` with this logical block size, 0 for the default of 512 bytes (LOOP_CONFIGURE; with direct I/O the backing file's pages are not cached, so they are not dirty twice).
Status attach_loop(int number, const std::string& backing, bool direct, std::uint32_t block_size = 0);
/// LOOP_CLR_FD; done if nothing is attached.
Status detach_loop(int number);
/// The file behind it, from sysfs; nullopt when nothing is attached or there is no such device.
std::optional<std::string> loop_backing(int number);
/// Whether direct I/O is on (the kernel may refuse it silently).
bool loop_is_direct(int number);

/// "MAJ:MIN" of a block device node; nullopt if it is none.
std::optional<std::string> device_number(const std::string& path);
/// Whole disk's name in /sys/block for a block device node ("loop64", "vda" for /dev/vda1).
std::optional<std::string> block_name(const std::string& path);

}  // namespace spillway::real
