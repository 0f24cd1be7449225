"""Which candidates are simulated first: an A-optimal design, as Ernest's (Venkataraman et al., NSDI 2016)."""

import numpy as np

RIDGE = 1e-2


def information(rows):
    """The inverse of the information matrix of rows [candidate x feature]."""
    return np.linalg.inv(rows.T @ rows + RIDGE * np.eye(rows.shape[1]))


def a_optimal(rows, count):
    """So many rows, one after the other: the next is the one that leaves the least trace of that inverse."""
    chosen = []
    while len(chosen) < min(count, len(rows)):
        trace = lambda i: float(np.trace(information(rows[[*chosen, i]])))
        chosen.append(min((i for i in range(len(rows)) if i not in chosen), key=trace))
    return chosen


def leverage(rows, row):
    """How far from those rows one is: by 1 + that the variance of what they foretell of it is more than that of
    what they were."""
    return float(row @ information(rows) @ row)
