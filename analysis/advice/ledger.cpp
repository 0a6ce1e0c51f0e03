#include "analysis/advice/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/report/text.hpp"
#include "analysis/verdict/words.hpp"

namespace spillway::analysis {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Settings& settings) {
  Json out = Json::object();
  for (const auto& [key, value] : settings) out[key] = value;
  return out;
}

Settings settings_of(const Json& json) {
  Settings out;
  for (const auto& [key, value] : json.items()) out.emplace_back(key, value.get<std::string>());
  return out;
}

std::optional<Interval> ratio_range(const Prediction& p) {
  if (p.low == p.high) return std::nullopt;
  return Interval{p.low, p.high, 0};
}

}  // namespace

std::string ledger_line(const Prediction& p) {
  return Json{{"schema", kLedgerSchema}, {"what", "prediction"}, {"id", p.id},           {"made", p.made},        {"experiment", p.experiment},
              {"check", p.check},        {"metric", p.metric},   {"base", to_json(p.base)}, {"advised", to_json(p.advised)}, {"base_value", p.base_value},
              {"advised_value", p.advised_value}, {"ratio_low", p.low}, {"ratio_high", p.high}}
             .dump() + "\n";
}

std::string ledger_line(const Score& s) {
  Json json{{"schema", kLedgerSchema}, {"what", "score"}, {"id", s.id}, {"box", s.box}, {"made", s.made}, {"ratio", s.ratio}, {"repeats", s.repeats},
            {"share_of_gain", s.share_of_gain}, {"inside", s.inside}};
  if (s.interval) json["interval"] = {s.interval->low, s.interval->high};
  return json.dump() + "\n";
}

Result<Ledger> read_ledger(std::string_view text, const std::string& name) {
  Ledger ledger;
  std::istringstream in{std::string{text}};
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) continue;
    const auto bad = [&](const std::string& what) {
      return fail(ErrorKind::bad_input, fmt::format("{}, line {}: {}; a ledger holds lines that spillway advise --ledger wrote", name, number, what));
    };
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.is_object()) return bad("not a JSON object");
    if (json.value("schema", std::string{}) != kLedgerSchema) return bad(fmt::format("its schema is not {}", kLedgerSchema));
    try {  // the library's own accessors throw on a member that is not there
      if (json.at("what") == "prediction") {
        ledger.predictions.push_back({.id = json.at("id"), .made = json.at("made"), .experiment = json.at("experiment"), .check = json.at("check"),
                                      .metric = json.at("metric"), .base = settings_of(json.at("base")), .advised = settings_of(json.at("advised")),
                                      .base_value = json.at("base_value"), .advised_value = json.at("advised_value"), .low = json.at("ratio_low"), .high = json.at("ratio_high")});
      } else {
        Score one{.id = json.at("id"), .box = json.at("box"), .made = json.at("made"), .ratio = json.at("ratio"), .interval = {}, .repeats = json.at("repeats"),
                  .share_of_gain = json.at("share_of_gain"), .inside = json.at("inside")};
        if (json.contains("interval")) one.interval = Interval{json["interval"].at(0), json["interval"].at(1), 0.95};
        ledger.scores.push_back(one);
      }
    } catch (const Json::exception& error) {
      return bad(error.what());
    }
  }
  return ledger;
}

std::string ledger_text(const Ledger& ledger) {
  std::string out;
  std::size_t hits = 0, misses = 0, open = 0;
  for (const Prediction& p : ledger.predictions) {
    out += wrap(fmt::format("{} ({}), asked of {}", p.id, p.made, p.experiment));
    out += wrap(fmt::format("{}: {} instead of {}", p.metric, settings_words(p.advised), settings_words(p.base)), "  ", "    ");
    out += wrap(fmt::format("predicted {}: {} -> {}", change_words(p.ratio(), ratio_range(p)), number_words(p.base_value), number_words(p.advised_value)), "  ", "    ");
    // The last score of each box.
    std::vector<const Score*> last;
    for (const Score& s : ledger.scores) {
      if (s.id != p.id) continue;
      const auto same = std::ranges::find(last, s.box, [](const Score* one) { return one->box; });
      if (same == last.end()) last.push_back(&s);
      else *same = &s;
    }
    if (last.empty()) {
      ++open;
      out += "  not run yet\n";
    }
    for (const Score* s : last) {
      (s->hit() ? hits : misses) += 1;
      out += wrap(fmt::format("{}: measured {} on {}, {} repeat{}: {:.0f} % of the predicted gain, {} the predicted range", s->hit() ? "hit" : "MISS",
                              change_words(s->ratio, s->interval), s->box, s->repeats, s->repeats == 1 ? "" : "s", 100 * s->share_of_gain, s->inside ? "inside" : "outside"),
                  "  ", "    ");
    }
  }
  out += fmt::format("{} hit{}, {} miss{}, {} not run. A hit brings half of the predicted gain.\n", hits, hits == 1 ? "" : "s", misses, misses == 1 ? "" : "es", open);
  return out;
}

}  // namespace spillway::analysis
