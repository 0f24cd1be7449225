"""One self-contained HTML page of output folders: the question, the answer, what it rests on."""

import json
from pathlib import Path

import numpy as np
from pages.maker import svg, templates
from plots import style
from plots.measure import evaluation_interval
from report.answer import after_progress, sentence, verdicts
from report.case import Together, why_apart
from report.case import cases as cases_of
from report.case import names_of
from report.contest import CONFIDENCE, WRONG
from report.edges import edges
from report.figures import page_sizes, sections
from report.summary import MOST_CASES, outcomes, tallies
from report.tables import contest_table, points_table, theory_table
from report.text import plain
from report.why import reasons, what_costs
from results.folder import KEYS

TEMPLATES = templates(Path(__file__).parent)


def answer_of(case, name, found):
    """What the template says of a case, whose Verdicts are found."""
    return {
        "name": name,
        "where": case.where,
        "sentence": sentence(case, found),
        "verdicts": found,
        "rivals": found[0].rivals if found else [],
        "reasons": reasons(case, found),
        "costs": what_costs(case),
        "notes": edges(case),
        "replicas": case.replicas,
        "shares_random_numbers": case.shares_random_numbers,
        "times": times_text(case),
        "level": WRONG / (len(case.points) * max(1, len(case.measures))),
        "points": points_table(case),
        "contests": [
            (one.measure.name, contest_table(case, one.contest))
            for one in found
            if one.contest and one.contest.comparisons
        ],
        "theory": theory_table(case),
    }


def times_text(case):
    """What the answer's times are in, and how exactly those to targets are known."""
    unit = case.folder.time_unit or "the unit of the runtimes of the scenario"
    step = evaluation_interval(case.folder) if case.targets else 0
    text = f"Times are in {unit}"
    known = f"; those to targets are known up to the interval between evaluations, {step:.3g}"
    return f"{text}{known if step else ''}."


def shown_section(section):
    """What the template shows of a section: figures as elements."""
    figures = []
    for drawn in section.drawn:
        sizes = [size for size, _ in drawn.figures]
        if len(section.drawn) > 1 and "column" in sizes:
            sizes = ["column"]
        images = images_of(drawn, sizes, f"{section.title}: {drawn.of}")
        figures.append({"of": drawn.of, "table": drawn.table, "images": images})
    return {"name": section.name, "title": section.title, "note": section.note, "figures": figures}


def images_of(drawn, sizes, words):
    """The drawn figures of those sizes as elements."""
    kinds = {"page": "wide", "column": "both"} if len(sizes) == 1 else {}
    found = []
    for size, figure in drawn.figures:
        if size in sizes:
            with style.sized(size):
                element = svg(figure, f"{drawn.name}-{size}", words)
            found.append({"kind": kinds.get(size, size), "svg": element})
    return found


def ended_worse(folder):
    """How many runs did not diverge but ended with a greater test error, or else loss, than at
    their first evaluation."""
    curve = folder.evaluations
    known = [name for name in ("test_error", "loss") if name in curve and curve[name].notna().any()]
    if not known:
        return 0
    runs = curve.groupby(KEYS)[known[0]]
    worse = runs.last() > runs.first()
    status = folder.runs.set_index(KEYS)["status"]
    return int((worse & (status.reindex(worse.index) == "finished")).sum())


def notes(folder, is_changed=False):
    """What a reader should know of these runs; is_changed: since gradrace wrote their files, or these are
    half published."""
    found = [f"Interrupted: {folder.unfinished} are there."] if folder.unfinished else []
    if is_changed:
        found.append(
            "Files of these results were changed since gradrace wrote them, or are half published: the "
            "numbers here are theirs."
        )
    counts, runs = folder.runs["status"].value_counts(), len(folder.runs)
    found += [
        f"{counts[status]} of {runs} runs {status}."
        for status in ("failed", "diverged", "deadlocked")
        if counts.get(status, 0)
    ]
    if worse := ended_worse(folder):
        found.append(
            f"{worse} of {runs} runs ended with a greater error or loss than they began with: "
            "try lower learning rates."
        )
    return found + list(folder.manifest.get("notes", []))


def origin(folder, is_changed):
    """Where a folder's results come from."""
    manifest = folder.manifest
    version = manifest.get("version", {})
    said = [f"gradrace {version['number']} (revision {version['revision']})"] if version else []
    if "elapsed" in manifest:
        said.append(f"took {manifest['elapsed']:.3g} s")
    return {
        "name": folder.name,
        "path": str(folder.path),
        "said": ", ".join(said),
        "file": manifest.get("file", ""),
        "notes": notes(folder, is_changed),
        "text": folder.scenario.get("notes", ""),
        "scenario": (
            json.dumps(folder.scenario, indent=2, ensure_ascii=False) if folder.scenario else ""
        ),
    }


def title_of(folders):
    titles = list(dict.fromkeys(folder.title for folder in folders))
    return titles[0] if len(titles) == 1 else f"{len(folders)} questions: " + "; ".join(titles)


class Page:
    """What is said of output folders, and drawn; each case is judged once. Of more than MOST_CASES
    so many are told in whole, all in a table."""

    def __init__(self, folders, changed=()):
        self.folders = folders
        self.changed = changed  # paths of those that are not as gradrace wrote them
        why = why_apart(folders) if len(folders) > 1 else ""
        self.apart = f"The folders are not compared with one another: {why}." if why else ""
        self.groups = [Together(folders)] if len(folders) > 1 and not why else folders
        cases = [case for group in self.groups for case in cases_of(group)]
        found, names = [verdicts(case) for case in cases], names_of(cases)
        self.summary = {}
        if len(cases) > MOST_CASES:
            answers = list(zip(cases, found))
            table = outcomes(names, answers)
            unfinished = "; ".join(filter(None, (group.unfinished for group in self.groups)))
            told = [after_progress(unfinished, one) for one in tallies(answers)]
            self.summary = {"tallies": told, "table": table, "told": MOST_CASES}
        places = np.linspace(0, len(cases) - 1, min(len(cases), MOST_CASES)).round().astype(int)
        self.told = [(cases[i], names[i], found[i]) for i in places]
        self.cases = [case for case, _, _ in self.told]

    def said(self):
        """The answers as plain text, a line each, after where they hold."""
        answers = [plain(one) for one in self.summary.get("tallies", ())]
        answers = answers or [
            line
            for case, name, found in self.told
            for line in self.answer(case, name if len(self.told) > 1 else "", found)
        ]
        return [*answers, self.apart] if self.apart else answers

    @staticmethod
    def answer(case, name, found):
        text = plain(sentence(case, found))
        return [f"{name}: {text}" if name else text, *map(plain, edges(case))]

    def render(self):
        """The page's text."""
        shown = sections(self.groups, self.cases, page_sizes(self.cases), ["column"])
        return TEMPLATES.get_template("page.html").render(
            title=title_of(self.folders),
            apart=self.apart,
            summary=self.summary,
            answers=[answer_of(*one) for one in self.told],
            groups=[{"name": group.name, "title": group.title} for group in self.groups],
            sections=[shown_section(one) for one in shown],
            origins=[origin(one, one.path in self.changed) for one in self.folders],
            confidence=f"{100 * CONFIDENCE:.0f} %",
            wrong=f"{100 * WRONG:g} %",
        )

    def drawn_sections(self):
        """The page's sections with every figure at both sizes."""
        return sections(self.groups, self.cases, style.SIZES, style.SIZES)
