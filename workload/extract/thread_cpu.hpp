#pragma once
/// What belongs to one thread of the engine: its CPU time and its umask.

#include <string>

#include "workload/extract/report.hpp"

namespace spillway::extract {

/// CPU time of the calling thread since this was made.
class ThreadClock {
 public:
  ThreadClock();
  [[nodiscard]] ThreadCpu read(std::string role) const;

 private:
  Duration user_{};
  Duration system_{};
};

/// Give the calling thread a umask of its own, 0, so that open() sets exactly the mode it is asked for. The rest of the
/// process keeps its umask (and its working directory).
void own_umask();

}  // namespace spillway::extract
