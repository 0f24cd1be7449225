#!/bin/sh
# What only a GPU can show, in the order in which it matters:
#
#   bench/gpu.sh conform OUT MNIST    versions; kernels conform, case by case; equal bits of 1 and 16 threads
#   bench/gpu.sh measure OUT MNIST    gradients a second of gradrace; roofs
#   bench/gpu.sh peers OUT MNIST      the same work in JAX and PyTorch, where they are installed
#   bench/gpu.sh profile OUT MNIST    profiles of kernels for Nsight Compute
#   bench/gpu.sh sanitize OUT         the three smallest cases under compute-sanitizer
#   bench/gpu.sh table OUT            the rates so far, as bench/results/h200.csv has them
#   bench/gpu.sh reproduce OUT        dutta2018 in full with 100 replicas; says how long it took
#
# `all` does the first six one after the other, planned for ten minutes of a GPU: 30 s, 90 s, 95 s, 60 s,
# 2 minutes.  MNIST is the folder mnist with its four files.
#
# Needs the release build (another one: GRADRACE_BUILD) and, for rates and peers, a python3 with numpy,
# PyTorch and JAX.  OUT/results.tgz has the log of every step, each of which has a limit; it is written
# anew after each.  A step that it says ended well for the same `gradrace --version` is left out.  `conform`
# and the rates of `measure` end with the first step that fails; exit 1 if any failed.
set -u
stage=${1:-} out=${2:-} mnist=${3:-}
root=$(cd "$(dirname "$0")/.." && pwd)
build=${GRADRACE_BUILD:-$root/build/release}
gradrace=$build/gradrace
tests=$build/tests/models/replay_test
rates=$root/bench/gpu/rates.py
status=0 go_on= begun=

# NAME LIMIT COMMAND...: begins it beside the others that were begun; its output goes to NAME.log; LIMIT
# is in seconds.
begin() {
  name=$1 limit=$2
  shift 2
  if grep -qxF "$name $version" "$work/done"; then
    echo "== $name: done before"
    return
  fi
  begun="$begun $name"
  {
    from=$(date +%s)
    timeout -k 5 "$limit" "$@" >"$work/$name.log" 2>&1
    echo "$? $limit $(($(date +%s) - from))" >"$work/.$name"
  } &
}

# Waits for those that were begun and tells of each, with the end of its output.
finish() {
  wait
  failed=
  for name in $begun; do
    read -r code limit seconds <"$work/.$name"
    rm "$work/.$name"
    case $code in
    0) told=ok && echo "$name $version" >>"$work/done" ;;
    124 | 137) told="FAILED, not done after $limit s" failed=1 ;;
    *) told="FAILED with $code" failed=1 ;;
    esac
    tail -n 15 "$work/$name.log"
    echo "== $name: $told, $seconds s" | tee -a "$work/steps.log"
  done
  begun=
  tar -czf "$out/.results.tgz" -C "$work" . && mv "$out/.results.tgz" "$out/results.tgz"
  [ ! "$failed" ] || status=1
  [ ! "$failed" ] || [ "$go_on" ] || exit 1
}

step() {
  begin "$@"
  finish
}

# NAME LIMIT MODEL OPTION...: a short run of bench/gpu/MODEL.json, its results in folder NAME.
short_run() {
  name=$1 limit=$2 model=$3
  shift 3
  begin "$name" "$limit" "$gradrace" run "$root/bench/gpu/$model.json" --data "$(dirname "$mnist")" \
    --set stop.updates=50 --set record.every_updates=50 --force --out "$work/$name" "$@"
}

conform() {
  go_on=
  step libraries 20 ldd "$gradrace"
  step cases 20 "$tests" -ltc -tc='cuda:*'
  # A process each: after one fault on a GPU everything else in the process fails too.
  grep '^cuda:' "$work/cases.log" >"$work/cases"
  while read -r case <&3; do
    begin "$(echo "$case" | tr -cs 'a-z0-9\n' -)" 60 env GRADRACE_LONG=1 "$tests" -d -tc="$(echo "$case" | sed 's/,/\\,/g')"
  done 3<"$work/cases"
  finish
  for model in softmax mlp lenet; do
    for jobs in 1 16; do
      short_run "$model-jobs-$jobs" 60 "$model" --device cuda --replicas 128 --jobs $jobs
    done
    short_run "$model-cpu" 60 "$model" --device cpu --replicas 4
  done
  finish
  for model in softmax mlp lenet; do
    step "$model-same-bits" 10 cmp "$work/$model-jobs-1/runs.csv" "$work/$model-jobs-16/runs.csv"
  done
}

