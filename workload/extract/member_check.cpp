#include "workload/extract/member_check.hpp"

#include <fmt/format.h>

namespace spillway::extract {

MemberCheck::Verdict MemberCheck::check(const Entry& entry) {
  Verdict verdict;
  promised_ = 0;
  if (++entries_ > limits_.entries) {
    verdict.stop = fmt::format("The archive has more than {} members; it was not extracted further. The limit can be raised.",
                               limits_.entries);
    return verdict;
  }
  if (entry.type == EntryType::file || entry.data_bytes > 0) {
    if (entry.data_bytes > limits_.file_bytes.value() - bytes_) {
      verdict.stop = fmt::format("The members hold more than {} bytes; it was not extracted further. The limit can be raised.",
                                 limits_.file_bytes.value());
      return verdict;
    }
    bytes_ += entry.data_bytes;
    promised_ = entry.data_bytes;
    if (entry.size > limits_.apparent_bytes.value()) {
      verdict.refusal = fmt::format("Its size is {} bytes, above the limit of {}; it was not extracted.", entry.size,
                                    limits_.apparent_bytes.value());
      return verdict;
    }
  }
  auto name = clean_name(entry.name);
  if (!name) {
    verdict.refusal = sentence(name.error());
    return verdict;
  }
  if (name->depth > limits_.depth) {
    verdict.refusal = fmt::format("It is {} directories deep, above the limit of {}; it was not extracted.", name->depth,
                                  limits_.depth);
    return verdict;
  }
  verdict.first_absolute = name->was_absolute && !slash_removed_;
  slash_removed_ = slash_removed_ || name->was_absolute;
  verdict.name = std::move(*name);
  return verdict;
}

std::string MemberCheck::check_data(std::int64_t arrived, std::int64_t end) {
  if (arrived > promised_) {
    bytes_ += arrived - promised_;
    promised_ = arrived;
  }
  if (bytes_ > limits_.file_bytes.value())
    return fmt::format("The members hold more than {} bytes; it was not extracted further. The limit can be raised.",
                       limits_.file_bytes.value());
  if (end > limits_.apparent_bytes.value())
    return fmt::format("It is longer than {} bytes; it was not extracted further. The limit can be raised.",
                       limits_.apparent_bytes.value());
  return {};
}

}  // namespace spillway::extract
