#include "cli/verbs/verbs.hpp"

#include "cli/verb.hpp"

namespace spillway::cli {

namespace {

constexpr Verb kVerbs[] = {
    {"keys", "list every metric that an expectation or a search can name", run_keys},
    {"merge", "put the shards of a sweep together into one table", run_merge},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

}  // namespace spillway::cli
