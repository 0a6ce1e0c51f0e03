#!/bin/bash
# What a sweep costs: 1,000 points of quick.toml (user CPU time) against the bare event loop for as many events, and
# two threads of one process against two independent processes. Interleaved rounds, medians of the ratios.
# usage: sweep_bench.sh SPILLWAY SIM_BENCH SOURCE_DIR [ROUNDS] [POINTS]
set -euo pipefail
spillway=$1 bench=$2 experiment=$3/experiments/quick.toml rounds=${4:-5} points=${5:-1000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# sweep OUT REPEATS THREADS [SEED]
sweep() {
  "$spillway" simulate "$experiment" --records no --no-plot --fresh --out "$work/$1" --repeat "$2" --threads "$3" --seed "${4:-1}" \
    > /dev/null 2>&1
}
median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
TIMEFORMAT='%R %U'

# Events of one point: of the predicted run alone; the runs over unknown states before it are not counted, so the ratio
# below is the worse one.
"$spillway" simulate "$experiment" --records yes --no-plot --out "$work/one" > /dev/null 2>&1
events=$(sed -n 's/.*"events": \([0-9]*\).*/\1/p' "$work/one/quick/case/r1/record.json" | head -1)

for _ in $(seq "$rounds"); do
  bare=$("$bench" bare $((events * points)))
  one=$({ time sweep one "$points" 1; } 2>&1 | awk '{ print $2 }')
  together=$({ time sweep together "$points" 2; } 2>&1 | awk '{ print $1 }')
  apart=$({ time { sweep a $((points / 2)) 1 1 & sweep b $((points / 2)) 1 2 & wait; }; } 2>&1 | awk '{ print $1 }')
  echo "$bare $one $together $apart"
  echo "$one $bare" | awk '{ print $1 / $2 }' >> "$work/bare"
  echo "$apart $together" | awk '{ print $1 / $2 }' >> "$work/pair"
done | awk 'BEGIN { print "bare loop s, one thread s (user), two threads s, two processes s" } { print }'
echo "$points points of $events events: $(median < "$work/bare") times the bare loop (aim: at most 20)"
echo "two threads do $(median < "$work/pair") of what two processes do (aim: at least 0.95)"
