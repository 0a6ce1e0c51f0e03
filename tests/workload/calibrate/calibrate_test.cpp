/// Calibration: the fit gives back the costs from which measurements were made, and the profile reads back.

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "workload/calibrate/fit.hpp"
#include "workload/calibrate/profile_text.hpp"
#include "workload/simulated/profile.hpp"

using namespace spillway;
using namespace spillway::calibrate;

namespace {

/// A box whose costs are known, nanoseconds.
struct Known {
  double write = 800, read = 300, call = 500, create = 21'000, close = 6'000, tar_page = 150, tar_user = 90, user_file = 2'500, process = 1'200'000;
  double flush_page = 350, request = 2'800, extent = 7'000, inode = 1'900, complete = 9'000;
};

/// What a measurement of it would show, from what each measurement does.
Measurements measured(const Known& k) {
  Measurements m;
  m.kernel = "6.18.44", m.hz = 250, m.cpus = 2, m.ram_bytes = 25'000'000'000, m.date = "2026-12-01";
  m.cpu = {600, 1'500, {{1, 18e9}, {2, 22e9}}};
  FileMeasurements& f = m.file;
  f.write_page_10k_ns = k.write + 0.4 * k.call, f.write_page_64k_ns = k.write + k.call / 16;
  f.read_page_10k_ns = k.read + 0.4 * k.call, f.read_page_64k_ns = k.read + k.call / 16;
  f.create_ns = k.create - 3'000;  // tar does more to each file than opening and stamping it
  f.create_written_ns = f.create_ns + k.write + k.call + k.close;
  f.unlink_ns = 15'000, f.mkdir_ns = 30'000, f.nap_ns = 40'000;
  FlushMeasurements& w = m.flush;
  w.big_page_ns = k.flush_page, w.request_ns = k.request;
  w.small_again_ns = k.inode + k.flush_page + k.request, w.small_fresh_ns = w.small_again_ns + k.extent;
  w.workers_again_ns = 4'000, w.workers_fresh_ns = 4'000 + k.complete;
  const double page = k.write + k.read + 0.8 * k.call + k.tar_page, file = k.create + k.close;
  const auto run = [&](double pages, double files) {
    return TarRun{pages, files, 0.2 * k.process * 1e-9 + (pages * k.tar_user + files * k.user_file) * 1e-9, 0.8 * k.process * 1e-9 + (pages * page + files * file) * 1e-9};
  };
  m.tar = TarMeasurements{run(0, 0), run(25'600, 100), run(4'000, 4'000)};
  m.device = {1.9e9, 80'000, 900'000};
  return m;
}

double value_of(const std::vector<ProfileValue>& values, const std::string& key) {
  const auto it = std::find_if(values.begin(), values.end(), [&](const ProfileValue& v) { return v.key == key; });
  REQUIRE(it != values.end());
  CHECK(it->mark == "measured");
  return std::stod(it->value.substr(1));
}

}  // namespace

TEST_CASE("calibrate: the fit gives back the costs from which the measurements were made", "[calibrate]") {
  const Known k;
  const auto values = fit(measured(k));
  CHECK(value_of(values, "write_page") == Approx(k.write).margin(1));
  CHECK(value_of(values, "read_page") == Approx(k.read).margin(1));
  CHECK(value_of(values, "io_call") == Approx(k.call).margin(1));
  CHECK(value_of(values, "close_written") == Approx(k.close).margin(1));
  CHECK(value_of(values, "create_file") == Approx(k.create).margin(2));
  CHECK(value_of(values, "tar_system_per_page") == Approx(k.tar_page).margin(2));
  CHECK(value_of(values, "tar_user_per_page") == Approx(k.tar_user).margin(1));
  CHECK(value_of(values, "user_per_file") == Approx(k.user_file).margin(1));
  CHECK(value_of(values, "process") == Approx(k.process).margin(1));
  CHECK(value_of(values, "flush_page") == Approx(k.flush_page).margin(1));
  CHECK(value_of(values, "submit_request") == Approx(k.request).margin(1));
  CHECK(value_of(values, "allocate_extent") == Approx(k.extent).margin(1));
  CHECK(value_of(values, "flush_inode") == Approx(k.inode).margin(1));
  CHECK(value_of(values, "complete_extent") == Approx(k.complete).margin(1));
  CHECK(value_of(values, "memory_bandwidth") == 22'000);  // MB/s: the most that any number of threads reached
}

TEST_CASE("calibrate: where tar is cheaper than its pieces, the pieces are cut and nothing is negative", "[calibrate]") {
  Known k;
  k.tar_page = -400;
  const auto values = fit(measured(k));
  CHECK(value_of(values, "tar_system_per_page") == 0);
  const double sum = value_of(values, "write_page") + value_of(values, "read_page") + 0.8 * value_of(values, "io_call");
  CHECK(sum == Approx(k.write + k.read + 0.8 * k.call - 400).margin(3));
}

TEST_CASE("calibrate: two runs are solved for page and file, and noise makes neither negative", "[calibrate]") {
  const PerPageAndFile both = solve(1000, 10, 1000 * 2.0 + 10 * 5.0, 100, 400, 100 * 2.0 + 400 * 5.0);
  CHECK(both.page == Approx(2.0));
  CHECK(both.file == Approx(5.0));
  const PerPageAndFile no_page = solve(1000, 10, 1.0, 100, 400, 2000.0);
  CHECK(no_page.page == 0);
  CHECK(no_page.file == Approx(5.0));
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(median({}) == 0);
}

TEST_CASE("calibrate: the profile is one that the simulated box reads, with what was not measured named", "[calibrate]") {
  Measurements m = measured({});
  m.tar.reset();
  m.flush.workers_fresh_ns.reset();
  m.notes = {"tar: no GNU tar on this box"};
  const std::string text = profile_text("box \"x\"", "made", fit(m), m.notes);
  CHECK(text.find("# not measured: tar: no GNU tar on this box") != std::string::npos);
  const auto profile = simulated::parse_profile(text, "test");
  REQUIRE(profile);
  CHECK(profile->name == "box \"x\"");
  CHECK(profile->kernel == "6.18.44");
  CHECK(profile->hz == 250);
  CHECK(profile->ram.value() == 25'000'000'000);
  CHECK(profile->costs.write_page.count() == 800);
  CHECK(profile->device_base_rate->value() == 1'900'000'000);
  CHECK(profile->device_latency->count() == 80'000);
  // What was not measured is the simulator's own, and marked so.
  CHECK(profile->costs.complete_extent == sim::CpuCosts{}.complete_extent);
  CHECK(profile->described["costs"]["complete_extent"]["mark"] == "assumed");
  CHECK(profile->described["costs"]["write_page"]["mark"] == "measured");
}
