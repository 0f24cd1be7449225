"""The output folder: what a run writes, and that it is the same each time."""

import json
import math
import os
import re
import subprocess
import unittest

from program import PROGRAM, ROOT, SIX, SMALL, ProgramTest, changed, rows

COLUMNS = {
    "runs.csv": "point,replica,seed,protocol,learners,k,status,updates,gradients_applied,"
    "gradients_dropped,gradients_cancelled,sim_time,mean_iteration_time,mean_staleness,"
    "max_staleness,final_loss,final_test_error,theory_iteration_time,theory_basis",
    "curve.csv": "point,replica,time,update,gradients,epoch,loss,test_loss,test_error,learning_rate,k,disagreement",
    "updates.csv": "point,replica,update,time,iteration_time,gradients,mean_staleness,max_staleness,learning_rate",
    "staleness.csv": "point,replica,staleness,count",
    "learners.csv": "point,replica,learner,busy,idle,wasted,gradients",
}

PEERS = [
    {"kind": "all-reduce"},
    {"kind": "local-sgd", "tau": 2},
    {"kind": "dasgd"},
    {"kind": "d-psgd", "graph": "ring"},
    {"kind": "ad-psgd", "graph": "bipartite-exponential"},
    {"kind": "partial-reduce", "group": 2},
]
WITHOUT_SERVER = [
    {"kind": "ripples", "schedule": "static"},
    {"kind": "ripples", "schedule": "random"},
    {"kind": "local-sgd", "tau": [[0, 2], [1, 3]]},
    {"kind": "local-sgd", "tau": {"adacomm": 4, "interval": 3}},
    {
        "kind": "switch",
        "phases": [
            {"protocol": {"kind": "all-reduce"}, "end": {"updates": 9}},
            {"protocol": {"kind": "d-psgd", "graph": "ring"}, "end": {"updates": 20}, "minibatch": 7},
            {"protocol": {"kind": "local-sgd", "tau": 3}, "momentum_state": "reset"},
        ],
    },
]
FAILING = {"up": {"distribution": "exponential", "mean": 20}, "down": {"distribution": "exponential", "mean": 2}}


