#!/usr/bin/env bash
# From `pip install` of build/wheel's wheel in an empty environment to the first plotted answer, and how long that takes: with each
# Python that is named, and as root in the roots that packaging/make_roots.sh python made.  By hand: it needs a package index.
#   tests/packaging/wheel_in_roots.sh [PYTHON]...
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

wheels=(build/wheel/gradrace-*.whl)
[[ -e ${wheels[0]} ]] || packaging/make_wheel.py
wheel=$(readlink -f build/wheel/gradrace-*.whl)

# try_it PYTHON WHEEL, in a folder of its own
read -r -d '' try_it <<'SCRIPT' || true
set -e
cd "$(mktemp -d /tmp/wheel.XXXXXX)"
begin=$(date +%s)
"$1" -m venv own
own/bin/pip install --quiet --disable-pip-version-check "$2"
installed=$(date +%s)
own/bin/gradrace run quickstart --plot >log 2>&1 || cat log
drawn=$(date +%s)
test -s out/quickstart/plots/error_time.png
own/bin/gradrace report out/quickstart
own/bin/pip check
own/bin/gradrace signature | tail -n 1
echo "$("$1" --version), $(ldd --version | head -n 1): installed after $((installed - begin)) s, the first plot after $((drawn - begin)) s"
rm -rf "$PWD"
SCRIPT

for python in "$@"; do sh -c "$try_it" sh "$python" "$wheel"; done
for root in build/roots/python/*/; do
  [[ -e $root/bin ]] || continue
  cp "$wheel" "$root/tmp"
  cp /etc/resolv.conf "$root/etc"
  cp "${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}" "$root/etc/ssl/certs/ca-certificates.crt"
  unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" /usr/bin/env PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_FIND_LINKS= \
    sh -c "$try_it" sh python3 "/tmp/${wheel##*/}"
done
