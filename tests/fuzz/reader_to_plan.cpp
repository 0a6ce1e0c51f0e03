#include "tests/fuzz/extract_fuzz.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "workload/extract/member_check.hpp"
#include "workload/extract/plan.hpp"
#include "workload/extract/tar_reader.hpp"

namespace spillway::test {
namespace {

using namespace spillway::extract;

void hold(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// The archive in memory, in small chunks so that headers and data cross their edges, and with a plain file's ability
/// to jump when `jumps`.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::span<const std::byte> bytes, bool jumps) : bytes_(bytes), jumps_(jumps) {}

  Result<std::shared_ptr<Chunk>> next() override {
    constexpr std::size_t kChunk = 2048;
    if (at_ >= bytes_.size()) return nullptr;
    auto chunk = std::make_shared<Chunk>();
    chunk->length = std::min(kChunk, bytes_.size() - at_);
    // A buffer of exactly its length, so that a byte too many is a finding.
    chunk->bytes = make_aligned_buffer((chunk->length + kDirectAlign - 1) / kDirectAlign * kDirectAlign);
    std::memcpy(chunk->bytes.get(), bytes_.data() + at_, chunk->length);
    chunk->offset = static_cast<std::int64_t>(at_);
    at_ += chunk->length;
    return chunk;
  }
  bool seek(std::int64_t offset) override {
    hold(jumps_ && offset >= 0 && offset % 512 == 0 && offset <= plain_size(), "a jump is to a block of the file");
    at_ = static_cast<std::size_t>(offset);
    return true;
  }
  int plain_fd() const override { return jumps_ ? 1'000'000 : -1; }  // never used: nothing is written
  std::int64_t plain_size() const override { return jumps_ ? static_cast<std::int64_t>(bytes_.size()) : -1; }

 private:
  std::span<const std::byte> bytes_;
  bool jumps_;
  std::size_t at_ = 0;
};

void check_name(const CleanName& name) {
  const std::string_view path = name.path;
  hold(path.find('\0') == std::string_view::npos, "a planned name has no NUL");
  hold(path.empty() || (path.front() != '/' && path.back() != '/'), "a planned name is relative");
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    hold(!part.empty() && part != "." && part != "..", "a planned name has no empty, \".\" or \"..\" part");
    at = end + 1;
  }
}

void check_runs(const Entry& entry) {
  std::int64_t at = 0;
  std::int64_t sum = 0;
  for (const Run& run : entry.runs) {
    hold(run.length > 0 && run.offset >= at && run.offset <= entry.size - run.length, "runs ascend within the file");
    at = run.offset + run.length;
    sum += run.length;
  }
  hold(sum == entry.data_bytes, "the runs add up to the data");
}

}  // namespace

void fuzz_reader_to_plan(std::span<const std::byte> input) {
  if (input.size() < 2) return;
  const auto options = std::to_integer<unsigned>(input[0]);
  const int writers = 1 + static_cast<int>(std::to_integer<unsigned>(input[1]) % 8);
  const bool jumps = (options & 1) != 0;
  const bool concatenated = (options & 2) != 0;
  const bool reads_data = (options & 4) == 0;  // else the next header is reached by skipping
  const auto archive = input.subspan(2);
  Limits limits;
  limits.header_bytes = Bytes{1 << 16};
  limits.sparse_runs = 1000;
  limits.depth = 40;
  TarReader reader(std::make_unique<MemorySource>(archive, jumps), limits, concatenated, (options & 8) != 0);
  MemberCheck check(limits);
  Plan plan(writers);
  std::vector<int> writer_of;
  std::vector<bool> planned;
  std::int64_t last = -1;
  Entry entry;
  for (;;) {
    const auto more = reader.next(entry);
    (void)reader.take_remarks();
    if (!more || !*more) break;
    // What is no member (an unreadable one) may take an index too.
    hold(entry.index > last, "indices ascend");
    last = entry.index;
    writer_of.resize(static_cast<std::size_t>(last) + 1, -1);
    hold(entry.size >= 0 && entry.data_bytes >= 0, "sizes are not negative");
    if (entry.sparse) check_runs(entry);
    const auto verdict = check.check(entry);
    if (!verdict.stop.empty()) break;
    if (verdict.name) {
      check_name(*verdict.name);
      std::optional<CleanName> link;
      if (entry.type == EntryType::hard_link)
        if (auto cleaned = clean_name(entry.link)) link = std::move(*cleaned);
      const Placement placement = plan.place({entry.index, entry.type, verdict.name->path, link ? std::string_view(link->path) : std::string_view{}, entry.data_bytes});
      hold(placement.writer >= 0 && placement.writer < writers, "a member goes to a writer that is there");
      hold(!plan.serial() || placement.writer == 0, "serial work is the first writer's");
      for (const Wait& wait : placement.waits) {
        hold(wait.writer != placement.writer, "nobody waits for himself");
        hold(wait.index >= 0 && wait.index < entry.index, "a wait is for an earlier member");
        hold(writer_of[static_cast<std::size_t>(wait.index)] == wait.writer, "a wait is for whoever has that member");
      }
      writer_of[static_cast<std::size_t>(entry.index)] = placement.writer;
    }
    if (const auto stored = reader.stored())
      hold(stored->offset >= 0 && stored->length >= 0 && stored->offset + stored->length <= static_cast<std::int64_t>(archive.size()), "stored data lies in the archive");
    if (!reads_data || !brings_data(entry)) continue;
    std::int64_t arrived = 0;
    std::int64_t end = 0;
    for (DataPiece piece;;) {
      const auto got = reader.data(piece);
      if (!got || !*got) break;
      const auto bytes = static_cast<std::int64_t>(piece.bytes.size());
      hold(bytes > 0 && piece.offset >= end && piece.offset <= entry.size - bytes, "data arrives in order, within the file");
      end = piece.offset + bytes;
      arrived += bytes;
      volatile std::byte touched = piece.bytes.front();
      touched = piece.bytes.back();
      (void)touched;
      if (entry.sparse)
        hold(std::any_of(entry.runs.begin(), entry.runs.end(), [&](const Run& run) { return piece.offset >= run.offset && end <= run.offset + run.length; }),
             "data lies within a run");
    }
    hold(arrived <= entry.data_bytes, "no more data arrives than was promised");
  }
}

}  // namespace spillway::test
