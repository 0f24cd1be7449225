"""The figures of a run's output folder."""

from plots.curves import AXES, disagrees, draw_curves, is_watched
from plots.encoding import by_value, race
from plots.final import draw_final, figure_name, numbers_of
from plots.learners import facts
from plots.measure import final_value, headline_measures
from plots.price import spent
from plots.shares import draw_shares, rows_of
from plots.staleness import draw_staleness
from plots.sweep import has_values, keys_of, main_value
from plots.timeline import draw_timeline
from plots.trade_off import draw_trade_off
from results import read_folder


def curve_columns(results):
    """{the first part of a plot's name: column of curve.csv} of what there is to draw."""
    main = main_value(results)
    if not has_values(results, main):
        return {}
    columns = {"error": main}
    if main == "test_error" and has_values(results, "loss"):
        columns["loss"] = "loss"
    if disagrees(results):
        columns["disagreement"] = "disagreement"
    return columns


def final_figures(results):
    """The plots of final errors against swept numbers, by name."""
    final = final_value(results)
    keys = numbers_of(keys_of(results.points)) if final else []
    return {figure_name(key): draw_final(results, key, final, results.heading) for key in keys}


def curve_figures(results, plan, xs):
    """The plots of curves by name, and words on why there are none."""
    columns = curve_columns(results)
    if "curve" in results.missing:
        why = f"{results.missing['curve']} is not there, which the manifest names"
        return final_figures(results), [f"{why}: curves left out"]
    if not columns:
        return {}, ["no losses or errors recorded (timing only): error plots left out"]
    if not is_watched(results):
        why = "evaluated at start and end only (see record.every_time): curves left out"
        return final_figures(results), [why]
    figures, notes = {}, []
    panels = by_value(results)
    if "time" in xs and has_values(results, "bytes"):
        figures["error_bytes"] = draw_curves(results, plan, "bytes", columns["error"])
    for x in xs:
        if not (spent(results) if x == "cost" else has_values(results, AXES[x][0])):
            notes.append(
                f"no {'prices' if x == 'cost' else x} recorded: curves against {x} left out"
            )
            continue
        for stem, y in columns.items():
            figures[f"{stem}_{x}"] = draw_curves(results, plan, x, y)
        if panels:
            figures[f"error_{x}_panels"] = draw_curves(results, panels, x, columns["error"])
    return figures | final_figures(results), notes


def trade_off(results, plan):
    """Of points under the same circumstances, which stand in one panel."""
    measures = headline_measures(results, plan.points)
    if len(measures) < 2 or not len(plan.panels) == 1 < len(plan.points):
        return None, []
    full = "Full: no other point is better in both. Crosses: 95 % intervals (Student's t)."
    return draw_trade_off(plan, *measures, [*plan.notes, full]), []


def shares(results, plan):
    names = {curve.number: curve.name for curve in plan.curves}
    rows = {n: names.get(n, results.points[n].label) for n in rows_of(plan.points, sorted(names))}
    return draw_shares(facts(results), rows, plan.title, plan.notes), []


# What is drawn beside curves: name of the figure, table that it is made of, (figure or None, notes).
OTHERS = (
    ("trade_off", "runs", trade_off),
    ("staleness", "staleness", draw_staleness),
    ("learners", "learners", shares),
    ("timeline", "trace", lambda results, plan: draw_timeline(results, plan.curves, plan.title)),
)


def draw_folder(folder, xs=("time",)):
    """The figures of the folder by name, and what they leave out; xs: what curves are drawn against, of
    AXES."""
    results = read_folder(folder)
    recorded = [results.curve, results.staleness, results.events]
    if not results.missing and not any(map(len, recorded)):
        figures = final_figures(results)
        drawn = "final errors alone are drawn" if figures else "nothing to draw"
        return figures, [f"a summary only (record.details is false): {drawn}"]
    plan = race(results)
    figures, notes = curve_figures(results, plan, xs)
    if figures:
        notes = plan.notes + notes
    for name, table, draw in OTHERS:
        if table in results.missing:
            why = f"{results.missing[table]} is not there, which the manifest names"
            notes.append(f"{name}: {why}: plot left out")
            continue
        figure, told = draw(results, plan)
        notes += [f"{name}: {note}" for note in told]
        if figure:
            figures[name] = figure
    return figures, notes
