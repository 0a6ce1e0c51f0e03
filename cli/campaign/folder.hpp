#pragma once
/// The record store: OUT/<experiment>/<case>/r<N>/ holds record.json, which appears last and by rename, and beside it
/// the box's own files. A repeat whose record is missing or not complete was interrupted: its folder is cleared and the
/// repeat done again. failed.json says why a repeat has no record.

#include "cli/campaign/store.hpp"

#include <memory>
#include <utility>

namespace spillway::campaign {

/// OUT/<experiment>/<case>/r<N>. A case without swept keys has the folder name that the expansion gave it.
std::filesystem::path point_folder(const std::filesystem::path& out, const Case& item, int repeat);

/// The parts of an effective experiment that decide a repeat's outcome: everything but how many repeats there are, in
/// which order, what is claimed of them, and words.
nlohmann::ordered_json outcome_part(const nlohmann::ordered_json& effective);

/// The first key in which two effective experiments differ ("memory.dirty_bytes"), and both values; empty: none.
std::string first_difference(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b);

class RecordStore final : public Store {
 public:
  /// `box_kind` as in BoxInfo::kind. `fresh`: nothing counts as done, everything is redone.
  RecordStore(std::filesystem::path out, std::string box_kind, std::uint64_t campaign_seed, bool fresh);
  Result<bool> done(const Case& item, Point point) override;
  Result<std::filesystem::path> begin(const Case& item, Point point) override;
  Status keep(const Case& item, Point point, const Record& record) override;
  Status keep_failure(const Case& item, Point point, const Error& error) override;
  Result<std::optional<Record>> load(const Case& item, Point point) override;

 private:
  std::filesystem::path out_;
  std::string box_kind_;
  std::uint64_t campaign_seed_;
  bool fresh_;
};

/// Records and the table's log: shards of a campaign that keeps full records can be merged, too.
class BothStores final : public Store {
 public:
  BothStores(std::unique_ptr<Store> records, std::unique_ptr<Store> table) : records_(std::move(records)), table_(std::move(table)) {}
  Result<bool> done(const Case& item, Point point) override;
  Result<std::filesystem::path> begin(const Case& item, Point point) override { return records_->begin(item, point); }
  Status keep(const Case& item, Point point, const Record& record) override;
  Status keep_failure(const Case& item, Point point, const Error& error) override;
  Result<std::optional<Record>> load(const Case& item, Point point) override { return records_->load(item, point); }

 private:
  std::unique_ptr<Store> records_, table_;
};

}  // namespace spillway::campaign
