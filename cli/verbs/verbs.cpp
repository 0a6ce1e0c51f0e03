#include "cli/verbs/verbs.hpp"

#include "cli/verb.hpp"

namespace spillway::cli {

namespace {

constexpr Verb kVerbs[] = {
    {"run", "run an experiment on a kernel: the one here, or one in virtual time", run_run},
    {"simulate", "run an experiment in the simulated box, on all cores", run_simulate},
    {"verify", "hold records against every [[expect]] of experiments", run_verify},
    {"advise", "search the settings, write the experiment that checks the answer", run_advise},
    {"compare", "hold records side by side, or a simulation against a real run", run_compare},
    {"report", "the plain-text mail of 72 columns, with all that repeats it", run_report},
    {"plot", "draw the figures of records: PNG, SVG, text", run_plot},
    {"extract", "an archive into a directory, as fast as the kernel lets one be", run_extract},
    {"capture", "describe this box, or one from pasted files, as a profile for simulate", run_capture},
    {"watch", "look at a command, or at what is going on, without changing anything", run_watch},
    {"conform", "hold a kernel's throttle decisions against the simulated controller", run_conform},
    {"calibrate", "measure this box's costs into a profile", run_calibrate},
    {"doctor", "what this box can do, and how to get the rest", run_doctor},
    {"restore", "put back what an interrupted run left", run_restore},
    {"kernel", "build a kernel for --box kernel:NAME, patched or not; list them", run_kernel},
    {"keys", "list every key of an experiment file, and every metric", run_keys},
    {"merge", "put the shards of a sweep together into one table", run_merge},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

}  // namespace spillway::cli
