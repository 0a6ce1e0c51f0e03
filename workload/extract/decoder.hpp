#pragma once
/// Decoder: one compressed stream format, fed and drained in pieces. Internal to decompress.cpp and its parts.

#include <cstddef>
#include <memory>
#include <span>

#include "sim/result.hpp"
#include "workload/extract/decompress.hpp"

namespace spillway::extract {

class Decoder {
 public:
  virtual ~Decoder() = default;

  /// Take from `in`, put into `out`, shortening both by what was used. `last`: no more input follows. True: the
  /// stream(s) ended and what is left of `in` is not of this format.
  [[nodiscard]] virtual Result<bool> step(std::span<const std::byte>& in, std::span<std::byte>& out, bool last) = 0;

  /// Between streams, where the input may end.
  [[nodiscard]] virtual bool at_boundary() const = 0;
};

[[nodiscard]] std::unique_ptr<Decoder> make_decoder(Compression compression);

}  // namespace spillway::extract
