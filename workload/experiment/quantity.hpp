#pragma once
/// Sizes, rates and times as people write them in experiment files: a number with a unit, "3.4GB", "64KiB", "40MB/s",
/// "30s". MB = 10^6, MiB = 2^20. Arithmetic is in integers, so that what is printed reads back to the same value.

#include "sim/units.hpp"

#include <expected>
#include <string>
#include <string_view>

namespace spillway {

/// The error is the end of a sentence that begins with the text as written, for example: has no unit; ...
template <class T>
using Read = std::expected<T, std::string>;

/// B, kB, MB, GB, TB, KiB, MiB, GiB, TiB.
Read<Bytes> read_size(std::string_view text);
/// The same with "/s", and kbit/s, Mbit/s, Gbit/s.
Read<BytesPerSec> read_rate(std::string_view text);
/// ns, us, ms, s, min, h.
Read<Duration> read_time(std::string_view text);
/// "20%" as 0.2.
Read<double> read_percent(std::string_view text);

/// The shortest exact text, for example "3.4GB", "64KiB", "41943041B".
std::string size_text(Bytes size);
std::string rate_text(BytesPerSec rate);
std::string time_text(Duration time);
std::string percent_text(double ratio);

}  // namespace spillway
