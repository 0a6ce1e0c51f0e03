// The simulated box against a real kernel: the quiet reference runs, with only the experiment, the box and the state
// before the run given. `sim_reference_test "[.score]"` prints the table; the other cases hold the targets.

#include <fmt/format.h>

#include <functional>

#include "tests/sim/reference.hpp"

using namespace spillway;
using namespace spillway::sim;
using namespace spillway::test;

namespace {

BoxOutputs run_box(const BoxInputs& in) {
  auto out = simulate(in);
  if (!out) FAIL(out.error().what);
  return std::move(*out);
}

struct Scored {
  RealRun real;
  BoxInputs in;
  BoxOutputs out;
  Score score;
};

std::vector<Scored> score_all(const std::function<void(BoxInputs&)>& change = [](BoxInputs&) {}) {
  std::vector<Scored> all;
  for (const RealRun& real : quiet_runs()) {
    BoxInputs in = reference_inputs(real.name);
    give_state(in, real);
    change(in);
    BoxOutputs out = run_box(in);
    Score s = score(real, in, out);
    all.push_back({real, in, std::move(out), s});
  }
  return all;
}

struct Means { double throttled = 0, transition = 0, transition_null = 0, finish = 0, cpu = 0, total = 0; };

Means means(const std::vector<Scored>& all) {
  Means m;
  const auto n = static_cast<double>(all.size());
  for (const Scored& s : all) {
    m.throttled += s.score.throttled / n;
    m.transition += s.score.transition / n;
    m.transition_null += s.score.transition_null / n;
    m.finish += s.score.finish / n;
    m.cpu += s.score.cpu / n;
    m.total += s.score.total / n;
  }
  return m;
}

}  // namespace

TEST_CASE("reference: table of errors", "[.score]") {
  const auto all = score_all();
  fmt::print("{:12} r  {:>52}  thrott trans  null  finish worst  cpu   total\n", "run", "error of each untar, %");
  for (const Scored& s : all) {
    std::string errors;
    for (const double e : s.score.errors) errors += fmt::format("{:+6.1f}", 100 * e);
    fmt::print("{:12} {}  {:>52} {:6.1f} {:5.1f} {:6.1f} {:6.1f} {:5.1f} {:5.1f} {:5.1f}\n", s.real.name, s.real.repeat, errors,
               100 * s.score.throttled, 100 * s.score.transition, 100 * s.score.transition_null, 100 * s.score.finish,
               100 * s.score.finish_worst, 100 * s.score.cpu, 100 * s.score.total);
  }
  const Means m = means(all);
  fmt::print("mean: throttled {:.2f} %, transition {:.2f} % (null {:.2f} %), finish {:.2f} %, cpu {:.1f} %, total {:.2f} %\n",
             100 * m.throttled, 100 * m.transition, 100 * m.transition_null, 100 * m.finish, 100 * m.cpu, 100 * m.total);
}
