#pragma once
/// Tar archives made byte by byte, so that a test decides what is in each header; no library could write most of these.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spillway::test {

/// The fields of one 512-byte header. What is not set is what GNU tar would write for a small file of root's.
struct TarHeader {
  std::string name;
  std::string prefix;                  ///< ustar and posix
  char type = '0';
  std::string link;
  unsigned mode = 0644;
  std::int64_t uid = 0;
  std::int64_t gid = 0;
  std::int64_t size = 0;               ///< what the size field says
  std::int64_t mtime = 1'000'000'000;
  unsigned device_major = 0;
  unsigned device_minor = 0;
  std::string magic = std::string("ustar\00000", 8);  ///< "ustar  \0" is GNU's
  bool base256_size = false;
  bool bad_checksum = false;
};

using PaxRecords = std::vector<std::pair<std::string, std::string>>;

class TarMaker {
 public:
  static std::string gnu_magic() { return std::string("ustar  \0", 8); }

  /// A header block alone.
  TarMaker& header(const TarHeader& header);
  /// Bytes as they are.
  TarMaker& raw(std::string_view bytes);
  /// Zeros up to the next 512.
  TarMaker& pad();
  /// Header, data, padding; the header's size is the data's.
  TarMaker& member(TarHeader header, std::string_view data = {});
  TarMaker& file(std::string name, std::string_view data, unsigned mode = 0644);
  TarMaker& directory(std::string name, unsigned mode = 0755);
  TarMaker& symlink(std::string name, std::string target);
  TarMaker& hard_link(std::string name, std::string target);
  /// A pax extended header ('x', or 'g' for a global one).
  TarMaker& pax(const PaxRecords& records, char type = 'x');
  /// A GNU long name ('L') or long link ('K').
  TarMaker& gnu_long(char type, std::string_view text);
  /// The end mark: two zero blocks.
  TarMaker& end();

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// One pax record, "LENGTH key=value\n", with its own length in it.
[[nodiscard]] std::string pax_record(std::string_view key, std::string_view value);

}  // namespace spillway::test
