#include "workload/extract/single_writer.hpp"

#include <cerrno>

#include "workload/extract/member_check.hpp"
#include "workload/extract/plan.hpp"

namespace spillway::extract {
namespace {

/// From this size on a file is copied from the archive in large pieces of its own; smaller ones come out of the
/// reader's window, where their headers are anyway.
constexpr std::int64_t kStoredFrom = 256 * kKiB;

}  // namespace

bool extract_with_one_writer(EntryReader& reader, TreeWriter& writer, const ExtractOptions& options, Tally& tally) {
  MemberCheck check(options.limits);
  Entry entry;
  Plan plan(1);
  for (;;) {
    const auto more = reader.next(entry);
    tally.take_remarks(reader);
    if (!more) {
      tally.error(entry.index, {"", more.error().what, more.error().sys_errno});
      return false;
    }
    if (!*more) return true;
    if (options.stopped()) {
      tally.error(entry.index, {"", std::string(kInterrupted), EINTR});
      return false;
    }
    ++tally.counts.entries;
    const MemberCheck::Verdict verdict = check.check(entry);
    if (!verdict.stop.empty()) {
      tally.error(entry.index, {entry.name, verdict.stop, 0});
      return false;
    }
    if (!verdict.name) {
      tally.error(entry.index, {entry.name, verdict.refusal, 0});
      continue;
    }
    if (verdict.first_absolute) tally.warn(entry.index, {entry.name, std::string(kSlashRemoved), 0});
    // One writer needs no plan but for its memory of what was written before.
    std::optional<CleanName> link;
    if (entry.type == EntryType::hard_link)
      if (auto cleaned = clean_name(entry.link)) link = std::move(*cleaned);
    if (plan.place({entry.index, entry.type, verdict.name->path, link ? std::string_view(link->path) : std::string_view{}, 0}).collision)
      tally.collision(verdict.name->path);
    if (!brings_data(entry)) {
      writer.place(entry, *verdict.name);
      continue;
    }
    bool going = writer.open_file(entry, *verdict.name);
    std::optional<Error> cut;
    bool limit_reached = false;
    if (going && (entry.data_bytes > 0 || !entry.size_known)) {
      const auto stored = reader.stored();
      if (stored && entry.data_bytes >= kStoredFrom) {
        writer.write_stored(*stored);
      } else {
        DataPiece piece;
        std::int64_t arrived = 0;
        while (going) {
          const auto got = reader.data(piece);
          if (!got) cut = got.error();
          if (!got || !*got) break;
          const auto bytes = static_cast<std::int64_t>(piece.bytes.size());
          arrived += bytes;
          if (options.stopped()) {
            cut = Error{ErrorKind::refused, EINTR, std::string(kInterrupted)};
            break;
          }
          if (std::string over = check.check_data(arrived, piece.offset + bytes); !over.empty()) {
            cut = Error{ErrorKind::bad_input, 0, std::move(over)};
            limit_reached = true;
            break;
          }
          going = writer.write(piece.bytes, piece.offset);
        }
      }
    }
    writer.close_file(cut);
    if (limit_reached) return false;
  }
}

}  // namespace spillway::extract