measure() {
  go_on=
  for model in softmax mlp lenet cnn_32_64 resnet20 resnet32; do
    step "gradrace-$model" 100 python3 "$rates" "$mnist" --gradrace "$gradrace" --peers gradrace --models $model
  done
  go_on=1
  for rule in momentum adam; do
    for model in softmax mlp; do
      step "gradrace-$model-$rule" 100 python3 "$rates" "$mnist" --gradrace "$gradrace" --peers gradrace \
        --models $model --rule $rule
    done
  done
  step gradrace-mlp-averages 100 python3 "$rates" "$mnist" --gradrace "$gradrace" --peers gradrace \
    --models mlp --rule averages
  step roofs 60 python3 "$root/bench/gpu/roofs.py"
}

peers() {
  go_on=1
  for peer in vmap:jax graphs:torch; do
    if ! python3 -c "import ${peer#*:}" >/dev/null 2>&1; then
      echo "== ${peer%:*}: there is no ${peer#*:}"
      continue
    fi
    models="softmax mlp lenet"
    [ $peer != graphs:torch ] || models="$models cnn_32_64 resnet20 resnet32"
    for model in $models; do
      step "${peer%:*}-$model" 60 python3 "$rates" "$mnist" --peers "${peer%:*}" --models $model
    done
  done
}

# NAME MODEL KERNELS COUNT SECTIONS: of the COUNT first launches of kernels whose demangled names have KERNELS.
profiled() {
  step "profile-$1" 60 env GRADRACE_CUDA_GRAPHS=0 ncu --set "$5" --clock-control none \
    --kernel-name-base demangled -k "regex:$3" -c "$4" -f -o "$work/$1" "$gradrace" run "$root/bench/gpu/$2.json" \
    --device cuda --data "$(dirname "$mnist")" --set stop.updates=50 --set record.every_updates=50 --force \
    --out "$work/profiled-$1"
}

profile() {
  go_on=1
  profiled softmax softmax Replay 2 full
  profiled mlp mlp Replay 2 full
  profiled lenet lenet Kernel 40 basic
  profiled resnet20 resnet20 Kernel 150 basic
}

sanitize() {
  go_on=1
  for tool in memcheck racecheck; do
    for case in "a quadratic moves by every rule" "one gradient of each kind" \
      "gradients by three products of TF32 conform"; do
      begin "$tool-$(echo "$case" | tr ' ' -)" 120 compute-sanitizer --tool $tool --error-exitcode 9 \
        --kernel-name kernel_substring=run_blocks "$tests" -tc="cuda: $case"
    done
  done
  finish
}

table() {
  go_on=1
  python3 "$root/bench/gpu/table.py" "$work" | tee "$work/table.md"
  finish
}

reproduce() {
  step reproduce 550 "$gradrace" reproduce dutta2018 --device cuda --replicas 100 --force --out "$work/dutta2018"
}

case $stage:$out:$mnist in
all:?*:?* | conform:?*:?* | measure:?*:?* | peers:?*:?* | profile:?*:?*) ;;
sanitize:?*:* | table:?*:* | reproduce:?*:*) ;;
*) sed -n '2,18p' "$0" && exit 2 ;;
esac
version=$("$gradrace" --version) || { echo "gpu.sh: no gradrace in $build: build it, or set GRADRACE_BUILD" >&2 && exit 1; }
mkdir -p "$out" && work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
[ ! -f "$out/results.tgz" ] || tar -xzf "$out/results.tgz" -C "$work" || exit 1
touch "$work/done"
echo "== $stage of $version, $(date -u +%FT%TZ)" | tee -a "$work/steps.log"
if [ "$stage" != table ]; then
  step "machine-$(date +%s)" 20 nvidia-smi \
    --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,memory.total --format=csv
fi
if [ "$stage" = all ]; then
  for each in conform measure peers profile sanitize table; do $each; done
else
  "$stage"
fi
exit $status
