"""Whether clang-format and ruff, of the versions in tests/requirements.txt, would change a source."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FORMATTERS = ROOT / "build/formatters/bin"


def sources(*patterns):
    """Files of the project: what git knows and does not ignore."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in names.splitlines() if (ROOT / name).is_file()]


def is_formatted(program, *words):
    return subprocess.run([FORMATTERS / program, *words], cwd=ROOT).returncode == 0


def main():
    if not (FORMATTERS / "ruff").exists():
        print("skipped: no formatters; ./setup.sh --formatters installs them")
        return 77
    cpp = sources("*.cpp", "*.h", "*.cu", "*.cuh")
    python = sources("*.py")
    assert len(cpp) > 300 and len(python) > 100, "sources are not found"
    found = [
        is_formatted("clang-format", "--dry-run", "-Werror", *cpp),
        is_formatted("ruff", "format", "--check", "--quiet", *python),
    ]
    if not all(found):
        print("build/formatters/bin/clang-format -i FILE..., build/formatters/bin/ruff format")
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
