#include "workload/real/monitors/kernel_symbols.hpp"

#include <algorithm>
#include <charconv>

#include "workload/real/system/text_file.hpp"

namespace spillway::real {

void KernelSymbols::load() {
  loaded_ = true;
  text_ = read_text("/proc/kallsyms").value_or("");
  for (const auto line : split_lines(text_)) {
    if (line.size() < 20 || (line[17] != 't' && line[17] != 'T')) continue;
    std::uint64_t address = 0;
    std::from_chars(line.data(), line.data() + 16, address, 16);
    if (address == 0) continue;
    auto name = line.substr(19);
    functions_.emplace_back(address, name.substr(0, name.find('\t')));
  }
  std::ranges::stable_sort(functions_, {}, &std::pair<std::uint64_t, std::string_view>::first);
}

std::string_view KernelSymbols::name_of(std::uint64_t address) {
  if (!loaded_) load();
  const auto after = std::ranges::upper_bound(functions_, address, {}, &std::pair<std::uint64_t, std::string_view>::first);
  if (after == functions_.begin()) return {};
  return std::prev(after)->second;
}

}  // namespace spillway::real
