#!/usr/bin/env bash
# Makes bare Debian 12 and Ubuntu 24.04 in build/roots/, in which tests/packaging/ tries the packages, and with the word python those
# and Ubuntu 22.04 with Python alone (build/roots/python/), in which wheel_in_roots.sh tries the wheel.  As root; takes minutes.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

readonly DEBIAN=http://deb.debian.org/debian UBUNTU=http://archive.ubuntu.com/ubuntu

make_root() { # make_root FOLDER SUITE MIRROR [OPTION]...
  local folder=build/roots/$1 suite=$2 mirror=$3
  local script=/usr/share/debootstrap/scripts/$suite
  shift 3
  if [[ -e $folder/bin ]]; then return 0; fi
  if [[ ! -e $script ]]; then ln -s gutsy "$script"; fi # what debootstrap has for every Ubuntu
  rm -rf "$folder.part"
  # Without the keys of the other distribution nothing can be checked; what is made is for tests alone.
  debootstrap --variant=minbase --no-check-gpg "$@" "$suite" "$folder.part" "$mirror"
  mv "$folder.part" "$folder"
}

if ((EUID != 0)); then
  echo "make_roots.sh: needs root" >&2
  exit 1
fi
command -v debootstrap >/dev/null || apt-get install -y --no-install-recommends debootstrap
mkdir -p build/roots/python
if [[ ${1:-} == python ]]; then
  with=("--components=main,universe" "--include=python3,python3-venv,ca-certificates")
  make_root python/jammy jammy "$UBUNTU" "${with[@]}"
  make_root python/noble noble "$UBUNTU" "${with[@]}"
  make_root python/bookworm bookworm "$DEBIAN" "${with[1]}"
else
  make_root bookworm bookworm "$DEBIAN"
  make_root noble noble "$UBUNTU"
fi