class Output(ProgramTest):
    def run_small(self, out="out", *words, scenario=SMALL):
        self.call("run", self.write(scenario), "--out", out, "--quiet", *words)
        return self.folder / out

    def test_every_file_has_the_columns_of_the_contract(self):
        out = self.run_small()
        for name, columns in COLUMNS.items():
            header = (out / name).read_text().splitlines()[0]
            self.assertTrue(header.startswith(columns), f"{name}: {header}")
        self.assertEqual(
            sorted(path.name for path in out.iterdir()),
            sorted([*COLUMNS, "trace.json", "manifest.json", "runs.store"]),
        )

    def test_without_details_there_is_a_summary_only_the_same(self):
        whole = self.run_small()
        out = self.run_small("summary", "--set", "record.details=false", "--set", "record.trace=false")
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["manifest.json", "runs.csv", "runs.store", "updates.csv"])
        self.assertEqual((out / "runs.csv").read_bytes(), (whole / "runs.csv").read_bytes())

    def test_exchanges_are_empty_where_they_are_not_counted_and_0_where_there_are_none(self):
        protocols = [{"kind": "sync"}, *PEERS, {"kind": "ripples", "schedule": "static"}]
        columns = ("bytes_sent", "bytes_received", "messages", "conflicts")
        counted = lambda row: "".join("-" if row[column] == "" else "0" if float(row[column]) == 0 else "+" for column in columns)
        mesh = {"topology": "mesh", "latency": 0.1}
        for number, (network, per_run) in enumerate(
            [
                ({}, ["----"] * 7 + ["---0"]),
                (mesh, ["--+-"] * 6 + ["--+0"]),
                ({**mesh, "model_bytes": 8}, ["+++-"] * 6 + ["+++0"]),
            ]
        ):
            cluster = {**SMALL["cluster"], **({"network": network} if network else {})}
            kinds = protocols[1:] if network else protocols
            scenario = changed(SMALL, cluster=cluster, replicas=1, model=None, learning_rate=None, sweep={"protocol": kinds})
            out = self.run_small(f"out{number}", scenario=scenario)
            self.assertEqual([counted(row) for row in rows(out / "runs.csv")], per_run)
            learners = rows(out / "learners.csv")
            self.assertEqual(["-" if row["bytes_sent"] == "" else "+" for row in learners[::4]], [run[0] for run in per_run])

    def test_outer_steps_are_counted_where_there_is_a_coordinator(self):
        """Of two learners who come at once, the second of whom is always one step late; the last two
        are on their way at the end."""
        scenario = changed(
            SMALL,
            cluster={"learners": 2, "runtime": {"distribution": "deterministic", "value": 1}},
            replicas=1,
            stop={"updates": 10},
            sweep={"protocol": [{"kind": "async-local-sgd", "tau": 1}, {"kind": "local-sgd", "tau": 1}]},
        )
        counted = [
            [row[f"{what}outer_{of}"] for what, of in (("", "updates"), ("mean_", "staleness"), ("max_", "staleness"))]
            for row in rows(self.run_small(scenario=scenario) / "runs.csv")
        ]
        self.assertEqual(counted, [["8", "0.875", "1"], ["", "", ""]])

    def test_all_reduce_without_a_network_is_sync_in_every_column(self):
        sweep = {"protocol": [{"kind": "sync"}, {"kind": "all-reduce"}]}
        sync, reduce = rows(self.run_small(scenario=changed(SMALL, replicas=1, sweep=sweep)) / "runs.csv")
        differ = {column for column in sync if sync[column] != reduce[column]}
        self.assertLessEqual(differ, {"point", "protocol", "sweep.protocol", "label", "theory_iteration_time", "theory_basis"})

    def test_k_is_how_many_gradients_an_update_has(self):
        kinds = [*PEERS, {"kind": "ripples", "schedule": "random"}, WITHOUT_SERVER[-1]]
        scenario = changed(
            SMALL,
            replicas=1,
            sweep={"protocol": kinds},
            stop={"updates": 40},
            record={"every_updates": 20},
            learning_rate={"kind": "constant", "eta": 0.1, "scale": "linear"},
        )
        out = self.run_small(scenario=scenario)
        self.assertEqual([row["k"] for row in rows(out / "runs.csv")], ["4"] * 4 + ["1"] * 3 + ["4"])
        # The scale of the rate goes by the gradients of a step.
        rates = {row["point"]: float(row["learning_rate"]) for row in rows(out / "curve.csv")}
        self.assertEqual(list(rates.values()), [0.4] + [0.1] * 7)

    def test_quick_is_what_the_scenario_says_and_a_set_comes_after_it(self):
        scenario = changed(SMALL, quick={"replicas": 1, "stop.updates": 7})
        once = rows(self.run_small("once", "--quick", scenario=scenario) / "runs.csv")
        self.assertEqual({(row["replica"], row["updates"]) for row in once}, {("0", "7")})
        words = ("--quick", "--set", "stop.updates=5")
        later = rows(self.run_small("later", *words, scenario=scenario) / "runs.csv")
        self.assertEqual({(row["replica"], row["updates"]) for row in later}, {("0", "5")})
        self.assertEqual(self.tables(self.run_small("without", scenario=scenario)), self.tables(self.run_small()))

    def test_a_mistake_in_quick_is_told_at_its_place(self):
        scenario = self.write(changed(SMALL, quick={"replicas": 0}))
        _, told = self.call("validate", scenario, "--quick", status=2)
        self.assertIn("scenario.json:1:", told)
        self.assertIn("replicas: must be 1 to 16777215, got 0", told)

    def test_swept_paths_follow_the_fixed_columns(self):
        scenario = changed(SMALL, sweep={"cluster.learners": [3, 4], "protocol": SIX[:2]})
        out = self.run_small(scenario=scenario)
        header = (out / "runs.csv").read_text().splitlines()[0].split(",")
        self.assertEqual(header[header.index("theory_basis") + 1 :][:2], ["cluster.learners", "sweep.protocol"])
        table = rows(out / "runs.csv")
        self.assertEqual([row["cluster.learners"] for row in table[::2]], ["3", "3", "4", "4"])
        self.assertEqual(json.loads(table[2]["sweep.protocol"]), SIX[1])
        self.assertEqual({row["protocol"] for row in table}, {"sync", "k-sync"})

    def test_swept_paths_are_set_in_their_order(self):
        scenario = changed(SMALL, sweep={"protocol": SIX[1:2] + SIX[4:5], "protocol.k": [1, 2]})
        table = rows(self.run_small(scenario=scenario) / "runs.csv")[::2]
        self.assertEqual(
            [(row["protocol"], row["k"]) for row in table],
            [("k-sync", "1"), ("k-sync", "2"), ("k-async", "1"), ("k-async", "2")],
        )

    def test_points_of_the_table_have_labels_of_their_own(self):
        phases = [{"protocol": SIX[3], "end": {"updates": 5}}, {"protocol": SIX[0]}]
        scenario = changed(SMALL, sweep={"protocol": [*SIX[:2], {"kind": "switch", "phases": phases}]})
        told, _ = self.call("run", self.write(scenario), "--out", "out")
        for label in ("sync ", "k-sync k=3 ", "switch async until updates=5 then sync "):
            self.assertIn(f"\n  {label} ", told)

    def test_labels_tell_momenta_apart(self):
        last = {"protocol": SIX[0], "momentum_every": 5}
        switches = [{"kind": "switch", "phases": [{"protocol": SIX[0], "end": {"updates": 5}}, {**last, "momentum": one}]} for one in ([0.1, 0.9], [0.5, 0.9])]
        told, _ = self.call("run", self.write(changed(SMALL, sweep={"protocol": switches})), "--out", "out")
        for momentum in ("[0.1,0.9]", "[0.5,0.9]"):
            self.assertIn(f"\n  switch sync then sync momentum={momentum} ", told)

    def test_labels_leave_out_what_all_swept_objects_share(self):
        data = SMALL["model"]
        models = [data, {**data, "kind": "mlp", "widths": [4]}, {**data, "kind": "mlp", "widths": [8]}]
        scenario = changed(SMALL, protocol=SIX[0], sweep={"model": models})
        told, _ = self.call("run", self.write(scenario), "--out", "out")
        for label in ("sync softmax ", "sync mlp widths=[4] ", "sync mlp widths=[8] "):
            self.assertIn(f"\n  {label} ", told)

    def labels_of(self, scenario, *words):
        out = self.run_small("out", "--timing-only", *words, scenario=changed(scenario, stop={"updates": 3}, record=None, replicas=1))
        return [row["label"] for row in rows(out / "runs.csv")]

    def test_labels_say_what_differs_and_no_json(self):
        phase = lambda end, **more: {"protocol": SIX[0], "end": {"updates": end}, "per_update": 0.25, **more}
        switch = lambda *phases: {"kind": "switch", "phases": [*phases, {"protocol": SIX[3]}], "per_switch": 2}
        law = {"distribution": "exponential", "mean": 1}
        mesh = {"topology": "mesh", "latency": 0.5}
        outer = {"eta": 0.5, "momentum": 0.9}
        data = {"kind": "synthetic", "rows": 200, "test_rows": 50}
        rate = {"kind": "constant", "eta": 0.1}
        cases = [
            ({"protocol": [switch(phase(2)), switch(phase(3))]}, ["switch sync until updates=2 then async", "switch sync until updates=3 then async"]),
            (
                {"protocol": [switch(phase(2)), switch(phase(2, stragglers={"kind": "greedy", "window": 5}))]},
                ["switch sync then async", "switch sync greedy window=5 then async"],
            ),
            ({"protocol": [{"kind": "local-sgd", "tau": 8}, {"kind": "all-reduce"}]}, ["local-sgd tau=8", "all-reduce"]),
            (
                {"protocol": [{"kind": "local-sgd", "tau": 8}, {"kind": "local-sgd", "tau": 8, "outer": outer}]},
                ["local-sgd", "local-sgd outer eta=0.5 momentum=0.9"],
            ),
            (
                {"cluster": [{"learners": 4, "runtime": law}, {"learners": 4, "runtime": {**law, "mean": 2}, "network": {"pull": law}}]},
                ["sync runtime mean=1", "sync runtime mean=2 network pull exponential mean=1"],
            ),
            ({"cluster.speeds": [[1, 1, 1, 0.5], [1, 2, 3, 4]]}, ["sync speeds=[3x1,0.5]", "sync speeds=[1,2,3,4]"]),
            (
                {"cluster.network": [{**mesh, "model_bytes": n} for n in (1, 2)], "protocol": [{"kind": "dasgd"}]},
                ["dasgd model_bytes=1", "dasgd model_bytes=2"],
            ),
            (
                {"model": [{"kind": "softmax", "minibatch": 5, "dataset": {**data, "partition": {"kind": part}}} for part in ("iid", "shared")]},
                ["sync iid", "sync shared"],
            ),
            ({"learning_rate": [rate, {**rate, "warm_up": {"length": 2}}]}, ["sync", "sync warm_up length=2"]),
        ]
        for number, (sweep, labels) in enumerate(cases):
            scenario = changed(SMALL, name=f"case{number}", protocol=SIX[0], sweep=sweep)
            self.assertEqual(self.labels_of(scenario, "--force"), labels)

    def test_a_label_is_one_line(self):
        model = {"kind": "softmax", "dataset": {"kind": "cifar10", "path": "nowhere"}}
        sweep = {"protocol": [{"kind": "sync"}], "model.dataset.test_file": ["a\nb", "c"]}
        path = self.write(changed(SMALL, model=model, sweep=sweep))
        told, _ = self.call("run", path, "--timing-only", "--out", "out", GRADRACE_DATA="")
        table = rows(self.folder / "out/runs.csv")
        labels = {row["label"]: row["model.dataset.test_file"] for row in table}
        self.assertEqual(labels, {r"sync dataset.test_file=a\u000ab": "a\nb", "sync dataset.test_file=c": "c"})
        for label in labels:
            self.assertIn(f"\n  {label} ", told)

    def test_labels_stand_in_runs_csv_each_of_one_point(self):
        rates = {"learning_rate.kind": ["constant", "staleness"], "learning_rate.eta": [0.1, 0.1]}
        scenario = changed(SMALL, sweep={"protocol": SIX[:2], **rates}, stop={"updates": 5})
        out = self.run_small(scenario=scenario)
        header = (out / "runs.csv").read_text().splitlines()[0]
        self.assertIn(",gradients_lost,label,", header)
        labels = [row["label"] for row in rows(out / "runs.csv")[::2]]
        named = [f"{p} {r}" for p in ("sync", "k-sync k=3") for r in ("constant", "staleness")]
        self.assertEqual(labels, [f"{named[i // 2]} (point {i})" for i in range(8)])

    def test_list_columns_tells_every_column_of_every_file(self):
        told = {}
        for line in self.call("list", "columns")[0].splitlines():
            if re.match(r"\S+.*: a row is ", line):
                columns = told.setdefault(line.split(":")[0], [])
            elif re.match(r"  \S", line):
                name, unit, meaning = re.split(r" {2,}", line.strip())
                self.assertTrue(unit and meaning, line)
                columns.append(name)
        quadratic = changed(SMALL, model={"kind": "quadratic"}, sweep={"cluster.learners": [4, 5]}, protocol=SIX[0], targets={"loss": 0.1})
        times = ROOT / "scenarios/times.csv"
        self.call("fit", times, "--out", "fit")
        phases = [{"protocol": {"kind": "sync"}, "end": {"work": 0.5}}, {"protocol": {"kind": "async"}}]
        job = changed(SMALL, sweep=None, record=None, stop={"gradients": 200}, protocol={"kind": "switch", "phases": phases})
        self.call("search", self.write(job), "--out", "search", "--runs", "2", "--first-runs", "2", "--settings", "1", "--quiet")
        self.call("advise", self.write(quadratic), "--target", "loss=0.1", "--out", "advise", "--quiet")
        folders = [self.run_small(scenario=quadratic), *(self.folder / of for of in ("fit", "search", "advise"))]
        found = {path.name: path.read_text().splitlines()[0].split(",") for folder in folders for path in folder.glob("*.csv")}
        found["gradrace theory"] = self.call("theory", self.write(quadratic))[0].splitlines()[0].split(",")
        compressed = self.run_small("compressed", scenario=changed(quadratic, compression={"kind": "qsgd", "bits": 4, "encode": 0.01}))
        of_messages = ["bits_per_coordinate", "bytes_pushed", "bytes_pulled"]
        self.assertEqual(list(rows(compressed / "runs.csv")[0]), [*found["runs.csv"], *of_messages])
        failing = changed(quadratic, cluster={**quadratic["cluster"], "failures": {**FAILING, "on_failure": "shrink"}})
        of_failures = ["goodput", "effective_time", "mean_members", "lost_computing", "lost_unused", "lost_taken_back"]
        self.assertEqual(list(rows(self.run_small("failing", scenario=failing) / "runs.csv")[0]), [*found["runs.csv"], *of_failures])
        self.assertEqual(list(rows(self.folder / "failing" / "curve.csv")[0]), [*found["curve.csv"], "members"])
        outer = changed(quadratic, protocol={"kind": "async-local-sgd", "tau": 2})
        of_coordinator = ["outer_updates", "mean_outer_staleness", "max_outer_staleness"]
        self.assertEqual(list(rows(self.run_small("outer", scenario=outer) / "runs.csv")[0]), [*found["runs.csv"], *of_coordinator])
        found["runs.csv"] += of_messages + of_failures + of_coordinator
        found["learners.csv"] += ["encoding", "gradients_dropped", "longest_unused"]
        peers = changed(SMALL, sweep=None, protocol={"kind": "all-reduce"}, record={"evaluate": "each"}, compression={"kind": "sign", "memory": {}})
        by_learner = rows(self.run_small("peers", scenario=peers) / "curve.csv")
        self.assertEqual(list(by_learner[0]), [*found["curve.csv"], "learner", "compression_error", "bytes", "bits"])
        found["curve.csv"] = [*by_learner[0], "members", "duality_gap"]
        named = {"cluster.learners": "<swept path>"} | {name + "0.1": name + "<x>" for name in ("time_to_loss_", "resolution_of_time_to_loss_")}
        for name, columns in found.items():
            expected = [column for column in told[name] if "time_to_error_<x>" not in column]
            self.assertEqual([named.get(column, column) for column in columns], expected, name)
        self.assertEqual(sorted(found), sorted(told))

    def test_bits_of_messages_are_told_where_they_are_known_before_a_run(self):
        """By tensor, of W [10 x 16] and b [10], with a server and without one; and of factors."""
        link = {"bandwidth": 1000, "model_bytes": 680}
        softmax = {"kind": "softmax", "dataset": {"kind": "synthetic", "features": 16, "rows": 60, "test_rows": 20}, "minibatch": 4}
        scenario = changed(SMALL, model=softmax, replicas=1, stop={"updates": 3}, sweep=None)
        mesh = {"cluster": {**SMALL["cluster"], "network": {"topology": "mesh", **link}}}
        star = {"cluster": {**SMALL["cluster"], "network": link}}
        for name, kind, worlds, sent in (
            ("sign", {"kind": "sign"}, (star, mesh), 170 / 8 + 2 * 4),
            ("power", {"kind": "power", "rank": 2}, (mesh,), 4 * (2 * (10 + 16) + 10)),
        ):
            for number, world in enumerate(worlds):
                protocol = {"kind": ("sync", "all-reduce")[world is mesh]}
                out = self.run_small(f"{name}{number}", scenario=changed(scenario, **world, protocol=protocol, compression=kind))
                [run] = rows(out / "runs.csv")
                self.assertEqual(float(run["bits_per_coordinate"]), 8 * math.ceil(sent) / 170)

    def test_the_curve_of_a_compressed_run_has_bytes_and_ends_with_those_of_the_run(self):
        links = {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}, "network": {"bandwidth": 1000, "model_bytes": 400}}
        nodes = changed(links, network={"bandwidth": 1000, "topology": "mesh", "model_bytes": 400})
        quadratic = {"kind": "quadratic", "dimensions": 100}
        dq_sgd = {"kind": "dq-sgd", "mean_bits": 6, "alpha": 0.9}
        sign = {"kind": "sign", "memory": {}}
        for name, protocol, cluster, compression in (
            ("sync", {"kind": "sync"}, links, dq_sgd),
            ("async", {"kind": "async"}, links, {"kind": "qsgd", "bits": 4, "from": 7}),
            ("cancelled", {"kind": "k-batch-sync", "k": 2}, links, sign),
            ("peers", {"kind": "all-reduce"}, nodes, sign),
            ("uncounted", {"kind": "sync"}, changed(links, network=None), sign),
        ):
            with self.subTest(name):
                scenario = changed(
                    SMALL, cluster=cluster, model=quadratic, protocol=protocol, sweep=None, stop={"updates": 30}, record={"every_updates": 4},
                    compression=compression,
                )  # fmt: skip
                folder = self.run_small(name, scenario=scenario)
                curve = [row for row in rows(folder / "curve.csv") if row["replica"] == "0"]
                run = rows(folder / "runs.csv")[0]
                if name == "uncounted":
                    self.assertEqual({row["bytes"] for row in curve} | {run["bytes_pushed"]}, {""})
                    continue
                carried = [float(row["bytes"]) for row in curve]
                self.assertEqual(carried, sorted(carried))
                self.assertEqual(carried[-1], float(run["bytes_pushed"]) + float(run["bytes_pulled"]))
                self.assertLess(len(curve), 2 * len(set(carried)))
                if name != "sync":
                    self.assertEqual({row["bits"] for row in curve}, {""})

    def test_the_curve_has_the_bits_of_the_messages_of_the_update_before(self):
        scenario = changed(
            SMALL, model={"kind": "quadratic", "dimensions": 100}, protocol={"kind": "sync"}, sweep=None, stop={"updates": 30},
            cluster={"learners": 2, "runtime": {"distribution": "deterministic", "value": 1}, "network": {"bandwidth": 1000, "model_bytes": 400}},
            record={"every_updates": 1}, compression={"kind": "dq-sgd", "mean_bits": 6, "alpha": 0.9},
        )  # fmt: skip
        folder = self.run_small("bits", scenario=scenario)
        curve = [row for row in rows(folder / "curve.csv") if row["replica"] == "0"][1:]  # an update each
        self.assertGreater(len({row["bits"] for row in curve}), 2)
        # an update's messages are those that were sent before it
        pushed = sum(2 * float(row["bits"]) * 100 / 8 for row in curve)
        self.assertEqual(pushed, float(rows(folder / "runs.csv")[0]["bytes_pushed"]))

    def test_the_manifest_explains_every_column_of_every_file(self):
        targets = {"loss": [0.5]}
        quadratic = changed(SMALL, model={"kind": "quadratic"}, sweep={"cluster.learners": [4, 5]}, protocol=SIX[0], targets=targets)
        peers = changed(
            SMALL,
            sweep={"protocol": [{"kind": "all-reduce"}]},
            targets={"test_error": [0.5]},
            time_unit="ms",
            record={"every_time": 1, "evaluate": "each", "updates": True},
        )
        failing = changed(SMALL, record={"details": False})
        for name, scenario in ("quadratic", quadratic), ("peers", peers), ("failing", failing):
            out = self.run_small(name, scenario=scenario)
            columns = json.loads((out / "manifest.json").read_text())["columns"]
            headers = {path.name: path.read_text().splitlines()[0].split(",") for path in out.glob("*.csv")}
            self.assertEqual({file: [one["name"] for one in of] for file, of in columns.items()}, headers)
            for one in (one for of in columns.values() for one in of):
                self.assertEqual(list(one), ["name", "type", "unit", "role", "definition", "formula"])
                self.assertTrue(one["definition"], one)
            times = [one for one in columns["runs.csv"] if one["name"] in ("sim_time", "mean_iteration_time")]
            self.assertEqual({one["unit"] for one in times}, {scenario.get("time_unit", "time")})
            self.assertEqual(times[1]["formula"], "time of the last update / updates")
        self.assertEqual(sorted(columns), ["runs.csv"])

    def test_a_manifest_of_cocoa_alone_is_repeated_and_its_shards_collected(self):
        data = {"kind": "synthetic", "rows": 64, "test_rows": 8, "features": 4, "classes": 2, "partition": {"kind": "iid"}}
        scenario = {
            "cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
            "model": {"kind": "svm", "l2": 0.01, "dataset": data},
            "protocol": {"kind": "cocoa", "local_steps": 8, "gamma": 1},
            "stop": {"updates": 9},
            "replicas": 2,
        }
        self.call("run", self.write(scenario), "--out", "one", "--quiet")
        self.call("run", "one/manifest.json", "--out", "again", "--quiet")
        for shard in "1/2", "2/2":
            self.call("run", "scenario.json", "--out", f"part{shard[0]}", "--shard", shard, "--quiet")
        self.call("collect", "part1", "part2", "--out", "all", "--quiet")
        for out in "again", "all":
            self.assertEqual(self.tables(self.folder / out), self.tables(self.folder / "one"), out)
        self.assertTrue(all(float(row["duality_gap"]) >= 0 for row in rows(self.folder / "one/curve.csv")))

    def test_the_manifest_has_points_and_targets_as_data(self):
        phases = [{"protocol": {"kind": "sync"}, "end": {"updates": 5}}, {"protocol": {"kind": "async"}}]
        protocols = [{"kind": "k-async", "k": 2}, {"kind": "k-async", "k": 4}, {"kind": "switch", "phases": phases}]
        sweep = {"protocol": protocols, "cluster.learners": [4, 5]}
        out = self.run_small("points", scenario=changed(SMALL, sweep=sweep, targets={"loss": [0.5], "test_error": [0.25, 0.1]}))
        manifest = json.loads((out / "manifest.json").read_text())
        found = rows(out / "runs.csv")
        settings = [[{"path": "protocol", "value": p}, {"path": "cluster.learners", "value": n}] for p in protocols for n in (4, 5)]
        self.assertEqual([one["settings"] for one in manifest["points"]], settings)
        for number, point in enumerate(manifest["points"]):
            row = next(row for row in found if row["point"] == str(number))
            self.assertEqual((point["number"], point["protocol"], point["label"]), (number, row["protocol"], row["label"]))
            self.assertEqual(" ".join(f"{key}={text}" if key else text for key, text in point["parts"]), row["label"])
        self.assertEqual(manifest["points"][1]["parts"], [["", "k-async"], ["k", "2"], ["learners", "5"]])
        words = [["", word] for word in ("switch", "sync", "until")]
        self.assertEqual(manifest["points"][4]["parts"], [*words, ["updates", "5"], ["", "then"], ["", "async"], ["learners", "4"]])
        self.assertEqual([(one["of"], one["level"]) for one in manifest["targets"]], [("loss", 0.5), ("test_error", 0.25), ("test_error", 0.1)])
        of_role = {}
        for one in manifest["columns"]["runs.csv"]:
            of_role.setdefault(one["role"], []).append(one["name"])
        self.assertEqual(of_role["setting"], ["sweep.protocol", "cluster.learners"])
        self.assertEqual(of_role["target"], [one[key] for key in ("column", "resolution") for one in manifest["targets"]])
        self.assertEqual(of_role["theory"], ["theory_iteration_time", "theory_basis"])
        self.assertEqual(of_role["run"], ["point", "replica", "seed", "protocol", "learners", "status", "label", "reason"])

    def test_a_folder_of_before_is_written_anew(self):
        path, out = self.write(SMALL), self.folder / "before"
        self.call("run", path, "--out", out, "--quiet")
        whole = (out / "manifest.json").read_text()
        (out / "manifest.json").write_text(whole[: whole.index(',\n  "points": [')] + "\n}\n")
        self.call("run", path, "--out", out, "--quiet")
        self.assertIn('"points": [', (out / "manifest.json").read_text())

    def test_what_learners_do_adds_up_where_messages_take_time(self):
        link = {"bandwidth": 400, "model_bytes": 40}
        quadratic = {"model": {"kind": "quadratic"}, "stop": {"updates": 30}, "replicas": 1}
        for network, protocols in ((link, ["sync", "async"]), ({"topology": "mesh", **link}, ["all-reduce"])):
            scenario = changed(SMALL, **quadratic, cluster={**SMALL["cluster"], "network": network}, sweep=None)
            kinds = [{"kind": "sign", "encode": time} for time in (0, 0.01)]
            for protocol in protocols:
                of_protocol = changed(scenario, protocol={"kind": protocol}, compression=kinds[0])
                free = rows(self.run_small(f"{protocol}-free", scenario=of_protocol) / "learners.csv")
                self.assertNotIn("encoding", free[0])
                both = changed(of_protocol, compression=None, sweep={"compression": kinds})
                table = rows(self.run_small(protocol, scenario=both) / "learners.csv")
                parts = ("busy", "communicating", "waiting", "encoding")
                for row in table:
                    whole = float(row["busy"]) + float(row["idle"])
                    self.assertAlmostEqual(sum(float(row[part]) for part in parts), whole, delta=1e-9 * whole)
                    self.assertEqual(float(row["encoding"]) > 0, row["point"] == "1")
                again = [{name: row[name] for name in free[0]} for row in table if row["point"] == "0"]
                self.assertEqual(again, free)

    def test_runs_tell_what_failures_cost_where_it_is_said_how_they_are_met(self):
        restart = {"on_failure": "restart", "checkpoint": {"every": 5, "cost": 0.5}, "reform": 0.25}
        scenario = {
            "name": "failing",
            "cluster": {"learners": 3, "runtime": {"distribution": "deterministic", "value": 1}, "failures": FAILING},
            "protocol": {"kind": "all-reduce"},
            "stop": {"updates": 100},
        }
        ways = [{**FAILING, "on_failure": "shrink"}, {**FAILING, **restart}]
        out = self.run_small("ways", scenario=changed(scenario, sweep={"cluster.failures": ways}))
        learners = rows(out / "learners.csv")
        for run in rows(out / "runs.csv"):
            number = {name: float(text) for name, text in run.items() if re.fullmatch(r"[\d.e+-]+", text)}
            its = [row for row in learners if (row["point"], row["replica"]) == (run["point"], run["replica"])]
            total = {name: sum(float(row[name]) for row in its) for name in ("busy", "wasted", "down")}
            whole = 3 * number["sim_time"]
            self.assertAlmostEqual(number["effective_time"], (total["busy"] - total["wasted"]) / whole)
            self.assertAlmostEqual(number["mean_members"], 3 * (1 - total["down"] / whole))
            applied, lost = number["gradients_applied"], number["gradients_lost"]
            self.assertAlmostEqual(number["goodput"], applied / (applied + lost))
            self.assertEqual(lost, number["lost_computing"] + number["lost_unused"] + number["lost_taken_back"])
            self.assertEqual(number["lost_taken_back"] > 0, run["point"] == "1")
            self.assertLess(number["effective_time"], number["goodput"])
        self.assertNotIn("goodput", rows(self.run_small("not_said", scenario=scenario) / "runs.csv")[0])

    def test_a_curve_tells_how_many_are_up(self):
        """Learner 1 is down from 4.6 to 6.6, from 11.2 to 13.2, and so on; learner 0 from 4.6 too, where it fails."""
        law = lambda value: {"distribution": "deterministic", "value": value}
        scenario = {
            "name": "members",
            "cluster": {"learners": 3, "runtime": law(1)},
            "protocol": {"kind": "all-reduce"},
            "model": {"kind": "quadratic", "dimensions": 2},
            "learning_rate": {"kind": "constant", "eta": 0.1},
            "stop": {"time": 14},
            "record": {"every_time": 1},
        }
        for failing in ([1], [0, 1]):
            down = [4.6 < time < 6.6 or 11.2 < time < 13.2 for time in range(15)]
            scenario["cluster"]["failures"] = {"up": law(4.6), "down": law(2), "learners": failing, "on_failure": "shrink"}
            curve = rows(self.run_small(f"of_{len(failing)}", scenario=scenario) / "curve.csv")
            self.assertEqual([float(row["time"]) for row in curve], list(range(15)))
            self.assertEqual([int(row["members"]) for row in curve], [3 - len(failing) * is_down for is_down in down])

    def test_learners_tell_who_starves_where_staleness_is_bounded(self):
        scenario = {
            "name": "bounded",
            "cluster": {"learners": 3, "runtime": {"distribution": "deterministic", "value": 1}, "speeds": [1, 1, 0.1]},
            "protocol": {"kind": "async", "max_staleness": {"bound": 4}},
            "stop": {"time": 100.5},
        }
        out = self.run_small("bounded", scenario=scenario)
        fast, other, slow = rows(out / "learners.csv")
        # The slow one ends at 10, 20, ..., 100, each time 20 updates too late, and is never used.
        for row, dropped, unused in ((fast, 0, 1), (other, 0, 1), (slow, 10, 100.5)):
            self.assertEqual(row["gradients_dropped"], str(dropped))
            self.assertAlmostEqual(float(row["longest_unused"]), unused)
        self.assertEqual(rows(out / "runs.csv")[0]["gradients_dropped"], "10")
        self.assertEqual((fast["gradients"], slow["gradients"]), ("100", "0"))

    def test_counts_of_the_files_agree(self):
        out = self.run_small()
        for run in rows(out / "runs.csv"):
            mine = lambda row: (row["point"], row["replica"]) == (run["point"], run["replica"])
            updates = list(filter(mine, rows(out / "updates.csv")))
            staleness = list(filter(mine, rows(out / "staleness.csv")))
            learners = list(filter(mine, rows(out / "learners.csv")))
            curve = list(filter(mine, rows(out / "curve.csv")))
            applied = int(run["gradients_applied"])
            self.assertEqual(len(updates), int(run["updates"]))
            self.assertEqual(sum(int(row["gradients"]) for row in updates), applied)
            self.assertEqual(sum(int(row["count"]) for row in staleness), applied)
            self.assertEqual(sum(int(row["gradients"]) for row in learners), applied)
            total = sum(int(row["staleness"]) * int(row["count"]) for row in staleness)
            self.assertAlmostEqual(total / applied, float(run["mean_staleness"]), delta=1e-12)
            self.assertAlmostEqual(
                sum(float(row["iteration_time"]) for row in updates),
                float(run["mean_iteration_time"]) * int(run["updates"]),
                delta=1e-9,
            )
            for row in learners:
                busy, idle, wasted = (float(row[key]) for key in ("busy", "idle", "wasted"))
                self.assertAlmostEqual(busy + idle, float(run["sim_time"]), delta=1e-9)
                self.assertLessEqual(wasted, busy)
            self.assertEqual(curve[0]["time"], "0")
            self.assertEqual(curve[-1]["time"], run["sim_time"])
            self.assertEqual(curve[-1]["loss"], run["final_loss"])
            self.assertEqual(run["gradients_computed"], run["gradients_applied"])
            samples = 5 * applied
            self.assertAlmostEqual(float(curve[-1]["epoch"]), samples / 200, delta=1e-12)

    def test_staleness_is_counted_by_part_where_shards_have_versions_and_one_shard_has_the_same_bytes(self):
        scenario = {
            "name": "versions",
            "cluster": {
                "learners": 6,
                "runtime": {"distribution": "exponential", "mean": 1},
                "network": {"bandwidth": 100, "model_bytes": 40},
                "server": {"per_gradient": 0.1, "per_update": 0.1, "versions": "each"},
            },
            "model": {"kind": "quadratic", "dimensions": 10},
            "learning_rate": {"kind": "staleness", "eta": 0.05},
            "protocol": {"kind": "async"},
            "stop": {"updates": 200},
            "sweep": {"cluster.server.shards": [1, 2, [7, 2, 1]]},
        }
        found, plain = {}, {}
        for versions, of in (("each", found), ("one", plain)):
            scenario["cluster"]["server"]["versions"] = versions
            out = self.run_small(versions, scenario=scenario)
            for name in ("runs.csv", "curve.csv", "staleness.csv", "learners.csv"):
                of[name] = rows(out / name)
        for name, all_rows in found.items():
            for one, each in zip(plain[name], all_rows):
                if each["point"] in "01":  # in step, always
                    self.assertEqual(one, each)
        run = found["runs.csv"][2]
        counts = [(int(row["staleness"]), int(row["count"])) for row in found["staleness.csv"] if row["point"] == "2"]
        self.assertEqual(sum(count for _, count in counts), 3 * int(run["gradients_applied"]))
        total = sum(staleness * count for staleness, count in counts)
        self.assertAlmostEqual(total / (3 * int(run["gradients_applied"])), float(run["mean_staleness"]), delta=1e-12)
        self.assertNotEqual(run["mean_staleness"], plain["runs.csv"][2]["mean_staleness"])
        self.assertNotEqual(run["final_loss"], plain["runs.csv"][2]["final_loss"])

    def test_the_same_bytes_for_any_number_of_jobs_and_again(self):
        first = self.tables(self.run_small("a", "--jobs", "1"))
        for out, jobs in (("b", "1"), ("c", "2"), ("d", "5")):
            self.assertEqual(first, self.tables(self.run_small(out, "--jobs", jobs)), jobs)

    def test_the_same_bytes_where_the_threads_of_one_run_share_its_gradients(self):
        data = {"kind": "synthetic", "features": 784, "rows": 300, "test_rows": 50}
        one = changed(
            SMALL,
            replicas=1,
            sweep=None,
            protocol={"kind": "k-sync", "k": 4},
            model={"kind": "softmax", "minibatch": 140, "dataset": data},
        )
        path = self.write(one)
        for jobs in ("1", "3"):
            self.call("run", path, "--out", jobs, "--jobs", jobs, "--quiet")
        self.assertEqual(self.tables(self.folder / "1"), self.tables(self.folder / "3"))

    def test_another_seed_gives_other_numbers(self):
        first = self.tables(self.run_small("a"))
        self.assertNotEqual(first["runs.csv"], self.tables(self.run_small("b", "--seed", "2"))["runs.csv"])

    def test_the_manifests_scenario_gives_the_same_files(self):
        sweeps = (
            {"protocol": SIX},
            {"zip": {"cluster.runtime.mean": [1, 2], "protocol": SIX[4:]}, "learning_rate.eta": [0.1, 0.2]},
            {"cluster.runtime": [{"distribution": "exponential", "mean": 1}], "protocol.kind": ["sync", "async"]},
            {"protocol": WITHOUT_SERVER},
        )
        for number, sweep in enumerate(sweeps):
            scenario = changed(SMALL, sweep=sweep, targets={"loss": [1.5], "test_error": 0.4})
            first = self.run_small(f"a{number}", "--set", "model.l2=0.001", "--replicas", "3", scenario=scenario)
            manifest = json.loads((first / "manifest.json").read_text())
            again = self.run_small(f"b{number}", scenario=manifest["scenario"])
            self.assertEqual(self.tables(first), self.tables(again))
            second = json.loads((again / "manifest.json").read_text())
            self.assertEqual(manifest["scenario"], second["scenario"])
            self.assertEqual(manifest["hashes"], second["hashes"])

    def test_the_manifest_says_what_made_the_results(self):
        manifest = json.loads((self.run_small() / "manifest.json").read_text())
        for key in ("scenario", "seed", "version", "hashes", "device", "machine", "elapsed"):
            self.assertIn(key, manifest)
        self.assertEqual(manifest["scenario"]["model"]["sampling"], "iid")
        self.assertEqual(len(manifest["hashes"]["data"]), 1)
        self.assertEqual(manifest["device"], "cpu")
        self.assertEqual(manifest["cohort"], 1)
        self.assertIn(manifest["arithmetic"], ("fused multiply-adds", "multiplications and additions"))
        self.assertIn(manifest["instruction_set"], ("avx512", "avx2", "neon", "portable"))
        self.assertGreater(manifest["gradients_per_second"], 0)
        self.assertNotIn("kernel_share", manifest)

    def test_numbers_read_back_exactly(self):
        for row in rows(self.run_small() / "curve.csv"):
            self.assertEqual(row["disagreement"], "")  # of a server's one model there is none
            for key in ("time", "loss"):
                text = row[key]
                self.assertIn(text, (repr(float(text)), repr(float(text)).removesuffix(".0"), f"{float(text):.17g}"))

    def test_timing_only_has_the_same_schedule_and_no_losses(self):
        full, timing = self.run_small("a"), self.run_small("b", "--timing-only")
        for name in ("staleness.csv", "learners.csv"):
            self.assertEqual((full / name).read_bytes(), (timing / name).read_bytes())
        for with_model, without in zip(rows(full / "runs.csv"), rows(timing / "runs.csv")):
            self.assertEqual(with_model["sim_time"], without["sim_time"])
            self.assertEqual(without["final_loss"], "")
            self.assertEqual(without["final_test_error"], "")

    def test_a_folder_read_as_another_kind_is_another_data_set(self):
        (self.folder / "digits").mkdir()
        for name in ("optdigits.tra", "optdigits.tes"):
            lines = (",".join(["3"] * 64 + [str(label)]) for label in range(10))
            (self.folder / "digits" / name).write_text("\n".join(lines) + "\n")
        model = {"kind": "softmax", "dataset": {"kind": "digits", "path": "digits"}}
        scenario = changed(SMALL, model=model, protocol={"kind": "async"}, sweep=None)
        self.run_small("a", scenario=scenario)
        scenario["sweep"] = {"model.dataset.kind": ["digits", "idx"]}
        _, told = self.call("run", self.write(scenario), "--out", "b", "--quiet", status=1)
        self.assertIn("holds no train-images", told)

    def test_targets_add_their_times(self):
        scenario = changed(SMALL, targets={"loss": [1.5, 0.0], "test_error": [0.4]}, stop={"time": 40})
        out = self.run_small(scenario=scenario)
        curve = rows(out / "curve.csv")
        for run in rows(out / "runs.csv"):
            self.assertEqual(run["time_to_loss_0"], "")
            for column, key, level in (("time_to_loss_1.5", "loss", 1.5), ("time_to_error_0.4", "test_error", 0.4)):
                times = [float(row["time"]) for row in curve if (row["point"], row["replica"]) == (run["point"], run["replica"]) and float(row[key]) <= level]
                self.assertEqual(run[column], "" if not times else run[column])
                if times:
                    self.assertEqual(float(run[column]), times[0])
        self.assertTrue(any(run["time_to_loss_1.5"] for run in rows(out / "runs.csv")))

    def test_a_diverged_run_is_a_result(self):
        scenario = changed(
            SMALL,
            model={"kind": "quadratic", "noise": 0},
            learning_rate={"kind": "constant", "eta": 1000},
            record={"every_updates": 5},
            stop={"updates": 500},
        )
        table = rows(self.run_small(scenario=scenario) / "runs.csv")
        self.assertEqual({row["status"] for row in table}, {"diverged"})
        self.assertTrue(all(not math.isfinite(float(row["final_loss"])) for row in table))
        self.assertTrue(all(int(row["updates"]) < 500 for row in table))

    def test_each_learners_value_has_rows_of_its_own(self):
        def peers(evaluate):
            return changed(SMALL, sweep=None, protocol={"kind": "local-sgd", "tau": 3}, targets={"loss": 1.5}, record={"every_time": 1, "evaluate": evaluate})

        of_mean = self.run_small("mean", scenario=peers("mean"))
        each = self.run_small("each", scenario=peers("each"))
        self.assertEqual((each / "runs.csv").read_bytes(), (of_mean / "runs.csv").read_bytes())
        kept, curve = rows(of_mean / "curve.csv"), rows(each / "curve.csv")
        self.assertNotIn("learner", kept[0])
        self.assertEqual([row["learner"] for row in curve], ["", "0", "1", "2", "3"] * len(kept))
        for number, row in enumerate(kept):
            self.assertEqual({**row, "learner": ""}, curve[5 * number])
            for learner in curve[5 * number + 1 : 5 * number + 5]:
                self.assertEqual((learner["time"], learner["disagreement"]), (row["time"], ""))
                self.assertTrue(learner["loss"] and learner["test_error"])
        self.assertEqual(len({row["loss"] for row in curve[-4:]}), 4)
        timed = rows(self.run_small("timed", "--timing-only", scenario=peers("each")) / "curve.csv")
        self.assertEqual([row["learner"] for row in timed], [""] * len(kept))

    def test_by_order_statistics_the_files_are_those_by_events_but_the_learners(self):
        scenario = changed(
            SMALL,
            timing_only=True,
            record={"every_time": 1, "every_epochs": 0.5},
            stop={"updates": 400},
            sweep={"protocol": [*SIX[:2], {"kind": "backup", "backups": 1, "late": "cancel"}]},
        )
        events = self.run_small("events", scenario=scenario)
        drawn = self.run_small("drawn", "--set", "sampler=order-statistic", scenario=scenario)
        names = lambda folder: {path.name for path in folder.iterdir()}
        self.assertEqual(names(events) - names(drawn), {"learners.csv"})
        self.assertEqual(names(drawn) - names(events), set())
        for one, other in zip(rows(events / "runs.csv"), rows(drawn / "runs.csv"), strict=True):
            differing = {key for key in one if one[key] != other[key]}
            self.assertEqual(differing, {"sim_time", "mean_iteration_time"})
            theory = float(other["theory_iteration_time"])
            self.assertAlmostEqual(float(other["mean_iteration_time"]), theory, delta=0.3 * theory)
        self.assertEqual(*((folder / "staleness.csv").read_bytes() for folder in (events, drawn)))
        empty = lambda folder: [[key for key in row if row[key] == ""] for row in rows(folder / "curve.csv")][0]
        self.assertEqual(empty(events), empty(drawn))
        notes = json.loads((drawn / "manifest.json").read_text())["notes"]
        self.assertIn("other draws", *notes)
        self.assertEqual(json.loads((events / "manifest.json").read_text())["notes"], [])
        again = json.loads((drawn / "manifest.json").read_text())["scenario"]
        self.call("run", self.write(again), "--out", "again", "--quiet", "--jobs", "1")
        self.assertEqual(self.tables(drawn), self.tables(self.folder / "again"))

    def test_values_that_do_not_fit_are_refused_before_a_run(self):
        quadratic = {"kind": "quadratic", "dimensions": 1000000000}
        big = changed(SMALL, sweep=None, model=quadratic, targets=None, protocol={"kind": "local-sgd", "tau": 3})
        path = self.write(changed(big, cluster={**SMALL["cluster"], "learners": 10000}))
        _, told = self.call("run", path, "--out", "out", "--jobs", "1", status=2)
        self.assertRegex(told, r"error: cluster.learners: does not fit into memory: the values of 10000 learners take at least 4e\+04 GB, .* and the limit is ")
        self.assertFalse((self.folder / "out").exists())

    def test_a_deadlocked_run_is_a_result(self):
        protocol = {"kind": "ad-psgd", "graph": "complete", "pair_cost": 1}
        path = self.write(changed(SMALL, protocol=protocol, sweep=None, stop={"updates": 5000}))
        told, _ = self.call("run", path, "--out", "out")
        table = rows(self.folder / "out/runs.csv")
        self.assertEqual({row["status"] for row in table}, {"deadlocked"})
        self.assertIn(f" {len(table)} ({len(table)} deadlocked)", told)
        for row in table:
            when, circle = re.fullmatch(r"at time (\S+) learners wait for each other in a circle:((?: \d+)+)", row["reason"]).groups()
            self.assertEqual(float(when), float(row["sim_time"]))
            self.assertEqual(len(set(circle.split())), len(circle.split()))
            self.assertGreater(len(circle.split()), 1)

    def test_stop_loss_ends_a_run_at_an_evaluation(self):
        scenario = changed(SMALL, stop={"loss": 1.5, "time": 500})
        out = self.run_small(scenario=scenario)
        for run in rows(out / "runs.csv"):
            self.assertLessEqual(float(run["final_loss"]), 1.5)
            self.assertLess(float(run["sim_time"]), 500)


