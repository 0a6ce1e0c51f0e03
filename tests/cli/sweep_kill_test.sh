#!/bin/sh
# A sweep of the simulated box, killed with SIGKILL at 20 random moments, gives after resuming the table of an
# undisturbed one, byte for byte; so does the same sweep in three shards. usage: sweep_kill_test.sh SPILLWAY SOURCE_DIR
set -eu
spillway=$1
experiment=$2/experiments/sweep.toml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sweep() { "$spillway" simulate "$experiment" --repeat 4 --records no --no-plot --threads 2 --out "$@" > "$work/log" 2>&1; }

sweep "$work/undisturbed"
kills=0
for _ in $(seq 20); do
  # exec: the process that is killed is the program and not a shell around it.
  (exec "$spillway" simulate "$experiment" --repeat 4 --records no --no-plot --threads 2 --out "$work/killed" > /dev/null 2>&1) &
  victim=$!
  sleep "0.$(shuf -i 10-60 -n 1)"
  kill -9 "$victim" 2> /dev/null && kills=$((kills + 1))
  wait "$victim" 2> /dev/null || true
done
sweep "$work/killed"
cmp "$work/undisturbed/sweep/table.csv" "$work/killed/sweep/table.csv"
for i in 1 2 3; do sweep "$work/sharded" --shard "$i/3"; done
"$spillway" merge "$work/sharded" --to "$work/merged.csv" > /dev/null
cmp "$work/undisturbed/sweep/table.csv" "$work/merged.csv"
echo "same table after $kills kills, and from 3 shards"
[ "$kills" -gt 0 ]
