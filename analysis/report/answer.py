"""The answer in words: which point is best, by how much, how sure."""

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from markupsafe import Markup
from plots.measure import time_to
from report.contest import Contest
from report.rivals import (
    by_lead,
    is_unlikely,
    lead_parts,
    lead_text,
    likely_rivals,
    rival_lines,
    rivals,
    unlikely_lines,
    unlikely_rivals,
    value_text,
)
from report.text import bold, chance, is_exact, joined, percent


@dataclass
class Verdict:
    """What is said of one measure. `best`: the point that is called best, None where nothing is
    decided; `said`: the answer, from the longest wording to the shortest, which names the points
    `named`; `rivals` a line for each point that may be as good, and what would decide; `details` are
    whole sentences. `who` is best."""

    measure: object
    contest: Contest | None
    best: int | None
    said: list
    details: list
    rivals: list = field(default_factory=list)
    who: Markup = Markup()
    named: list = field(default_factory=list)

    @property
    def sentence(self):
        return shortest_enough(self.said)

    @property
    def tells_apart(self):
        """Whether any point is ahead of another one."""
        return self.contest is not None and not is_tie(self.measure, self.contest)


# ---- one measure


def names(case, points, last="and"):
    return joined([bold(case.label(p)) for p in points], last)


def families(case, points, word=""):
    """Names of points, those of a protocol at all its learning rates as one; `word` after these."""
    among = set(points)
    found = {}
    for point in points:
        siblings = case.siblings(point)
        whole = siblings and among.issuperset(siblings)
        label = case.family_label(point) + word if whole else case.label(point)
        found.setdefault(label, bold(label))
    return list(found.values())


MOST_RISING = 0.1  # of the evaluations after a target


def rising(case, measure, point):
    """A sentence where a point does not stay at the target that it got to; nothing else."""
    curve, target = case.folder.evaluations, measure.target
    if target is None or target.of not in curve:
        return []
    mine = curve[curve["point"] == point]
    later = mine[mine["time"] > mine["replica"].map(measure.values[point])][target.of].dropna()
    above = (later > target.level).mean() if len(later) else 0
    if not above > MOST_RISING:
        return []
    words = "After its first time there {} of its evaluations are above the target again."
    return [words.format(percent(above))]


def is_at_first(measure, point):
    """Whether all its runs have the target at their first evaluation on the way."""
    if measure.slack is None:
        return False
    times = measure.values[point].dropna()
    return bool(
        len(times) and (times > 0).all() and (times == measure.slack[point][times.index]).all()
    )


def first_evaluation(case, measure, point):
    """A sentence of such a point; nothing of others."""
    if not is_at_first(measure, point):
        return []
    words = (
        "All runs of {} are there at their first evaluation, and may have been at any time before; evaluations "
        "closer together tell more (record.every_time)."
    )
    return [Markup(words).format(bold(case.label(point)))]


MOST_RIVALS = 3


def listed(lines):
    """The first of them, and how many more there are."""
    more = len(lines) - MOST_RIVALS
    return lines if more <= 0 else [*lines[:MOST_RIVALS], f"{more} more, in the table below"]


MOST_WORDS = 30
MOST_TIED = 3  # that the first sentence names


def word_count(text):
    return len(text.striptags().split())


def shortest_enough(sentences):
    """The first of at most MOST_WORDS words; else the last."""
    for text in sentences:
        if word_count(text) <= MOST_WORDS:
            return text
    return text


def with_lead(case, contest, starts, point, tail=""):
    """Wordings: the first of some starts, with the front-runner's lead over a point, then with less
    of it, and a tail."""
    ends = [Markup("")]
    if point is not None:
        lead, sure = lead_parts(case, contest, point, contest.measure.unit)
        ends = [Markup(", {} ({})").format(lead, sure), Markup(", {}").format(lead), *ends]
    first = [Markup("{}{}{}.").format(starts[0], end, tail) for end in ends]
    return [*first, *(Markup("{}{}.").format(one, tail) for one in starts[1:])]


def front_text(case, contest):
    """The front-runner's value, or in how many runs it got there."""
    found = contest.measure.value(contest.front)
    text = value_text(case, contest.measure, contest.front)
    text += " (at the first evaluation)" if is_at_first(contest.measure, contest.front) else ""
    return f"reached it {text}" if found.never else text


def sureness(contest, beaten):
    differences = [contest.comparisons[point].difference for point in beaten]
    if all(one is not None and is_exact(one) for one in differences):
        return "All replicas are equal, as where times are replayed: no chance is in this answer."
    p = chance(max(contest.corrected(point) for point in beaten))
    words = p if p.startswith("<") else f"= {p}"
    return f"How sure: in the least sure of all comparisons p {words}, corrected for choosing."


