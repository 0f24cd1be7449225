"""Output folders as gradrace writes them, with made-up numbers: what the plots are tested on."""

import csv
import json
import random
import tempfile
import unittest
from itertools import product
from pathlib import Path

RUNS = (
    "point replica seed protocol learners k status updates gradients_applied gradients_dropped"
    " gradients_cancelled sim_time mean_iteration_time mean_staleness max_staleness final_loss"
    " final_test_error theory_iteration_time theory_basis"
).split()
CURVE = "point replica time update gradients epoch loss test_loss test_error learning_rate k".split()


class Folder(unittest.TestCase):
    """A test with an empty output folder of its own."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name) / "race"
        self.folder.mkdir()


def write_table(path, header, rows):
    """A CSV file of rows (dictionaries); what a row lacks is empty."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(header)
        table.writerows([[row.get(name, "") for name in header] for row in rows])


TEXTS = "protocol status theory_basis final_hash label reason".split()


def point(label, protocol, settings):
    """What a manifest says of a point, but for its number; settings: {path: value}."""
    parts = [word.split("=", 1) if "=" in word[1:] else ["", word] for word in label.split(" ")]
    told = [{"path": path, "value": value} for path, value in settings.items()]
    return {"protocol": protocol, "label": label, "parts": parts, "settings": told}


def target(column):
    """Of the column time_to_error_0.1."""
    of, level = column.split("_")[2:]
    told = {"of": "test_error" if of == "error" else of, "level": float(level), "column": column}
    return told | {"resolution": f"resolution_of_{column}"}


def describe(folder, points, targets=(), swept=(), **more):
    """Says in the manifest what runs.csv has: points {number: a point}, the columns of targets and of
    swept values; more: other keys."""
    path = folder / "manifest.json"
    facts = json.loads(path.read_text()) if path.is_file() else {"scenario": {"name": folder.name}}
    roles = dict.fromkeys(targets, "target") | dict.fromkeys(swept, "setting")
    columns = [{"name": name, "type": "text", "role": "run"} for name in TEXTS]
    columns += [{"name": name, "type": "text" if role == "setting" else "number", "role": role} for name, role in roles.items()]
    texts = [{"name": name, "type": "text", "role": "theory"} for name in ("basis", "source")]
    facts |= {"targets": [target(one) for one in targets], "columns": {"runs.csv": columns, "theory.csv": texts}}
    facts |= {"points": [{"number": number, **one} for number, one in points.items()]}
    path.write_text(json.dumps(facts | more))


def write_runs(folder, rows, swept=()):
    """runs.csv; a row's swept values stand in row["swept"], in the order of the swept paths. Its
    label is the protocol's name where it says no other."""
    extra = ["gradients_computed", "final_hash", "time_to_loss_0.1"]
    with open(folder / "runs.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*RUNS, *extra, *swept, "label"])
        for row in rows:
            told = [row.get(name, "") for name in RUNS]
            label = row.get("label", row["protocol"])
            table.writerow([*told, 1, "ab12", 2.5, *row.get("swept", ()), label])
    points = {row["point"]: point(row.get("label", row["protocol"]), row["protocol"], dict(zip(swept, row.get("swept", ())))) for row in rows}
    describe(folder, points, extra[-1:], swept)


def write_manifest(folder, title, **more):
    path = folder / "manifest.json"
    facts = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps(facts | {"scenario": {"name": folder.name, "title": title}} | more))


def manifest(name):
    """What a manifest holds that says where results come from."""
    return {
        "scenario": {"name": name, "title": f"{name}: who wins?", "seed": 7},
        "file": f"/somewhere/{name}.json",
        "seed": 7,
        "version": {"number": "1.2.3", "revision": "abcdef", "dirty": False},
        "hashes": {"scenario": "0123456789abcdef", "data": ["fedcba9876543210"]},
        "machine": {"system": "Linux", "processor": "a processor", "cores": 2, "compiler": "12"},
        "jobs": 2,
        "runs": 1234,
        "runs_finished": 1234,
        "elapsed": 65.0,
        "notes": ["a note of the run"],
    }


