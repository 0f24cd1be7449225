"""What clang-tidy finds in the program's sources with the list of .clang-tidy: tidy.py [--jobs N] [TEXT...].

With TEXTs, in sources whose path has one of them.  Configures build/tidy, where every source is a
command of its own without precompiled headers; nothing is compiled.  Some 40 minutes on one core for all
sources.  Prints each finding once, and ends with 1 where there is one.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/tidy"
FOLDERS = ("analysis", "compression", "distributions", "models", "protocols", "sim")
OPTIONS = ["CMAKE_CXX_COMPILER=clang++", "CMAKE_BUILD_TYPE=Release", "CMAKE_EXPORT_COMPILE_COMMANDS=ON", "CMAKE_DISABLE_PRECOMPILE_HEADERS=ON"]
OPTIONS += ["GRADRACE_UNITY=OFF", "GRADRACE_CUDA=OFF"]


def sources(texts):
    words = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", BUILD, *(f"-D{option}" for option in OPTIONS)]
    generated = ["cmake", "--build", BUILD, "--target", "gradrace_version"]
    for command in (words, generated):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    paths = {pathlib.Path(command["file"]).relative_to(ROOT).as_posix() for command in commands}
    return sorted(p for p in paths if p.split("/")[0] in FOLDERS and (not texts or any(t in p for t in texts)))


def look_at(source):
    done = subprocess.run(["clang-tidy", "--quiet", "-p", BUILD, source], cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("texts", nargs="*", metavar="TEXT")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    words = parser.parse_args()
    found = set()
    paths = sources(words.texts)
    with concurrent.futures.ThreadPoolExecutor(words.jobs) as pool:
        for number, (status, out, errors) in enumerate(pool.map(look_at, paths), start=1):
            print(f"\r{number} of {len(paths)} sources", end="", file=sys.stderr, flush=True)
            if status != 0 and not out:
                sys.exit(f"\nclang-tidy: {paths[number - 1]}: {errors}")
            for line in out.splitlines():
                if (": error:" in line or ": warning:" in line) and line not in found:
                    found.add(line)
                    print(f"\r{line}", flush=True)
    print(f"\n{len(paths)} sources, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
