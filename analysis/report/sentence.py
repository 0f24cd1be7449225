"""Says what the report of an output folder says first, below a line with the numbers of the points
that this names: sentence.py DIR. It imports as little as it can, and ends after a second of
processor time or two, beside what imports took."""

import math
import resource
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])

from report.answer import named_points, sentence, verdicts
from report.case import cases, names_of
from report.text import plain
from results import OF_EDITED_FILES, ResultsError, read_folder

MOST_TOLD = 3
MOST_SECONDS = 1


def sentences(folder):
    """The points that are named, and the first sentence of each of the folder's circumstances, of
    many the first ones."""
    found = cases(folder)
    names = names_of(found) if len(found) > 1 else [""]
    points, lines = [], []
    for case, name in list(zip(found, names))[:MOST_TOLD]:
        told = verdicts(case)
        points += named_points(told)
        text = plain(sentence(case, told))
        lines.append(f"{name}: {text}" if name else text)
    lines.insert(0, " ".join(map(str, points)))
    more = len(found) - MOST_TOLD
    return [*lines, f"and under {more} more circumstances"] if more > 0 else lines


def main(path):
    most = math.ceil(time.process_time()) + MOST_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    try:
        print("\n".join(sentences(read_folder(Path(path)))))
    except (ResultsError, OSError, *OF_EDITED_FILES):  # gradrace report says what is wrong
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
