#!/usr/bin/env bash
# Submits a sweep to Slurm: an array of shards, and a job that puts them together when all are done.
# The same call again goes on: runs that are finished are not made again.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/sweep.sh SCENARIO OUT SHARDS [sbatch options] [-- gradrace options]
  SHARDS  how many tasks, and with %M at most M at once: 40, 40%10
  scripts/sweep.sh sweep.json out/sweep 40 --partition=short --time=1:00:00 --cpus-per-task=4 \
    -- --replicas 100 --data /data
OUT and this checkout are on a file system that all nodes see.  Logs: OUT.log/.
USAGE
}

die() {
  printf 'sweep.sh: %s\n' "$*" >&2
  exit 2
}

if [[ ${1:-} == --help || ${1:-} == -h ]]; then
  usage
  exit
fi
if (($# < 3)); then
  usage >&2
  exit 2
fi
[[ $1 != -* ]] || set -- "./$1" "${@:2}" # no word begins as an option
[[ $2 != -* ]] || set -- "$1" "./$2" "${@:3}"
readonly scenario=$1 out=${2%/} array=$3
shift 3
[[ $array =~ ^([1-9][0-9]*)(%[1-9][0-9]*)?$ ]] ||
  die "SHARDS is a number such as 40, or 40%10 for at most 10 at once; got \"$array\""
readonly shards=${BASH_REMATCH[1]}
slurm_options=()
while (($#)) && [[ $1 != -- ]]; do
  slurm_options+=("$1")
  shift
done
[[ ${1:-} != -- ]] || shift
command -v sbatch >/dev/null ||
  die "there is no sbatch here; call this where jobs are submitted, or see scripts/README.md"

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
program=$here/../build/release/gradrace
[[ -e $program ]] || program=$here/../../../bin/gradrace
export GRADRACE_PROGRAM=${GRADRACE_PROGRAM:-$program}
# The first shard's script finds what is wrong before anything is submitted, and says what it takes.
SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=$shards \
  SLURM_ARRAY_TASK_COUNT=$shards bash "$here/sweep.sbatch" "$scenario" "$out" "$@" --dry-run

mkdir -p "$out.log"
submit() { # submit LOG OPTION... SCRIPT ARGUMENT...: prints the job's number
  local log=$1 number
  shift
  number=$(sbatch --parsable --export=ALL --output="${out//%/%%}.log/$log.log" \
    "${slurm_options[@]}" "$@") || return
  [[ -n $number ]] || return
  echo "${number%%;*}"
}
job=$(submit shard-%a --array="1-$array" "$here/sweep.sbatch" "$scenario" "$out" "$@") ||
  die "sbatch does not take the array; nothing is submitted"
collect=$(submit collect --dependency="afterok:$job" --kill-on-invalid-dep=yes \
  "$here/collect.sbatch" "$out") ||
  die "the array is job $job, but collect could not be submitted;" \
    "when it is done: $GRADRACE_PROGRAM collect $out"
echo "submitted: array job $job ($shards shards), then collect, job $collect; logs: $out.log/"
echo "where a shard fails collect is dropped; the same call again goes on"
