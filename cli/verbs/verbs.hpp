#pragma once
/// The verbs, one file each beside this.

#include <string>
#include <vector>

namespace spillway::cli {

int run_advise(const std::vector<std::string>& arguments);
int run_capture(const std::vector<std::string>& arguments);
int run_calibrate(const std::vector<std::string>& arguments);
int run_compare(const std::vector<std::string>& arguments);
int run_conform(const std::vector<std::string>& arguments);
int run_doctor(const std::vector<std::string>& arguments);
int run_extract(const std::vector<std::string>& arguments);
int run_kernel(const std::vector<std::string>& arguments);
int run_keys(const std::vector<std::string>& arguments);
int run_merge(const std::vector<std::string>& arguments);
int run_plot(const std::vector<std::string>& arguments);
int run_report(const std::vector<std::string>& arguments);
int run_restore(const std::vector<std::string>& arguments);
int run_run(const std::vector<std::string>& arguments);
int run_simulate(const std::vector<std::string>& arguments);
int run_verify(const std::vector<std::string>& arguments);
int run_watch(const std::vector<std::string>& arguments);

}  // namespace spillway::cli
