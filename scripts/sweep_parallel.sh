#!/usr/bin/env bash
# A sweep by GNU parallel: a shard for each core at a time, on this machine or on those that share
# its folders.  The same call again goes on: runs that are finished are not made again.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/sweep_parallel.sh SCENARIO OUT SHARDS [gradrace options]
Options of parallel are in the variable PARALLEL:
  scripts/sweep_parallel.sh sweep.json out/sweep 40
  PARALLEL='--sshlogin 8/node1,8/node2 --joblog sweep.jobs' \
    scripts/sweep_parallel.sh sweep.json out/sweep 40 --replicas 100 --data /data
SHARDS is best some times the number of cores.  GRADRACE_PROGRAM names the program, if it is not
build/release/gradrace beside these scripts or bin/gradrace of an installation.
USAGE
}

if (($# < 3)) || [[ $1 == --* || ! $3 =~ ^[1-9][0-9]*$ ]]; then
  usage >&2
  exit 2
fi
[[ $1 != -* ]] || set -- "./$1" "${@:2}" # no word begins as an option
[[ $2 != -* ]] || set -- "$1" "./$2" "${@:3}"
readonly scenario=$1 out=$2 shards=$3
shift 3
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
program=$here/../build/release/gradrace
[[ -e $program ]] || program=$here/../../../bin/gradrace
readonly program=${GRADRACE_PROGRAM:-$program}

# Whole command lines: parallel replaces {} and the like in a command that it is given.
for shard in $(seq "$shards"); do
  printf '%q ' "$program" run "$scenario" --out "$out" --shard "$shard/$shards" --jobs 1 "$@"
  echo
done | PARALLEL_SHELL=$BASH parallel --workdir "$PWD"
"$program" collect "$out"
