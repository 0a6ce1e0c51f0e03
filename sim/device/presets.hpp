#pragma once
/// Devices that people have, as specs. Each says where its figures come from; what is not said there is the default
/// of device_spec.hpp.

#include "sim/device/device_spec.hpp"

namespace spillway::sim::device {

DeviceSpec hdd_7200_4tb();         ///< Ultrastar 7K4000, 3.5"
DeviceSpec hdd_7200_6tb();         ///< Ultrastar DC HC310, 3.5"
DeviceSpec hdd_7200_500gb();       ///< Constellation, 2.5"
DeviceSpec hdd_10k_sas();          ///< a 10,000 rpm 2.5" disk of the 2010s
DeviceSpec hdd_15k_450gb();        ///< Ultrastar 15K450, 3.5"
DeviceSpec hdd_15k_600gb();        ///< Ultrastar C15K600, 2.5"
DeviceSpec ssd_sata_dc();          ///< data-centre SATA TLC with power-loss protection
DeviceSpec nvme_pm9a3();           ///< Samsung PM9A3 U.2, PCIe 4, steady state
DeviceSpec nvme_consumer();        ///< consumer TLC with SLC cache, volatile cache
DeviceSpec nvme_qlc_dc();          ///< QLC with a 16 KiB indirection unit
/// An ideal device of one rate, for closed-form tests.
DeviceSpec fixed_rate(BytesPerSec rate, Bytes capacity);

/// `disks` equal members.
DeviceSpec raid(RaidLevel level, int disks, Bytes chunk, DeviceSpec member);
/// A battery-backed write cache in front of `below`.
DeviceSpec behind_write_cache(Bytes size, DeviceSpec below);
/// A limit of so many bytes per second, alone or in front of `below`.
DeviceSpec limited(BytesPerSec rate, Bytes capacity);
DeviceSpec limited(BytesPerSec rate, DeviceSpec below);

/// The same device with its disks' capacities changed so that the whole holds at least `size` (and little more). Seek
/// times stay: a disk of a few GB whose arm still swings as far in time, so that a small file system spread over it seeks
/// like a large one.
DeviceSpec scaled_to(DeviceSpec spec, Bytes size);

/// Every preset by name, for `[device] model = "..."` and for messages that list what there is.
struct Preset {
  std::string_view name;
  DeviceSpec (*make)();
};
[[nodiscard]] std::vector<Preset> presets();

}  // namespace spillway::sim::device
