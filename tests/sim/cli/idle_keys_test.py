"""Every key of the schema changes what is run, or is refused: none is read and then left out of account.

Each kind is taken from its example in the schema, with each word and flag that it may have; then each other key is
given other values.  The results must differ from those without it, or the call must end with 2.
"""

import concurrent.futures
import csv
import io
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from program import PROGRAM, changed

IS_LONG = bool(os.environ.get("GRADRACE_LONG"))  # laws at every place, else each at two, in turns
EXPONENTIAL = {"distribution": "exponential", "mean": 0.3}
GAMMA = {"distribution": "gamma", "mean": 1, "cv": 0.4}
# Of two learners each; the second column is the first in another order.
TIMES = "time,other,worker,node\n" + "".join(f"{0.3 + (7 * i) % 11 / 10},{0.4 + (5 * i) % 7 / 9},{i % 2},{i // 20}\n" for i in range(40))
TABLE = "a,b,d,c\n" + "".join(f"{(3 * i) % 7},{(5 * i) % 4},{i % 3},{(i // 3) % 4}\n" for i in range(60))
LAYERS = "layer,flop,parameter_bytes,activation_bytes\na,3,40,5\nb,2,400,2\nc,4,90,30\n"
CURVE = "samples,loss\n0,4\n100,1\n1000,0.5\n"
SPARSE = "".join(f"{i % 3} 1:{(3 * i) % 7} 2:{(5 * i) % 4} 3:{i % 2}\n" for i in range(60))

TIMING = {
    "cluster": {"learners": 4, "runtime": GAMMA},
    "protocol": {"kind": "async"},
    "stop": {"updates": 40},
}
SYNTHETIC = {"kind": "synthetic", "rows": 120, "test_rows": 40, "height": 8, "width": 8}
TRAINING = {
    "cluster": {"learners": 4, "runtime": GAMMA},
    "model": {"kind": "softmax", "dataset": changed(SYNTHETIC, height=None, width=None, features=6), "minibatch": 4},
    "protocol": {"kind": "async"},
    "learning_rate": {"kind": "constant", "eta": 0.05},
    "stop": {"gradients": 64},
    "record": {"every_updates": 8},
}
UNTRAINED = changed(TRAINING, model=None, learning_rate=None)
PEERS = changed(TRAINING, protocol={"kind": "local-sgd", "tau": 4})
LAYERED = {"topology": "mesh", "latency": 0.01, "bandwidth": 2000, "layers": {"path": "layers.csv"}}
MESH = {"topology": "mesh", "latency": 0.01, "bandwidth": 1000, "model_bytes": 100}


def at(scenario, path, value):
    """A copy with another value at the dotted path; None takes it away."""
    copy = json.loads(json.dumps(scenario))
    place = copy
    *folders, last = path.split(".")
    for name in folders:
        place = place[int(name)] if isinstance(place, list) else place.setdefault(name, {})
    if isinstance(place, list):
        place[int(last)] = value
    elif value is None:
        place.pop(last, None)
    else:
        place[last] = value
    return copy


SWITCHING = changed(
    TRAINING,
    protocol={
        "kind": "switch",
        "phases": [{"protocol": {"kind": "sync"}, "end": {"updates": 5}}, {"protocol": {"kind": "async"}}],
    },
)
SLOWED = at(
    at(changed(SWITCHING, stop={"gradients": 400}), "protocol.phases.0.end", {"updates": 80}),
    "cluster.windows",
    [{"start": 5, "length": 10, "every": 25, "factor": 2, "learners": [1]}],
)

