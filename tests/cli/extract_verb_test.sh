#!/bin/sh
# spillway extract as a shell user meets it: what it prints, what it leaves, and its exit codes. $1: the program.
set -u
spillway=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/spillway-extract-XXXXXX")
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
failures=0
fails() { printf 'FAILED: %s\n' "$*"; failures=$((failures + 1)); }
# run CODE ARGUMENTS...: the exit code must be CODE; output in $work/out and $work/err.
run() {
  wanted=$1; shift
  "$spillway" extract "$@" >"$work/out" 2>"$work/err"; got=$?
  [ "$got" = "$wanted" ] || { fails "extract $*: exit $got, not $wanted"; cat "$work/out" "$work/err"; }
}
says() { grep -q -- "$1" "$work/err" || { fails "no \"$1\" in the messages:"; cat "$work/err"; }; }
prints() { grep -q -- "$1" "$work/out" || { fails "no \"$1\" in the output:"; cat "$work/out"; }; }

mkdir -p "$work/tree/d/closed"
i=0; while [ $i -lt 40 ]; do printf '%s\n' "file $i" > "$work/tree/d/f$i"; i=$((i + 1)); done
head -c 3000000 /dev/urandom > "$work/tree/large"
ln -s d/f1 "$work/tree/soft"; ln "$work/tree/large" "$work/tree/hard"
truncate -s 2M "$work/tree/hole"; chmod 555 "$work/tree/d/closed"
tar -S --format=posix -cf "$work/a.tar" -C "$work/tree" .

# Every engine, with and without direct writes, and the comparison behind it; DIR is made.
for how in "--engine posix" "--engine posix --writers 3" "--engine posix --direct true --after sync" "--engine posix --direct auto --drop-behind" \
           "--engine uring --writers 2 --direct true --after fsync_each" "--engine libarchive"; do
  # shellcheck disable=SC2086  # word splitting is meant
  run 0 $how --verify "$work/a.tar" "$work/new"
  prints "42 files"
  prints "no difference"
  [ -z "$(diff -r "$work/tree" "$work/new")" ] || fails "$how: the trees differ"
  chmod -R u+rwx "$work/new"; rm -rf "$work/new"
done

# Compressed, and from standard input.
gzip -k "$work/a.tar"
mkdir "$work/new"
"$spillway" extract - "$work/new" < "$work/a.tar.gz" > "$work/out" || fails "standard input"
[ -z "$(diff -r "$work/tree" "$work/new")" ] || fails "standard input: the trees differ"
run 2 --verify - "$work/new"; says "twice"

# Comparison alone: 0, and 1 when something is different.
run 0 --only-verify "$work/a.tar" "$work/new"
echo more >> "$work/new/d/f7"
run 1 --only-verify "$work/a.tar" "$work/new"; says "d/f7: size"
touch "$work/new/extra"
run 1 --only-verify --json "$work/a.tar" "$work/new"; prints '"schema": "spillway.extract/1"'; prints '"same": false'; says "extra: is in the tree"

# JSON is one object, and says what was done.
run 0 --json --writers 2 "$work/a.tar" "$work/j"
prints '"files": 42'; prints '"hard_links": 1'; prints '"exit_code": 0'; prints '"role": "writer 1"'
if command -v python3 >/dev/null; then python3 -c "import json,sys; json.load(open(sys.argv[1]))" "$work/out" || fails "not JSON"; fi

# A cut archive: 2, with the partial file by name.
size=$(stat -c %s "$work/a.tar")
head -c $((size / 2)) "$work/a.tar" > "$work/cut.tar"
run 2 "$work/cut.tar" "$work/cut"; says "partial: ./"; says "not read to its end"; says "ends at byte"
run 2 --json "$work/cut.tar" "$work/cut2"; prints '"archive_complete": false'; prints '"expected_bytes"'

# Hostile names: named, the rest extracted, nothing outside.
(cd "$work/tree/d" && tar -P -cf "$work/evil.tar" ../large f1)
run 2 "$work/evil.tar" "$work/evil"; says 'contains ".."'
[ -f "$work/evil/f1" ] || fails "the member behind the refused one is missing"
[ "$(ls "$work/evil")" = f1 ] || fails "more than f1 in evil/"

# Wrong use: 2 and one sentence; nothing is left behind.
run 2; says "an ARCHIVE and a DIR"
run 2 "$work/nosuch.tar" "$work/n"; says "nosuch.tar"; [ ! -e "$work/n" ] || fails "a directory is left for an archive that is not there"
echo text > "$work/text"; run 2 "$work/text" "$work/n"; says "cannot be read as an archive"; [ ! -e "$work/n" ] || fails "a directory is left for what is no archive"
run 2 --engine tar "$work/a.tar" "$work/n"; says "program of its own"
run 2 --engine fast "$work/a.tar" "$work/n"; says "not one of posix, uring, libarchive"
run 2 --writers 0 "$work/a.tar" "$work/n"; says "between 1 and 64"
run 2 --engine libarchive --writers 2 "$work/a.tar" "$work/n"; says "one thread"
run 2 --max-bytes 1000 "$work/a.tar" "$work/n"; says "unit"
run 2 --max-bytes 1MB "$work/a.tar" "$work/n"; says "more than 1000000 bytes"
run 2 --max-entries 5 "$work/a.tar" "$work/n2"; says "more than 5 members"
run 2 --max-depth 1 "$work/a.tar" "$work/n3"; says "directories deep"

# The box says no: 3. A file system of one MiB is full before the archive ends; needs root.
if [ "$(id -u)" = 0 ] && mkdir "$work/small" && mount -t tmpfs -o size=1m none "$work/small" 2>/dev/null; then
  run 3 "$work/a.tar" "$work/small"; says "No space left on device"; says "partial:"
  umount "$work/small"
fi
[ $failures = 0 ] && echo "all as wanted"
exit $((failures > 0))