def equals(case, contest):
    """The front-runner and the points with its values, and of these such as diverged more often."""
    same, diverged = [contest.front, *contest.same], case.diverged
    gone = [point for point in same if diverged[point] > diverged[contest.front]]
    return [point for point in same if point not in gone], gone


def decided(case, contest):
    """The Verdict where the front-runner is better than every rival."""
    measure, front = contest.measure, contest.front
    beaten = by_lead(case, contest, rivals(case, contest, contest.beaten))
    same, gone = equals(case, contest)
    near = [p for p in contest.open if p in case.siblings(front)]
    who = bold(case.family_label(front)) if near else names(case, same)
    value = value_text(case, measure, front)
    verb = "are" if len(same) > 1 and not near else "is"
    told = front_text(case, contest)
    start = Markup("{} {} best for {}: {}").format(who, verb, measure.name, told)
    said = with_lead(case, contest, [start], beaten[0] if beaten else None)
    details = [Markup("{}: {}.").format(bold(case.label(front)), value)]
    details += first_evaluation(case, measure, front) + rising(case, measure, front)
    if gone:
        details.append(
            Markup("Equal to it, but diverged more often: {}.").format(names(case, gone))
        )
    if beaten:
        lead = lead_text(case, contest, beaten[0], measure.unit)
        details.append(Markup("Against the next: {}.").format(lead))
        details.append(sureness(contest, beaten))
    if near:
        likely = [point for point in near if not is_unlikely(case, contest, point)]
        words = Markup("Which learning rate is not decided: {} may be as good.")
        details += [words.format(names(case, likely, "or"))] if likely else []
    named = [front] if near else same[: MOST_TIED + 1]
    return Verdict(measure, contest, front, said, details, who=who, named=named + beaten[:1])


def undecided(case, contest):
    """The Verdict where a rival may be as good, or too few replicas say that none is."""
    likely = likely_rivals(case, contest)
    unlikely = unlikely_rivals(case, contest, likely)
    worse = by_lead(case, contest, rivals(case, contest, contest.beaten))
    behind = by_lead(case, contest, [*unlikely, *worse])
    about_front = case, contest.measure, contest.front
    details = first_evaluation(*about_front) + rising(*about_front)
    if worse:
        out = joined(families(case, worse, " at any rate"))
        details.append(Markup("Ruled out: {}.").format(out))
    lines = [*rival_lines(case, contest, likely), *unlikely_lines(case, contest, unlikely)]
    said, named = undecided_sentence(case, contest, likely, behind)
    return Verdict(contest.measure, contest, None, said, details, listed(lines), named=named)


def kind_of(case, points):
    """What the points are: protocols, or settings of one."""
    protocols = [case.folder.points[point].protocol for point in points]
    return "settings" if len(set(protocols)) == 1 < len(protocols) else "protocols"


def undecided_sentence(case, contest, likely, behind):
    """Who may be best, the front-runner's value, and its lead over the next other protocol, in
    wordings; the points that are named."""
    name, best = contest.measure.name, bold(case.label(contest.front))
    value = front_text(case, contest)
    tied = [*equals(case, contest)[0], *likely]
    among = {}
    for point in tied:
        among.setdefault(case.family_label(point), point)
    next_one = next((p for p in behind if case.family_label(p) not in among), None)
    after = [] if next_one is None else [next_one]
    if not likely:
        words = Markup("{} looks best for {} (too few replicas to be sure): {}")
        start = words.format(best, name, value)
        return with_lead(case, contest, [start], next_one), [contest.front, *after]
    if len(among) > MOST_TIED:
        start = Markup("{} looks best for {}: {}").format(best, name, value)
        tail = f"; {len(among) - 1} other {kind_of(case, tied)} may be as good"
        return with_lead(case, contest, [start], next_one, tail), [contest.front, *after]
    verb = "" if contest.measure.value(contest.front).never else "has "
    words = Markup("{} are not told apart for {}: {} {}{}")
    who = joined(map(bold, among)), f"{len(among)} {kind_of(case, tied)}"
    starts = [words.format(one, name, best, verb, value) for one in who]
    return with_lead(case, contest, starts, next_one), [*among.values(), *after]


