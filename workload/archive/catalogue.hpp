#pragma once
/// The catalogue of an archive: its entries without their data. Made in one pass, cached by content hash; the simulated
/// box is fed with it, and progress and pre-flight checks are computed from it.

#include "sim/result.hpp"
#include "sim/units.hpp"
#include "workload/experiment/experiment.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace spillway {

enum class EntryType : std::uint8_t { file, directory, symlink, hardlink, device, fifo };

struct CatalogueEntry {
  std::string path;                 ///< as in the archive, without a leading "./" and without a trailing "/"
  EntryType type = EntryType::file;
  Bytes size{0};                    ///< apparent size
  Bytes stored{0};                  ///< data bytes in the archive (less than size for sparse files)
  std::string link;                 ///< target of a symbolic or hard link
  std::uint32_t mode = 0;
  std::vector<std::pair<Bytes, Bytes>> holes;  ///< (offset, length)
};

struct Catalogue {
  std::string sha256;               ///< of the (plain) archive; empty for a made one that no one has written yet
  Bytes archive_bytes{0};           ///< of the archive as it is read
  Bytes data_bytes{0};              ///< sum of stored
  std::int64_t files = 0, directories = 0;
  std::vector<CatalogueEntry> entries;
};

/// A ready archive on disk: a plain tar unless archive.decompress = "each".
struct PreparedArchive {
  std::filesystem::path path;
  Catalogue catalogue;
};

/// The cache folder: $SPILLWAY_CACHE_DIR, else ~/.cache/spillway, else /var/cache/spillway.
std::filesystem::path cache_folder();

/// Where archive.path points: relative to the experiment file, else below the cache's archives/ (where the fetch scripts
/// put what they fetch).
Result<std::filesystem::path> find_archive(const std::string& path, const std::filesystem::path& experiment_folder);

/// Makes, finds or unpacks the archive of an experiment in the cache folder ($SPILLWAY_CACHE_DIR, else
/// ~/.cache/spillway, else /var/cache/spillway), by content; a second call costs a look-up.
Result<PreparedArchive> prepare_archive(const ArchiveSpec& spec, const std::filesystem::path& experiment_folder);
/// The catalogue alone. For a made archive no byte of data is generated: this is all the simulated box needs.
Result<Catalogue> catalogue_of(const ArchiveSpec& spec, const std::filesystem::path& experiment_folder);

}  // namespace spillway
