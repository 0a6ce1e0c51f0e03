#pragma once
/// Why a setting helped, hurt or did nothing: what changed between two cases besides the metric, from the records themselves.
/// It names the part of the untars' time that moved most and the counts that moved with it; it is evidence, not a proof of cause.

#include <string>

#include "analysis/verdict/case_selection.hpp"

namespace spillway::analysis {

/// "a mean untar: throttled 3.21 -> 0.02 s, device 0.00 -> 2.90 s; device writes 410 -> 2400". Means over the repeats. Empty when
/// neither side has an account of time.
std::string mechanism_words(const CaseRecords& base, const CaseRecords& changed);

}  // namespace spillway::analysis
