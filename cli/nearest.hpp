#pragma once
/// The word that somebody probably meant.

#include <string>
#include <vector>

namespace spillway::cli {

/// The known word nearest to `word`; empty when none is near enough to be a slip (more than a third of it differs).
std::string nearest(const std::string& word, const std::vector<std::string>& known);

}  // namespace spillway::cli
