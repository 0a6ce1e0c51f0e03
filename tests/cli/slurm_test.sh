#!/bin/sh
# A sweep as a Slurm array on a real Slurm of this one machine (slurm-wlm and munge, started here in a folder of their
# own, as root, and ended at the end): four shards, one of them killed and requeued in the middle, merged: byte for
# byte the table of an unsharded run. Exit 77 where Slurm is not installed or we are not root.
# usage: slurm_test.sh SPILLWAY SOURCE_DIR
set -eu
SPILLWAY=$1
source=$2
export SPILLWAY
need() { echo "skipped: $1" >&2; [ "${SPILLWAY_REQUIRE_BOX:-}" = 1 ] && exit 1; exit 77; }
[ "$(id -u)" = 0 ] || need "starting Slurm needs root"
for program in munged slurmctld slurmd sbatch; do
  command -v $program > /dev/null || need "$program is missing: apt-get install slurm-wlm munge"
done

work=$(mktemp -d /tmp/spillway-slurm.XXXXXX)
chmod 755 "$work"
daemons=
finish() {
  status=$?
  for daemon in $daemons; do kill "$daemon" 2> /dev/null || true; done
  for daemon in $daemons; do wait "$daemon" 2> /dev/null || true; done
  [ $status = 0 ] || tail -n 20 "$work"/*.log >&2 || true
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

mkdir -p "$work/state" "$work/spool" "$work/munge"
chmod 755 "$work/munge"
dd if=/dev/urandom of="$work/munge/key" bs=1 count=1024 2> /dev/null
chmod 400 "$work/munge/key"
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
  --seed-file="$work/munge/seed" --log-file="$work/munge.log" > "$work/munged.out.log" 2>&1 &
daemons="$!"

host=$(hostname -s)
SLURM_CONF=$work/slurm.conf
export SLURM_CONF
# Ports of our own, so that a Slurm that runs here already is not met.
cat > "$SLURM_CONF" <<EOF
ClusterName=single
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=46817
SlurmdPort=46818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CryptoType=crypto/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
JobRequeue=1
KillWait=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
EOF
slurmctld -D > "$work/slurmctld.out.log" 2>&1 &
daemons="$daemons $!"
slurmd -D > "$work/slurmd.out.log" 2>&1 &
daemons="$daemons $!"
tries=0
until sinfo -h -o %t 2> /dev/null | grep -q idle; do
  tries=$((tries + 1))
  [ $tries -lt 60 ] || { echo "Slurm did not come up" >&2; exit 1; }
  sleep 1
done

cd "$work"
experiment=$source/experiments/sweep.toml
"$SPILLWAY" simulate "$experiment" --repeat 8 --records no --no-plot --out "$work/whole" > "$work/whole.out.log" 2>&1
job=$(sbatch --parsable --array=1-4 "$source/scripts/sweep.sbatch" "$experiment" "$work/out" --repeat 8)
# Kill one task in the middle and put it back into the queue.
until [ -s "$work/out/sweep/table.1-of-4.log" ]; do sleep 0.1; done
scontrol requeue "${job}_1"
tries=0
while squeue -h -j "$job" 2> /dev/null | grep -q .; do
  # A requeued task waits before it is started again; this lifts the wait.
  scontrol update jobid="${job}_1" starttime=now 2> /dev/null || true
  tries=$((tries + 1))
  [ $tries -lt 300 ] || { squeue >&2; echo "the array did not end" >&2; exit 1; }
  sleep 1
done
grep -c . "$work"/spillway-*.log >&2 || true
"$SPILLWAY" merge "$work/out" --to "$work/merged.csv" > /dev/null
cmp "$work/whole/sweep/table.csv" "$work/merged.csv"
echo "array of 4 shards, one requeued: the table of an unsharded run ($(wc -l < merged.csv) lines)"
