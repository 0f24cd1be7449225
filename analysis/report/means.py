"""Means over the replicas of a point, whose evaluations may lie at different times."""

import numpy as np
from plots.bands import step
from plots.curves import kept_curves

MOSTLY = 0.9  # of the time before a crossing, the one that is behind later is ahead
MOST_PLACES = 400  # at which two points are compared


def error_column(case):
    """What the answer is about."""
    keys = [measure.key for measure in case.measures]  # none where no run has an end
    return "loss" if keys[-1:] == ["final_loss"] else "test_error"


def runs_of(case, point, column):
    """[(times, values)] of a point's runs that did not diverge, as far as they are known."""
    kept = kept_curves(case.folder, point, "time", column) if case.diverged[point] < 1 else []
    return [(times, values) for times, values in kept if len(times) > 2]


def crossing(case, early, late):
    """The time from which the mean error of the one point stays below that of the other, which had
    the lower one before; None where there is no such time."""
    column = error_column(case)
    runs = runs_of(case, early, column), runs_of(case, late, column)
    if not all(runs):
        return None
    ends = [times for one in runs for times, _ in one]
    low, high = max(times[0] for times in ends), min(times[-1] for times in ends)
    grid = np.linspace(low, high, MOST_PLACES)
    first, second = (np.mean([step(x, y, grid) for x, y in one], axis=0) for one in runs)
    ahead = first <= second
    last = int(np.flatnonzero(ahead)[-1]) if ahead.any() else -1
    is_one = last >= 0 and ahead[: last + 1].mean() > MOSTLY
    return float(grid[last + 1]) if is_one and last < len(grid) - 1 else None
