#!/usr/bin/env bash
# Sets the machine up, builds everything and runs every test; arguments go to ctest.  Beside them, without arguments, the
# short sanitised_test with address and undefined-behaviour sanitisers; with GRADRACE_LONG=1 with the thread sanitiser too,
# and the benchmarks are built.
set -euo pipefail

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
./setup.sh --require-plots --browser --valgrind --formatters --build
echo "test.sh: built after $SECONDS s"

sanitised() { # sanitised PRESET ARGUMENT...: its test, which has one thread but where it tests more
  local preset=$1
  shift
  "build/$preset/tests/sanitised_test" "$@" >"build/$preset.told" 2>&1 || { tail -n 60 "build/$preset.told" && return 1; }
  echo "sanitised_test, preset $preset: passed, after $SECONDS s"
}
status=0
running=
presets=
if ((!$#)); then presets=debug; fi
if ((!$#)) && [[ -n ${GRADRACE_LONG:-} ]]; then
  presets="debug tsan"
  cmake --build --preset release --target gradrace_bench --parallel "$(nproc)" >build/bench.log || { tail -n 40 build/bench.log && status=1; }
fi
for preset in $presets; do # each is run beside what follows
  cmake --preset "$preset" >"build/$preset.log"
  cmake --build --preset "$preset" --target sanitised_test --parallel "$(nproc)" >>"build/$preset.log" ||
    { tail -n 40 "build/$preset.log" && status=1 && continue; }
  left_out=none
  if [[ $preset == tsan ]]; then
    left_out="blocks: *" # each of one thread
  elif [[ $presets == debug ]]; then
    left_out="*million random changes*,blocks: a product has equal bits*,blocks: products of dense*" # a minute; others reach their code
  fi
  sanitised "$preset" --test-case-exclude="$left_out" &
  running="$running $!"
done
ctest --preset release --parallel "$(nproc)" --timeout 1800 "$@" || status=$?
echo "test.sh: tests ended after $SECONDS s"
for process in $running; do wait "$process" || status=$?; done
exit "$status"