WITHOUT_SERVER = ("all-reduce", "local-sgd", "dasgd", "ripples", "partial-reduce", "noloco", "async-local-sgd", "d-psgd", "ad-psgd", "cocoa")
PROTOCOLS = {
    "k-sync": {"k": 2},
    "k-batch-sync": {"k": 2},
    "k-async": {"k": 2},
    "k-batch-async": {"k": 2},
    "deadline": {"k": 2},
    "adasync": {"interval": 1},
    "partial-reduce": {"group": 2},
    "noloco": {"tau": 2},
    "async-local-sgd": {"tau": 2},
    "ripples": {"group": 2},
    "switch": {"phases": SWITCHING["protocol"]["phases"]},
    "python": None,
}
MOMENTUM = {"momentum": 0.5}
SVM = {"kind": "svm", "l2": 0.01, "dataset": {**TRAINING["model"]["dataset"], "partition": {"kind": "iid"}}}
WORLDS = {
    "switch": [{}, {"optimiser": MOMENTUM}],
    "ripples": [{"cluster": at(PEERS, "cluster.slow", {"learners": [1], "factor": 6})["cluster"]}],
    "adasync": [{"stop": {"gradients": 600}, "learning_rate": {"kind": "constant", "eta": 0.5}}],
    "local-sgd": [{}, {"optimiser": MOMENTUM}],
    "all-reduce": [{}, *({"cluster": at(PEERS, "cluster.network", network)["cluster"]} for network in (MESH, LAYERED))],
    "ad-psgd": [{}, {"cluster": at(PEERS, "cluster.network", MESH)["cluster"]}],
    "dasgd": [{}, {"cluster": at(PEERS, "cluster.network", MESH)["cluster"]}],
    "cocoa": [{"model": SVM, "learning_rate": None}],
}
WHOLE_CLUSTER = changed(
    TIMING,
    cluster={
        **TIMING["cluster"],
        "outliers": {"probability": 0.3, "runtime": EXPONENTIAL},
        "slow": {"learners": [1], "factor": 3},
        "windows": [{"start": 1, "length": 2, "factor": 2, "every": 5}],
        "server": {"per_gradient": 0.1},
        "failures": {"up": GAMMA, "down": EXPONENTIAL},
    },
)
GROUP = {
    "parallelism": "2.5-d",
    "grid": [4, 4, 2],
    "transformer": {"layers": 2, "batch": 4, "sequence": 4, "hidden": 8},
    "per_node": 4,
    "inside": {"latency": 0.01, "bandwidth": 5000},
    "between": {"latency": 0.02, "bandwidth": 2000},
}
PLACES_OF_LAWS = [
    (TIMING, "cluster.runtime"),
    (at(at(TIMING, "cluster.runtime", None), "cluster.runtimes", [None, GAMMA]), "cluster.runtimes.0"),
    (at(TIMING, "cluster.network.push", GAMMA), "cluster.network.pull"),
    (TIMING, "cluster.network.push"),
    (at(TIMING, "cluster.failures.down", EXPONENTIAL), "cluster.failures.up"),
    (at(TIMING, "cluster.failures.up", EXPONENTIAL), "cluster.failures.down"),
    (at(TIMING, "cluster.outliers.probability", 0.3), "cluster.outliers.runtime"),
    (at(TIMING, "cluster.outliers.probability_law", {"distribution": "uniform", "low": 0.1, "high": 0.5}), "cluster.outliers.runtime"),
]
OF_PROBABILITY = (at(TIMING, "cluster.outliers.runtime", EXPONENTIAL), "cluster.outliers.probability_law")
BELOW_1 = ("uniform", "exponential", "gamma", "weibull", "empirical")  # some of what they give
SMALL_LINK = {"bandwidth": 1000, "model_bytes": 100}
NETWORKS = {
    "star": SMALL_LINK,
    "mesh": SMALL_LINK,
    "regions": {"per_region": 2, "model_bytes": 100, "regions": [{"bandwidth": [5000, 1000], "latency": 0.001}, {"bandwidth": 2000}]},
    "nodes": {"per_node": 2, "model_bytes": 100, "between": {"latency": 0.01, "bandwidth": 1000}, "inside": {"latency": 0.001, "bandwidth": 5000}},
}
NETWORKED = [{"kind": "async"}, {"kind": "sync"}]
PEERED = [
    {"kind": "local-sgd", "tau": 4},
    {"kind": "all-reduce"},
    {"kind": "d-psgd", "graph": "ring"},
    {"kind": "ad-psgd", "graph": "bipartite-exponential"},
    {"kind": "partial-reduce", "group": 2},
]
MODELS = {
    "least-squares": {"dataset": {"kind": "synthetic-regression", "rows": 120, "test_rows": 40, "features": 6}},
    "logistic": {"dataset": {"kind": "synthetic", "classes": 2, "rows": 120, "test_rows": 40, "features": 6}},
    "softmax": {"dataset": TRAINING["model"]["dataset"]},
    "svm": {"dataset": TRAINING["model"]["dataset"]},
    "mlp": {"dataset": TRAINING["model"]["dataset"], "widths": [5, 4]},
    "cnn": {"dataset": changed(SYNTHETIC, features=64), "channels": [2], "kernel": 3, "dense": [4], "minibatch": 4},
    "resnet": {"dataset": changed(SYNTHETIC, features=64), "minibatch": 4, "width": 2},
    "table": {"minibatch": 4},
    "python": None,
}
DATASETS = {
    "idx": None,
    "mnist": None,
    "cifar10": None,
    "cifar100": None,
    "npz": None,
    "digits": None,
    "libsvm": {"path": "a9a", "test_path": "a9a.t", "features": 3},
    "csv": {"path": "wine.csv", "label": "d", "test_rows": 20},
    "synthetic": {"rows": 120, "test_rows": 40, "features": 6},
    "synthetic-regression": {"rows": 120, "test_rows": 40, "features": 6},
}
LEARNING_RATES = {"step": {"at": [20, 40]}, "inverse-sqrt": {"after": 20}, "distance": {"c": 0.001, "eta_max": 1}}
OF_STALENESS = ("staleness", "staleness-exponential", "distance")
# Values of keys that the schema's bounds do not give.
VALUES = {
    "path": ["layers.csv"],
    "learner_column": ["worker"],
    "column": ["other"],
    "probabilities": [[0.5, 0.5]],
    "weights": [[0.5, 0.5]],
    "label": ["c"],
    "depth": [14],
    "momentum": [0.5, 0.7],
    "at": [[10], [0.5]],
    "deviations": [0, 0.2, 5],
    "slow": [{"learners": [0], "factor": 2}],
    "grid": [[2, 2, 2], [1, 1, 2]],
}


