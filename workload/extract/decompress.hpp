#pragma once
/// Decompression on a thread of its own, ahead of the reader by a bounded number of chunks. Libraries: ISA-L for gzip
/// (written for speed), libzstd, liblzma (its threaded decoder, which uses every core when the file has several
/// blocks), liblz4, libbz2. Several streams behind each other are one, as the programs have it.

#include <cstddef>
#include <memory>
#include <span>

#include "workload/extract/byte_source.hpp"

namespace spillway::extract {

enum class Compression : unsigned char { none, gzip, zstd, xz, lz4, bzip2 };

/// From a file's first bytes.
[[nodiscard]] Compression compression_of(std::span<const std::byte> first);

class DecompressedSource : public ByteSource {
 public:
  /// The first bytes, once they are there, are a tar header or an end mark.
  [[nodiscard]] virtual bool starts_with_tar() = 0;
};

/// Start decompressing `file`; null when its first bytes are of no known compression. `buffer_bytes` bounds what is
/// held, by the reader and the writers together; at least four chunks of 1 MiB.
[[nodiscard]] Result<std::unique_ptr<DecompressedSource>> decompressed_source(Fd file, std::span<const std::byte> first,
                                                                              Bytes buffer_bytes);

}  // namespace spillway::extract
