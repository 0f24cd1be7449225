"""An environment of the peers' own in build/peers: Python packages of exact versions, programs in C++."""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = ROOT / "build" / "peers"


class Unavailable(Exception):
    """Why a contestant cannot take part."""


def run(command, log, **more):
    """Runs it, its output to FOLDER/log; raises Unavailable with the first line of that which tells
    of an error, else the last."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / log
    try:
        with open(path, "w", encoding="utf-8") as file:
            subprocess.run(command, check=True, stdout=file, stderr=subprocess.STDOUT, **more)
    except (OSError, subprocess.CalledProcessError) as problem:
        said = path.read_text(errors="replace").strip().splitlines()
        last = said[-1] if said else str(problem)
        reason = next((line for line in said if "error:" in line.lower()), last)
        raise Unavailable(f"{reason} (see {path.relative_to(ROOT)})") from problem


def python_with(packages):
    """The environment's Python with the packages of requirements/NAME.txt; raises Unavailable."""
    wanted = HERE / "requirements" / f"{packages}.txt"
    python = FOLDER / "venv" / "bin" / "python"
    if not python.exists():
        run([sys.executable, "-m", "venv", FOLDER / "venv"], "venv.log")
    stamp = FOLDER / "venv" / f"{packages}.stamp"
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        print(f"installing {packages} into {FOLDER.relative_to(ROOT)}", file=sys.stderr)
        pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        run([*pip, "--retries", "1", "--only-binary", ":all:", "-r", wanted], f"{packages}.log")
        stamp.write_text(wanted.read_text())
    return python


def built(source, *options):
    """The program of a source in C++, made anew where the source is newer; raises Unavailable."""
    path, program = HERE / "timing" / f"{source}.cpp", FOLDER / source
    newest = max(file.stat().st_mtime for file in (path, path.with_name("commands.h")))
    if not program.exists() or program.stat().st_mtime < newest:
        compiler = [os.environ.get("CXX", "g++"), "-std=c++20", "-O3", "-march=native"]
        run([*compiler, path, *options, "-o", program], f"{source}.log")
    return program


def built_with_simgrid():
    """The system's SimGrid, else Debian's packages unpacked into FOLDER, which takes no root."""
    try:
        return built("simgrid_actors", "-lsimgrid")
    except Unavailable:
        pass
    packages = FOLDER / "simgrid"
    if not list(packages.glob("usr/include/simgrid/s4u.hpp")):
        unpack_simgrid(packages)
    libraries = next(packages.glob("usr/lib/*-linux-gnu"))
    paths = [
        f"-I{packages}/usr/include",
        f"-L{libraries}",
        f"-Wl,--disable-new-dtags,-rpath,{libraries}",
    ]
    return built("simgrid_actors", *paths, f"-Wl,-rpath-link,{libraries}", "-lsimgrid")


def unpack_simgrid(folder):
    print(f"unpacking SimGrid's packages into {folder.relative_to(ROOT)}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    ask = ["apt-get", "install", "--simulate", "--no-install-recommends"]
    run([*ask, "libsimgrid-dev"], "simgrid.log")
    names = re.findall(r"^Inst (\S+) ", (FOLDER / "simgrid.log").read_text(), re.MULTILINE)
    run(["apt-get", "download", *names], "simgrid.log", cwd=folder)
    for package in folder.glob("*.deb"):
        run(["dpkg", "-x", package, folder], "simgrid.log")