def is_degenerate(scenario, place, name):
    """Whether a key has its meaning, and what else stands there makes nothing of it."""
    protocol, here = scenario["protocol"]["kind"], found(scenario, place)
    names_files = name in ("path", "test_path", "test_file")
    for_readers = name in ("price", "price_per_gigabyte", "details", "trace", "trace_updates", "updates")  # other files, or none
    # Each update has one gradient, and a race over protocols has one learning rate.
    scale_of_one = name == "scale" and place == "learning_rate" and protocol in ("async", "local-sgd")
    never_stale = name in ("rho", "c") and protocol == "sync"
    # Of a collective of all learners there is one at a time.
    alone = name == "shared" and protocol in ("local-sgd", "all-reduce")
    # Communication takes no time without a network.
    at_once = name == "buckets" and "network" not in scenario["cluster"]
    # Evaluations that no table has.
    untold = place == "record" and here.get("details") is False
    # A loss that falls at every look.
    falling = name == "monotone"
    # A table that goes further than the run; the shorter of a roofline's times.
    within = name == "extrapolate" or (name in ("bytes", "bandwidth") and here.get("distribution") == "roofline")
    # Four learners are one node, all of whom average.
    of_one_node = name == "filter" and here.get("schedule") == "inter-intra"
    # After a round of sync nothing is in flight.
    none_in_flight = name == "in_flight" and place == "protocol.phases.1"
    return names_files or for_readers or scale_of_one or never_stale or alone or at_once or none_in_flight or untold or falling or within or of_one_node


def instances(definitions, catalog, changes):
    """An example of each kind of the catalog, with its schema; `changes`: by the kind's name."""
    for schema in definitions[catalog]["oneOf"]:
        example = json.loads(json.dumps(schema["examples"][0]))
        name = next(example[word] for word in ("kind", "distribution", "topology") if word in example)
        change = changes.get(name, {})
        if change is not None:
            yield name, changed(example, **change), schema


