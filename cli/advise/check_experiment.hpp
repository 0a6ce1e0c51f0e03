#pragma once
/// The experiment that checks a piece of advice on a real box: the base and the advised settings as two cases of one zipped sweep, in
/// randomised blocks, with the claim and its size as [[expect]].

#include "cli/advise/search.hpp"

#include <string>

namespace spillway::cli {

struct CheckExperiment {
  std::string text;                    ///< TOML
  analysis::Settings base, advised;    ///< keys of its two cases
};

/// `name`: of the experiment and of its file. Five repeats, the least that adaptive repeats begin with.
Result<CheckExperiment> check_experiment(const SearchResult& result, const Advice& advice, const std::string& name, const std::string& aim);

}  // namespace spillway::cli
