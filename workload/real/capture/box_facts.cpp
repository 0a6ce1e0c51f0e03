#include "workload/real/capture/box_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "workload/real/monitors/kernel_views.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

using Json = nlohmann::ordered_json;

/// "6.1.0-57-cloud-amd64" -> "6.1.0"; nullopt if there is no version in the word.
std::optional<std::string> version_in(std::string_view word) {
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word[0])) == 0) return std::nullopt;
  const std::string_view numbers = word.substr(0, std::min(word.find_first_not_of("0123456789."), word.size()));
  if (std::ranges::count(numbers, '.') < 1) return std::nullopt;
  return std::string{numbers.ends_with('.') ? numbers.substr(0, numbers.size() - 1) : numbers};
}

/// The value after "key:" or "key =" at the start of a line, any amount of space between.
std::optional<std::string_view> field(std::string_view text, std::string_view key) {
  for (const auto line : split_lines(text)) {
    const auto words = trimmed(line);
    if (!words.starts_with(key)) continue;
    const auto rest = trimmed(words.substr(key.size()));
    if (!rest.empty() && (rest[0] == ':' || rest[0] == '=')) return trimmed(rest.substr(1));
  }
  return std::nullopt;
}

/// "120G", "1.8T", "512", "64K" as lsblk prints them (powers of 1024), or whole bytes.
std::optional<std::int64_t> lsblk_size(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  constexpr std::string_view kUnits = "BKMGTP";
  const std::size_t power = unit.empty() ? 0 : kUnits.find(unit[0] == 'k' ? 'K' : unit[0]);  // mdstat writes 512k
  if (power == std::string_view::npos) return std::nullopt;
  return std::llround(number * std::pow(1024.0, static_cast<double>(power)));
}

/// Lines "PATH/NAME:value" (grep . FOLDER/*) or "NAME value" as a table; the word in brackets of a choice.
std::map<std::string, std::string> grep_table(std::string_view text) {
  std::map<std::string, std::string> table;
  for (const auto line : split_lines(text)) {
    const auto slash = line.rfind('/');  // the path itself may have colons: /sys/devices/pci0000:00/...
    const auto colon = line.find(':', slash == std::string_view::npos ? 0 : slash);
    if (colon == std::string_view::npos) continue;
    std::string_view value = trimmed(line.substr(colon + 1));
    const auto open = value.find('['), close = value.find(']');
    if (open != std::string_view::npos && close != std::string_view::npos && close > open) value = value.substr(open + 1, close - open - 1);
    table.emplace(std::string{trimmed(line.substr(slash == std::string_view::npos ? 0 : slash + 1, colon - (slash == std::string_view::npos ? 0 : slash + 1)))}, std::string{value});
  }
  return table;
}

StackDevice device_of(const std::map<std::string, std::string>& cells) {
  StackDevice device;
  const auto cell = [&](const char* name) -> std::string {
    const auto it = cells.find(name);
    return it != cells.end() ? it->second : std::string{};
  };
  device.name = cell("NAME");
  device.type = cell("TYPE");
  device.scheduler = cell("SCHED");
  device.model = cell("MODEL");
  device.bytes = lsblk_size(cell("SIZE"));
  device.min_io_bytes = lsblk_size(cell("MIN-IO"));
  device.optimal_io_bytes = lsblk_size(cell("OPT-IO"));
  if (const auto requests = lsblk_size(cell("RQ-SIZE"))) device.requests = static_cast<int>(*requests);
  if (const auto rota = cell("ROTA"); !rota.empty()) device.rotational = rota == "1" || rota == "true";
  return device;
}

void devices_of(const Json& list, std::vector<StackDevice>& stack) {
  if (!list.is_array()) return;
  for (const auto& node : list) {
    if (!node.is_object()) continue;
    std::map<std::string, std::string> cells;
    for (const auto& [key, value] : node.items()) {
      std::string name = key;
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      if (value.is_string()) cells[name] = value.get<std::string>();
      else if (value.is_boolean()) cells[name] = value.get<bool>() ? "1" : "0";
      else if (value.is_number()) cells[name] = fmt::format("{}", value.get<std::int64_t>());
    }
    StackDevice device = device_of(cells);
    if (std::ranges::find(stack, device.name, &StackDevice::name) == stack.end()) stack.push_back(std::move(device));
    if (const auto children = node.find("children"); children != node.end()) devices_of(*children, stack);
  }
}

}  // namespace

