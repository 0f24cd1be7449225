"""Output folders as gradrace writes them, of made-up runs whose best point is known."""

import json

import fabricate
import numpy as np
from report.answer import sentence, verdicts
from report.case import cases
from results import read_folder

NEVER = None


def scenario(protocols, **more):
    """Of points that differ in their protocol."""
    facts = {
        "title": "Which one?",
        "name": "made-up",
        "cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
        "model": {"kind": "softmax", "dataset": {"kind": "synthetic"}, "minibatch": 4},
        "record": {"every_time": 0.5},
        "sweep": {"protocol": [{"kind": name} for name in protocols]},
    }
    return facts | more


def value_of(text):
    """Of a swept value as CSV has it."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def write(folder, points, swept=("sweep.protocol",), target="time_to_error_0.1", **more):
    """runs.csv and manifest.json. points: {label: a list of runs (error, time to target or NEVER)};
    a label's swept values stand in `values`. more: of the scenario."""
    values = more.pop("values", {})
    columns = [*fabricate.RUNS, *swept, target, "gradients_computed", "final_hash", "label"]
    rows, told_points = [], {}
    for number, (label, runs) in enumerate(points.items()):
        told = dict(zip(swept, values.get(label, [json.dumps({"kind": label})])))
        settings = {path.removeprefix("sweep."): value_of(text) for path, text in told.items()}
        told_points[number] = fabricate.point(label, label, settings)
        for replica, (error, time) in enumerate(runs):
            diverged = error is not None and np.isinf(error)
            rows.append({
                "point": number, "replica": replica, "seed": 1, "protocol": label, "learners": 8, "k": 1,
                "status": "diverged" if diverged else "finished", "updates": 100,
                "gradients_applied": 100 * (number + 1), "gradients_dropped": 0, "gradients_cancelled": 0,
                "sim_time": 100.0, "mean_iteration_time": 1.0, "mean_staleness": number, "max_staleness": number,
                "final_loss": "nan" if diverged else "" if error is None else error,
                "final_test_error": "" if error is None or diverged else error,
                "theory_iteration_time": 1.0, "theory_basis": "exact", target: "" if time is NEVER else time,
                "gradients_computed": 100, "label": label,
            } | told)  # fmt: skip
    fabricate.write_table(folder / "runs.csv", columns, rows)
    facts = {"runs": len(rows), "runs_finished": len(rows), "file": "made-up.json", "notes": []}
    fabricate.describe(folder, told_points, [target], swept, scenario=scenario(points, **more), **facts)


def drawn(rng, means, replicas=10, shared=0.02, own=0.01, step=0.5):
    """{label: runs} whose errors have those means, a part of their luck shared by a replica's
    points; times to target grow with them and are rounded up to the step."""
    luck = rng.normal(size=(replicas, 1)) * shared + rng.normal(size=(replicas, len(means))) * own
    errors = np.array(list(means.values())) + luck
    late = rng.normal(size=(replicas, 1)) * shared + rng.normal(size=(replicas, len(means))) * own
    times = np.ceil(400 * (np.array(list(means.values())) + late) / step) * step
    return {label: list(zip(errors[:, i].tolist(), times[:, i].tolist())) for i, label in enumerate(means)}


def write_curve(folder, labels, replicas, rows):
    """curve.csv of so many evaluations a run."""
    told = []
    for point in range(len(labels)):
        for replica in range(replicas):
            for i in range(rows):
                error = 0.1 + 0.8 * 2.0 ** (-i * 100 / rows / (5 + point)) + 0.001 * replica
                told.append({
                    "point": point, "replica": replica, "time": 100 * i / rows, "update": i,
                    "loss": error, "test_error": error,
                })  # fmt: skip
    fabricate.write_table(folder / "curve.csv", fabricate.CURVE, told)


def write_learners(folder, labels, replicas, learners=8):
    header = "point replica learner busy idle wasted gradients".split()
    rows = [
        {
            "point": p, "replica": r, "learner": i, "busy": 80, "idle": 20, "wasted": 10 * p,
            "gradients": 10 if i else 2,
        }
        for p in range(len(labels)) for r in range(replicas) for i in range(learners)
    ]  # fmt: skip
    fabricate.write_table(folder / "learners.csv", header, rows)


class Answers(fabricate.Folder):
    def case(self):
        (only,) = cases(read_folder(self.folder))
        return only

    def said(self, points, **more):
        """The first sentence, without marks, and the verdicts."""
        write(self.folder, points, **more)
        case = self.case()
        found = verdicts(case)
        return str(sentence(case, found)).replace("<b>", "").replace("</b>", ""), found

    def best(self, means, seed, **more):
        """What is called best for time to target and for the final error."""
        rng = np.random.default_rng(seed)
        write(self.folder, drawn(rng, means, **more))
        case = self.case()
        return [one.best if one.best is None else case.label(one.best) for one in verdicts(case)]
