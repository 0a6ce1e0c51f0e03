#include "cli/boxes.hpp"

#include "cli/nearest.hpp"
#include "workload/kernel/kernel_box.hpp"
#include "workload/kernel/vm_box.hpp"
#include "workload/real/box.hpp"
#include "workload/simulated/box.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <thread>

namespace spillway::cli {

std::string kind_of(const BoxChoice& choice) { return choice.name.substr(0, choice.name.find(':')); }

Result<std::vector<std::unique_ptr<Box>>> make_boxes(const BoxChoice& choice) {
  std::vector<std::unique_ptr<Box>> boxes;
  const std::string kind = kind_of(choice);
  if (kind == "kernel") {
    boxes.push_back(kernel::make_kernel_box(choice.name == kind ? "" : choice.name.substr(kind.size() + 1)));
    return boxes;
  }
  if (choice.name == "vm") {
    boxes.push_back(kernel::make_vm_box());
    return boxes;
  }
  if (choice.name == "real") {
    real::RealBoxOptions options;
    options.destroy = choice.destroy;
    options.monitors = choice.monitors;
    options.redo_disturbed = choice.redo_disturbed;
    boxes.push_back(std::make_unique<real::RealBox>(options));
    return boxes;
  }
  if (choice.name == "simulated") {
    const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    for (int i = 0; i < (choice.threads > 0 ? choice.threads : cores); ++i) {
      simulated::SimulatedBoxOptions options;
      options.range_over_unknown_state = choice.ranges;
      if (choice.like) options.like = *choice.like;
      boxes.push_back(simulated::make_simulated_box(std::move(options)));
    }
    return boxes;
  }
  const std::string near = nearest(choice.name, {"simulated", "real", "kernel", "vm"});
  return fail(ErrorKind::bad_input, fmt::format("--box {}: there is no such box{}; boxes are simulated, real, kernel[:NAME] and vm", choice.name,
                                                near.empty() || near == choice.name ? "" : fmt::format(", the nearest is {}", near)));
}

}  // namespace spillway::cli
