#!/usr/bin/env bash
# Sets the machine up, builds everything and runs every test; arguments go to ctest.  Then, without arguments, the short
# sanitised_test with address, undefined-behaviour and thread sanitisers.
set -euo pipefail

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
./setup.sh --require-plots --browser --valgrind --formatters --build
status=0
ctest --preset release --parallel "$(nproc)" --timeout 1800 "$@" || status=$?
if (($#)); then exit "$status"; fi
for preset in debug tsan; do
  cmake --preset "$preset" >"build/$preset.log"
  cmake --build --preset "$preset" --target sanitised_test --parallel "$(nproc)" >>"build/$preset.log" ||
    { tail -n 40 "build/$preset.log" && status=1 && continue; }
  echo "sanitised_test, preset $preset:"
  left_out=none
  if [[ $preset == tsan ]]; then left_out="blocks: *"; fi # each of one thread
  "build/$preset/tests/sanitised_test" --test-case-exclude="$left_out" || status=$?
done
exit "$status"