# Every key of the cluster that is about the times of minibatches.
CLUSTER = {
    "learners": 4,
    "runtimes": [{"distribution": "exponential", "mean": 1}, {"distribution": "uniform", "low": 1, "high": 2}],
    "outliers": {
        "probability_law": {"distribution": "gamma", "shape": 3, "scale": 0.02},
        "runtime": {"distribution": "pareto", "scale": 2, "shape": 2},
        "most": 50,
    },
    "rate": 50,
    "persistence": {"kind": "ar1", "correlation": 0.9, "sd": 0.3},
    "speeds": [1, 2],
    "windows": [
        {"start": 3, "length": 5, "factor": 4, "learners": [0, 3]},
        {"start": 1, "length": 0.5, "every": 2, "factor": 2},
    ],
}


class Cluster(ProgramTest):
    def run_on(self, out, sweep, cluster=CLUSTER, words=()):
        scenario = changed(SMALL, cluster=cluster, sweep=sweep)
        self.call("run", self.write(scenario), "--out", out, "--quiet", *words)
        return self.folder / out

    def test_the_same_bytes_for_any_number_of_jobs_and_from_the_manifest(self):
        first = self.run_on("a", {"protocol": SIX}, words=("--jobs", "1"))
        self.assertEqual(self.tables(first), self.tables(self.run_on("b", {"protocol": SIX}, words=("--jobs", "4"))))
        scenario = json.loads((first / "manifest.json").read_text())["scenario"]
        self.call("run", self.write(scenario), "--out", "c", "--quiet")
        self.assertEqual(self.tables(first), self.tables(self.folder / "c"))

    def test_every_key_can_be_swept_and_slows_or_quickens_the_run(self):
        sweeps = {
            "cluster.speeds": [[1, 2], [2, 4], 4],
            "cluster.rate": [50, 500],
            "cluster.outliers.most": [50, 0.1],
            "cluster.persistence": [{"kind": "markov", "factor": 9, "enter": 1, "leave": 0}, CLUSTER["persistence"]],
            "cluster.windows.0.factor": [40, 4],
            "cluster.windows": [CLUSTER["windows"], CLUSTER["windows"][:1], []],
            "cluster.runtimes": [[{"distribution": "deterministic", "value": 9}], CLUSTER["runtimes"]],
            "cluster.runtimes.1.high": [9, 2],
        }
        for number, (path, values) in enumerate(sweeps.items()):
            out = self.run_on(f"out{number}", {path: values, "protocol": SIX[:1]})
            table = [row for row in rows(out / "runs.csv") if row["replica"] == "0"]
            self.assertEqual([json.loads(row[path]) for row in table], values)
            times = [float(row["sim_time"]) for row in table]
            self.assertEqual(times, sorted(set(times), reverse=True), path)

    def test_theory_is_silent_on_times_that_are_no_draws_of_one_law(self):
        out = self.run_on("out", {"protocol": SIX})
        theory, _ = self.call("theory", self.folder / "scenario.json")
        for row in rows(out / "runs.csv"):
            self.assertEqual((row["theory_iteration_time"], row["theory_basis"]), ("", ""))
        for line, staleness in zip(theory.splitlines()[1:], ("0", "0", "0", "3", "0.3333333333333333", "1")):
            self.assertEqual(line.split(",")[4:9], ["", "", staleness, "", ""])
        told, _ = self.call("run", self.folder / "scenario.json", "--out", "again")
        line = next(line for line in told.splitlines() if line.startswith("  async"))
        self.assertEqual(line.split()[4], "-")

    def test_a_rate_and_equal_speeds_leave_one_law(self):
        cluster = {"learners": 4, "runtime": SMALL["cluster"]["runtime"], "rate": 5, "speeds": [2, 2]}
        self.run_on("out", {"protocol": SIX[:1]}, cluster)
        theory, _ = self.call("theory", self.folder / "scenario.json")
        # Minibatches of 5: (1 + H_4) / 2.
        cells = theory.splitlines()[1].split(",")
        self.assertAlmostEqual(float(cells[4]), (1 + 1 + 1 / 2 + 1 / 3 + 1 / 4) / 2, places=12)
        self.assertEqual([cells[5], cells[7], cells[8]], ["exact", "1", "exact"])


