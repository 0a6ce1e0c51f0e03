#include "workload/extract/decoder.hpp"

#include <bzlib.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zstd.h>

#include <algorithm>
#include <thread>

namespace spillway::extract {
namespace {

/// A decoder may take this much memory, and no more: an archive's header can ask for gigabytes. assumed: xz -9 takes 65 MiB.
constexpr std::uint64_t kMemoryLimit = std::uint64_t{512} << 20;

std::unexpected<Error> damaged(std::string_view format, std::string_view why) {
  return fail(ErrorKind::bad_input, fmt::format("The {} data is damaged: {}.", format, why));
}

std::uint8_t* bytes_of(std::span<const std::byte> in) {
  return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(in.data()));
}

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() : state_(std::make_unique<inflate_state>()) { start(); }

  Result<bool> step(std::span<const std::byte>& in, std::span<std::byte>& out, bool) override {
    if (between_) {
      if (in.empty()) return false;
      // Behind a member comes another member, or something gzip itself ignores.
      if (in[0] != std::byte{0x1f}) return true;
      start();
      between_ = false;
    }
    state_->next_in = bytes_of(in);
    state_->avail_in = static_cast<std::uint32_t>(in.size());
    state_->next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state_->avail_out = static_cast<std::uint32_t>(out.size());
    const int code = isal_inflate(state_.get());
    in = in.last(state_->avail_in);
    out = out.last(state_->avail_out);
    if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT && code != ISAL_OUT_OVERFLOW)
      return damaged("gzip", code == ISAL_INCORRECT_CHECKSUM ? "its checksum is wrong" : fmt::format("code {}", code));
    if (state_->block_state == ISAL_BLOCK_FINISH) between_ = true;
    return false;
  }
  bool at_boundary() const override { return between_; }

 private:
  void start() {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
  }
  std::unique_ptr<inflate_state> state_;
  bool between_ = false;
};

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : stream_(ZSTD_createDStream()) {}
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }
  Result<bool> step(std::span<const std::byte>& in, std::span<std::byte>& out, bool) override {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const std::size_t code = ZSTD_decompressStream(stream_, &output, &input);
    in = in.subspan(input.pos);
    out = out.subspan(output.pos);
    if (ZSTD_isError(code) != 0) return damaged("zstd", ZSTD_getErrorName(code));
    // A call behind the end of a frame, with nothing to read, asks for the next frame's header: that is no cut.
    if (input.pos > 0 || output.pos > 0) boundary_ = code == 0;
    return false;
  }
  bool at_boundary() const override { return boundary_; }

 private:
  ZSTD_DStream* stream_;
  bool boundary_ = true;
};

class XzDecoder final : public Decoder {
 public:
  XzDecoder() {
    lzma_mt options{};
    options.flags = LZMA_CONCATENATED;
    options.threads = std::max(1U, std::thread::hardware_concurrency());
    options.memlimit_threading = kMemoryLimit / 2;
    options.memlimit_stop = kMemoryLimit;
    ready_ = lzma_stream_decoder_mt(&stream_, &options) == LZMA_OK;
  }
  ~XzDecoder() override { lzma_end(&stream_); }
  Result<bool> step(std::span<const std::byte>& in, std::span<std::byte>& out, bool last) override {
    if (!ready_) return damaged("xz", "no memory for its decoder");
    stream_.next_in = bytes_of(in);
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret code = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
    in = in.last(stream_.avail_in);
    out = out.last(stream_.avail_out);
    if (code == LZMA_STREAM_END) {
      ended_ = true;
      return true;
    }
    if (code == LZMA_MEMLIMIT_ERROR) return damaged("xz", "it asks for more than 512 MiB of memory");
    if (code == LZMA_BUF_ERROR) {
      if (last && in.empty()) return damaged("xz", "it ends early");
      return false;
    }
    if (code != LZMA_OK) return damaged("xz", code == LZMA_DATA_ERROR ? "a block cannot be decoded" : fmt::format("code {}", static_cast<int>(code)));
    return false;
  }
  bool at_boundary() const override { return ended_; }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ready_ = false;
  bool ended_ = false;
};

class Lz4Decoder final : public Decoder {
 public:
  Lz4Decoder() { LZ4F_createDecompressionContext(&context_, LZ4F_VERSION); }
  ~Lz4Decoder() override { LZ4F_freeDecompressionContext(context_); }
  Result<bool> step(std::span<const std::byte>& in, std::span<std::byte>& out, bool) override {
    std::size_t used = in.size();
    std::size_t made = out.size();
    const std::size_t code = LZ4F_decompress(context_, out.data(), &made, in.data(), &used, nullptr);
    in = in.subspan(used);
    out = out.subspan(made);
    if (LZ4F_isError(code) != 0U) return damaged("lz4", LZ4F_getErrorName(code));
    if (used > 0 || made > 0) boundary_ = code == 0;  // as with zstd
    return false;
  }
  bool at_boundary() const override { return boundary_; }

 private:
  LZ4F_dctx* context_ = nullptr;
  bool boundary_ = true;
};

class Bzip2Decoder final : public Decoder {
 public:
  Bzip2Decoder() { start(); }
  ~Bzip2Decoder() override { BZ2_bzDecompressEnd(&stream_); }
  Result<bool> step(std::span<const std::byte>& in, std::span<std::byte>& out, bool) override {
    if (between_) {
      if (in.empty()) return false;
      if (in[0] != std::byte{'B'}) return true;
      BZ2_bzDecompressEnd(&stream_);
      start();
      between_ = false;
    }
    stream_.next_in = reinterpret_cast<char*>(bytes_of(in));
    stream_.avail_in = static_cast<unsigned>(in.size());
    stream_.next_out = reinterpret_cast<char*>(out.data());
    stream_.avail_out = static_cast<unsigned>(out.size());
    const int code = BZ2_bzDecompress(&stream_);
    in = in.last(stream_.avail_in);
    out = out.last(stream_.avail_out);
    if (code == BZ_STREAM_END) between_ = true;
    else if (code != BZ_OK) return damaged("bzip2", fmt::format("code {}", code));
    return false;
  }
  bool at_boundary() const override { return between_; }

 private:
  void start() {
    stream_ = {};
    BZ2_bzDecompressInit(&stream_, 0, 0);
  }
  bz_stream stream_{};
  bool between_ = false;
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(Compression compression) {
  switch (compression) {
    case Compression::gzip: return std::make_unique<GzipDecoder>();
    case Compression::zstd: return std::make_unique<ZstdDecoder>();
    case Compression::xz: return std::make_unique<XzDecoder>();
    case Compression::lz4: return std::make_unique<Lz4Decoder>();
    case Compression::bzip2: return std::make_unique<Bzip2Decoder>();
    case Compression::none: break;
  }
  return nullptr;
}

}  // namespace spillway::extract
