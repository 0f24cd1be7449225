"""Draws the figures of a paper from the output folders of its scenarios and judges its claims:
reproduce.py PAPER DIR writes DIR/index.html, DIR/claims.csv and DIR/figures/*.png;
1 if a claim fails that is not known to. --list PAPER... prints their titles; --index PAGE FOLDER... writes a page
that links theirs."""

import argparse
import re
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])

from reproduce.claims import FAIL, FITTED, PASS, SKIPPED, Claim, count, count_kinds, write_claims
from reproduce.known_failures import new_failures, read_known_failures, told
from reproduce.outputs import Missing, Outputs
from reproduce.paper import page_of, read_paper
from reproduce.table import WrongTable

# Where people get the data sets, by the name of their folder.
SOURCES = {
    "mnist": "MNIST's four IDX files, gzip or not, are at https://yann.lecun.com/exdb/mnist and its "
    "mirrors",
    "cifar10": "the binary version of CIFAR-10 is at https://www.cs.toronto.edu/~kriz/cifar.html",
    "digits": "optdigits.tra and optdigits.tes are at https://archive.ics.uci.edu/dataset/80",
    "libsvm": "the data sets of LIBSVM are at https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets",
}


@dataclass
class Judged:
    """What became of a paper."""

    figures: list = field(default_factory=list)
    claims: list = field(default_factory=list)
    missing: dict = field(default_factory=dict)  # {scenario or experiment: why it is left out}
    sources: dict = field(default_factory=dict)  # {figure: scenarios}
    figures_of: dict = field(default_factory=dict)  # {claim's id: figures}
    is_broken: bool = False  # an experiment could not be judged


def on_checklist(id, item, words, reason):
    return Claim(id, "checklist", words, "", "", reason, SKIPPED, item=item)


def left_out(paper, experiment, one, reason):
    """What it would judge, skipped: the claim of that id, or one on that item of the checklist."""
    if one in paper.about:
        return on_checklist(f"{one}.{experiment.__name__}", one, paper.about[one], reason)
    return paper.claim(one).skipped(reason)


def where_from(reason):
    """The reason, and where to get what is missing."""
    hints = [hint for name, hint in SOURCES.items() if re.search(rf'["/]{name}\b', reason)]
    return "; ".join([reason] + hints)


def judge_experiment(experiment, outputs, judged):
    """Adds its figures and claims; raises Missing."""
    outputs.asked = []
    drawn, found = experiment(outputs)
    names = [figure.name for figure in drawn]
    judged.sources |= {name: list(outputs.asked) for name in names}
    judged.figures_of |= {claim.id: names for claim in found}
    judged.figures += drawn
    judged.claims += found


def judge(paper, outputs):
    """All experiments of the Paper; one that fails does not lose the others."""
    judged = Judged()
    judged.missing = {name: where_from(reason) for name, reason in outputs.skipped.items()}
    for experiment, judges in paper.experiments:
        try:
            judge_experiment(experiment, outputs, judged)
            continue
        except Missing as missing:
            place, told = missing.scenario, where_from(str(missing))
        except Exception as error:
            traceback.print_exc()
            judged.is_broken = True
            place = experiment.__name__
            told = f"could not be judged: {type(error).__name__}: {error}"
        judged.missing[place] = told
        judged.claims += [left_out(paper, experiment, one, told) for one in judges]
    covered = {claim.item for claim in judged.claims}
    for item, words in paper.about.items():
        if item not in covered:
            judged.claims.append(on_checklist(item, item, words, "not yet part of reproduce"))
    checklist = list(paper.about)
    judged.claims.sort(key=lambda claim: checklist.index(claim.item))
    return judged


def reproduce(name, folder, quick):
    """Writes the paper's files; the exit status."""
    from reproduce.drawing import draw_figures  # --list should not wait for these
    from reproduce.origins import read_origins
    from reproduce.page import write_page

    paper, listed = read_paper(name), read_known_failures(name)
    judged = judge(paper, Outputs(folder))
    known = {
        one.id: listed[one.id] for one in judged.claims if one.verdict == FAIL and one.id in listed
    }
    command = f"gradrace reproduce {name}" + (" --quick" if quick else "")
    write_claims(judged.claims, folder / "claims.csv")
    draw_figures(judged.figures, folder / "figures")
    write_page(folder / "index.html", paper, judged, known, read_origins(folder), command, quick)
    for line in told(name, judged.claims, listed):
        print(line)
    counts = ", ".join(f"{n} {verdict}" for verdict, n in count(judged.claims).items())
    fitted = count_kinds(judged.claims, PASS)[FITTED]
    counts += f"; fitted to what they claim: {fitted} of those that pass" if fitted else ""
    print(f"claims of {name}: {counts}; of those that fail, {len(known)} are known failures")
    print(f"page: {folder / 'index.html'}")
    return exit_status(judged, listed)


def exit_status(judged, known):
    """1 if a claim fails that is not known to or an experiment could not be judged."""
    return 1 if new_failures(judged.claims, known) or judged.is_broken else 0


def print_titles(names):
    width = max(map(len, names))
    for name in names:
        print(f"  {name.ljust(width)}  {page_of(name)['title']}")


def main():
    parser = argparse.ArgumentParser(prog="reproduce.py", description=__doc__)
    parser.add_argument("words", metavar="PAPER|DIR", nargs="+")
    parser.add_argument("--quick", action="store_true", help="the folders are those of quick forms")
    parser.add_argument("--list", action="store_true", help="print the titles of papers")
    parser.add_argument("--index", action="store_true", help="write a page of several papers")
    arguments = parser.parse_args()
    first, *others = arguments.words
    if arguments.list:
        return print_titles(arguments.words)
    if arguments.index:
        from reproduce.overview import write_overview

        papers = {name: page_of(name.removesuffix("-quick")) for name in others}
        return write_overview(Path(first), papers)
    try:
        return reproduce(first, Path(*others), arguments.quick)
    except WrongTable as error:
        return f"reproduce: {error}"


if __name__ == "__main__":
    sys.exit(main())
