"""The answer in words: which point is best, by how much, how sure."""

from dataclasses import dataclass

from markupsafe import Markup
from plots.targets import target_level, value_column
from report.contest import Contest
from report.means import crossing
from report.text import bold, chance, interval, joined, number, percent, plus_minus


@dataclass
class Verdict:
    """What is said of one measure. `best`: the point that is called best, None where nothing is
    decided; `clause` goes into the first sentence, `details` are whole sentences. `who` is best, by
    how much (`lead`)."""

    measure: object
    contest: Contest | None
    best: int | None
    clause: Markup
    details: list
    who: Markup = Markup()
    lead: Markup = Markup()


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


def by_lead(case, contest, points):
    """Points, the one nearest to the front-runner first; of equals the one that ends better."""

    def lead(point):
        difference = contest.comparisons[point].difference
        return difference.mean if difference else float("inf")

    return sorted(points, key=lambda point: (lead(point), case.order(contest.measure, point)))


def lead_text(case, contest, point):
    """By how much the front-runner leads a point."""
    one, label = contest.comparisons[point], case.label(point)
    if one.difference is None:
        return Markup("ahead of {} in {} replicas, behind in {}").format(
            label, one.wins, one.losses
        )
    amount, better = contest.measure.amount(number(one.difference.mean)), contest.measure.better
    if one.is_bound and one.difference.mean <= 0:
        return Markup("not known, as {} got there {}").format(
            label, value_text(case, contest.measure, point)
        )
    if one.is_bound:
        never = value_text(case, contest.measure, point)
        return Markup("at least {} {} than {}, which got there {}").format(
            amount, better, label, never
        )
    sure = interval(one.difference)
    return Markup("{} {} than {}; 95 % interval {}").format(amount, better, label, sure)


def value_text(case, measure, point):
    """A point's mean with its interval and unit; of runs that never got there how many did."""
    found = case.value(measure, point)
    text = plus_minus(found)
    return measure.amount(text) if found.count and not found.never else text


MOST_RISING = 0.1  # of the evaluations after a target


def rising(case, measure, point):
    """A sentence where a point does not stay at the target that it got to; nothing else."""
    curve = case.folder.curve
    column = value_column(measure.key) if measure.is_time else ""
    if column not in curve:
        return []
    mine = curve[curve["point"] == point]
    later = mine[mine["time"] > mine["replica"].map(measure.values[point])][column].dropna()
    above = (later > target_level(measure.key)).mean() if len(later) else 0
    if not above > MOST_RISING:
        return []
    words = "After its first time there {} of its evaluations are above the target again."
    return [words.format(percent(above))]


def rivals(case, contest, points):
    """Those of other protocols than the front-runner."""
    siblings = set(case.siblings(contest.front))
    return [point for point in points if point not in siblings]


def more_replicas(contest, points):
    """How many more replicas would decide against those points; None where too many."""
    found = [contest.comparisons[point] for point in points]
    if any(one.needed is None for one in found):
        return None
    return max(one.needed - one.pairs for one in found)


def replicas_text(contest, points):
    found = [contest.comparisons[point] for point in points]
    if any(one.pairs < 2 for one in found):
        return "some have less than two replicas in common"
    if any(one.is_bound and one.difference.mean <= 0 for one in found):
        return "runs that did not get there ended too soon to tell; train longer"
    more = more_replicas(contest, points)
    if more is None:
        return "so close that 1,000 replicas would not decide"
    return f"{more} more replica{'' if more == 1 else 's'} would decide"


def are_best(who, count, measures, lead):
    """A, or A and B, is best for a measure or two."""
    verb = "is" if count == 1 else "are"
    clause = Markup("{} {} best for {}").format(who, verb, joined(measures))
    return clause + Markup(" ({})").format(lead) if lead else clause


def sureness(contest, beaten):
    p = chance(max(contest.corrected(point) for point in beaten))
    words = p if p.startswith("<") else f"= {p}"
    return f"How sure: in the least sure of all comparisons p {words}, corrected for choosing."


