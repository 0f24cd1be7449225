"""Final error against time to target: what one pays for being soon."""

from plots import style
from plots.panels import Panels


def pareto(found):
    """Of those that reached the target in every run: the points that none beats in both, the
    soonest first."""
    front = []
    for point, time, final in sorted(found, key=lambda one: (one[1].mean, one[2].mean)):
        if not time.never and time.replicas and (not front or final.mean < front[-1][2].mean):
            front.append((point, time, final))
    return front


def draw_place(axes, curve, time, final, is_front):
    """A point with its intervals."""
    colour = curve.looks["color"]
    axes.errorbar(
        [time.mean], [final.mean], xerr=[time.half], yerr=[final.half], marker="o", markersize=5.5,
        linestyle="", elinewidth=0.8, color=colour, markerfacecolor=colour if is_front else "white",
        zorder=3, label=curve.name,
    )  # fmt: skip


def draw_others(axes, others, is_front):
    """Those that are not shown with a name: places alone."""
    x, y = [time.mean for _, time, _ in others], [final.mean for *_, final in others]
    face = style.GREY if is_front else "white"
    axes.plot(x, y, "o", markersize=5.5, color=style.GREY, markerfacecolor=face, zorder=2)


def draw_missed(axes, curve, time, final):
    """At the right edge: a point of which some run did not reach the target."""
    reached = f"{time.replicas} of {time.replicas + time.never} runs"
    axes.errorbar(
        [0.985], [final.mean], yerr=[final.half], marker=">", markersize=6, linestyle="",
        color=curve.looks["color"] if curve else style.GREY, markerfacecolor="white",
        elinewidth=0.8, label=f"{curve.name}: {reached}" if curve else None, zorder=3,
        transform=axes.get_yaxis_transform(),
    )  # fmt: skip


def draw_trade_off(plan, time_to, final_error, caption=()):
    """The figure of two Measures; None where no point has a final error of all its runs."""
    found = [(point, time_to.value(point), final_error.value(point)) for point in plan.points]
    found = [one for one in found if one[2].replicas and not one[2].never]
    if not found:
        return None
    front = pareto(found)
    on_front = {point for point, _, _ in front}
    named = {curve.number: curve for curve in plan.curves}
    panels = Panels(plan.title, [""], [{}])
    (axes,) = panels.axes
    reached = [one for one in found if one[1].replicas and not one[1].never]
    others = [one for one in reached if one[0] not in named]
    draw_others(axes, [one for one in others if one[0] not in on_front], False)
    draw_others(axes, [one for one in others if one[0] in on_front], True)
    for point, time, final in found:
        if time.never or not time.replicas:
            draw_missed(axes, named.get(point), time, final)
        elif point in named:
            draw_place(axes, named[point], time, final, point in on_front)
    times = [time.mean for _, time, _ in reached]
    if times and max(times) > 5 * min(times) > 0:
        axes.set_xscale("log")
        style.label_log_axis(axes.xaxis)
    if len(front) > 1:
        x, y = zip(*((time.mean, final.mean) for _, time, final in front))
        axes.step(x, y, where="post", color=style.GREY, linewidth=0.9, zorder=1)
    if not times:
        axes.set_xticks([])
    panels.finish(time_to.head, final_error.name, caption)
    return panels.figure