XfsGeometry parse_xfs_info(std::string_view text) {
  XfsGeometry geometry;
  std::string section;
  std::optional<std::int64_t> sunit, swidth, blocks, log_blocks;
  for (const auto line : split_lines(text)) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    if (const auto head = trimmed(line.substr(0, equals)); !head.empty()) section = head;
    if (section == "log" && line.contains("external")) geometry.external_log = true;
    if (section == "log" && trimmed(line.substr(0, equals)) == "log" && line.substr(equals + 1).starts_with("/")) geometry.external_log = true;
    std::string_view rest = line.substr(equals + 1);
    for (const auto word : split_words(rest)) {
      const auto at = word.find('=');
      if (at == std::string_view::npos) continue;
      const auto key = word.substr(0, at);
      const auto value = first_number(word.substr(at + 1));
      if (!value) continue;
      if (section == "meta-data") {
        if (key == "agcount") geometry.agcount = static_cast<int>(*value);
        else if (key == "isize") geometry.inode_bytes = *value;
        else if (key == "crc" || key == "finobt" || key == "rmapbt" || key == "reflink" || key == "sparse" || key == "bigtime") geometry.features[std::string{key}] = *value != 0;
      } else if (section == "data") {
        if (key == "bsize") geometry.block_bytes = *value;
        else if (key == "blocks") blocks = *value;
        else if (key == "sunit") sunit = *value;
        else if (key == "swidth") swidth = *value;
      } else if (section == "log" && key == "blocks") {
        log_blocks = *value;
      }
    }
  }
  const std::int64_t block = geometry.block_bytes.value_or(4096);
  if (blocks) geometry.size_bytes = *blocks * block;
  if (sunit) geometry.stripe_unit_bytes = *sunit * block;
  if (swidth) geometry.stripe_width_bytes = *swidth * block;
  if (log_blocks) geometry.log_bytes = *log_blocks * block;
  return geometry;
}

std::vector<StackDevice> parse_lsblk(const std::string& text) {
  std::vector<StackDevice> stack;
  if (trimmed(text).starts_with('{')) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_object() && json.contains("blockdevices")) devices_of(json["blockdevices"], stack);
    return stack;
  }
  // A table: the tree's lines are one column wide and three bytes long.
  std::vector<std::string> lines;
  for (const auto line : split_lines(text)) {
    std::string plain;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (static_cast<unsigned char>(line[i]) < 0x80) plain += line[i];
      else if ((static_cast<unsigned char>(line[i]) & 0xc0) != 0x80) plain += ' ';
    }
    lines.push_back(plain);
  }
  struct Column {
    std::string name;
    std::size_t begin, end;
  };
  const auto words_of = [](const std::string& line) {
    std::vector<Column> words;
    for (std::size_t at = 0; (at = line.find_first_not_of(' ', at)) != std::string::npos;) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      words.push_back({line.substr(at, end - at), at, end});
      at = end;
    }
    return words;
  };
  std::vector<Column> columns;
  for (const auto& line : lines) {
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (columns.empty()) {
      if (words[0].name == "NAME") columns = words;
      continue;
    }
    // Columns are aligned on one of their edges, and cells may be empty: a word belongs to the nearest column.
    std::map<std::string, std::string> cells;
    for (const auto& word : words) {
      const Column* nearest = nullptr;
      std::size_t least = 0;
      for (const auto& column : columns) {
        const auto apart = [](std::size_t a, std::size_t b) { return a > b ? a - b : b - a; };
        const std::size_t distance = std::min(apart(word.begin, column.begin), apart(word.end, column.end));
        if (nearest == nullptr || distance < least) nearest = &column, least = distance;
      }
      if (&word == &words[0]) nearest = &columns[0];
      auto& cell = cells[nearest->name];
      cell += (cell.empty() ? "" : " ") + word.name;
    }
    std::string& name = cells["NAME"];
    name.erase(0, name.find_first_not_of("|`-"));  // lsblk --ascii
    stack.push_back(device_of(cells));
  }
  return stack;
}

std::optional<ArrayFacts> parse_mdstat(std::string_view text) {
  ArrayFacts array;
  for (const auto line : split_lines(text)) {
    const auto words = split_words(line);
    if (words.size() > 3 && words[1] == ":" && words[2] == "active") {
      if (!array.name.empty()) break;  // the first array
      array.name = words[0];
      for (const auto word : words)
        if (word.starts_with("raid") || word == "linear") array.level = word;
      array.disks = static_cast<int>(std::ranges::count_if(words, [](std::string_view word) { return word.contains('[') && !word.contains("(S)"); }));
    } else if (!array.name.empty() && array.chunk_bytes == 0) {  // the bitmap has chunks, too, further down
      for (std::size_t i = 0; i + 1 < words.size(); ++i)
        if (words[i + 1].starts_with("chunk")) array.chunk_bytes = lsblk_size(words[i]).value_or(0);
    }
  }
  if (array.name.empty()) return std::nullopt;
  return array;
}

