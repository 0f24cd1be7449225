#!/bin/sh
# What only a GPU can show, in the order in which it matters:
#
#   bench/gpu.sh conform OUT MNIST    versions; kernels conform, case by case; equal bits of 1 and 16 threads
#   bench/gpu.sh measure OUT MNIST    gradients a second of gradrace; roofs; a profile of two launches
#   bench/gpu.sh peers OUT MNIST      the same work in JAX and PyTorch
#   bench/gpu.sh sanitize OUT         the smallest case under compute-sanitizer
#   bench/gpu.sh reproduce OUT        dutta2018 in full with 100 replicas; says how long it took
#
# The first four are a first hour: some 6, 6, 8 and 5 minutes; `all` does one after the other.  MNIST is the
# folder mnist with its four files.
#
# Needs the release build (another one: GRADRACE_BUILD) and, for `measure` and `peers`, a python3 with
# PyTorch and JAX.  OUT/results.tgz has the log of every step, each of which has a limit; it is written
# anew after each.  A step that it says ended well for the same `gradrace --version` is left out.  `conform`
# and the rates of `measure` end with the first step that fails; exit 1 if any failed.
set -u
stage=${1:-} out=${2:-} mnist=${3:-}
root=$(cd "$(dirname "$0")/.." && pwd)
build=${GRADRACE_BUILD:-$root/build/release}
gradrace=$build/gradrace
tests=$build/tests/models/replay_test
status=0 go_on=

# NAME LIMIT COMMAND...: its output goes to NAME.log, the end of it to the terminal too; LIMIT is in seconds.
step() {
  name=$1 limit=$2
  shift 2
  if grep -qxF "$name $version" "$work/done"; then
    echo "== $name: done before"
    return
  fi
  begin=$(date +%s)
  timeout -k 5 "$limit" "$@" >"$work/$name.log" 2>&1
  code=$?
  case $code in
  0) told=ok && echo "$name $version" >>"$work/done" ;;
  124 | 137) told="FAILED, not done after $limit s" status=1 ;;
  *) told="FAILED with $code" status=1 ;;
  esac
  tail -n 15 "$work/$name.log"
  echo "== $name: $told, $(($(date +%s) - begin)) s" | tee -a "$work/steps.log"
  tar -czf "$out/.results.tgz" -C "$work" . && mv "$out/.results.tgz" "$out/results.tgz"
  [ "$code" = 0 ] || [ "$go_on" ] || exit 1
}

# NAME LIMIT MODEL OPTION...: a short run of bench/gpu/MODEL.json, its results in folder NAME.
short_run() {
  name=$1 limit=$2 model=$3
  shift 3
  step "$name" "$limit" "$gradrace" run "$root/bench/gpu/$model.json" --data "$(dirname "$mnist")" \
    --set stop.updates=50 --set record.every_updates=50 --force --out "$work/$name" "$@"
}

conform() {
  go_on=
  step libraries 20 ldd "$gradrace"
  step cases 20 "$tests" -ltc -tc='cuda:*'
  # A process each: after one fault on a GPU everything else in the process fails too.
  grep '^cuda:' "$work/cases.log" >"$work/cases"
  while read -r case <&3; do
    step "$(echo "$case" | tr -cs 'a-z0-9\n' -)" 200 "$tests" -d -tc="$case"
  done 3<"$work/cases"
  for model in softmax mlp cnn; do
    for jobs in 1 16; do
      short_run "$model-jobs-$jobs" 100 "$model" --device cuda --replicas 128 --jobs $jobs
    done
    step "$model-same-bits" 10 cmp "$work/$model-jobs-1/runs.csv" "$work/$model-jobs-16/runs.csv"
    short_run "$model-cpu" 100 "$model" --device cpu --replicas 4
  done
}

measure() {
  go_on=
  for model in softmax mlp cnn; do
    step "gradrace-$model" 200 python3 "$root/bench/gpu/rates.py" "$mnist" --gradrace "$gradrace" \
      --peers gradrace --models "$model"
  done
  go_on=1
  step roofs 60 python3 "$root/bench/gpu/roofs.py"
  step profile 200 ncu --set full --clock-control none -k regex:run_blocks -c 2 -f -o "$work/softmax" \
    "$gradrace" run "$root/bench/gpu/softmax.json" --device cuda --data "$(dirname "$mnist")" \
    --set stop.updates=50 --force --out "$work/profile"
}

peers() {
  go_on=1
  for peer in vmap graphs eager; do
    for model in softmax mlp cnn; do
      step "$peer-$model" 150 python3 "$root/bench/gpu/rates.py" "$mnist" --peers "$peer" --models "$model"
    done
  done
}

sanitize() {
  go_on=1
  for tool in memcheck initcheck synccheck racecheck; do
    step $tool 150 compute-sanitizer --tool $tool --error-exitcode 9 --kernel-name kernel_substring=run_blocks \
      "$tests" -tc='cuda: one gradient of each kind'
  done
}

reproduce() {
  step reproduce 550 "$gradrace" reproduce dutta2018 --device cuda --replicas 100 --force --out "$work/dutta2018"
}

case $stage:$out:$mnist in
all:?*:?* | conform:?*:?* | measure:?*:?* | peers:?*:?* | sanitize:?*:* | reproduce:?*:*) ;;
*) sed -n '2,17p' "$0" && exit 2 ;;
esac
version=$("$gradrace" --version) || { echo "gpu.sh: no gradrace in $build: build it, or set GRADRACE_BUILD" >&2 && exit 1; }
mkdir -p "$out" && work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
[ ! -f "$out/results.tgz" ] || tar -xzf "$out/results.tgz" -C "$work" || exit 1
touch "$work/done"
echo "== $stage of $version, $(date -u +%FT%TZ)" | tee -a "$work/steps.log"
step "machine-$(date +%s)" 20 nvidia-smi \
  --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,memory.total --format=csv
if [ "$stage" = all ]; then conform; measure; peers; sanitize; else "$stage"; fi
exit $status
