#pragma once
/// The box that runs Debian's kernel in a virtual machine (QEMU): its own dirty limits, cgroup v2, so that several
/// flushers exist (`replay.flushers = "cgroup:N"`), and no root on the host.
///
/// Real time. Where KVM does not work it is emulation, ten to twenty times slower in everything that computes: the record
/// then says that CPU-bound results mean nothing, and rates are taken as they are given, never scaled.

#include "workload/box.hpp"

#include <memory>

namespace spillway::kernel {

[[nodiscard]] std::unique_ptr<Box> make_vm_box();

}  // namespace spillway::kernel
