"""The command `gradrace`, and python -m gradrace: the program, whose plots and pages this Python makes."""

import os
import sys

from gradrace.calls import GradraceError, program


def main():
    os.environ.setdefault("GRADRACE_PYTHON", sys.executable)
    try:
        path = program()
        if os.path.realpath(path) == os.path.realpath(sys.argv[0]):
            raise GradraceError("the package is without its program; GRADRACE_PROGRAM may name one")
        os.execv(path, [path, *sys.argv[1:]])
    except (GradraceError, OSError) as problem:
        sys.exit(f"gradrace: {problem}")


if __name__ == "__main__":
    main()
