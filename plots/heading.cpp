#include "plots/heading.hpp"

#include <fmt/core.h>

namespace spillway::plots {

std::string subtitle_of(const Record& record, std::size_t repeats) {
  std::string text = record.box.kind == "simulated" ? "Predicted by the simulated box"
                     : record.box.name.empty() || record.box.name == record.box.kind ? fmt::format("Measured on the {} box", record.box.kind)
                                                    : fmt::format("Measured on the {} box {}", record.box.kind, record.box.name);
  if (!record.box.kernel.empty()) text += ", Linux " + record.box.kernel;
  if (!record.box.device.empty()) text += "; " + record.box.device;
  std::string keys;
  for (const auto& [key, value] : record.case_keys) keys += fmt::format("{}{} = {}", keys.empty() ? "" : ", ", key, value);
  if (!keys.empty()) text += "; " + keys;
  if (repeats > 1) text += fmt::format("; {} repeats", repeats);
  return text;
}

}  // namespace spillway::plots
