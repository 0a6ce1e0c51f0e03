#include "workload/extract/pipeline.hpp"

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "workload/extract/member_check.hpp"
#include "workload/extract/plan.hpp"
#include "workload/extract/thread_cpu.hpp"

namespace spillway::extract {
namespace {

/// Members handed out and not done. A few thousand keep every writer busy across small directories and cost 3 MB.
constexpr std::int64_t kMembersUnderWay = 4096;
/// Members are handed over in batches: waking a sleeping writer costs as much as making a small file.
constexpr std::size_t kBatch = 32;
/// From this size on a writer fetches data from the archive itself, in parallel with the others.
constexpr std::int64_t kFetchFrom = 256 * kKiB;

/// What a writer is given. A small file is one Step with all its pieces; a large one from a stream is a begin, pieces,
/// and an end, so that no more than the chunks in the pool is ever held.
struct Step {
  enum class Kind : std::uint8_t { place, file, begin, piece, end };
  Kind kind = Kind::place;
  Entry entry;
  CleanName name;
  std::vector<Wait> waits;
  std::vector<DataPiece> pieces;
  std::optional<StoredData> stored;
  std::optional<Error> cut;
};
using Batch = std::vector<Step>;

class Writers {
 public:
  Writers(const Target& target, const ExtractOptions& options, const SinkFactory& make_sink)
      : lanes_(static_cast<std::size_t>(options.writers)) {
    for (std::size_t w = 0; w < lanes_.size(); ++w)
      lanes_[w].thread = std::thread([this, w, &target, &options, &make_sink] { work(w, target, options, make_sink); });
  }

  void add(int writer, Step step) {
    Lane& lane = lanes_[static_cast<std::size_t>(writer)];
    const bool member = step.kind == Step::Kind::place || step.kind == Step::Kind::file || step.kind == Step::Kind::begin;
    if (member) {
      ++handed_out_;
      // Everything held back goes out before waiting: a writer may be waiting for a member in it.
      if (handed_out_ - done_.load(std::memory_order_acquire) > kMembersUnderWay) {
        flush();
        wait_until_done(handed_out_ - kMembersUnderWay / 2);
      }
    }
    lane.held_back.push_back(std::move(step));
    if (lane.held_back.size() >= kBatch) flush(lane);
  }

  void flush() {
    for (Lane& lane : lanes_) flush(lane);
  }

  void wait_for_all() {
    flush();
    wait_until_done(handed_out_);
  }

  void finish(PipelineResult& result) {
    flush();
    for (Lane& lane : lanes_) {
      const std::lock_guard lock(lane.mutex);
      lane.closed = true;
      lane.arrived.notify_one();
    }
    for (Lane& lane : lanes_) {
      lane.thread.join();
      result.tallies.push_back(std::move(lane.tally));
      result.threads.push_back(std::move(lane.cpu));
    }
  }

 private:
  struct Lane {
    Batch held_back;  // the reader's
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<Batch> queue;
    bool closed = false;
    std::atomic<std::int64_t> done_index{-1};  ///< the last member this writer has finished
    Tally tally;
    ThreadCpu cpu;
    std::thread thread;
  };

  void flush(Lane& lane) {
    if (lane.held_back.empty()) return;
    const std::lock_guard lock(lane.mutex);
    lane.queue.push_back(std::exchange(lane.held_back, {}));
    lane.arrived.notify_one();
  }

  void wait_until_done(std::int64_t count) {
    for (;;) {
      const std::int64_t now = done_.load(std::memory_order_acquire);
      if (now >= count) return;
      done_.wait(now);
    }
  }

  void finished(Lane& lane, std::int64_t index) {
    lane.done_index.store(index, std::memory_order_release);
    lane.done_index.notify_all();
    done_.fetch_add(1, std::memory_order_release);
    done_.notify_all();
  }

  void work(std::size_t number, const Target& target, const ExtractOptions& options, const SinkFactory& make_sink) {
    own_umask();
    const ThreadClock clock;
    Lane& lane = lanes_[number];
    const std::unique_ptr<DataSink> sink = make_sink();
    TreeWriter writer(target, options, *sink, lane.tally);
    Step open;  // the large file whose pieces arrive
    bool going = false;
    for (;;) {
      Batch batch;
      {
        std::unique_lock lock(lane.mutex);
        lane.arrived.wait(lock, [&] { return !lane.queue.empty() || lane.closed; });
        if (lane.queue.empty()) break;
        batch = std::move(lane.queue.front());
        lane.queue.pop_front();
      }
      for (Step& step : batch) {
        for (const Wait& wait : step.waits) {
          std::atomic<std::int64_t>& other = lanes_[static_cast<std::size_t>(wait.writer)].done_index;
          for (std::int64_t now; (now = other.load(std::memory_order_acquire)) < wait.index;) other.wait(now);
        }
        switch (step.kind) {
          case Step::Kind::place:
            writer.place(step.entry, step.name);
            finished(lane, step.entry.index);
            break;
          case Step::Kind::file: {
            bool fine = writer.open_file(step.entry, step.name);
            if (fine && step.stored) {
              writer.write_stored(*step.stored);
            } else {
              for (const DataPiece& piece : step.pieces)
                if (fine) fine = writer.write(piece.bytes, piece.offset);
            }
            writer.close_file(step.cut);
            finished(lane, step.entry.index);
            break;
          }
          case Step::Kind::begin:
            open = std::move(step);
            going = writer.open_file(open.entry, open.name);
            break;
          case Step::Kind::piece:
            if (going) going = writer.write(step.pieces[0].bytes, step.pieces[0].offset);
            break;
          case Step::Kind::end:
            writer.close_file(step.cut);
            finished(lane, open.entry.index);
            break;
        }
        step.pieces.clear();  // the chunk may be what the reader waits for
      }
    }
    lane.cpu = clock.read("writer " + std::to_string(number + 1));
  }

