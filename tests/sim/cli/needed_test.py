"""What the program needs of the machine that it runs on."""

import os
import re
import shutil
import subprocess
import sys

from program import PROGRAM

# glibc's parts; older ones have threads, dlopen and clocks in libraries of their own.
ALLOWED = ("libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64", "libpthread", "libdl", "librt")


def main():
    if os.environ.get("GRADRACE_STATIC") != "ON":
        print("skipped: no release build, or a library is not there to be linked in")
        return 77
    if shutil.which("readelf") is None:
        print("skipped: no readelf")
        return 77
    told = subprocess.run(["readelf", "-d", PROGRAM], check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*?)\]", told)
    others = [name for name in needed if name.split(".so")[0] not in ALLOWED]
    if not needed or others:
        print("needs", others or "nothing at all?", "of", needed)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
