#include "workload/archive/made_archive.hpp"
#include "workload/archive/read_catalogue.hpp"
#include "workload/archive/sha256.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <unistd.h>

using namespace spillway;

namespace {

std::int64_t sum_of(const std::vector<Bytes>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}, [](std::int64_t n, Bytes b) { return n + b.value(); });
}

std::string tar_of(const ArchiveSpec& spec) {
  std::string tar;
  const Status written = write_made_tar(spec, made_catalogue(spec).value(), [&tar](std::span<const std::byte> data) -> Status {
    tar.append(reinterpret_cast<const char*>(data.data()), data.size());
    return {};
  });
  REQUIRE(written);
  return tar;
}

ArchiveSpec small() {
  ArchiveSpec spec;
  spec.seed = 7;
  spec.files = 25;
  spec.bytes = Bytes{100'000};
  spec.min = Bytes{64};
  spec.max = Bytes{50'000};
  spec.files_per_directory = 10;
  return spec;
}

bool same(const CatalogueEntry& a, const CatalogueEntry& b) {
  return a.path == b.path && a.type == b.type && a.size == b.size && a.stored == b.stored && a.link == b.link && a.mode == b.mode && a.holes == b.holes;
}

}  // namespace

TEST_CASE("made archive: sizes add up exactly, within min and max", "[workload][archive]") {
  for (const std::int64_t files : {1, 2, 3, 7, 100, 2501}) {
    for (const std::int64_t mean : {64, 65, 1000, 120'000, 8'000'000}) {
      ArchiveSpec spec;
      spec.files = files;
      spec.bytes = Bytes{files * mean + files / 3};
      CAPTURE(files, mean);
      const auto sizes = made_sizes(spec);
      REQUIRE(sizes);
      CHECK(static_cast<std::int64_t>(sizes->size()) == files);
      CHECK(sum_of(*sizes) == spec.bytes.value());
      CHECK(*std::min_element(sizes->begin(), sizes->end()) >= spec.min);
      CHECK(*std::max_element(sizes->begin(), sizes->end()) <= spec.max);
    }
  }
}

TEST_CASE("made archive: a lognormal has the median and the spread that it should", "[workload][archive]") {
  ArchiveSpec spec;
  spec.files = 20'000;
  spec.bytes = Bytes{2'400'000'000};
  spec.sigma = 1.35;
  spec.max = Bytes{kGiB};  // hardly any clipping
  auto sizes = made_sizes(spec).value();
  std::sort(sizes.begin(), sizes.end());
  // mean = median * exp(sigma^2 / 2): 120 kB / 2.487 = 48.25 kB. The median of n draws is known to about 1.25 sigma / sqrt(n).
  const double median = static_cast<double>(sizes[sizes.size() / 2].value());
  CHECK(median == Approx(120'000 / std::exp(1.35 * 1.35 / 2)).epsilon(0.04));
  // One sigma up: the 84.13th percentile is e^sigma times the median.
  const double upper = static_cast<double>(sizes[static_cast<std::size_t>(0.8413 * 20'000)].value());
  CHECK(upper / median == Approx(std::exp(1.35)).epsilon(0.06));
}

TEST_CASE("made archive: fixed sizes differ by a byte at most; a histogram keeps its proportions", "[workload][archive]") {
  ArchiveSpec spec = small();
  spec.sizes = "fixed";
  spec.bytes = Bytes{100'003};
  auto sizes = made_sizes(spec).value();
  CHECK(sum_of(sizes) == 100'003);
  CHECK(std::max_element(sizes.begin(), sizes.end())->value() - std::min_element(sizes.begin(), sizes.end())->value() <= 1);

  spec.sizes = "histogram";
  spec.files = 10'000;
  spec.histogram = {{Bytes{4096}, 3}, {Bytes{65536}, 1}};
  spec.bytes = Bytes{10'000LL * 2 * (3 * 4096 + 65536) / 4};  // about twice the histogram's own mean
  sizes = made_sizes(spec).value();
  CHECK(sum_of(sizes) == spec.bytes.value());
  const auto large = std::count_if(sizes.begin(), sizes.end(), [](Bytes b) { return b.value() > 60'000; });
  CHECK(large == Approx(2500).margin(4 * std::sqrt(10'000 * 0.25 * 0.75)));
  CHECK(static_cast<double>(sizes.front().value()) * (sizes.front().value() > 60'000 ? 1.0 / 16 : 1.0) == Approx(8192).epsilon(0.05));
}

TEST_CASE("made archive: a sum that cannot be met is refused", "[workload][archive]") {
  ArchiveSpec spec = small();
  spec.bytes = Bytes{25 * 50'000 + 1};
  const auto sizes = made_sizes(spec);
  REQUIRE_FALSE(sizes);
  CHECK(sizes.error().what == "25 files between archive.min = 64 and archive.max = 50000 bytes cannot add up to archive.bytes = 1250001");
}

TEST_CASE("made archive: the same bytes on every machine (golden hash)", "[workload][archive]") {
  // Changing this hash changes every archive that anybody made: raise the version in made_identity with it.
  const std::string tar = tar_of(small());
  CHECK(sha256_of(tar) == "942c30acb436291a73eb3defb05e4bab6b6cb12a047f81edd71fd24c0aaca4c8");
  ArchiveSpec other = small();
  other.seed = 8;
  CHECK(sha256_of(tar_of(other)) != sha256_of(tar));
  CHECK(made_identity(other) != made_identity(small()));
}

TEST_CASE("made archive: the catalogue without data is the one that libarchive reads from the tar", "[workload][archive]") {
  const ArchiveSpec spec = small();
  const Catalogue planned = made_catalogue(spec).value();
  const std::string tar = tar_of(spec);
  CHECK(static_cast<std::int64_t>(tar.size()) == planned.archive_bytes.value());
  CHECK(tar.size() % 10240 == 0);

  std::string file = (std::filesystem::temp_directory_path() / "spillway-made-XXXXXX").string();
  const int fd = ::mkstemp(file.data());
  REQUIRE(fd >= 0);
  ::close(fd);
  std::ofstream{file, std::ios::binary} << tar;
  const auto read = read_catalogue(file);
  ::unlink(file.c_str());
  REQUIRE(read);
  REQUIRE(read->entries.size() == planned.entries.size());
  for (std::size_t i = 0; i < planned.entries.size(); ++i) CHECK(same(read->entries[i], planned.entries[i]));
  CHECK(read->data_bytes == planned.data_bytes);
  CHECK(read->data_bytes == spec.bytes);
  CHECK(read->files == 25);
  CHECK(read->directories == 1 + 3);
  CHECK(read->archive_bytes == planned.archive_bytes);
}

TEST_CASE("made archive: the data does not compress", "[workload][archive]") {
  // Every byte value occurs about equally often, and so do pairs of neighbours: 100 kB of pseudo-random data.
  const std::string tar = tar_of(small());
  std::array<int, 256> counts{};
  int zero_free = 0;
  for (const char c : tar) {
    ++counts[static_cast<unsigned char>(c)];
    if (c != 0) ++zero_free;
  }
  // Headers and padding are mostly zeroes; the other 255 values are data: 100,000 / 256 = 391 each, sigma 20.
  for (int value = 128; value < 256; ++value) CHECK(counts[static_cast<std::size_t>(value)] == Approx(391).margin(100));
  CHECK(zero_free > 99'000);
}

TEST_CASE("made archive: the sink's error stops the stream", "[workload][archive]") {
  ArchiveSpec spec = small();
  spec.bytes = Bytes{10 * kMB};
  spec.max = Bytes{kGB};
  int calls = 0;
  const Status written = write_made_tar(spec, made_catalogue(spec).value(), [&calls](std::span<const std::byte>) -> Status {
    ++calls;
    return fail(ErrorKind::refused, "disk full");
  });
  REQUIRE_FALSE(written);
  CHECK(written.error().what == "disk full");
  CHECK(calls == 1);
}

TEST_CASE("sha256: the published test vectors", "[workload][archive]") {
  // cited: FIPS 180-4 examples.
  CHECK(sha256_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
