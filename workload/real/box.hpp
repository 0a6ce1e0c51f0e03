#pragma once
/// The real box: runs a case on the kernel that runs here. Everything it changes is journalled and taken back after
/// each repeat; see journal/.

#include <memory>

#include "workload/box.hpp"
#include "workload/real/journal/session.hpp"

namespace spillway::real {

struct RealBoxOptions {
  std::string destroy;     ///< --destroy DEVICE: repeats the name of the device that may be formatted
  int redo_disturbed = 0;  ///< how often a repeat that others disturbed is done again; the last one counts, disturbed or not
  bool monitors = true;    ///< false: no tracing, no sampling beyond the timeline (for measuring the monitors' own cost)
};

class RealBox : public Box {
 public:
  explicit RealBox(RealBoxOptions options = {}) : options_(std::move(options)) {}
  [[nodiscard]] std::string name() const override { return "real"; }
  Status check(const Case& item) override;
  Result<std::vector<std::string>> plan(const Case& item) override;
  Result<Record> run(const Case& item, const RepeatContext& context) override;

 private:
  Status open_session();
  RealBoxOptions options_;
  std::unique_ptr<Session> session_;
};

}  // namespace spillway::real
