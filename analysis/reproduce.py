"""Draws the figures of a paper from the output folders of its scenarios and judges its claims:
reproduce.py PAPER DIR writes DIR/index.html and DIR/claims.csv; 1 if a claim fails."""

import argparse
import importlib
import sys
from pathlib import Path

sys.dont_write_bytecode = True

from claims import FAIL, count, skipped, write_claims
from outputs import Missing, Outputs
from page import write_page

# Where people get the data sets, by the name of their folder.
SOURCES = {
    "mnist": "MNIST's four IDX files, gzip or not, are at https://yann.lecun.com/exdb/mnist and its "
    "mirrors",
    "cifar10": "the binary version of CIFAR-10 is at https://www.cs.toronto.edu/~kriz/cifar.html",
}


def item_of(claim):
    """The number of the checklist item."""
    return int(claim.id.split(".")[0])


def where_from(reason):
    """The reason, and where to get what is missing."""
    return "; ".join([reason] + [hint for name, hint in SOURCES.items() if f'"{name}"' in reason])


def judge(paper, outputs):
    """Figures, claims and what is left out of all experiments of the paper."""
    figures, claims, missing, reasons = [], [], [], {}
    for experiment, items in paper.EXPERIMENTS:
        try:
            drawn, judged = experiment(outputs)
        except Missing as reason:
            told = where_from(str(reason))
            missing.append(f"{experiment.__name__}: {told}")
            reasons |= {item: told for item in items}
            continue
        figures += drawn
        claims += judged
    covered = {item_of(claim) for claim in claims}
    for item in set(paper.ABOUT) - covered:
        reason = reasons.get(item, "not yet part of reproduce")
        claims.append(skipped(str(item), "checklist", paper.ABOUT[item], reason))
    return figures, sorted(claims, key=item_of), missing


def main():
    parser = argparse.ArgumentParser(prog="reproduce.py", description=__doc__)
    parser.add_argument("paper", metavar="PAPER", help="a package of analysis/papers")
    parser.add_argument("folder", metavar="DIR", type=Path, help="holds the output folders")
    parser.add_argument("--quick", action="store_true", help="they are those of quick forms")
    arguments = parser.parse_args()
    paper = importlib.import_module(f"papers.{arguments.paper}")
    figures, claims, missing = judge(paper, Outputs(arguments.folder))
    words = "Quick form: few replicas, short runs." if arguments.quick else "Full form."
    write_page(
        arguments.folder / "index.html", paper.TITLE, [words, *paper.NOTES], figures, claims, missing
    )
    write_claims(claims, arguments.folder / "claims.csv")
    for claim in claims:
        if claim.verdict == FAIL:
            print(f"fails: {claim.id}: {claim.claim}: {claim.measured}, expected {claim.expected}")
    print("claims: " + ", ".join(f"{n} {name}" for name, n in count(claims).items()))
    print(f"page: {arguments.folder / 'index.html'}")
    return 1 if count(claims)[FAIL] else 0


if __name__ == "__main__":
    sys.exit(main())
