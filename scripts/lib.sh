# Shared by the scripts beside it; sourced, never run. POSIX sh.

# Everything starts at the top of the source tree.
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"

say() { printf '%s\n' "$*" >&2; }

# The packages of a list that are not installed, one a line.
missing_packages() {
  while read -r package; do
    dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed$' || printf '%s\n' "$package"
  done < "$1"
}

# Installs what is missing. When nothing is missing no network is touched, so that a second call works without one.
# need_packages [LIST]
need_packages() {
  list=${1:-scripts/packages.txt}
  command -v dpkg-query >/dev/null || { say "This script installs Debian packages; here is no dpkg. Install by hand what $list lists."; return 0; }
  missing=$(missing_packages "$list" | tr '\n' ' ')
  [ -z "$missing" ] && return 0
  say "Installing: $missing"
  if [ "$(id -u)" = 0 ]; then as_root=; elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root='sudo -n'
  else
    say "These packages are missing and only root can install them:"
    say "  apt-get update && apt-get install --no-install-recommends $missing"
    return 1
  fi
  # shellcheck disable=SC2086  # word splitting is meant
  $as_root apt-get update -q >&2 || say "apt-get update failed; trying with the package lists that are here."
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q --no-install-recommends $missing >&2 || {
    say "apt-get could not install: $missing"
    say "Is there a network? The scripts need one the first time only."
    return 1
  }
}

# Compilers at once: one per core, and one per GiB of memory at most (a sanitizer build of one file takes about that).
jobs_at_once() {
  cores=$(nproc)
  gib=$(awk '/MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
  [ "$gib" -lt 1 ] && gib=1
  [ "$cores" -lt "$gib" ] && echo "$cores" || echo "$gib"
}

# build PRESET [TARGET...]: configure once, build, quietly when there is nothing to do.
build() {
  preset=$1
  shift
  [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >&2 || return 1
  if [ $# -gt 0 ]; then cmake --build --preset "$preset" -j "$(jobs_at_once)" --target "$@" >&2
  else cmake --build --preset "$preset" -j "$(jobs_at_once)" >&2; fi
}
