#pragma once
/// Kernel addresses to function names, from /proc/kallsyms (zeros there without privilege: then no name is found).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::real {

class KernelSymbols {
 public:
  /// "" if unknown. The table is read at the first question.
  std::string_view name_of(std::uint64_t address);

 private:
  void load();
  bool loaded_ = false;
  std::string text_;
  std::vector<std::pair<std::uint64_t, std::string_view>> functions_;
};

}  // namespace spillway::real
