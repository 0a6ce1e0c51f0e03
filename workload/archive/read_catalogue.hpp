#pragma once
/// The catalogue of an archive on disk: read in one pass by libarchive, kept in a compact file.

#include "sim/result.hpp"
#include "workload/archive/catalogue.hpp"

#include <filesystem>
#include <string>

namespace spillway {

/// Reads every header; data is skipped. sha256 is left empty, archive_bytes is the file's size.
Result<Catalogue> read_catalogue(const std::filesystem::path& archive);

/// The compact file: a text, one entry a line, paths by what differs from the line before. Round-trips exactly.
std::string catalogue_text(const Catalogue& catalogue);
Result<Catalogue> catalogue_from_text(const std::string& text, const std::string& where);

/// Whose fault a failure of libarchive is, by its archive_errno(): the file's (not an archive, cut short), unless a system
/// call said why.
[[nodiscard]] ErrorKind archive_error_kind(int archive_errno);

}  // namespace spillway
