"""Lets libFuzzer look for inputs that reach code that no other input reaches, and keeps the fewest that
reach it all: guide.py [--minutes N] [--targets NAME...] [--jobs N].

Builds the preset fuzzer (clang), spends N minutes on each target, starting from its seeds and corpus,
and writes corpus/TARGET.txt anew.  Ends with 1 at a fault, whose input is then in the project's folder.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILT = ROOT / "build/fuzzer/tests/fuzz"
READERS = ["json", "scenario", "csv", "libsvm", "idx", "digits", "cifar10", "trace", "events"]
LIMITS = ["-max_len=20000", "-timeout=60", "-rss_limit_mb=0"]


def escaped(content):
    return "".join(chr(b) if 32 <= b < 127 and b != 92 else "\\\\" if b == 92 else f"\\x{b:02x}" for b in content)


def libfuzzer(target, *words):
    words = [BUILT / "guided_fuzz", f"-artifact_prefix={ROOT}/fuzz-{target}-", *LIMITS, *words]
    return subprocess.run(words, cwd=ROOT, env=os.environ | {"GRADRACE_FUZZ": target}, capture_output=True, text=True)


def guide(target, minutes):
    """Whether there was no fault."""
    with tempfile.TemporaryDirectory() as held:
        given, found, kept = (pathlib.Path(held) / name for name in ("given", "found", "kept"))
        for folder in (given, found, kept):
            folder.mkdir()
        subprocess.run([BUILT / "fuzz", target, "--write", given], cwd=ROOT, check=True)
        done = libfuzzer(target, f"-max_total_time={60 * minutes}", found, given)
        if done.returncode == 0:
            done = libfuzzer(target, "-set_cover_merge=1", "-use_counters=0", kept, given, found)
        if done.returncode != 0:
            print(f"{target}: {done.stderr[-2000:]}", file=sys.stderr)
            return False
        inputs = sorted((path.read_bytes() for path in kept.iterdir()), key=lambda content: (len(content), content))
        (HERE / "corpus").mkdir(exist_ok=True)
        (HERE / f"corpus/{target}.txt").write_text("".join(escaped(content) + "\n" for content in inputs))
        print(f"{target}: {len(inputs)} inputs", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="of each target")
    parser.add_argument("--targets", nargs="+", choices=READERS, default=READERS)
    parser.add_argument("--jobs", type=int, default=1, help="targets at once")
    options = parser.parse_args()
    for words in (["--preset", "fuzzer"], ["--build", "--preset", "fuzzer", "-j", "2"]):
        subprocess.run(["cmake", *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with ThreadPoolExecutor(options.jobs) as pool:
        return 0 if all(list(pool.map(lambda target: guide(target, options.minutes), options.targets))) else 1


if __name__ == "__main__":
    sys.exit(main())
