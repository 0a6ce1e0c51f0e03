#include "cli/verbs/verbs.hpp"

#include "cli/verb.hpp"

namespace spillway::cli {

namespace {

constexpr Verb kVerbs[] = {
    {"run", "run an experiment on a kernel: the one here, or one in virtual time", run_run},
#ifdef SPILLWAY_HAS_simulated_BOX
    {"simulate", "run an experiment in the simulated box, on all cores", run_simulate},
#endif
    {"verify", "hold records against every [[expect]] of experiments", run_verify},
    {"plot", "draw the figures of records: PNG, SVG, text", run_plot},
    {"keys", "list every key of an experiment file, and every metric", run_keys},
    {"merge", "put the shards of a sweep together into one table", run_merge},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

}  // namespace spillway::cli
