#pragma once
/// Small kernel files (/proc, /sys, cgroups) read and written whole. Errors name the file and the value.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/result.hpp"

namespace spillway::real {

/// The whole file; no limit on its size, so only for kernel files.
Result<std::string> read_text(const std::string& path);
/// Like read_text, without the white space at the end.
Result<std::string> read_line(const std::string& path);
/// The first number in the file; nullopt if there is none or the file cannot be read.
std::optional<std::int64_t> read_number(const std::string& path);
/// One write(2) of the whole value: what sysctl and cgroup files expect.
Status write_text(const std::string& path, std::string_view value);

/// First whole number in `text`, skipping what stands before it.
std::optional<std::int64_t> first_number(std::string_view text);
/// The number after `key` (a whole word at the start of a line) in a "key value" table such as /proc/vmstat.
std::optional<std::int64_t> table_number(std::string_view table, std::string_view key);
std::vector<std::string_view> split_lines(std::string_view text);
std::vector<std::string_view> split_words(std::string_view text);
std::string_view trimmed(std::string_view text);
bool exists(const std::string& path);

}  // namespace spillway::real
