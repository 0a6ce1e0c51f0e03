#include "workload/archive/sha256.hpp"

#include "sim/check.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/evp.h>
#include <unistd.h>
#include <vector>

namespace spillway {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  SPILLWAY_CHECK(state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1, "libcrypto has SHA-256");
}
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> data) {
  SPILLWAY_CHECK(EVP_DigestUpdate(state_->context, data.data(), data.size()) == 1, "libcrypto takes the data");
}
void Sha256::add(std::string_view text) { add(std::as_bytes(std::span{text})); }

std::string Sha256::finish() {
  std::array<unsigned char, 32> digest{};
  SPILLWAY_CHECK(EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) == 1, "libcrypto gives the digest");
  std::string out;
  for (const unsigned char byte : digest) out += fmt::format("{:02x}", byte);
  return out;
}

std::string sha256_of(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.finish();
}

Result<std::string> sha256_of_file(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(ErrorKind::refused, fmt::format("cannot open {}: {}", file.string(), std::strerror(errno)), errno);
  Sha256 hash;
  std::vector<std::byte> buffer(1 << 20);
  while (true) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int number = errno;
      ::close(fd);
      if (n < 0) return fail(ErrorKind::refused, fmt::format("cannot read {}: {}", file.string(), std::strerror(number)), number);
      return hash.finish();
    }
    hash.add(std::span{buffer}.first(static_cast<std::size_t>(n)));
  }
}

}  // namespace spillway