def error_at(k, time, luck):
    """A made-up test error: larger k is slower to fall and has a lower floor."""
    return 0.9 * 2.0 ** (-time * (1.3 - 0.1 * k) / 3) + (0.012 + 0.03 / k) * (1 + luck) + 0.01 * abs(luck)


def race(folder, ks, replicas=5, seed=1):
    """A sweep over protocol.k: curves at the same times, one diverged replica at the second point,
    the replicas of the third ending at different times. Returns the rows of runs.csv and of
    curve.csv."""
    rng = random.Random(seed)
    runs, curve = [], []
    for p, k in enumerate(ks):
        for r in range(replicas):
            diverged = p == 1 and r == 0
            end = 6 if diverged else 40 - 5 * r if p == 2 else 40
            luck = rng.gauss(0, 0.25)
            for i in range(end // 2 + 1):
                error = error_at(k, 2.0 * i, luck + rng.gauss(0, 0.08))
                loss = "nan" if diverged and i == end // 2 else 1.4 * error + 0.02
                row = {
                    "point": p,
                    "replica": r,
                    "time": 2.0 * i,
                    "update": int(2 * i * 8 / k),
                    "loss": loss,
                }
                curve.append(row | {"test_error": error, "learning_rate": 0.05, "k": k})
            status = "diverged" if diverged else "finished"
            row = {
                "point": p,
                "replica": r,
                "protocol": "k-async",
                "learners": 8,
                "k": k,
                "status": status,
            }
            row |= {"seed": 1, "theory_basis": "exact", "swept": [k], "label": f"k-async k={k}"}
            runs.append(row)
    write_runs(folder, runs, ["protocol.k"])
    write_table(folder / "curve.csv", CURVE, curve)
    return runs, curve


def sweep(folder, swept, final, replicas=2, missing=lambda values: False):
    """A sweep of the product of {path: values}, but for the combinations that are missing, with
    curves that fall to final(values), a test error, or (error, time to test error 0.2, status)."""
    rng = random.Random(1)
    runs, curve, points = [], [], {}
    combinations = [values for values in product(*swept.values()) if not missing(values)]
    for p, values in enumerate(combinations):
        told = final(values)
        error, reached, status = told if isinstance(told, tuple) else (told, "", "finished")
        names = [json.dumps(v) if isinstance(v, dict) else v for v in values]
        label = " ".join(f"{path.partition('.')[2] or path}={v}" for path, v in zip(swept, names))
        points[p] = point("async " + label, "async", dict(zip(swept, values)))
        for r in range(replicas):
            end = error + rng.gauss(0, 0.001)
            run = {"point": p, "replica": r, "protocol": "async", "status": status, "label": "async " + label}
            run |= {"final_test_error": end, "final_loss": 2 * end, "time_to_error_0.2": reached}
            runs.append(run | {f"sweep.{path}": v for path, v in zip(swept, names)})
            for t in range(4):
                row = {"point": p, "replica": r, "time": t, "update": 2 * t, "test_error": end + 1 / (1 + t)}
                curve.append(row)
    columns = [f"sweep.{path}" for path in swept]
    write_table(folder / "runs.csv", [*RUNS, *columns, "time_to_error_0.2", "label"], runs)
    write_table(folder / "curve.csv", CURVE, curve)
    paths = {path: list(values) for path, values in swept.items()}
    scenario = {"name": folder.name, "title": "A sweep", "sweep": paths}
    describe(folder, points, ["time_to_error_0.2"], columns, scenario=scenario)


def staleness(folder, counts):
    """staleness.csv of counts {(point, replica): {staleness: count}}."""
    rows = [{"point": p, "replica": r, "staleness": tau, "count": n} for (p, r), values in counts.items() for tau, n in values.items()]
    write_table(folder / "staleness.csv", ["point", "replica", "staleness", "count"], rows)


def theory(folder, curves):
    """theory.csv of curves {(point, basis, source): [(time, loss, update)]}."""
    rows = [
        {"point": p, "time": t, "loss": y, "basis": basis, "source": source, "update": j} for (p, basis, source), places in curves.items() for t, y, j in places
    ]
    write_table(folder / "theory.csv", "point time loss basis source update".split(), rows)


def gradient(point, learner, draw, start, end, fate):
    """A gradient's slice in the trace."""
    arguments = {"version": 0, "draw": draw, "fate": fate} | ({"staleness": 0} if fate == "used" else {})
    place = {"pid": point, "tid": learner + 1, "ts": 1e6 * start, "dur": 1e6 * (end - start)}
    return {"ph": "X", "cat": "gradient", "name": "gradient", "args": arguments} | place


def transfer(point, learner, name, start, end):
    """The slice of a pull or a push in the trace."""
    place = {"pid": point, "tid": learner + 1, "ts": 1e6 * start, "dur": 1e6 * (end - start)}
    return {"ph": "X", "cat": "transfer", "name": name, "args": {}} | place


def version(point, number, start, end):
    """A server version's slice in the trace."""
    place = {"pid": point, "tid": 0, "ts": 1e6 * start, "dur": 1e6 * (end - start)}
    return {"ph": "X", "cat": "version", "name": f"w{number}", "args": {"version": number}} | place


LEARNERS = 99  # of points with exchanges


def exchange(point, number, name, learners, start, end, **more):
    """The slices of an exchange in the trace, one for each of its learners; more: what else its arguments are."""
    told = {"ph": "X", "pid": point, "cat": "exchange", "name": name, "args": {"exchange": number} | more}
    times = {"ts": 1e6 * start, "dur": 1e6 * (end - start)}
    return [told | times | {"tid": LEARNERS + learner + 1} for learner in learners]


def rounds(point, label, rng, learners, k, end, late):
    """Trace events of a protocol that updates with the first k gradients of a round; late ones are
    cancelled ("cancelled") or finish and are dropped ("dropped"), or are carried on ("used":
    k-async)."""
    events = [{"ph": "M", "name": "process_name", "pid": point, "args": {"name": label}}]
    now, number, draw = 0.0, 0, [0] * learners
    busy = {who: (0.0, 0.3 + rng.expovariate(1)) for who in range(learners)}
    while now < end:
        order = sorted(busy, key=lambda who: busy[who][1])
        update = busy[order[k - 1]][1]
        events.append(version(point, number, now, update))
        for i, who in enumerate(order):
            start, finish = busy[who]
            if i >= k and late != "cancelled":
                continue
            fate = "used" if i < k else "cancelled"
            if late == "dropped" and start < now:
                fate = "dropped"
            events.append(gradient(point, who, draw[who], start, min(finish, update), fate))
            draw[who] += 1
            again = finish if fate == "dropped" else update
            busy[who] = (again, again + 0.3 + rng.expovariate(1))
        now, number = update, number + 1
    events += [gradient(point, who, draw[who], s, max(s, now), "in flight") for who, (s, _) in busy.items()]
    return events


def trace(folder, events):
    (folder / "trace.json").write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))


