"""Levels of error or loss that are waited for, and which of them answers and plots go by."""

from typing import NamedTuple


class Target(NamedTuple):
    """`of`: the column of curve.csv that has to be at the level or below; `column`: that of runs.csv
    with the time of the first evaluation that is, `resolution`: with the time since the evaluation before."""

    of: str
    level: float
    column: str
    resolution: str

    def __str__(self):
        return f"{self.of.replace('_', ' ')} {str(self.level).removesuffix('.0')}"


def in_order(targets):
    """Those of test errors, then of losses, each from the easiest to the hardest."""
    return sorted(targets, key=lambda one: (one.of == "loss", -one.level))


def headline(targets, share):
    """The hardest target that every run of some point reached, else the hardest that any run
    reached, else the easiest; targets of errors before those of losses; None without targets.
    share(target): the largest share of a point's runs that reached it."""
    found = in_order(targets)
    found = [one for one in found if one.of == "test_error"] or found
    shares = {one: share(one) for one in found}
    by_all = [one for one in found if shares[one] == 1]
    by_any = [one for one in found if shares[one] > 0]
    return next(iter([*by_all[-1:], *by_any[-1:], *found]), None)
