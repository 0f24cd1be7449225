"""Targets of error or loss: which ones runs have, and which one answers and plots go by."""


def target_columns(columns):
    """The columns of runs.csv with times to targets: those of errors, then of losses, each from the
    easiest to the hardest."""
    found = [name for name in columns if name.startswith("time_to_")]
    return sorted(found, key=lambda name: (name.split("_")[2], -float(name.split("_")[3])))


def headline_target(columns, share):
    """The hardest target that every run of some point reached, else the hardest that any run
    reached, else the easiest; targets of errors before those of losses; None without targets.
    share(column): the largest share of a point's runs that reached it."""
    found = target_columns(columns)
    found = [name for name in found if name.startswith("time_to_error_")] or found
    shares = {name: share(name) for name in found}
    by_all = [name for name in found if shares[name] == 1]
    by_any = [name for name in found if shares[name] > 0]
    return next(iter([*by_all[-1:], *by_any[-1:], *found]), None)


def value_column(column):
    """The column of curve.csv that such a target is of."""
    return "test_error" if column.startswith("time_to_error_") else "loss"


def target_level(column):
    return float(column.rpartition("_")[2])


def target_of(column):
    """The target of such a column in words: "test error 0.1"."""
    kind, level = column.removeprefix("time_to_").split("_", 1)
    return f"{'test error' if kind == 'error' else kind} {level}"
