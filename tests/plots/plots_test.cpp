#include "plots/account.hpp"
#include "plots/bandwidth.hpp"
#include "plots/overlay.hpp"
#include "plots/render.hpp"
#include "plots/shares.hpp"
#include "plots/sweep.hpp"
#include "plots/timeline.hpp"
#include "plots/untars.hpp"
#include "plots/workers.hpp"
#include "tests/cli/temporary_folder.hpp"
#include "tests/plots/reference_run.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fmt/core.h>

using namespace spillway;
using namespace spillway::plots;
using spillway::test::content_of;
using spillway::test::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

constexpr Format kAll[] = {Format::png, Format::svg, Format::text};

std::vector<Figure> all_figures() {
  const Record record = test::reference_record();
  const std::vector<Record> repeats = {record, test::reference_record(1.1), test::reference_record(0.93)};
  std::vector<Figure> figures = {untars_figure(std::span(&record, 1)), timeline_figure(record, test::reference_timeline())};
  Figure several = untars_figure(repeats);
  several.name = "untars_repeats";
  figures.push_back(several);
  figures.push_back(account_figure(record));
  figures.push_back(*account_time_figure(record, test::reference_pauses()));
  figures.push_back(*bandwidth_figure(record, test::reference_timeline()));
  figures.push_back(overlay_figure(repeats, test::reference_record(1.05), {0.2, 0.4, 2.5, 6.1, 9.7, 13.3, 16.9, 20.4}));
  const auto points = test::reference_sweep();
  const SweepLabels labels{"Eight untars: when the last one ends", "Predicted by the simulated box, Linux 6.18", "memory.dirty_bytes (MB)", "untars end (s)", "replay.writers"};
  figures.push_back(sweep_figure(points, labels));
  figures.push_back(heat_figure(points, labels));
  figures.push_back(*device_figure(record));
  figures.push_back(*kworkers_figure(record));
  figures.push_back(*workers_time_figure(record, read_workers(test::reference_workers())));
  figures.push_back(*extents_figure(record));
  figures.push_back(*pauses_figure(record, {0, -3, 4, 8, 8, 12, 16, 40, 40, 44, 100, 150, 196, 200}));
  return figures;
}

/// With SPILLWAY_UPDATE_GOLDEN=1 the file is rewritten, and the difference is for a person to read.
void check_golden(const std::string& name, const std::string& text) {
  const fs::path file = fs::path{SPILLWAY_SOURCE_DIR} / "tests/plots/golden" / name;
  const char* update = std::getenv("SPILLWAY_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view{update} == "1") std::ofstream(file) << text;
  CAPTURE(file.string());
  CHECK(content_of(file) == text);
}

}  // namespace

TEST_CASE("plots: scripts are as they were when somebody looked at their pictures", "[plots][golden]") {
  for (const Figure& figure : all_figures()) check_golden(figure.name + ".gp", script_of(figure));
}