def fit(folder, series, families=("lognormal", "gamma"), evened=False, persistence=None, cancelled=(), outliers=(), column="who"):
    """The output folder of a fit: series are {learner: times}; every family has the quantiles p of
    the uniform law on 0 to 10.  The times `cancelled` are those of cancelled minibatches, and
    `outliers` have a law of their own.  `column` says whose a time is."""
    times = [x for each in series.values() for x in each]
    rows = []
    for learner, each in series.items():
        even = sum(times) / len(times) * len(each) / sum(each)
        rows += [
            {
                "learner": learner,
                "draw": n,
                "time": x,
                "evened": x * even,
                "cancelled": int(x in cancelled),
                "outlier": int(x in outliers),
            }
            for n, x in enumerate(each)
        ]
    write_table(folder / "sample.csv", "learner draw time evened cancelled outlier".split(), rows)
    write_table(folder / "fit.csv", ["family"], [{"family": family} for family in families])
    quantiles = [{"family": family, "p": (i + 0.5) / 100, "quantile": (i + 0.5) / 10} for family in families for i in range(100)]
    write_table(folder / "quantiles.csv", "family p quantile".split(), quantiles)
    facts = {
        "file": "/somewhere/times.csv",
        "column": "t",
        "learner_column": column,
        "verdict": "persistence",
        "evened": evened,
        "censored": bool(cancelled),
        "variation": 0.5,
        "variation_within": 0.4,
        "cluster": {"persistence": persistence} if persistence else {},
    }
    (folder / "fit.json").write_text(json.dumps(facts))
