#pragma once
/// A campaign's store in memory, for a search that looks at its points once and keeps none of them.

#include "cli/campaign/store.hpp"

#include <map>

namespace spillway::cli {

class MemoryStore final : public campaign::Store {
 public:
  Result<bool> done(const Case&, campaign::Point) override { return false; }
  Result<std::filesystem::path> begin(const Case&, campaign::Point) override { return std::filesystem::path{}; }
  Status keep(const Case&, campaign::Point point, const Record& record) override {
    records_[point.case_index] = record;
    return {};
  }
  Status keep_failure(const Case&, campaign::Point point, const Error& error) override {
    errors_[point.case_index] = error;
    return {};
  }
  Result<std::optional<Record>> load(const Case&, campaign::Point) override { return std::nullopt; }

  [[nodiscard]] const Record* record(std::size_t case_index) const {
    const auto at = records_.find(case_index);
    return at == records_.end() ? nullptr : &at->second;
  }
  [[nodiscard]] const Error* error(std::size_t case_index) const {
    const auto at = errors_.find(case_index);
    return at == errors_.end() ? nullptr : &at->second;
  }

 private:
  std::map<std::size_t, Record> records_;
  std::map<std::size_t, Error> errors_;
};

}  // namespace spillway::cli