class Theory(ProgramTest):
    def test_prints_iteration_time_staleness_and_speed_up(self):
        scenario = changed(
            SMALL,
            cluster={"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
            sweep={"protocol": [{**one, "k": 4} if "k" in one else one for one in SIX]},
        )
        table = list(__import__("csv").DictReader(self.call("theory", self.write(scenario))[0].splitlines()))
        expected = {
            "sync": (2.717857142857143, 0),
            "k-sync": (0.6345238095238095, 0),
            "k-batch-sync": (0.5, 0),
            "async": (0.125, 7),
            "k-async": (0.6345238095238095, 1),
            "k-batch-async": (0.5, 1.75),
        }
        self.assertEqual([row["protocol"] for row in table], list(expected))
        for row in table:
            time, staleness = expected[row["protocol"]]
            self.assertAlmostEqual(float(row["theory_iteration_time"]), time, delta=1e-12)
            self.assertEqual(float(row["theory_staleness"]), staleness)
            self.assertAlmostEqual(float(row["speedup_over_sync"]), 2.717857142857143 / time, delta=1e-9)
            self.assertEqual(row["theory_basis"], "exact")

    def told(self, scenario):
        return list(__import__("csv").DictReader(self.call("theory", self.write(scenario))[0].splitlines()))

    def test_says_why_it_knows_no_iteration_time_or_staleness(self):
        law = SMALL["cluster"]["runtime"]
        base = changed(SMALL, sweep={}, protocol={"kind": "k-async", "k": 2})
        for cluster, why in [
            ({}, ""),
            ({"speeds": [1, 2]}, ""),
            ({"windows": [{"start": 9, "factor": 2}]}, "iteration time: learners are slow for a while (windows)"),
            ({"network": {"push": law}}, "iteration time, staleness: messages take time"),
            ({"server": {"per_update": 1}}, "iteration time, staleness: the server takes time"),
            ({"failures": {"up": law, "down": law}}, "iteration time, staleness: learners fail"),
        ]:
            (row,) = self.told(changed(base, cluster={"learners": 4, "runtime": law, **cluster}))
            self.assertEqual(row["not_known"], why)
            self.assertEqual(row["theory_iteration_time"] == "", "iteration time" in why)
            self.assertEqual(row["theory_staleness"] == "", "staleness" in why)
        (row,) = self.told(changed(base, protocol={"kind": "ssp", "bound": 3}))
        self.assertEqual(row["not_known"], "staleness: no formula is known here")
        slow = {"learners": 4, "runtime": law, "slow": {"learners": [0], "factor": 2}}
        (row,) = self.told(changed(base, cluster=slow, protocol={"kind": "deadline", "k": 2, "time": 1}))
        self.assertEqual(row["not_known"], "iteration time: learners have different speeds")

    def test_knows_learners_of_different_speeds(self):
        # Exponential, rates 1, 1, 1 and 1/2; E[X_{4:4}] by inclusion and exclusion.
        cluster = {**SMALL["cluster"], "slow": {"learners": [3], "factor": 2}}
        told = {row["protocol"]: row for row in self.told(changed(SMALL, cluster=cluster))}
        of_sync = 3 + 2 - 3 / 2 - 3 / 1.5 + 1 / 3 + 3 / 2.5 - 1 / 3.5
        self.assertAlmostEqual(float(told["sync"]["theory_iteration_time"]), of_sync, delta=1e-9)
        self.assertAlmostEqual(float(told["async"]["theory_iteration_time"]), 1 / 3.5, delta=1e-12)
        self.assertAlmostEqual(float(told["async"]["speedup_over_sync"]), 3.5 * of_sync, delta=1e-8)
        self.assertEqual([told[name]["theory_basis"] for name in ("k-sync", "k-batch-sync", "k-async")], ["exact", "upper", "lower"])

    def on_terminal(self, *words):
        """What a call prints to a terminal."""
        mine, theirs = os.openpty()
        told = b""
        with subprocess.Popen([PROGRAM, *words], stdout=theirs) as process:
            os.close(theirs)
            try:
                while piece := os.read(mine, 1 << 16):
                    told += piece
            except OSError:  # Linux: nobody writes any more
                pass
        os.close(mine)
        self.assertEqual(process.returncode, 0)
        return told.decode().replace("\r\n", "\n")

    def test_is_a_table_on_a_terminal_and_csv_elsewhere(self):
        cluster = {**SMALL["cluster"], "speeds": [1, 2]}
        protocols = [{"kind": "async"}, {"kind": "k-batch-sync", "k": 2}, {"kind": "deadline", "k": 2, "time": 1}]
        path = self.write(changed(SMALL, time_unit="ms", cluster=cluster, sweep={"protocol": protocols}))
        plain, _ = self.call("theory", path)
        self.assertTrue(plain.startswith("point,protocol,"))
        table, _ = self.call("theory", path, "--table")
        self.assertRegex(table, "(?m)^  point +iteration time +speed-up over sync +staleness +error floor$")
        self.assertRegex(table, r"(?m)^  async +0\.1667 +[0-9.]+ +3 +-$")
        self.assertRegex(table, r"(?m)^  k-batch-sync k=2 +<= [0-9.]+ +>= [0-9.]+ +0 +-$")
        self.assertIn("times in ms\n", table)
        self.assertRegex(table, "(?m)^  no iteration time of deadline k=2 time=1: learners have different speeds$")
        self.assertRegex(table, "(?m)^  no error floor: it is known of model quadratic alone$")
        for words, expected in ((), table), (("--csv",), plain):
            self.assertEqual(self.on_terminal("theory", path, *words), expected)
        for words in (("--table", "--csv"), ("--table", "--curves")):
            self.assertIn("take one", self.call("theory", path, *words, status=2)[1])

    def test_knows_learners_without_a_server(self):
        # A ring of 4 learners: 6 x 0.25 + 1.5 x 2 / 2 = 3 units of time, three minibatches.
        network = {"topology": "mesh", "latency": 0.25, "bandwidth": 2, "model_bytes": 2}
        one = {"distribution": "deterministic", "value": 1}
        table = self.told(
            {
                "cluster": {"learners": 4, "runtime": one, "network": network},
                "protocol": {"kind": "all-reduce"},
                "stop": {"updates": 10},
                "sweep": {
                    "protocol": [
                        {"kind": "all-reduce"},
                        {"kind": "local-sgd", "tau": 4},
                        {"kind": "dasgd", "tau": 4, "delay": 3},
                        {"kind": "d-psgd", "graph": "ring"},
                        {"kind": "ripples", "schedule": "random", "group": 2},
                        {"kind": "ripples", "schedule": "group-division", "group": 2},
                    ]
                },
            }
        )
        number = lambda name: [float(row[name]) if row[name] else None for row in table]
        self.assertEqual(number("theory_iteration_time"), [4, 1.75, 1, 3.25, 0.25, 0.625])
        self.assertEqual([row["theory_basis"] for row in table], ["exact"] * 4 + ["lower", "exact"])
        self.assertEqual(number("exchange_time"), [3, 3, 3, 2.25, None, None])
        self.assertEqual(number("hiding_delay"), [None, 3, 3, None, None, None])
        self.assertEqual(number("waiting_over_working"), [None] * 6)
        self.assertEqual(number("k"), [4, 4, 4, 4, 1, 1])
        # (1 + r) / (1 + r / tau) with r = 3.
        self.assertEqual(number("speedup_over_all_reduce"), [1, 4 / 1.75, 4, 4 / 3.25, 4, 1.6])
        self.assertEqual([row["all_reduce_basis"] for row in table], ["exact"] * 4 + ["upper", "exact"])
        for found, expected in zip(number("spectral_gap"), [None, 1, None, 2 / 3, 1 / 3, 2 / 3]):
            self.assertEqual(found, None) if expected is None else self.assertAlmostEqual(found, expected, places=12)
        for found, expected in zip(number("rho"), [None, 0, None, 1 / 9, 2 / 3, 1 / 3]):
            self.assertEqual(found, None) if expected is None else self.assertAlmostEqual(found, expected, places=12)
        self.assertEqual({row["speedup_over_sync"] for row in table}, {""})

    def test_knows_the_error_floor_of_the_quadratic(self):
        scenario = changed(SMALL, model={"kind": "quadratic"}, learning_rate={"kind": "constant", "eta": 0.05})
        table = list(__import__("csv").DictReader(self.call("theory", self.write(scenario))[0].splitlines()))
        floors = {row["protocol"]: row["error_floor"] for row in table}
        self.assertAlmostEqual(float(floors["k-sync"]), 0.05 / (2 * 3 * 1.95), delta=1e-15)
        # Async with exponential runtimes: q / (2 (1 - q)), q = eta (1 + P eta) / (2 (1 + eta)).
        q = 0.05 * (1 + 4 * 0.05) / (2 * 1.05)
        self.assertAlmostEqual(float(floors["async"]), q / (2 * (1 - q)), delta=1e-12)

    def test_knows_the_error_floor_only_of_plain_sgd_with_one_learning_rate(self):
        scenario = changed(
            SMALL,
            model={"kind": "quadratic"},
            learning_rate={"kind": "constant", "eta": 0.05},
            protocol={"kind": "k-sync", "k": 3},
            stop={"gradients": 1000},
            sweep=None,
        )
        gradients = {"unit": "gradients"}
        plain = 0.05 / (2 * 3 * 1.95)
        for changes, floor in [
            ({}, plain),
            ({"learning_rate": {"kind": "staleness", "eta": 0.05}}, plain),  # nothing is stale
            ({"learning_rate": {"kind": "constant", "eta": 0.05, "scale": "linear"}}, 0.15 / (2 * 3 * 1.85)),
            ({"learning_rate": {"kind": "inverse-sqrt", "eta": 0.05, "after": 10, **gradients}}, None),
            ({"learning_rate": {"kind": "constant", "eta": 0.05, "warm_up": {"length": 10, **gradients}}}, None),
            *[({"optimiser": optimiser}, None) for optimiser in ({"momentum": 0.5}, {"clip": 1}, {"ema": 0.9}, {"rmsprop": {}})],
            ({"protocol": {"kind": "adasync", "variant": "k-sync", "interval": 5}}, None),  # K changes
        ]:
            with self.subTest(changes):
                told, _ = self.call("theory", self.write(changed(scenario, **changes)))
                row = next(__import__("csv").DictReader(told.splitlines()))
                if floor is None:
                    self.assertEqual(row["error_floor"], "")
                else:
                    self.assertAlmostEqual(float(row["error_floor"]), floor, delta=1e-15)

    QUADRATIC = changed(
        SMALL,
        model={"kind": "quadratic", "dimensions": 3, "curvatures": [1, 0.5], "noise": 2, "minibatch": 4},
        learning_rate={"kind": "constant", "eta": 0.1},
        stop={"time": 20},
        record={"every_time": 5},
    )

    def curves(self, scenario):
        told, _ = self.call("theory", self.write(scenario), "--curves")
        header, *_ = told.splitlines()
        self.assertEqual(header, "point,time,loss,basis,source,update,mean_squared_gradient")
        found = {}
        for row in __import__("csv").DictReader(told.splitlines()):
            places = found.setdefault((int(row["point"]), row["basis"], row["source"]), [])
            value = row["mean_squared_gradient" if row["source"] == "Theorem 5" else "loss"]
            places.append((float(row["time"]), float(value), int(row["update"])))
        return found

    def test_tells_the_error_curves_of_a_quadratic(self):
        found = self.curves(self.QUADRATIC)
        exact, bound, slopes = ("exact", "second moments"), ("upper", "Lemma 2"), ("upper", "Theorem 5")
        self.assertEqual(list(found), [(p, *kind) for p in range(6) for kind in [exact, bound, slopes][: 3 if p < 3 else 1]])
        # Curvatures 1, 0.5, 1, all of w_0 = 1; a component's variance is 4 / (4 x 3), L = 1, c = 0.5.
        time_of_sync, kept = 1 + 1 / 2 + 1 / 3 + 1 / 4, {1: 0.9**2, 0.5: 0.95**2}
        places = found[0, *exact]
        # Those nearest to times 0, 5, 10, 15, and the last one before 20.
        self.assertEqual([j for _, _, j in places], [0, 2, 5, 7, 9])
        for time, loss, j in places:
            self.assertAlmostEqual(time, j * time_of_sync, delta=1e-9)
            floor = {c: 0.1 / 3 / (2 * 4 * (2 - 0.1 * c)) for c in kept}  # K = 4
            expected = sum(n * (floor[c] + kept[c] ** j * (c / 2 - floor[c])) for c, n in ((1, 2), (0.5, 1)))
            self.assertAlmostEqual(loss, expected, delta=1e-12)
        for time, loss, j in found[0, *bound]:
            floor = 0.1 * 1 / (2 * 0.5 * 4)  # sigma^2 / m = 1
            self.assertAlmostEqual(loss, floor + 0.95**j * (1.25 - floor), delta=1e-12)
        for time, squared, j in found[0, *slopes]:
            self.assertAlmostEqual(squared, 2 * 1.25 / ((j + 1) * 0.1) + 0.1 / 4, delta=1e-12)

    def test_bounds_of_stale_gradients_need_a_gamma_or_the_distance_rule(self):
        found = self.curves(changed(self.QUADRATIC, theory={"gamma": 0.25}))
        exact, third, fifth = ("exact", "second moments"), ("upper", "Theorem 3"), ("upper", "Theorem 5")
        # async, k-async at K = 3, k-batch-async at K = 3; P = 4, exponential.
        for point, k, p0 in ((3, 1, 1 / 4), (4, 3, 3 / 4), (5, 3, 1 / 4)):
            self.assertEqual([key[1:] for key in found if key[0] == point], [exact, third, fifth])
            kept = 1 - 0.25 + p0 / 2
            floor = 0.1 / (2 * 0.5 * kept * k)
            for _, loss, j in found[point, *third]:
                self.assertAlmostEqual(loss, floor + (1 - 0.05 * kept) ** j * (1.25 - floor), delta=1e-12)
            for _, squared, j in found[point, *fifth]:
                self.assertAlmostEqual(squared, (2.5 / ((j + 1) * 0.1) + 0.1 / k) / kept, delta=1e-12)
        rule = {"kind": "distance", "c": 0.004, "eta_max": 0.1}
        found = self.curves(changed(self.QUADRATIC, learning_rate=rule, sweep=None, protocol={"kind": "async"}))
        self.assertEqual(list(found), [(0, "approximate", "Theorem 4")])
        rate, noise = 0.1 * (1 + 1 / 8) * 0.5, 0.1**2 / 2 + 0.004 / 2
        for _, loss, j in found[0, "approximate", "Theorem 4"]:
            self.assertAlmostEqual(loss, noise / rate + (1 - rate) ** j * (1.25 - noise / rate), delta=1e-12)

    def test_error_curves_take_the_basis_of_the_time(self):
        cluster = {"learners": 4, "runtime": {"distribution": "pareto", "scale": 1, "shape": 2}}
        found = self.curves(changed(self.QUADRATIC, cluster=cluster))
        # k-batch-sync's time is an upper bound; of stale gradients nothing is known.
        self.assertEqual(
            [key[:2] for key in found],
            [(0, "exact"), (0, "upper"), (0, "upper"), (1, "exact"), (1, "upper"), (1, "upper"), (2, "upper"), (2, "upper"), (2, "upper")],
        )
        backup = {"kind": "backup", "backups": 1}  # its time is a lower bound
        found = self.curves(changed(self.QUADRATIC, cluster=cluster, sweep=None, protocol=backup))
        self.assertEqual([key[1] for key in found], ["lower", "approximate", "approximate"])

    def test_error_curves_are_of_what_is_known_only(self):
        slow = {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}, "server": {"per_update": 1}}
        for changes in (
            {"model": SMALL["model"]},
            {"timing_only": True},
            {"optimiser": {"momentum": 0.5}},
            {"cluster": slow},
            {"stop": {"loss": 0.1}},
            {"sweep": None, "protocol": {"kind": "adasync", "variant": "k-sync", "interval": 5}},
            {"sweep": None, "protocol": {"kind": "async"}, "learning_rate": {"kind": "staleness", "eta": 0.1}},
        ):
            with self.subTest(changes):
                self.assertEqual(self.curves(changed(self.QUADRATIC, **changes)), {})
        too_fast = changed(self.QUADRATIC, learning_rate={"kind": "constant", "eta": 0.6})
        self.assertNotIn("upper", {key[1] for key in self.curves(too_fast)})

    def test_a_run_writes_its_curves_where_there_are_any(self):
        file = self.write(self.QUADRATIC)
        told, _ = self.call("theory", file, "--curves")
        self.call("run", file, "--out", "out", "--quiet")
        self.assertEqual((self.folder / "out/theory.csv").read_text(), told)
        self.call("run", file, "--out", "out", "--quiet", "--force", "--timing-only")
        self.assertFalse((self.folder / "out/theory.csv").exists())

    def test_knows_what_is_fresh_and_stable(self):
        def table(**changes):
            told, _ = self.call("theory", self.write(changed(self.QUADRATIC, **changes)))
            return list(__import__("csv").DictReader(told.splitlines()))

        stale = (1 + 33**0.5) / 8  # async, P = 4
        rows_of = {row["protocol"]: row for row in table()}
        for protocol, fresh, eta in (("sync", 1, 2), ("k-sync", 1, 2), ("async", 1 / 4, stale), ("k-async", 3 / 4, None)):
            row = rows_of[protocol]
            self.assertEqual((float(row["theory_fresh"]), row["fresh_basis"]), (fresh, "exact"))
            self.assertEqual((row["stable_eta_basis"], row["ageing"]), ("exact", "memoryless"))
            if eta is not None:
                self.assertAlmostEqual(float(row["stable_eta"]), eta, delta=1e-9)
        self.assertAlmostEqual(float(rows_of["k-sync"]["error_floor_bound"]), 0.1 / (2 * 0.5 * 3), delta=1e-12)
        self.assertEqual(rows_of["async"]["error_floor_bound"], "")

        constant = {"learners": 4, "runtime": {"distribution": "deterministic", "value": 1}}
        row = table(cluster=constant, sweep=None, protocol={"kind": "async"}, optimiser={"momentum": 0.9})[0]
        self.assertEqual((row["stable_eta_basis"], row["ageing"], row["theory_fresh"]), ("exact", "new-longer", ""))
        self.assertLess(float(row["stable_eta"]), 0.0512)  # that of a delay of 2; this one is 3
        self.assertGreater(float(row["stable_eta"]), 0.0215)  # of 5

        for rule in ({"kind": "staleness", "eta": 0.1}, {"kind": "staleness-root", "eta": 0.1}, {"kind": "distance", "c": 0.004, "eta_max": 0.1}):
            told = {row["protocol"]: row["stable_eta"] for row in table(learning_rate=rule)}
            self.assertEqual((told["sync"], told["async"]), ("2", ""))

        shifted = {"learners": 4, "runtime": {"distribution": "shifted-exponential", "shift": 1, "mean": 1}}
        told = {row["protocol"]: (row["fresh_basis"], row["stable_eta_basis"], row["ageing"]) for row in table(cluster=shifted)}
        self.assertEqual(told["async"], ("exact", "approximate", "new-longer"))
        self.assertEqual(told["k-async"], ("upper", "approximate", "new-longer"))
        self.assertEqual(told["k-batch-async"], ("", "approximate", "new-longer"))


if __name__ == "__main__":
    unittest.main()
