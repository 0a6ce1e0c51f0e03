#pragma once
/// A disk and the clock of a kernel in virtual time: `time-travel=ext` hands the clock to a program outside, and a
/// vhost-user block device is a disk outside; here both are one program, so a device model of sim/device/ stands under a
/// real kernel and no noise of any clock is between them.
///
/// The kernel runs freely until the next moment at which the device does something; then it waits, the device completes
/// requests at exactly their time, and the interrupt is delivered while the kernel waits. Every message is answered before
/// the next is looked at, so a run repeats to the byte.
///
/// Protocols: include/uapi/linux/um_timetravel.h and arch/um/drivers/vhost_user.h of the kernel, virtio 1.1 (split ring,
/// block device). One request queue.

#include "sim/device/device.hpp"
#include "sim/result.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace spillway::kernel {

class VirtualDisk {
 public:
  struct Ends;

  /// Listens on FOLDER/clock and FOLDER/disk. `size` is what the guest sees, at most the model's capacity.
  static Result<std::unique_ptr<VirtualDisk>> listen(const std::filesystem::path& folder, std::unique_ptr<sim::device::Device> device, Bytes size);
  ~VirtualDisk();
  VirtualDisk(const VirtualDisk&) = delete;
  VirtualDisk& operator=(const VirtualDisk&) = delete;

  /// Kernel arguments that attach a guest to this.
  [[nodiscard]] std::vector<std::string> kernel_arguments() const;

  /// Serves one guest until it goes or stop() is called from another thread. An error says what the guest did that is not
  /// understood.
  Status serve();
  void stop();

  /// After serve(): what the device counted until then.
  [[nodiscard]] sim::device::Counters counters() const;
  [[nodiscard]] const sim::device::Device& device() const;

 private:
  explicit VirtualDisk(std::unique_ptr<Ends> ends);
  std::unique_ptr<Ends> ends_;
};

}  // namespace spillway::kernel