def alone(case, contest):
    """With a single point, or a single replica."""
    measure, front = contest.measure, contest.front
    label, value, alike = bold(case.label(front)), value_text(case, measure, front), []
    if not contest.comparisons:
        said = Markup("{}: {} {}.").format(label, measure.name, value)
        more = "There is no other point to compare it with."
    else:
        alike = [
            p for p, one in contest.comparisons.items() if one.pairs and one.wins == one.losses
        ]
        has = "have" if alike else "has"
        words = Markup("For {} one replica does not decide: {} {} {}; --replicas 10 runs more.")
        said = words.format(measure.name, names(case, [front, *alike]), has, value)
        more = "One replica says nothing of luck: run it again with --replicas 10; finished runs are kept."
    return Verdict(measure, contest, None, [said], [more], named=[front, *alike][: MOST_TIED + 1])


def is_tie(measure, contest):
    """Whether all points have the same values in every replica, be it only one."""
    pairs = [one.pairs for one in contest.comparisons.values()]
    return bool(pairs) and all(pairs) and bool((measure.values.nunique(axis=1) <= 1).all())


def tie(case, measure, contest):
    """The Verdict where no point is ahead of another one."""
    said = Markup("For {} all points are equal in every replica").format(measure.name)
    if measure.target and not measure.values.any(axis=None):
        said = Markup("All points are at {} from the start").format(measure.target)
    gone = [point for point in case.points if case.diverged.get(point, 0)]
    if not gone:
        return Verdict(measure, contest, None, [Markup("{}.").format(said)], [])
    tails = names(case, gone), f"{len(gone)} of {len(case.points)}"
    some = "" if all(case.diverged[point] == 1 for point in gone) else " in some runs"
    wordings = [Markup("{} ({} diverged{}).").format(said, tail, some) for tail in tails]
    return Verdict(measure, contest, None, wordings, [], named=gone[: MOST_TIED + 1])


def none_there(measure):
    """The Verdict where no run has a value."""
    if not measure.target:
        said = Markup("No run has a finite {}: all diverged or failed.").format(measure.name)
        return Verdict(measure, None, None, [said], ["Try lower learning rates."])
    words = Markup("No run got to the target of {}."), Markup("No run reached {}.")
    said = [words[0].format(measure.name), words[1].format(measure.target)]
    return Verdict(measure, None, None, said, ["Train longer, or set an easier target."])


def verdict(case, measure, contest):
    if contest is None:
        return none_there(measure)
    if is_tie(measure, contest):
        return tie(case, measure, contest)
    if not contest.comparisons or measure.values.notna().sum().max() < 2:
        return alone(case, contest)
    if rivals(case, contest, contest.open):
        return undecided(case, contest)
    return decided(case, contest)


# ---- the whole answer


def verdicts(case):
    return [verdict(case, measure, contest) for measure, contest in case.contests]


def answering(found):
    """The Verdicts that the first sentence is of: the first, and where that tells nothing apart the
    next one."""
    return found[:1] if found and found[0].tells_apart else found[:2]


def named_points(found):
    """Those that the first sentence names."""
    return sorted({point for one in answering(found) for point in one.named})


def other_target(case, measure):
    """Of how many runs reached the first other target that is no easier and that not all of any
    point's runs reached, if there is one."""
    one, folder = measure.target, case.folder
    if one is None or not np.isfinite(measure.values).any(axis=None):
        return ""
    for target in folder.targets:
        alike = target.of == one.of
        reached = np.isfinite(time_to(folder, target).of(case.points).values)
        if alike and target.level >= one.level or reached.all(axis=0).any():
            continue
        runs = int(measure.values.notna().sum(axis=None))
        counted = f"{reached.sum(axis=None)} of {runs} runs" if reached.any(axis=None) else "no run"
        return f"; {counted} reached {target.level:g}" if alike else f"; {counted} reached {target}"
    return ""


def as_one(sentences):
    """A sentence of several, without its full stop."""
    first, *rest = (text[:-1] for text in sentences)
    return Markup("; ").join([first, *(text[0].lower() + text[1:] for text in rest)])


def sentence(case, found):
    """The first sentence of the page: of the first measure, and where that tells nothing apart of
    the next one; before it what is there of the runs where some are not, after it what became of a
    harder target."""
    text = Markup("There is nothing to compare: no run has an error, a loss or a gradient.")
    if not found:
        return after_progress(case.folder.unfinished, text)
    tail = other_target(case, found[0].measure)
    said = [
        after_progress(case.folder.unfinished, Markup("{}{}.").format(one, tail))
        for one in map(as_one, product(*(one.said for one in answering(found))))
    ]
    return shortest_enough(sorted(said, key=word_count, reverse=True))


def after_progress(unfinished, text):
    """The text, after what is there of the runs where some are not."""
    return (
        Markup("Not finished ({} are there): {}").format(unfinished, text) if unfinished else text
    )