def decided(case, contest):
    """The Verdict where the front-runner is better than every rival."""
    measure, front = contest.measure, contest.front
    beaten = by_lead(case, contest, rivals(case, contest, contest.beaten))
    same = [front, *contest.same]
    near = [p for p in contest.open if p in case.siblings(front)]
    who = bold(case.family_label(front)) if near else names(case, same)
    said = value_text(case, measure, front)
    details = [Markup("{}: {}.").format(bold(case.label(front)), said)]
    details += rising(case, measure, front)
    lead = Markup()
    if beaten:
        lead = lead_text(case, contest, beaten[0])
        details.append(Markup("Against the next: {}.").format(lead))
        details.append(sureness(contest, beaten))
    if near:
        near = names(case, near, "or")
        details.append(
            Markup("Which learning rate is not decided: {} may be as good.").format(near)
        )
    clause = are_best(who, 1 if near else len(same), [measure.name], lead)
    return Verdict(measure, contest, front, clause, details, who, lead)


def candidates(case, contest):
    """The protocols that may be best, the front-runner's first."""
    points = [contest.front, *by_lead(case, contest, rivals(case, contest, contest.open))]
    return list(dict.fromkeys(bold(case.family_label(point)) for point in points))


def undecided(case, contest):
    measure, front = contest.measure, contest.front
    rival = by_lead(case, contest, rivals(case, contest, contest.open))
    worse = rivals(case, contest, contest.beaten)
    clause = Markup("for {} it is not decided between {} ({})").format(
        measure.name, joined(candidates(case, contest)), replicas_text(contest, rival)
    )
    out = whole_families(case, worse)
    if out:
        clause += Markup(", but {} {} ruled out").format(
            joined(out), "is" if len(out) == 1 else "are"
        )
    said = value_text(case, measure, front)
    details = [Markup("{} looks best: {}.").format(bold(case.label(front)), said)]
    details += rising(case, measure, front)
    details.append(Markup("The lead: {}.").format(lead_text(case, contest, rival[0])))
    details.append(
        Markup("May be as good: {}.").format(joined(families(case, rival, " at any rate")))
    )
    if worse:
        details.append(
            Markup("Ruled out: {}.").format(joined(families(case, worse, " at any rate")))
        )
    return Verdict(measure, contest, None, clause, details)


def whole_families(case, points):
    """Names of the protocols of which every learning rate is among the points."""
    among = set(points)
    whole = [p for p in points if among.issuperset(case.siblings(p))]
    return list(dict.fromkeys(bold(case.family_label(point)) for point in whole))


def alone(case, contest):
    """With a single point, or a single replica."""
    measure, front = contest.measure, contest.front
    label, value = bold(case.label(front)), value_text(case, measure, front)
    if not contest.comparisons:
        clause = Markup("{}: {} {}").format(label, measure.name, value)
        return Verdict(
            measure, contest, None, clause, ["There is no other point to compare it with."]
        )
    clause = Markup("for {} it is not decided: {} has {} in its only replica").format(
        measure.name, label, value
    )
    more = (
        "One replica says nothing of luck: run it again with --replicas 10; finished runs are kept."
    )
    return Verdict(measure, contest, None, clause, [more])


def verdict(case, measure, contest):
    if contest is None:
        if not measure.is_time:
            clause = Markup("no run has a finite {}: all diverged or failed").format(measure.name)
            return Verdict(measure, None, None, clause, ["Try lower learning rates."])
        clause = Markup("no run got to the target of {}").format(measure.name)
        return Verdict(measure, None, None, clause, ["Train longer, or set an easier target."])
    if not contest.comparisons or measure.values.notna().sum().max() < 2:
        return alone(case, contest)
    if rivals(case, contest, contest.open):
        return undecided(case, contest)
    if contest.is_tie:
        clause = Markup("for {} all points are equal in every replica").format(measure.name)
        return Verdict(measure, contest, None, clause, [])
    return decided(case, contest)


