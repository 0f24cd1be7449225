#!/bin/sh
# What only a GPU can show, in the order in which it matters:
#
#   bench/gpu.sh conform OUT          conformance of the kernels, then under compute-sanitizer
#   bench/gpu.sh measure OUT MNIST    gradients a second, beside PyTorch, JAX and the machine's roofs
#   bench/gpu.sh reproduce OUT        dutta2018 in full with 100 replicas; says how long it took
#
# Needs the release build, and for `measure` a python3 with PyTorch and JAX.  Logs go to OUT; exits with
# 1 if anything failed.
set -u
stage=${1:-} out=${2:-} mnist=${3:-}
root=$(cd "$(dirname "$0")/.." && pwd)
gradrace=$root/build/release/gradrace
tests=$root/build/release/tests/models/replay_test
status=0

# NAME COMMAND...: its output goes to OUT/NAME.log, the end of it to the terminal too.
log() {
  name=$1
  shift
  if "$@" >"$out/$name.log" 2>&1; then told=ok; else told="FAILED with $?" status=1; fi
  tail -n 15 "$out/$name.log"
  echo "== $name: $told"
}

case $stage:$out:$mnist in
conform:?*: | reproduce:?*: | measure:?*:?*) mkdir -p "$out" ;;
*) sed -n '2,9p' "$0" && exit 2 ;;
esac
log machine nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,memory.total --format=csv

case $stage in
conform)
  log conform "$tests" -tc='cuda:*' -d
  for tool in memcheck racecheck synccheck initcheck; do
    log $tool timeout 100 compute-sanitizer --tool $tool --error-exitcode 9 "$tests" -tc='cuda: gradients*'
  done
  ;;
measure)
  log roofs python3 "$root/bench/peers/roofs.py"
  for model in softmax mlp cnn; do
    for repeat in 1 2 3; do
      log "$model-$repeat" "$gradrace" run "$root/bench/peers/$model.json" --device cuda \
        --data "$(dirname "$mnist")" --force --out "$out/$model"
    done
  done
  log peers python3 "$root/bench/peers/peers.py" "$mnist"
  ;;
reproduce)
  log reproduce "$gradrace" reproduce dutta2018 --device cuda --replicas 100 --force --out "$out/dutta2018"
  ;;
esac
exit $status
