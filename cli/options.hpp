#pragma once
/// A verb's command line: Boost.Program_options with our manners. Unknown options name the nearest valid one, nothing is
/// abbreviated, --help states every default with its unit, and no exception leaves.

#include "sim/result.hpp"

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>
#include <memory>
#include <string>
#include <vector>

namespace spillway::cli {

namespace po = boost::program_options;

class Options {
 public:
  /// `usage`: "run FILE". `about`: what the verb does, in one or two sentences.
  Options(std::string usage, std::string about);

  /// A new headed group of options, to which add() of the Boost kind applies.
  po::options_description_easy_init group(const std::string& heading);
  /// Words that are not options go to the option `name` (a vector of strings), at most `at_most` of them (-1: any).
  void positional(const std::string& name, const std::string& meaning, int at_most);

  struct Parsed {
    po::variables_map values;
    bool help = false;  ///< --help was given, and has been printed
    [[nodiscard]] bool has(const std::string& name) const { return values.count(name) > 0; }
    template <class T>
    [[nodiscard]] const T& get(const std::string& name) const {
      return values[name].as<T>();
    }
    /// All values of a repeatable option of strings; empty when it was not given.
    [[nodiscard]] std::vector<std::string> all(const std::string& name) const;
  };
  Result<Parsed> parse(const std::vector<std::string>& arguments);

 private:
  [[nodiscard]] std::string help_text() const;
  std::string usage_, about_;
  std::vector<std::unique_ptr<po::options_description>> groups_;
  std::string positional_, positional_meaning_;
  int positional_at_most_ = 0;
};

}  // namespace spillway::cli
