"""Figs 3 and 4: who waits for whom."""

from figures import Bar, Figure


def timelines(outputs):
    figure = Figure(
        "fig3",
        "Figs 3 and 4: who waits for whom, P = 3, K = 2 (up to the fourth update)",
        "time",
        "learner",
        note="A bar is a gradient, named by the version it is of. The paper gives no numbers.",
    )
    names = {}
    for event in outputs.trace("fig3_who_waits_for_whom"):
        point = event["pid"]
        if event.get("name") == "process_name":
            names[point] = event["args"]["name"]
        if event.get("cat") != "gradient":
            continue
        start = event["ts"] / 1e6
        row = f"{names[point]}, {event['tid']}"
        facts = event["args"]
        end = start + event["dur"] / 1e6
        figure.bars.append(Bar(row, start, end, facts["fate"], f"w{facts['version']}"))
    return [figure], []
