"""Final error against time to target: what one pays for being soon."""

import matplotlib
from plots import style
from report import drawing


def places(case):
    """[(point, time Sample, error Sample)], None for measures that are not there."""
    if len(case.measures) < 2 or not case.measures[0].target:
        return []
    time, final = case.measures[:2]
    found = [(point, case.value(time, point), case.value(final, point)) for point in case.points]
    return [one for one in found if one[2].replicas and not one[2].never]


def pareto(found):
    """Of those that reached the target in every run: the points that none beats in both, the
    soonest first."""
    front = []
    for point, time, final in sorted(found, key=lambda one: (one[1].mean, one[2].mean)):
        if not time.never and time.replicas and (not front or final.mean < front[-1][2].mean):
            front.append((point, time, final))
    return front


def draw_place(axes, case, point, time, final, is_front):
    """A point with its intervals."""
    colour = drawing.looks_of(case, point)["color"]
    axes.errorbar(
        [time.mean], [final.mean], xerr=[time.half], yerr=[final.half], marker="o", markersize=5.5,
        linestyle="", elinewidth=0.8, color=colour, markerfacecolor=colour if is_front else "white",
        zorder=3, label=drawing.in_lines(case.label(point)),
    )  # fmt: skip


def draw_others(axes, others, is_front):
    """Those that are not shown with a name: places alone."""
    if not others:
        return
    x, y = zip(*((time.mean, final.mean) for _, time, final in others))
    face = style.GREY if is_front else "white"
    axes.plot(x, y, "o", markersize=5.5, color=style.GREY, markerfacecolor=face, zorder=2)


def draw_missed(axes, case, missed):
    """At the right edge: points of which some run did not reach the target."""
    for point, time, final in missed:
        looks = drawing.looks_of(case, point)
        reached = f"{time.replicas} of {time.replicas + time.never} runs"
        name = drawing.in_lines(case.label(point))
        label = f"{name}: {reached}" if point in case.shown else None
        axes.errorbar(
            [0.985], [final.mean], yerr=[final.half], marker=">", markersize=6, linestyle="",
            color=looks["color"], markerfacecolor="white", elinewidth=0.8, label=label, zorder=3,
            transform=axes.get_yaxis_transform(),
        )  # fmt: skip


def draw_trade_off(case, size):
    """The figure; None without a time to target or a final error."""
    found = places(case)
    if not found:
        return None
    with matplotlib.rc_context(drawing.LOOKS):
        figure = drawing.new_figure(size, 1.15)
        axes = figure.add_subplot()
        front = pareto(found)
        on_front = {point for point, _, _ in front}
        reached = [one for one in found if one[1].replicas and not one[1].never]
        others = [one for one in reached if one[0] not in case.shown]
        draw_others(axes, [one for one in others if one[0] not in on_front], False)
        draw_others(axes, [one for one in others if one[0] in on_front], True)
        for one in reached:
            if one[0] in case.shown:
                draw_place(axes, case, *one, one[0] in on_front)
        drawing.set_log(axes.xaxis, [time.mean for _, time, _ in reached])
        draw_missed(axes, case, [one for one in found if one not in reached])
        if len(front) > 1:
            x, y = zip(*((time.mean, final.mean) for _, time, final in front))
            axes.step(x, y, where="post", color=drawing.GREY, linewidth=0.9, zorder=1)
        if not reached:
            axes.set_xticks([])
        axes.set_xlabel(case.measures[0].head)
        axes.set_ylabel(case.measures[1].name)
        drawing.legend_below(figure, axes, size)
        return figure
