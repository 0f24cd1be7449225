"""Tables of layers: those of scenarios/layers are what their shapes give and what is known of the networks, are found by their
names, and others are refused with what is wrong in them."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from program import PROGRAM, ROOT, changed, rows

sys.dont_write_bytecode = True
sys.path.append(str(ROOT / "scenarios/layers"))
import make_tables

TIMING = {
    "cluster": {
        "learners": 4,
        "runtime": {"distribution": "deterministic", "value": 1},
        "network": {"topology": "mesh", "bandwidth": 1e9, "layers": {"path": "vgg-a"}},
    },
    "protocol": {"kind": "all-reduce"},
    "stop": {"updates": 3},
}


def table(name):
    return [{key: float(cell) for key, cell in row.items() if key != "layer"} for row in rows(ROOT / f"scenarios/layers/{name}.csv")]


def parameters(name):
    return sum(row["parameter_bytes"] for row in table(name)) / 4


def multiply_adds(name):
    return sum(row["flop"] for row in table(name)) / 2


class Tables(unittest.TestCase):
    def test_they_are_what_the_shapes_give(self):
        folder = ROOT / "scenarios/layers"
        self.assertEqual({path.stem for path in folder.glob("*.csv")}, set(make_tables.TABLES))
        for name, network in make_tables.TABLES.items():
            self.assertEqual((folder / f"{name}.csv").read_text(encoding="utf-8"), make_tables.text_of(network))

    def test_their_sums_are_known(self):
        """Numbers of parameters as the networks' authors and their implementations count them; multiply-adds, biases included."""
        for name, numbers, work in (
            ("vgg-a", 132_863_336, 7.62e9),
            ("vgg-16", 138_357_544, 15.5e9),
            ("overfeat-fast", 145_920_872, 2.80e9),
            ("alexnet", 60_965_224, 0.725e9),
            ("resnet-50", 25_557_032, 4.11e9),
            ("cd-dnn", 45_122_648, 45.1e6),
        ):
            self.assertEqual(parameters(name), numbers, name)
            self.assertEqual(float(f"{multiply_adds(name):.3g}"), work, name)
        dense = sum(row["parameter_bytes"] for row in table("vgg-a")[8:]) / 4e6
        self.assertEqual((round(dense, 1), round(parameters("vgg-a") / 1e6 - dense, 2)), (123.6, 9.22))
        dense = sum(row["parameter_bytes"] for row in table("overfeat-fast")[5:]) / 4e6
        biases = 96 + 256 + 512 + 1024 + 1024  # of the convolutions, which 15.98 million leave out
        convolutions = parameters("overfeat-fast") - 1e6 * dense - biases
        self.assertEqual((round(dense, 1), round(convolutions / 1e6, 2)), (129.9, 15.98))

    def test_a_transformer_has_the_work_of_its_size(self):
        s, h, layers = 64, 32, 3
        made = make_tables.transformer(sequence=s, hidden=h, layers=layers, vocabulary=100).rows
        inner = made[1:-1]
        self.assertEqual(sum(row[1] for row in inner), layers * (24 * s * h**2 + 4 * s**2 * h))
        self.assertEqual(sum(row[2] for row in inner), layers * 4 * 12 * h**2)
        words = [sys.executable, ROOT / "scenarios/layers/make_tables.py", "transformer", "--sequence", "64", "--hidden", "32"]
        told = subprocess.run([*words, "--layers", "3", "--vocabulary", "100"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(len(told.splitlines()), 1 + len(made))


class Scenarios(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)

    def run_with(self, table=None, network=None, **layers):
        if table is not None:
            (self.folder / "own.csv").write_text(table, encoding="utf-8")
            layers["path"] = "own.csv"
        network = {**TIMING["cluster"]["network"], **(network or {})}
        network["layers"] = {**network["layers"], **layers}
        scenario = changed(TIMING, cluster={**TIMING["cluster"], "network": network})
        (self.folder / "scenario.json").write_text(json.dumps(scenario), encoding="utf-8")
        words = [PROGRAM, "run", self.folder / "scenario.json", "--out", self.folder / "out", "--quiet"]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    def refused(self, words, *given, **keys):
        done = self.run_with(*given, **keys)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(words, done.stderr)

    def test_a_table_is_found_by_its_name_and_hashed(self):
        self.assertEqual(self.run_with().returncode, 0)
        out = self.folder / "out"
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        self.assertEqual(len(manifest["hashes"]["data"]), 1)
        seconds = 1.5 * 4 * parameters("vgg-a") / 1e9
        (row,) = rows(out / "runs.csv")
        self.assertLess(abs(float(row["sim_time"]) / 3 - 1), seconds)

    def test_what_is_wrong_is_refused_where_it_stands(self):
        names = "layer,flop,parameter_bytes,activation_bytes\n"
        self.refused("own.csv: has no rows", names)
        self.refused('own.csv has no column "flop"', "layer,parameter_bytes,activation_bytes\na,1,1\n")
        self.refused('own.csv:3: parameter_bytes is "-1"', names + "a,1,1,1\nb,1,-1,1\n")
        self.refused('own.csv:2: flop is "many"', names + "a,many,1,1\n")
        self.refused("flop is 0 in every row", names + "a,0,1,1\n")
        self.refused("parameter_bytes is 0 in every row", names + "a,1,0,1\n")
        self.refused('no file "vgg-b.csv"', path="vgg-b.csv")
        self.refused("model_bytes: is not the sum of the layers' parameter_bytes, 7", names + "a,1,3,1\nb,1,4,1\n", network={"model_bytes": 8})
        self.refused("minibatch: is missing", parallelism="hybrid")
        self.refused("minibatch: says nothing where every learner has all layers", minibatch=3)
        self.refused("minibatch: must be 1 to 1000000000, got 0", minibatch=0, parallelism="model")
        self.refused("allowed: data, model, hybrid", parallelism="pipeline")

    def test_what_does_not_go_with_layers_is_refused(self):
        def told(**changes):
            (self.folder / "scenario.json").write_text(json.dumps(changed(TIMING, **changes)), encoding="utf-8")
            done = subprocess.run([PROGRAM, "validate", self.folder / "scenario.json"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            return done.stderr

        pairs = {"kind": "ad-psgd", "graph": "bipartite-exponential"}
        self.assertIn("layers: leave one by one while the backward pass makes them, and these learners exchange whole", told(protocol=pairs))
        self.assertIn("allowed: without it; or all-reduce, local-sgd, d-psgd; or a switch of all-reduce, local-sgd", told(protocol=pairs))
        phases = [{"protocol": {"kind": "all-reduce"}, "end": {"updates": 1}}, {"protocol": {"kind": "ripples", "schedule": "group-division"}}]
        neighbours = [phases[0], {"protocol": {"kind": "d-psgd", "graph": "ring"}}]
        for of in (phases, neighbours):
            self.assertIn("layers: leave one by one while the backward pass makes them, and a phase's", told(protocol={"kind": "switch", "phases": of}))
        neighbours[1]["protocol"]["buckets"] = 2
        self.assertIn("phases[1].protocol.buckets: is not for a phase", told(protocol={"kind": "switch", "phases": neighbours}))
        self.assertIn("protocol.buckets: says nothing where each layer is exchanged", told(protocol={"kind": "all-reduce", "buckets": 3}))
        self.assertIn("protocol.accumulate: does not go with", told(protocol={"kind": "all-reduce", "accumulate": 3}))
        many = {**TIMING["cluster"], "learners": 1000, "network": {"topology": "mesh", "bandwidth": 1, "model_bytes": 1}}
        ring = {"kind": "d-psgd", "graph": "ring", "buckets": 10001}
        self.assertIn("buckets: are too many for so many learners", told(cluster=many, protocol=ring))
        failing = {"up": {"distribution": "exponential", "mean": 90}, "down": {"distribution": "exponential", "mean": 1}}
        self.assertIn("cluster.network.layers: ", told(cluster={**TIMING["cluster"], "failures": failing}))

        def told_of_star(layers=None, cluster=None, **changes):
            star = {"layers": {"path": "vgg-a", **(layers or {})}, **changes}
            return told(cluster={**TIMING["cluster"], "network": star, **(cluster or {})}, protocol={"kind": "sync"})

        self.assertIn("layers.parallelism: unknown key", told_of_star({"parallelism": "model"}, bandwidth=1e9))
        self.assertIn("overlap: says nothing beside layers", told_of_star(overlap=True, bandwidth=1e9))
        self.assertIn("layers: say nothing where bytes take no time", told_of_star())
        self.assertIn("network.layers: does not go with shards that differ", told_of_star(cluster={"server": {"shards": [3, 1]}}, bandwidth=1e9))
        network = {**TIMING["cluster"]["network"], "layers": {"path": "vgg-a", "parallelism": "hybrid", "minibatch": 4}}
        divided = {"cluster": {**TIMING["cluster"], "network": network}, "compression": {"kind": "qsgd", "bits": 4}}
        self.assertIn("compression: ", told(**divided))
        phases[1] = {"protocol": {"kind": "all-reduce"}}
        among = {**TIMING["cluster"], "network": network}
        self.assertIn("parallelism: divides layers", told(cluster=among, protocol={"kind": "switch", "phases": phases}))
        local = {"kind": "local-sgd", "tau": 4}
        self.assertIn("parallelism: divides layers", told(cluster={**TIMING["cluster"], "network": network}, protocol=local))
        group = {"parallelism": "1-d", "grid": [2, 2, 1]}
        self.assertIn("parallelism: divides layers among learners, and", told(cluster={**TIMING["cluster"], "network": network, "group": group}))
        slow = {**network, "layers": {"path": "vgg-a", "parallelism": "model", "minibatch": 1_000_000_000}, "bandwidth": 0.001}
        self.assertIn("minibatch: makes what goes into a layer take", told(cluster={**TIMING["cluster"], "network": slow}))
        missing = told(cluster={**TIMING["cluster"], "network": {**network, "layers": {"path": "vgg-b"}}})
        self.assertIn("path: is no table of scenarios/layers", missing)
        self.assertIn("allowed: alexnet, cd-dnn, overfeat-fast, resnet-50, transformer, vgg-16, vgg-a, or", missing)
        self.assertIn("network.layers: leave before a model's message", told(protocol=local, compression=divided["compression"]))

    def test_sizes_of_groups_that_have_one_share_are_noted(self):
        def noted(**sweep):
            network = {"topology": "mesh", "bandwidth": 1e9, "model_bytes": 1e8}
            cluster = {**TIMING["cluster"], "network": network, "group": {"parallelism": "2-d", "grid": [1, 1, 1]}}
            (self.folder / "scenario.json").write_text(json.dumps(changed(TIMING, cluster=cluster, sweep=sweep)), encoding="utf-8")
            words = [PROGRAM, "run", self.folder / "scenario.json", "--out", self.folder / "out", "--force"]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            self.assertIn("grid=[1,1,1]", (self.folder / "out/manifest.json").read_text(encoding="utf-8"))
            return "groups of unlike size have one" in done.stdout + done.stderr

        grids = [[1, 1, 1], [2, 2, 1]]
        self.assertTrue(noted(**{"cluster.group.grid": grids}))
        self.assertFalse(noted(zip={"cluster.group.grid": grids, "cluster.network.model_bytes": [1e8, 2.5e7]}))


if __name__ == "__main__":
    unittest.main()
