#include "tests/workload/extract/tar_maker.hpp"

#include <fmt/format.h>

#include <cstring>

namespace spillway::test {
namespace {

void put_text(char* field, std::size_t length, std::string_view text) {
  std::memcpy(field, text.data(), std::min(length, text.size()));
}

void put_octal(char* field, std::size_t length, std::int64_t value) {
  const std::string digits = fmt::format("{:0{}o}", static_cast<std::uint64_t>(value), length - 1);
  std::memcpy(field, digits.data() + (digits.size() - (length - 1)), length - 1);
}

void put_base256(char* field, std::size_t length, std::int64_t value) {
  for (std::size_t i = length; i-- > 0;) {
    field[i] = static_cast<char>(value & 0xff);
    value >>= 8;
  }
  field[0] = static_cast<char>(field[0] | 0x80);
}

}  // namespace

TarMaker& TarMaker::header(const TarHeader& h) {
  char block[512] = {};
  put_text(block, 100, h.name);
  put_octal(block + 100, 8, h.mode);
  put_octal(block + 108, 8, h.uid);
  put_octal(block + 116, 8, h.gid);
  if (h.base256_size) put_base256(block + 124, 12, h.size);
  else put_octal(block + 124, 12, h.size);
  put_octal(block + 136, 12, h.mtime);
  block[156] = h.type;
  put_text(block + 157, 100, h.link);
  put_text(block + 257, 8, h.magic);
  if (!h.magic.empty()) {
    put_text(block + 265, 32, "root");
    put_text(block + 297, 32, "root");
    put_octal(block + 329, 8, h.device_major);
    put_octal(block + 337, 8, h.device_minor);
    put_text(block + 345, 155, h.prefix);
  }
  std::memset(block + 148, ' ', 8);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  if (h.bad_checksum) sum += 7;
  put_octal(block + 148, 7, sum);
  bytes_.append(block, sizeof block);
  return *this;
}

TarMaker& TarMaker::raw(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

TarMaker& TarMaker::pad() {
  bytes_.resize((bytes_.size() + 511) / 512 * 512, '\0');
  return *this;
}

TarMaker& TarMaker::member(TarHeader h, std::string_view data) {
  h.size = static_cast<std::int64_t>(data.size());
  return header(h).raw(data).pad();
}

TarMaker& TarMaker::file(std::string name, std::string_view data, unsigned mode) {
  TarHeader h;
  h.name = std::move(name);
  h.mode = mode;
  return member(std::move(h), data);
}

TarMaker& TarMaker::directory(std::string name, unsigned mode) {
  TarHeader h;
  h.name = std::move(name);
  h.type = '5';
  h.mode = mode;
  return header(h);
}

TarMaker& TarMaker::symlink(std::string name, std::string target) {
  TarHeader h;
  h.name = std::move(name);
  h.type = '2';
  h.mode = 0777;
  h.link = std::move(target);
  return header(h);
}

TarMaker& TarMaker::hard_link(std::string name, std::string target) {
  TarHeader h;
  h.name = std::move(name);
  h.type = '1';
  h.link = std::move(target);
  return header(h);
}

std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;  // a space, "=", a newline
  std::size_t length = rest + 1;
  while (rest + std::to_string(length).size() != length) length = rest + std::to_string(length).size();
  return fmt::format("{} {}={}\n", length, key, value);
}

TarMaker& TarMaker::pax(const PaxRecords& records, char type) {
  std::string text;
  for (const auto& [key, value] : records) text += pax_record(key, value);
  TarHeader h;
  h.name = "./PaxHeaders/x";
  h.type = type;
  return member(std::move(h), text);
}

TarMaker& TarMaker::gnu_long(char type, std::string_view text) {
  TarHeader h;
  h.name = "././@LongLink";
  h.type = type;
  h.magic = gnu_magic();
  return member(std::move(h), std::string(text) + '\0');
}

TarMaker& TarMaker::end() {
  bytes_.append(1024, '\0');
  return *this;
}

}  // namespace spillway::test