def subjects(root):
    """Scenarios, and the dotted path of the object in each whose keys are changed, with its schema."""
    sections, definitions = root["properties"], root["definitions"]
    yield WHOLE_CLUSTER, "cluster", sections["cluster"]
    yield at(TIMING, "cluster.group", GROUP), "cluster.group", sections["cluster"]["properties"]["group"]
    for section in ("record", "stop"):
        yield TRAINING, section, sections[section]
    yield UNTRAINED, "stop", sections["stop"]
    for name, kind, schema in instances(definitions, "protocols", PROTOCOLS):
        world = PEERS if name in WITHOUT_SERVER else TRAINING
        for more in WORLDS.get(name, [{}]):
            yield changed(world, protocol=kind, **more), "protocol", schema
        if name == "switch":
            yield changed(UNTRAINED, protocol=kind), "protocol", schema
    for number, (name, law, schema) in enumerate(instances(definitions, "distributions", {})):
        places = PLACES_OF_LAWS if IS_LONG else (PLACES_OF_LAWS * 2)[number % 8 :: 5][:2]
        for scenario, path in places + [OF_PROBABILITY] * (name in BELOW_1):
            yield at(scenario, path, law), path, schema
    for _, kind, schema in instances(definitions, "persistence", {}):
        yield at(changed(TIMING, record={"updates": True}), "cluster.persistence", kind), "cluster.persistence", schema
    for name, kind, schema in instances(definitions, "networks", NETWORKS):
        for protocol in NETWORKED if name == "star" else PEERED:
            yield changed(at(PEERS, "cluster.network", kind), protocol=protocol), "cluster.network", schema
        if name == "mesh":
            for layers in ({}, {"parallelism": "hybrid", "minibatch": 4}):
                network = at(LAYERED, "layers", {**LAYERED["layers"], **layers})
                yield changed(at(PEERS, "cluster.network", network), protocol={"kind": "all-reduce"}), "cluster.network", schema
    star = {"bandwidth": 2000, "layers": LAYERED["layers"]}
    (schema,) = (schema for name, _, schema in instances(definitions, "networks", NETWORKS) if name == "star")
    yield changed(at(TRAINING, "cluster.network", star), protocol={"kind": "sync"}), "cluster.network", schema
    for name, kind, schema in instances(definitions, "models", MODELS):
        rate = None if name == "table" else TRAINING["learning_rate"]
        yield changed(TRAINING, model=kind, learning_rate=rate), "model", schema
    for name, kind, schema in instances(definitions, "datasets", DATASETS):
        model = "least-squares" if "regression" in name else "softmax"
        yield changed(TRAINING, model={"kind": model, "dataset": kind, "minibatch": 4}), "model.dataset", schema
    for _, kind, schema in instances(definitions, "partitions", {}):
        yield at(PEERS, "model.dataset.partition", kind), "model.dataset.partition", schema
    for _, kind, schema in instances(definitions, "optimisers", {}):
        yield changed(TRAINING, optimiser=kind), "optimiser", schema
        yield changed(UNTRAINED, optimiser=kind), "optimiser", schema
        yield changed(PEERS, optimiser=kind), "optimiser", schema
    for _, kind, schema in instances(definitions, "compressors", {}):
        yield changed(TRAINING, compression=kind), "compression", schema
    for _, kind, schema in instances(definitions, "policies", {}):
        path = "protocol.phases.0.end.policy"
        yield at(at(SWITCHING, "protocol.phases.0.end", {"interval": 0.5}), path, kind), path, schema
    for _, kind, schema in instances(definitions, "straggler-policies", {}):
        path = "protocol.phases.0.stragglers"
        yield at(SLOWED, path, {**kind, "window": 2, "windows": 1}), path, schema
    for name, kind, schema in instances(definitions, "learning-rates", LEARNING_RATES):
        yield changed(TRAINING, learning_rate=kind), "learning_rate", schema
        yield changed(TRAINING, learning_rate=kind, protocol={"kind": "sync"}), "learning_rate", schema
        if name not in OF_STALENESS:
            yield changed(PEERS, learning_rate=kind), "learning_rate", schema


def values_of(schema, name):
    """Some values that the key may have."""
    if name in VALUES:
        return VALUES[name]
    if "anyOf" in schema:
        return [value for one in schema["anyOf"] for value in values_of(one, "")]
    if "$ref" in schema:
        return {"distributions": [EXPONENTIAL], "learning-rates": [{"kind": "constant", "eta": 0.02}]}.get(schema["$ref"].rsplit("/", 1)[1], [])
    kind = schema.get("type")
    if "enum" in schema:
        return schema["enum"]
    if kind == "boolean":
        return [True, False]
    if kind == "array" and isinstance(schema["items"], dict):
        return [[value, value] for value in values_of(schema["items"], "")]
    if kind not in ("integer", "number"):
        return []
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", 1e9))
    tried = [1, 2, 3, 7] if kind == "integer" else [0.05, 0.3, 0.7, 2.5]
    usual = schema.get("default")
    if usual is not None:
        tried += [usual + 1, usual + 2] if kind == "integer" else [usual * 0.5, usual * 1.5]
    return [value for value in tried if low < value < high]


