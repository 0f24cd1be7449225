#!/usr/bin/env bash
# Sets the machine up, builds everything and runs every test; arguments go to ctest.
set -euo pipefail

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
./setup.sh --require-plots --browser --build
exec ctest --preset release --parallel "$(nproc)" "$@"