TEST_CASE("plots: every figure becomes PNG, SVG and text, with script and data beside it", "[plots]") {
  const char* keep = std::getenv("SPILLWAY_KEEP_FIGURES");  // a folder, for looking at them
  const TemporaryFolder folder;
  const fs::path dir = keep != nullptr ? fs::path{keep} : folder.path();
  for (const Figure& figure : all_figures()) {
    CAPTURE(figure.name);
    const auto pictures = render(figure, dir, kAll);
    if (!pictures) FAIL(pictures.error().what);
    CHECK(content_of(dir / (figure.name + ".png")).substr(1, 3) == "PNG");
    CHECK(content_of(dir / (figure.name + ".svg")).find("<svg") != std::string::npos);
    CHECK(fs::exists(dir / (figure.name + ".gp")));
    if (!figure.text.empty()) CHECK(content_of(dir / (figure.name + ".txt")).find(figure.subtitle.substr(0, 20)) != std::string::npos);
    for (const DataTable& table : figure.tables) CHECK(fs::exists(dir / table.file));
    const std::string text = content_of(dir / (figure.name + ".txt"));
    CHECK(text.find('\f') == std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
    std::istringstream lines(text);
    std::string line;
    int count = 0;
    while (std::getline(lines, line)) {
      CAPTURE(line);
      CHECK(line.size() <= 72);
      CHECK((line.empty() || line.back() != ' '));
      ++count;
    }
    CHECK(count > 5);
  }
}

TEST_CASE("plots: a title with quotes, backslashes, underscores and a line too long is drawn, not interpreted", "[plots]") {
  Record record = test::reference_record();
  record.experiment_title = "it's a \"quoted\" \\title `date` with_underscores^and $HOME, " + std::string(200, 'x') + " " + std::string(80, 'y');
  const TemporaryFolder folder;
  const auto pictures = render(untars_figure(std::span(&record, 1)), folder.path(), kAll);
  if (!pictures) FAIL(pictures.error().what);
  const std::string text = content_of(folder.path() / "untars.txt");
  CHECK(text.find("it's a \"quoted\" \\title `date` with_underscores^and $HOME") != std::string::npos);
}

TEST_CASE("plots: what nobody saw over time is not drawn", "[plots]") {
  const Record record = test::reference_record();
  CHECK_FALSE(account_time_figure(record, {}));
  CHECK_FALSE(workers_time_figure(record, {}));
  CHECK(read_workers("some,other,table\n1,2,3\n").empty());
  Record without = record;
  without.counters.clear();
  CHECK_FALSE(extents_figure(without));
}

TEST_CASE("plots: more queues than patterns are one part, and each has a letter of its own", "[plots]") {
  const Figure figure = *workers_time_figure(test::reference_record(), read_workers(test::reference_workers()));
  const DataTable& table = figure.tables.at(0);
  REQUIRE(table.columns.size() == 7);
  CHECK(table.columns.front() == "writeback_workers");  // the busiest
  CHECK(table.columns.back() == "others_workers");
  CHECK(figure.text.find("w writeback, x xfs-conv, f xfs-cil") != std::string::npos);
}

TEST_CASE("plots: a number that is not known is a gap, not a zero", "[plots]") {
  Timeline timeline = test::reference_timeline();
  for (TimelineRow& row : timeline.rows) row.limit_pages = row.thresh_pages = row.background_pages = std::nullopt;
  timeline.rows[5].nr_dirty_pages = std::nullopt;
  const Figure figure = timeline_figure(test::reference_record(), timeline);
  CHECK(data_text(figure.tables[0]).find("NaN") != std::string::npos);
  CHECK(figure.body.find("limit") == std::string::npos);
  const TemporaryFolder folder;
  const auto pictures = render(figure, folder.path(), kAll);
  if (!pictures) FAIL(pictures.error().what);
}

TEST_CASE("plots: figures in a folder with blanks and quotes in its name", "[plots]") {
  const TemporaryFolder folder;
  const Record record = test::reference_record();
  const auto pictures = render(untars_figure(std::span(&record, 1)), folder.path() / "a b's \"c\"", kAll);
  if (!pictures) FAIL(pictures.error().what);
  CHECK(pictures->size() == 3);
}

TEST_CASE("plots: starts too near each other share a label", "[plots]") {
  const auto labels = boundary_labels(test::reference_record(), 0.5);
  std::vector<std::string> texts;
  for (const auto& label : labels) texts.push_back(label.text);
  // Starts: 0, 0.18, 0.34, 1.65, 3.58, 6.92, 10.63, 14.36 and the sync at 18.03.
  CHECK(texts == std::vector<std::string>{"1-3", "4", "5", "6", "7", "8", "sync"});
  for (std::size_t i = 1; i < labels.size(); ++i) CHECK(labels[i].t_s - labels[i - 1].t_s >= 0.5);
}

TEST_CASE("plots: pauses are counted in classes that double, and none that did not sleep", "[plots]") {
  const auto figure = pauses_figure(test::reference_record(), {0, -3, 1, 3.9, 4, 7, 8});
  REQUIRE(figure.has_value());
  CHECK(figure->tables[0].names == std::vector<std::string>{"1-1", "2-3", "4-7", "8-15"});
  CHECK(figure->tables[0].rows == std::vector<std::vector<std::optional<double>>>{{1.0}, {1.0}, {2.0}, {1.0}});
  CHECK_FALSE(pauses_figure(test::reference_record(), {0, -1}).has_value());
}

TEST_CASE("plots: what the device wrote is the mean over the window, known only when the window is full", "[plots]") {
  const auto figure = bandwidth_figure(test::reference_record(), test::reference_timeline());
  REQUIRE(figure.has_value());
  for (const auto& row : figure->tables[0].rows) {
    // The window ends at the row's time and may begin before the first untar; the reference timeline begins at -0.3 s.
    if (*row[0] < 0.65) CHECK_FALSE(row[2].has_value());
    else if (*row[0] > 1.05 && *row[0] < 28) CHECK(*row[2] == Approx(41.9));
  }
  Timeline nothing;
  nothing.rows.resize(3);
  CHECK_FALSE(bandwidth_figure(test::reference_record(), nothing).has_value());
}

TEST_CASE("plots: text is wrapped at blanks and cut with dots", "[plots]") {
  CHECK(wrapped("one two three", 7) == "one two\nthree");
  CHECK(wrapped("one", 7) == "one");
  CHECK(cut("abcdefgh", 6) == "abc...");
  CHECK(cut("abcdef", 6) == "abcdef");
}
