#pragma once
/// File data through io_uring, where that should gain. What goes through the ring: direct writes, several in flight
/// per writer from registered buffers, because each of them waits for the device. What does not: opening and closing
/// (open with O_CREAT is always handed to a kernel worker, and creation serialises on the directory all the same) and
/// buffered writes, which complete at once in the calling thread (the README says what that choice rests on).

#include <memory>
#include <optional>
#include <string>

#include "workload/extract/data_sink.hpp"

namespace spillway::extract {

/// Why io_uring cannot be used here, a sentence; nothing when it can. Tried, not guessed.
[[nodiscard]] std::optional<std::string> uring_refusal();

/// For one thread. Buffered files are written as PosixSink writes them.
[[nodiscard]] std::unique_ptr<DataSink> make_uring_sink(DataSinkOptions options);

}  // namespace spillway::extract
