"""Error or loss against simulated time, means and 95 % bands over replicas."""

import matplotlib
from plots import style
from report import drawing
from report.means import band, error_column, runs_of

MOST_PLACES = 240  # of a curve, of all curves 1600
MOST_OF_ALL = 1600
NAMES = {"test_error": "test error", "loss": "training loss"}


def draw_point(axes, case, point, column, places):
    """Draws a point; returns the means, empty where there is nothing to draw."""
    runs = runs_of(case, point, column)
    looks = drawing.looks_of(case, point)
    if not runs:
        return []
    x, mean, half = band(runs, places)
    axes.plot(x, mean, linewidth=1.4, label=drawing.in_lines(case.label(point)), **looks)
    axes.fill_between(x, mean - half, mean + half, color=looks["color"], alpha=0.18, linewidth=0)
    return list(mean)


def draw_theory(axes, case):
    """Dashed: what theory says of the loss; True where it says anything of the points shown."""
    theory = case.folder.theory
    if theory.empty or "loss" not in theory:
        return False
    theory = theory[theory["loss"].notna() & theory["point"].isin(case.shown)]
    for (point, basis, _), curve in theory.groupby(["point", "basis", "source"]):
        curve = curve.iloc[:: max(1, len(curve) // 60)]
        dashes = (0, (4, 3)) if basis == "exact" else ":"
        colour = style.BLACK if basis == "exact" else drawing.looks_of(case, point)["color"]
        axes.plot(curve["time"], curve["loss"], color=colour, linestyle=dashes, linewidth=0.8)
    return not theory.empty


def draw_curves(case, size, column):
    """The figure of a column of curve.csv against time; None where runs were not evaluated on the
    way."""
    with matplotlib.rc_context(drawing.LOOKS):
        figure = drawing.new_figure(size, 1.15)
        axes = figure.add_subplot()
        places = min(MOST_PLACES, MOST_OF_ALL // len(case.shown))
        means = [m for point in case.shown for m in draw_point(axes, case, point, column, places)]
        if not means:
            return None
        if column == "loss":
            draw_theory(axes, case)
        drawing.set_log(axes.yaxis, means)
        if axes.get_yscale() == "log":
            axes.set_ylim(bottom=min(means) / 1.3)
        axes.set_xlim(left=0)
        axes.set_xlabel(style.time_axis(case.folder.time_unit))
        axes.set_ylabel(NAMES[column])
        drawing.legend_below(figure, axes, size)
        return figure


def draw_errors(case, size):
    return draw_curves(case, size, error_column(case))


def draw_losses(case, size):
    """Beside what theory says, or beside the test error; None where that is the same figure."""
    has_theory = not case.folder.theory.empty
    return draw_curves(case, size, "loss") if error_column(case) != "loss" and has_theory else None
