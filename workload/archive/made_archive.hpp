#pragma once
/// An archive made from a seed: the same bytes on every machine. A plan (names and sizes) follows from the spec without
/// any data, so that the simulated box can have the catalogue for nothing; the tar itself is streamed.
///
/// Layout: tree/, tree/d0000/ with files_per_directory files, tree/d0001/, ... in that order. Sizes follow the spec's
/// distribution and are scaled so that their sum is exactly `bytes`. Data is pseudo-random and does not compress.
/// Headers are ustar with fixed owner, mode and time; files of 8 GiB or more use the base-256 size that GNU tar, bsdtar
/// and libarchive read.

#include "sim/result.hpp"
#include "workload/archive/catalogue.hpp"
#include "workload/experiment/experiment.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace spillway {

/// The sizes of the files, in the order of the archive. Their sum is exactly spec.bytes.
Result<std::vector<Bytes>> made_sizes(const ArchiveSpec& spec);

/// The catalogue, without generating data; sha256 is empty, because only the bytes themselves can say it.
Result<Catalogue> made_catalogue(const ArchiveSpec& spec);

/// Streams the tar of a made catalogue in pieces of up to a megabyte. The sink's error stops it.
Status write_made_tar(const ArchiveSpec& spec, const Catalogue& catalogue, const std::function<Status(std::span<const std::byte>)>& sink);

/// What the bytes depend on, as text; its hash names the cached file. Contains the version of the generator.
std::string made_identity(const ArchiveSpec& spec);

}  // namespace spillway