BoxFacts facts_of(const BoxTexts& texts) {
  BoxFacts facts;
  facts.missing = texts.not_seen;
  const auto text = [&](const char* name) -> const std::string& {
    static const std::string kNone;
    const auto it = texts.by_name.find(name);
    return it != texts.by_name.end() ? it->second : kNone;
  };
  const auto want = [&](bool found, const char* name, const std::string& consequence) {
    if (found) return;
    const auto source = std::ranges::find_if(text_sources(), [&](const TextSource& s) { return std::string_view{s.name} == name; });
    const bool given = !text(name).empty();
    facts.missing.push_back(fmt::format("{} {} (from `{}`): {}", name, given ? "says nothing of it" : "is missing", source->command, consequence));
  };
  for (const auto word : split_words(text("uname")))
    if (auto version = version_in(word)) {
      facts.kernel = std::move(version);
      facts.kernel_release = std::string{word};
      break;
    }
  want(facts.kernel.has_value(), "uname", "the kernel's version is assumed");
  for (const auto line : split_lines(text("config")))
    if (line.starts_with("CONFIG_HZ=")) facts.hz = static_cast<int>(first_number(line.substr(10)).value_or(0));
  if (facts.hz == 0) facts.hz.reset();
  want(facts.hz.has_value(), "config", "HZ is assumed; it decides how long pauses are");
  if (const auto kb = table_number(text("meminfo"), "MemTotal")) facts.ram_bytes = *kb * 1024;
  want(facts.ram_bytes.has_value(), "meminfo", "RAM is assumed; with limits as ratios it decides where throttling starts");
  if (const auto zones = parse_zoneinfo(text("zoneinfo"))) facts.dirtyable_bytes = zones->dirtyable() * 4096;
  else if (const auto available = table_number(text("meminfo"), "MemAvailable")) facts.dirtyable_bytes = *available * 1024;
  const std::string& lscpu = text("lscpu");
  if (const auto cpus = field(lscpu, "CPU(s)")) facts.cpus = static_cast<int>(first_number(*cpus).value_or(0));
  else if (const auto processors = std::ranges::count_if(split_lines(lscpu), [](std::string_view line) { return line.starts_with("processor"); }); processors > 0)
    facts.cpus = static_cast<int>(processors);
  if (const auto nodes = field(lscpu, "NUMA node(s)")) facts.numa_nodes = static_cast<int>(first_number(*nodes).value_or(1));
  want(facts.cpus.has_value(), "lscpu", "the number of CPUs is assumed");
  for (const char* key : {"dirty_background_bytes", "dirty_background_ratio", "dirty_bytes", "dirty_ratio", "dirty_expire_centisecs", "dirty_writeback_centisecs"})
    for (const auto line : split_lines(text("sysctl"))) {
      const auto at = line.find(key);
      if (at == std::string_view::npos) continue;
      const auto rest = trimmed(line.substr(at + std::string_view{key}.size()));
      if (rest.empty() || (rest[0] != '=' && rest[0] != ':')) continue;
      if (const auto value = first_number(rest)) facts.vm[key] = *value;
    }
  want(!facts.vm.empty(), "sysctl", "the kernel's default limits are assumed (20 % and 10 %)");
  // "/dev/x on /mnt type xfs (rw,...)" as mount prints it, or "/dev/x /mnt xfs rw,... 0 0" as in /proc/mounts.
  for (const auto line : split_lines(text("mount"))) {
    const auto words = split_words(line);
    std::string source, point, type, options;
    if (words.size() >= 6 && words[1] == "on" && words[3] == "type") {
      source = words[0], point = words[2], type = words[4];
      options = trimmed(line.substr(line.find('(') == std::string_view::npos ? line.size() : line.find('(')));
      std::erase_if(options, [](char c) { return c == '(' || c == ')'; });
    } else if (words.size() >= 4) {
      source = words[0], point = words[1], type = words[2], options = words[3];
    }
    if (source.empty() || (type != "xfs" && !facts.mount_source.empty())) continue;
    const bool better = facts.mount_source.empty() || (type == "xfs" && facts.mount_type != "xfs");
    if (better) facts.mount_source = source, facts.mount_point = point, facts.mount_type = type, facts.mount_options = options;
  }
  want(!facts.mount_source.empty(), "mount", "default mount options are assumed");
  if (!text("xfs_info").empty()) facts.xfs = parse_xfs_info(text("xfs_info"));
  const bool other = !facts.mount_type.empty() && facts.mount_type != "xfs";
  want(facts.xfs.has_value() && facts.xfs->agcount.has_value(), "xfs_info",
       other ? fmt::format("the file system is {}, and an XFS with mkfs's defaults is taken in its place", facts.mount_type) : "mkfs's defaults are assumed: no stripe geometry, four groups");
  facts.stack = parse_lsblk(text("lsblk"));
  want(!facts.stack.empty(), "lsblk", "what the disk is stays unknown");
  facts.queue = grep_table(text("queue"));
  want(!facts.queue.empty(), "queue", "a queue of 128 requests is assumed");
  facts.bdi = grep_table(text("bdi"));
  facts.array = parse_mdstat(text("mdstat"));
  if (!facts.array)  // "stripe: 0 9376 striped 3 128 ..." : disks and chunk in sectors
    for (const auto line : split_lines(text("dmtable"))) {
      const auto words = split_words(line);
      if (words.size() > 5 && words[3] == "striped") {
        std::string name{words[0]};
        if (name.ends_with(':')) name.pop_back();
        facts.array = ArrayFacts{name, "raid0", static_cast<int>(first_number(words[4]).value_or(0)), first_number(words[5]).value_or(0) * 512};
        break;
      }
    }
  if (const auto tuned = text("tuned"); !tuned.empty()) {
    const auto colon = tuned.rfind(": ");
    facts.tuned_profile = trimmed(colon == std::string::npos ? tuned : std::string_view{tuned}.substr(colon + 2));
  }
  return facts;
}

}  // namespace spillway::real
