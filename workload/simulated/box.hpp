#pragma once
/// The simulated box: a Box that runs a case in sim/. It translates the experiment, the archive's catalogue and a box
/// profile into the simulator's inputs, and what comes out into the same record that a real box writes.
///
/// It predicts; it never measures. What it had to assume is in the record's notes, and the complete profile with its
/// marks (cited, measured, assumed) in box.profile.

#include "sim/result.hpp"
#include "workload/box.hpp"

#include <memory>
#include <optional>

namespace spillway::simulated {

struct SimulatedBoxOptions {
  /// A record of a real run whose box, settings and state *before* the run are taken (`--like`).
  std::optional<Record> like;
  /// Where the state before the run is not known: simulate a few states and say in the record how far untars move.
  bool range_over_unknown_state = true;
};

/// One box for one thread; boxes share nothing.
std::unique_ptr<Box> make_simulated_box(SimulatedBoxOptions options = {});

}  // namespace spillway::simulated
