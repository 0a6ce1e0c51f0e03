#pragma once
/// The mail to a kernel list: plain text of at most 72 columns with the question, the answer in two sentences, the table, text
/// plots, where the time went, repeats and intervals, verdicts, the environment that the XFS FAQ asks for, the exact command,
/// what was assumed, what was changed on the box and put back, and the experiment file, which can be cut out and run.
///
/// Pure: records in, text out.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/verdict/judge.hpp"
#include "sim/result.hpp"
#include "workload/record/record.hpp"
#include "workload/record/timeline.hpp"

namespace spillway::analysis {

struct MailInput {
  /// Every record of the report, any cases and boxes. At least one complete one.
  std::span<const Record> records;
  /// Timeline of the first complete record, for its plot.
  const Timeline* timeline = nullptr;
  std::string experiment_source;  ///< the file as written; empty: said to be missing
  std::string command;            ///< what was typed
  std::optional<Verdict> verdict{};
  std::uint64_t seed = 1;         ///< for the knee's interval
};

/// The error says why the experiment cannot be put into 72 columns, or that there is no record.
Result<std::string> report_mail(const MailInput& input);

/// The experiment file out of a report. Empty: there is none in it.
std::optional<std::string> cut_experiment(std::string_view mail);

/// The answer in two sentences: where it collapses or that it does not; what bounds it.
std::string answer_sentences(std::span<const Record* const> repeats, std::uint64_t seed);

/// When dirty memory crossed the kernel's lines and when the rate collapsed, in one or two sentences; empty when the timeline
/// shows none of it.
std::string timeline_sentences(const Timeline& timeline, double untars_end_s, std::uint64_t seed);

/// One line per judgement, wrapped; then the disagreements. At most 72 columns.
std::string verdict_text(const Verdict& verdict);

/// The environment, in the order of the XFS FAQ ("What information should I include when reporting a problem?"); parts that
/// were not recorded are named as such.
std::string environment_text(const Record& record);

}  // namespace spillway::analysis
