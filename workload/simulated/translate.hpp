#pragma once
/// From a case to the simulator's inputs: values in, values out. Everything that the experiment does not say and the
/// profile had to supply is in the profile's own description; what could not be taken over is in `notes`.

#include "sim/box/inputs.hpp"
#include "sim/result.hpp"
#include "workload/archive/catalogue.hpp"
#include "workload/box.hpp"
#include "workload/simulated/profile.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace spillway::simulated {

/// What the simulated box cannot do at all: an `unsupported` error with one sentence.
Status can_simulate(const Experiment& experiment);

/// Directories and files of a catalogue, as the simulator sees them. Links, devices and fifos are left out.
std::shared_ptr<const sim::FileCatalogue> file_catalogue(const Catalogue& catalogue);

/// Mount options that the simulator knows, applied over what mkfs was told.
/// What one of them means is refused or noted where the model has no such thing. In filesystem_inputs.cpp.
Result<sim::FilesystemInputs> filesystem_inputs(const FilesystemSpec& spec, Bytes data, std::vector<std::string>* notes = nullptr);
/// What the device's workers are called after: the loop that `run` would make, or a device-mapper device.
void name_device(const Experiment& experiment, sim::DeviceInputs& device);

/// Pages of other devices that the kernel still remembers as completed when a new device starts, where nobody knows: the
/// middle of 28 real runs on one box.
inline constexpr std::int64_t kColdCompletions = 25'000;
inline constexpr const char* kUnknownCompletions = "completions of other devices";

/// With several writers at once: how late one wakes after its tick is drawn, up to this much. assumed: interrupt, idle exit
/// and scheduler of a virtual machine; what matters is that it is not the same for all.
inline constexpr Duration kWakeJitter = std::chrono::microseconds{50};
inline constexpr const char* kUnknownOrder = "the order in which untars at once wake up";

struct Translation {
  sim::BoxInputs inputs;
  Profile profile;
  std::vector<std::string> notes;
  /// The parts of the state before the run that nobody has said: "completion share", "dirtyable memory", ...
  std::vector<std::string> unknown_state;
  std::string device_text;
};

/// `like`: box, state before the run and settings of a real record, over the profile. Never what came out of it.
Result<Translation> translate(const Case& item, std::shared_ptr<const sim::FileCatalogue> catalogue, const std::optional<Record>& like, std::uint64_t seed);

}  // namespace spillway::simulated