# ---- the whole answer


def verdicts(case):
    return [verdict(case, measure, contest) for measure, contest in case.contests]


def sentence(case, found):
    """The first sentence of the page."""
    if not found:
        return Markup("There is nothing to compare: no run has an error, a loss or a gradient.")
    best = {str(one.who) for one in found}
    if len(found) > 1 and len(best) == 1 and found[0].who:
        leads = Markup("; ").join(one.lead for one in found)
        count = 1 + len(found[0].contest.same)
        text = are_best(found[0].who, count, [one.measure.name for one in found], leads)
    else:
        text = Markup("; ").join(one.clause for one in found)
    return after_progress(case.folder.unfinished, text[:1].upper() + text[1:] + ".")


def after_progress(unfinished, text):
    """The text, after what is there of the runs where some are not."""
    return Markup("Not finished ({}): {}").format(unfinished, text) if unfinished else text


def turn(case, found):
    """From when on the one that ends better is ahead of the one that is sooner; empty where they
    are one, or never cross."""
    fronts = [one.contest.front for one in found if one.contest]
    if len(set(fronts)) < 2:
        return ""
    time = crossing(case, *fronts)
    if time is None:
        return ""
    early, late = (bold(case.label(point)) for point in fronts)
    words = "Until time {} the mean error of {} is the lower one, from then on that of {}."
    return Markup(words).format(f"{number(time)} {case.folder.time_unit}".rstrip(), early, late)


def edges(case):
    """A sentence where the best looking learning rate of a protocol is the smallest or the largest
    one that was swept; nothing else."""
    found = {}
    for points in case.families.values():
        rates = case.rates.reindex(points).dropna()
        if rates.nunique() < 2 or not case.measures:
            continue
        best = min(rates.index, key=case.rank)
        trained = (one for one in case.measures if one.key != "rate")
        known = [one for one in trained if case.value(one, best).count]
        for edge, rate in (("smallest", rates.min()), ("largest", rates.max())):
            if known and rates[best] == rate:
                found.setdefault((known[0].name, edge), []).append(bold(case.label(best)))
    words = "for {}, {} at the {} one"
    said = [
        Markup(words).format(name, joined(labels), edge) for (name, edge), labels in found.items()
    ]
    if not said:
        return []
    what = Markup("; ").join(said)
    return [
        Markup(
            "Best at an edge of the learning rates swept: {}; rates beyond may do better."
        ).format(what)
    ]


MOST_REASONS = 4


def reasons(case, found):
    """Why: what the best one, or the one that looks best, does other than the nearest, the slowest
    and the fastest; a line each."""
    contests = [one.contest for one in found if one.contest]
    if not contests or "rate" not in case.facts or len(case.points) < 2:
        return []
    rate = case.facts["rate"][case.leaders]
    fronts = [one.front for one in contests]
    told = list(dict.fromkeys([*fronts, *case.leaders[:2], rate.idxmin(), rate.idxmax()]))
    lines = [doing(case, point) for point in told[:MOST_REASONS]]
    return [line for line in [*lines, turn(case, found)] if line]


def doing(case, point):
    """How fast a point works, how long its learners wait, how stale its gradients are."""
    facts = case.facts.loc[point]
    told = [f"{number(facts['rate'])} gradients per {case.folder.time_unit or 'unit of time'}"]
    if facts["waiting"] == facts["waiting"]:
        told.append(f"learners wait {percent(facts['waiting'])} of the time")
    if facts["wasted"] > 0.005:
        told.append(f"throw {percent(facts['wasted'])} of it away")
    stale = facts.get("mean_staleness", float("nan"))
    if stale == stale:
        told.append("fresh gradients" if stale == 0 else f"gradients {number(stale)} updates stale")
    return Markup("{}: {}.").format(bold(case.label(point)), ", ".join(told))
