#include "cli/options.hpp"

#include "cli/nearest.hpp"

#include <boost/program_options/errors.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <fmt/core.h>
#include <iostream>
#include <sstream>

namespace spillway::cli {

namespace {

constexpr unsigned kColumns = 88, kDescriptionColumns = 54;

}  // namespace

Options::Options(std::string usage, std::string about) : usage_(std::move(usage)), about_(std::move(about)) {}

po::options_description_easy_init Options::group(const std::string& heading) {
  groups_.push_back(std::make_unique<po::options_description>(heading, kColumns, kDescriptionColumns));
  return groups_.back()->add_options();
}

void Options::positional(const std::string& name, const std::string& meaning, int at_most) {
  positional_ = name;
  positional_meaning_ = meaning;
  positional_at_most_ = at_most;
}

std::vector<std::string> Options::Parsed::all(const std::string& name) const {
  return has(name) ? get<std::vector<std::string>>(name) : std::vector<std::string>{};
}

std::string Options::help_text() const {
  std::ostringstream text;
  text << "Usage: spillway " << usage_ << " [options]\n\n" << about_ << "\n";
  if (!positional_meaning_.empty()) text << "\n" << positional_meaning_ << "\n";
  for (const auto& group : groups_) text << "\n" << *group;
  text << "\nExit: 0 done, 1 an expectation not met, 2 wrong use or bad file, 3 the box refused,\n"
          "77 the box cannot, 128 + N ended by signal N. MB = 10^6, MiB = 2^20.\n";
  return text.str();
}

Result<Options::Parsed> Options::parse(const std::vector<std::string>& arguments) {
  const std::string verb = usage_.substr(0, usage_.find(' '));
  const auto wrong = [&](const std::string& what) {
    return fail(ErrorKind::bad_input, fmt::format("{}: {}; `spillway {} --help` lists the options", verb, what, verb));
  };
  po::options_description help("Help", kColumns, kDescriptionColumns);
  help.add_options()("help,h", "print this and end");
  po::options_description all;
  for (const auto& group : groups_) all.add(*group);
  all.add(help);
  po::options_description with_hidden;
  with_hidden.add(all);
  po::positional_options_description positions;
  if (!positional_.empty()) {
    with_hidden.add_options()(positional_.c_str(), po::value<std::vector<std::string>>());
    positions.add(positional_.c_str(), positional_at_most_);
  }
  Parsed parsed;
  try {
    namespace style = po::command_line_style;
    const int manners = style::allow_long | style::allow_short | style::long_allow_adjacent | style::long_allow_next |
                        style::short_allow_next | style::allow_dash_for_short;
    po::store(po::command_line_parser(arguments).options(with_hidden).positional(positions).style(manners).run(), parsed.values);
    if (parsed.has("help")) {
      std::cout << help_text();
      parsed.help = true;
      return parsed;
    }
    po::notify(parsed.values);
  } catch (const po::unknown_option& error) {
    std::vector<std::string> known;
    for (const auto& option : all.options()) known.push_back("--" + option->long_name());
    const std::string given = error.get_option_name();
    const std::string near = nearest(given, known);
    return wrong(fmt::format("there is no option {}{}", given, near.empty() ? "" : ", the nearest is " + near));
  } catch (const po::too_many_positional_options_error&) {
    return wrong(positional_.empty() ? std::string{"takes no words besides options"}
                                     : fmt::format("takes at most {} word{} besides options", positional_at_most_,
                                                   positional_at_most_ == 1 ? "" : "s"));
  } catch (const po::invalid_option_value& error) {
    return wrong(error.what());
  } catch (const po::error& error) {
    return wrong(error.what());
  }
  return parsed;
}

}  // namespace spillway::cli
