#include "analysis/verdict/advice_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/report/text.hpp"

namespace spillway::analysis {
namespace {

/// The cell's own keys without those that the claim itself sets.
std::string cell_name(const Judgement& j, const Expectation& e) {
  std::string name;
  for (const auto& [key, value] : j.keys) {
    const auto named = [&key = key](const CaseSelector& selector) { return std::ranges::any_of(selector, [&](const auto& one) { return one.first == key; }); };
    if (named(e.of) || (e.versus && named(*e.versus)) || key == e.order_key) continue;
    name += fmt::format("{}{} {}", name.empty() ? "" : ", ", key, value);
  }
  return name.empty() ? "the only case" : name;
}

}  // namespace

bool is_advice(std::span<const Expectation> expectations) {
  return !expectations.empty() && std::ranges::all_of(expectations, [](const Expectation& e) {
           return !e.guess && !e.guess_text && (e.versus.has_value() || e.op == ExpectOp::ordered);
         });
}

std::string where_it_flips(std::span<const Judgement> cells) {
  std::vector<const Judgement*> decided;
  for (const Judgement& j : cells) {
    if (map_word(j) != "not decidable here") decided.push_back(&j);
  }
  std::set<std::string_view> words;
  for (const Judgement* j : decided) words.insert(map_word(*j));
  if (words.size() < 2) return "";
  std::string varied;  // the keys whose values differ among the cells
  for (const auto& [key, unused] : decided.front()->keys) {
    // One word for each value of this key, in the order in which the values were written.
    std::vector<std::pair<std::string, std::string_view>> found;
    bool alone = true;
    for (const Judgement* j : decided) {
      const auto at = std::ranges::find(j->keys, key, &std::pair<std::string, std::string>::first);
      if (at == j->keys.end()) {
        alone = false;
        break;
      }
      const auto before = std::ranges::find(found, at->second, &std::pair<std::string, std::string_view>::first);
      if (before == found.end()) found.emplace_back(at->second, map_word(*j));
      else if (before->second != map_word(*j)) alone = false;
    }
    if (found.size() > 1) varied += (varied.empty() ? "" : " and ") + key;
    if (!alone || found.size() < 2) continue;
    std::string text = fmt::format("flips with {}:", key);
    for (const auto& [value, word] : found) text += fmt::format("{} {} {}", text.back() == ':' ? "" : ",", value, word);
    return text;
  }
  return varied.empty() ? "flips" : fmt::format("flips with {} together", varied);
}

std::string advice_map(const std::string& title, std::span<const Expectation> expectations, const Verdict& verdict, std::span<const NotRun> not_run) {
  std::string out = wrap(title, "", "  ");
  std::set<std::string> said;
  for (std::size_t i = 0; i < expectations.size(); ++i) {
    const Expectation& e = expectations[i];
    if (!e.source.empty() && said.insert(e.source).second) out += wrap("source: " + e.source, "  ", "    ");
    std::vector<Judgement> cells;
    for (const Judgement& j : verdict.judgements) {
      if (j.expectation == i) cells.push_back(j);
    }
    if (cells.empty()) continue;
    out += wrap("claim: " + cells.front().claim, "  ", "    ");
    for (const Judgement& j : cells) {
      out += wrap(fmt::format("{}: {}{}", map_word(j), cell_name(j, e), j.box.empty() || j.box == "simulated" ? "" : " (" + j.box + ")"), "    ", "      ");
      out += wrap(j.words, "        ", "        ");
      if (!j.mechanism.empty()) out += wrap("because: " + j.mechanism, "        ", "        ");
      for (const std::string& note : j.notes) out += wrap("note: " + note, "        ", "        ");
    }
    if (const std::string flips = where_it_flips(cells); !flips.empty()) out += wrap("it " + flips, "    ", "      ");
  }
  for (const NotRun& one : not_run) {
    out += wrap(fmt::format("not decidable here, {} case{} not run: {}", one.cases, one.cases == 1 ? "" : "s", one.reason), "    ", "      ");
  }
  for (const std::string& sentence : verdict.disagreements) out += wrap(sentence, "    ", "      ");
  return out;
}

void MapCount::add(const Judgement& judgement) {
  const std::string_view word = map_word(judgement);
  (word == "true" ? yes : word == "false" ? no : word == "no effect" ? no_effect : not_decidable) += 1;
}

std::string MapCount::words() const { return fmt::format("{} true, {} false, {} no effect, {} not decidable here", yes, no, no_effect, not_decidable); }

}  // namespace spillway::analysis
