#!/usr/bin/env bash
# Makes bare Debian 12 and Ubuntu 24.04 in build/roots/, in which tests/packaging/ tries the packages.  As root; takes minutes.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

make_root() { # make_root SUITE MIRROR
  local script=/usr/share/debootstrap/scripts/$1
  if [[ -e build/roots/$1/bin ]]; then return 0; fi
  if [[ ! -e $script ]]; then ln -s gutsy "$script"; fi # what debootstrap has for every Ubuntu
  rm -rf "build/roots/$1.part"
  # Without the keys of the other distribution nothing can be checked; what is made is for tests alone.
  debootstrap --variant=minbase --no-check-gpg "$1" "build/roots/$1.part" "$2"
  mv "build/roots/$1.part" "build/roots/$1"
}

if ((EUID != 0)); then
  echo "make_roots.sh: needs root" >&2
  exit 1
fi
command -v debootstrap >/dev/null || apt-get install -y --no-install-recommends debootstrap
mkdir -p build/roots
make_root bookworm http://deb.debian.org/debian
make_root noble http://archive.ubuntu.com/ubuntu
