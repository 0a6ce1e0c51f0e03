#pragma once
/// SHA-256 of streams, strings and files, by libcrypto.

#include "sim/result.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace spillway {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::span<const std::byte> data);
  void add(std::string_view text);
  /// 64 lower-case hex digits. The stream is at its end; call once.
  [[nodiscard]] std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string sha256_of(std::string_view text);
Result<std::string> sha256_of_file(const std::filesystem::path& file);

}  // namespace spillway