def objects_of(schema, path, value):
    """The object and those within it that are there, each with its path and schema."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        if not isinstance(value, dict) or name not in value:
            continue
        if inner.get("type") == "object":
            yield from objects_of(inner, f"{path}.{name}", value[name])
        items = inner.get("items", {})
        if items.get("type") == "object":
            for index, one in enumerate(value[name]):
                yield from objects_of(items, f"{path}.{name}.{index}", one)


def found(scenario, path):
    for name in path.split("."):
        if isinstance(scenario, list):
            scenario = scenario[int(name)]
        else:
            scenario = scenario.get(name, {})
    return scenario


def modes(scenario, path, schema):
    """The scenario, and that with each other word or flag of the object."""
    yield scenario
    for name, inner in schema["properties"].items():
        if name in schema.get("required", []) and "enum" not in inner:
            continue
        if "enum" in inner or inner.get("type") == "boolean":
            for value in values_of(inner, name):
                if value != inner.get("default"):
                    yield at(scenario, f"{path}.{name}", value)
        if inner.get("type") == "object":
            least = {key: values_of(inner["properties"][key], key)[0] for key in inner.get("required", [])}
            yield at(scenario, f"{path}.{name}", least)


class Runs:
    """What scenarios give, each run once."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.known = {}
        (self.folder / "times.csv").write_text(TIMES, encoding="utf-8")
        (self.folder / "wine.csv").write_text(TABLE, encoding="utf-8")
        (self.folder / "curve.csv").write_text(CURVE, encoding="utf-8")
        (self.folder / "layers.csv").write_text(LAYERS, encoding="utf-8")
        (self.folder / "a9a").write_text(SPARSE, encoding="utf-8")
        (self.folder / "a9a.t").write_text(SPARSE[: SPARSE.index("\n", 200) + 1], encoding="utf-8")

    def of(self, scenario):
        """The tables but for names; none where the call is refused."""
        text = json.dumps(scenario)
        if text not in self.known:
            self.known[text] = self.made(text)
        return self.known[text]

    def made(self, text):
        out = tempfile.mkdtemp(dir=self.folder)
        words = [PROGRAM, "run", "-", "--quiet", "--jobs", "1", "--device", "cpu", "--out", out]
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False, cwd=self.folder)
        if done.returncode != 0:
            return None
        return "\n".join(map(table, sorted(pathlib.Path(out).glob("*.csv"))))


def table(path):
    """Without what only names the run."""
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    names = ("protocol", "label", "point", "seed")
    return path.name + str([{key: row[key] for key in row if key not in names} for row in rows])


class IdleKeysTest(unittest.TestCase):
    def test_a_key_changes_what_is_run_or_is_refused(self):
        schema = json.loads(subprocess.run([PROGRAM, "schema"], capture_output=True, check=True).stdout)
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            runs = Runs(folder)

            def is_idle(case):
                usual = runs.of(case[1])
                return usual is not None and all(runs.of(other) == usual for other in case[2])

            tried = list(cases(schema))
            idle = [case[0] for case, says_nothing in zip(tried, pool.map(is_idle, tried)) if says_nothing]
        self.assertGreater(len(tried), 1000 if IS_LONG else 600)
        self.assertEqual(sorted(set(idle)), [])


def cases(schema):
    """What is changed, the scenario without it, and those with it."""
    for scenario, path, whole in subjects(schema):
        for place, inner in objects_of(whole, path, found(scenario, path)):
            for mode in modes(scenario, place, inner):
                for name, of_key in inner["properties"].items():
                    case = case_of(mode, place, name, of_key, name in inner.get("required", []))
                    if case:
                        yield case


def case_of(scenario, place, name, schema, is_required):
    """None where the key has no other value."""
    object_ = found(scenario, place)
    key = f"{place}.{name}"
    usual = object_.get(name, schema.get("default"))
    tried = [value for value in values_of(schema, name) if value != usual]
    if "const" in schema or not tried or is_degenerate(scenario, place, name):
        return None
    base = scenario if is_required or name in object_ else at(scenario, key, None)
    told = f"{key} in {json.dumps(scenario)}"
    return told, base, [at(scenario, key, value) for value in tried]


if __name__ == "__main__":
    unittest.main()
