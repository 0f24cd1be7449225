"""Who may be as good as the front-runner, how far it is ahead, and what would decide."""

from markupsafe import Markup
from report.contest import WRONG
from report.text import bold, interval, is_exact, number, percent, plus_minus


def by_lead(case, contest, points):
    """Points, the one nearest to the front-runner first; of equals the one that ends better."""

    def lead(point):
        difference = contest.comparisons[point].difference
        return difference.mean if difference else float("inf")

    return sorted(points, key=lambda point: (lead(point), case.order(contest.measure, point)))


def lead_text(case, contest, point, unit=""):
    """By how much the front-runner leads a point; the amount with a unit, if one is given."""
    return Markup("{} ({})").format(*lead_parts(case, contest, point, unit))


COARSE = "it is evaluated too rarely"


def lead_parts(case, contest, point, unit=""):
    """The same in two parts: how much, and how sure that is."""
    one, label, better = contest.comparisons[point], case.label(point), contest.measure.better
    if one.difference is None:
        counted = Markup("{} than {} in {} of {} replicas")
        return counted.format(better, label, one.wins, one.pairs), f"behind in {one.losses}"
    amount = f"{number(one.difference.mean)} {unit}".rstrip()
    exact = is_exact(one.difference)
    sure = "equal in all replicas" if exact else f"95 % interval {interval(one.difference)}"
    if not one.is_bound:
        if one.is_too_coarse:
            return Markup("the lead over {} is not known").format(label), COARSE
        return Markup("{} than {} by {}").format(better, label, amount), sure
    never = value_text(case, contest.measure, point)
    if one.is_too_coarse or one.difference.mean <= 0:
        return Markup("the lead over {} is not known").format(label), f"it got there {never}"
    lead = Markup("{} than {} by at least {}").format(better, label, amount)
    return lead, f"reached {never}"


def value_text(case, measure, point):
    """A point's mean with its interval and unit; of runs that never got there how many did."""
    found = measure.value(point)
    text = plus_minus(found)
    return measure.amount(text) if found.replicas and not found.never else text


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
    """What would decide against those points."""
    found = [contest.comparisons[point] for point in points]
    if any(one.pairs < 2 for one in found):
        return "fewer than two replicas in common"
    if any(one.is_too_coarse for one in found):
        return "evaluations closer together would decide (record.every_time)"
    if any(one.is_bound and one.difference.mean <= 0 for one in found):
        return "runs that did not get there ended too soon to tell; train longer"
    more = more_replicas(contest, points)
    if more is None:
        return "so close that 1,000 replicas would not decide"
    return f"{more} more replica{'' if more == 1 else 's'} would decide"


def nearest_of_each(case, contest, points):
    """The nearest point of each protocol."""
    nearest = {}
    for point in by_lead(case, contest, points):
        nearest.setdefault(case.family_label(point), point)
    return nearest.values()


def doubt_text(contest, point):
    """Why a lead whose interval leaves out 0 decides nothing; nothing else."""
    difference, count = contest.comparisons[point].difference, len(contest.comparisons)
    if difference is None or count < 2 or not difference.mean > difference.half:
        return ""
    return f", which may be chance where {count} points are compared with the best"


BY_FAR = 1.5  # half widths of the 95 % interval of a difference


def is_unlikely(case, contest, point):
    """Whether an open point is no candidate: more of its runs diverged than of the front-runner's, or
    it is worse in every replica and its interval excludes equality by far."""
    one, diverged = contest.comparisons[point], case.diverged
    if diverged[point] > diverged[contest.front]:
        return True
    if one.difference is None:
        return one.p <= WRONG
    return one.wins == one.pairs and one.difference.mean > BY_FAR * one.difference.half


def compared(case, contest):
    """The points of other protocols that are not equal to the front-runner."""
    return [p for p in rivals(case, contest, list(contest.comparisons)) if p not in contest.same]


def likely_rivals(case, contest):
    """The open points of other protocols that may be as good, the nearest first: those of protocols
    whose nearest point is a candidate."""

    def is_candidate(point):
        return point in contest.open and not is_unlikely(case, contest, point)

    nearest = nearest_of_each(case, contest, compared(case, contest))
    families = {case.family_label(point) for point in nearest if is_candidate(point)}
    points = by_lead(case, contest, rivals(case, contest, contest.open))
    return [p for p in points if is_candidate(p) and case.family_label(p) in families]


def unlikely_rivals(case, contest, likely):
    """The other open points; those of protocols whose nearest point is ruled out only where nothing
    else is open."""
    nearest = nearest_of_each(case, contest, compared(case, contest))
    out = {case.family_label(point) for point in nearest if contest.is_beaten(point)}
    others = [point for point in rivals(case, contest, contest.open) if point not in likely]
    told = [point for point in others if case.family_label(point) not in out]
    return told if told or likely else others


def rival_lines(case, contest, points):
    """A line for each family of points that may be as good: its nearest point, and what would
    decide."""
    return [rival_line(case, contest, point) for point in nearest_of_each(case, contest, points)]


def rival_line(case, contest, point):
    measure, front, rival = contest.measure, case.label(contest.front), bold(case.label(point))
    one, further = contest.comparisons[point], replicas_text(contest, [point])
    if one.is_too_coarse:
        words = Markup(
            "{} may be as good: its evaluations are {} further apart than those of {}, and it may have "
            "got there at any time between two; {}."
        )
        return words.format(rival, f"{number(one.coarse)} {measure.unit}".rstrip(), front, further)
    lead, doubt = lead_text(case, contest, point, measure.unit), doubt_text(contest, point)
    return Markup("{} may be as good: {} is {}{}; {}.").format(rival, front, lead, doubt, further)


def unlikely_lines(case, contest, points):
    """A line for each point that is worse in all likelihood, though too few replicas say so."""
    words = Markup("{} is worse in {} of {} replicas{}, too few to be sure{}: {}.")
    count = len(contest.comparisons) + 1
    among = f" among {count} points" if count > 2 else ""
    lines = []
    for point in nearest_of_each(case, contest, points):
        one, share = contest.comparisons[point], case.diverged[point]
        diverged = f" (diverged in {percent(share)})" if share else ""
        told = bold(case.label(point)), one.wins, one.pairs, diverged, among
        lines.append(words.format(*told, replicas_text(contest, [point])))
    return lines
