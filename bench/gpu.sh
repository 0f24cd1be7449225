#!/bin/sh
# What only a GPU can show, in the order in which it matters:
#
#   bench/gpu.sh conform OUT            conformance of the kernels, then under compute-sanitizer
#   bench/gpu.sh measure OUT MNIST      gradients a second, beside PyTorch, JAX and the machine's roofs
#   bench/gpu.sh reproduce OUT          dutta2018 in full with 100 replicas
#
# Needs the release build, and for `measure` a python3 with PyTorch and JAX.  Logs go to OUT.
set -u
stage=${1:-} out=${2:-}
root=$(cd "$(dirname "$0")/.." && pwd)
gradrace=$root/build/release/gradrace
tests=$root/build/release/tests/models/replay_test
case $stage:$out in
conform:?* | measure:?* | reproduce:?*) mkdir -p "$out" ;;
*) sed -n '2,8p' "$0" && exit 2 ;;
esac
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,memory.total --format=csv | tee "$out/machine.csv"

case $stage in
conform)
  "$tests" -tc='cuda:*' -d 2>&1 | tee "$out/conform.log"
  for tool in memcheck racecheck; do
    timeout 240 compute-sanitizer --tool $tool --error-exitcode 9 "$tests" -tc='cuda:*' 2>&1 | tee "$out/$tool.log" | tail -5
  done
  ;;
measure)
  mnist=$3
  python3 "$root/bench/peers/roofs.py" 2>&1 | tee "$out/roofs.log"
  for model in softmax mlp; do
    for repeat in 1 2 3; do
      "$gradrace" run "$root/bench/peers/$model.json" --device cuda --data "$(dirname "$mnist")" --force --out "$out/$model" |
        tee -a "$out/gradrace.log"
    done
  done
  python3 "$root/bench/peers/peers.py" "$mnist" 2>&1 | tee "$out/peers.csv"
  ;;
reproduce)
  time "$gradrace" reproduce dutta2018 --device cuda --set replicas=100 --force --out "$out/dutta2018" 2>&1 | tee "$out/reproduce.log"
  ;;
esac