  std::deque<Lane> lanes_;
  std::int64_t handed_out_ = 0;
  std::atomic<std::int64_t> done_{0};
};

/// libarchive's pieces live only until its next call.
void own(DataPiece& piece) {
  if (piece.keep) return;
  auto copy = std::make_shared<std::vector<std::byte>>(piece.bytes.begin(), piece.bytes.end());
  piece.bytes = *copy;
  piece.keep = std::move(copy);
}

}  // namespace

PipelineResult run_pipeline(EntryReader& reader, ByteSource* source, const Target& target, const ExtractOptions& options,
                            const SinkFactory& make_sink) {
  PipelineResult result;
  Tally tally;
  Writers writers(target, options, make_sink);
  if (source != nullptr) source->on_wait([&writers] { writers.flush(); });
  MemberCheck check(options.limits);
  Plan plan(options.writers);
  Entry entry;
  for (;;) {
    const auto more = reader.next(entry);
    tally.take_remarks(reader);
    if (!more) {
      tally.error(entry.index + 1, {"", more.error().what, more.error().sys_errno});
      break;
    }
    if (!*more) {
      result.complete = true;
      break;
    }
    if (options.stopped()) {
      tally.error(entry.index, {"", std::string(kInterrupted), EINTR});
      break;
    }
    ++tally.counts.entries;
    MemberCheck::Verdict verdict = check.check(entry);
    if (!verdict.stop.empty()) {
      tally.error(entry.index, {entry.name, verdict.stop, 0});
      break;
    }
    if (!verdict.name) {
      tally.error(entry.index, {entry.name, verdict.refusal, 0});
      continue;
    }
    if (verdict.first_absolute) tally.warn(entry.index, {entry.name, std::string(kSlashRemoved), 0});

    std::optional<CleanName> link;
    if (entry.type == EntryType::hard_link)
      if (auto cleaned = clean_name(entry.link)) link = std::move(*cleaned);
    const Placement placement = plan.place({entry.index, entry.type, verdict.name->path,
                                            link ? std::string_view(link->path) : std::string_view{}, entry.data_bytes});
    if (placement.collision) tally.collision(verdict.name->path);
    if (placement.after_all) writers.wait_for_all();

    Step step;
    step.waits = placement.waits;
    step.name = std::move(*verdict.name);
    if (!brings_data(entry)) {
      step.kind = Step::Kind::place;
      step.entry = std::move(entry);
      writers.add(placement.writer, std::move(step));
      entry = {};
      continue;
    }
    const std::int64_t data_bytes = entry.data_bytes;
    const bool size_known = entry.size_known;
    std::int64_t arrived = 0;
    bool limit_reached = false;
    // The next piece; false at the end, at an error, or at a limit, with `cut` set in the last two.
    const auto next_piece = [&](DataPiece& piece, std::optional<Error>& cut) {
      const auto got = reader.data(piece);
      if (!got) cut = got.error();
      if (!got || !*got) return false;
      const auto bytes = static_cast<std::int64_t>(piece.bytes.size());
      arrived += bytes;
      if (options.stopped()) {
        cut = Error{ErrorKind::refused, EINTR, std::string(kInterrupted)};
        return false;
      }
      if (std::string over = check.check_data(arrived, piece.offset + bytes); !over.empty()) {
        cut = Error{ErrorKind::bad_input, 0, std::move(over)};
        limit_reached = true;
        return false;
      }
      own(piece);
      return true;
    };
    // One writer reads nothing itself: the reader's thread is there to spare it that.
    if (data_bytes >= kFetchFrom && options.writers > 1) step.stored = reader.stored();
    step.entry = std::move(entry);
    entry = {};
    entry.index = step.entry.index;
    // What libarchive delivers may be more than a header promised; such a file goes on as a stream.
    bool whole = step.stored || (size_known && data_bytes <= kFetchFrom);
    if (whole) {
      step.kind = Step::Kind::file;
      for (DataPiece piece; !step.stored && data_bytes > 0 && whole;) {
        if (!next_piece(piece, step.cut)) break;
        step.pieces.push_back(std::move(piece));
        piece = {};
        whole = arrived <= kFetchFrom;
      }
    }
    if (whole) {
      writers.add(placement.writer, std::move(step));
      if (limit_reached) break;
      continue;
    }
    std::vector<DataPiece> first = std::move(step.pieces);
    step.pieces.clear();
    step.kind = Step::Kind::begin;
    writers.add(placement.writer, std::move(step));
    Step end;
    end.kind = Step::Kind::end;
    for (DataPiece& piece : first) {
      Step next;
      next.kind = Step::Kind::piece;
      next.pieces.push_back(std::move(piece));
      writers.add(placement.writer, std::move(next));
    }
    for (;;) {
      Step next;
      next.kind = Step::Kind::piece;
      next.pieces.resize(1);
      if (!next_piece(next.pieces[0], end.cut)) break;
      writers.add(placement.writer, std::move(next));
      writers.flush();
    }
    writers.add(placement.writer, std::move(end));
    if (limit_reached) break;
  }
  result.tallies.push_back(std::move(tally));
  writers.finish(result);
  if (source != nullptr) source->on_wait({});
  return result;
}

}  // namespace spillway::extract
