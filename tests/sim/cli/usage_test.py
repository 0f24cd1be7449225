"""Commands, options, errors and exit statuses."""

import csv
import gzip
import json
import math
import os
import pathlib
import re
import signal
import statistics
import subprocess
import time
import unittest
import unittest.mock

from program import IS_RELEASE, PROGRAM, ROOT, SIX, SMALL, ProgramTest, changed, rows, stamped

INVALID = ROOT / "tests/sim/cli/invalid"

TIMING = changed(SMALL, model=None, learning_rate=None, record=None, protocol={"kind": "k-sync", "k": 2})


class BadScenarios(ProgramTest):
    """tests/sim/cli/invalid/NAME.json is refused with the words of NAME.expected."""

    def test_each_is_refused_with_its_messages(self):
        files = sorted(INVALID.glob("*.json"))
        self.assertGreater(len(files), 10)
        # A new kind does not change what is expected.
        lists = {}
        for catalog in ("protocols", "distributions", "learning-rates", "persistence", "models"):
            lines = self.call("list", catalog)[0].splitlines()[1:]
            names = [line.split()[0] for line in lines if re.match("  [a-z]", line) and "every one" not in line]
            lists[", ".join(names)] = f"<{catalog}>"
        for file in files:
            with self.subTest(file.name):
                # GRADRACE_DATA would add a place where data are looked for.
                _, told = self.call("validate", file.name, status=2, folder=INVALID, GRADRACE_DATA="")
                expected = file.with_suffix(".expected").read_text()
                told = told.replace(os.fspath(INVALID), "HERE")
                for names, catalog in lists.items():
                    told = told.replace(names, catalog)
                self.assertEqual(told, expected)

    def test_all_errors_of_several_files_at_once(self):
        _, told = self.call("validate", "k_above_learners.json", "syntax.json", status=2, folder=INVALID)
        self.assertIn("k_above_learners.json:3:35", told)
        self.assertIn("syntax.json:3:3", told)

    def test_a_bad_scenario_makes_no_folder(self):
        self.call("run", INVALID / "syntax.json", "--out", "out", status=2)
        self.assertFalse((self.folder / "out").exists())

    def test_a_sweep_of_keys_in_what_has_none_is_told(self):
        for path, value in (("cluster.speeds.0", 2), ("protocol.kind.x", "sync")):
            part = {"cluster": {**SMALL["cluster"], "speeds": value}} if "speeds" in path else {"protocol": {"kind": value}}
            _, told = self.call("validate", self.write(changed(SMALL, sweep={path: [1, 2]}, **part)), status=2)
            self.assertIn(f"error: {path.rpartition('.')[0]}: expected an object, got {json.dumps(value)}", told)

    def test_a_precision_of_gpus_needs_one_whoever_chooses_the_device(self):
        model = {"kind": "softmax", "dataset": {"kind": "synthetic"}, "precision": "tf32x3"}
        path = self.write(changed(SMALL, sweep=None, protocol={"kind": "async"}, model=model))
        _, told = self.call("validate", path, "--device", "cpu", status=2)
        self.assertIn("error: model.precision: tf32x3 takes a GPU (the device is cpu)\n    allowed: float32, float64\n", told)
        self.call("validate", path, "--device", "cuda")
        apart = 'model.dataset.partition={"kind": "iid"}'
        _, told = self.call("validate", path, "--device", "cuda", "--set", apart, status=2)
        self.assertIn("model.precision: takes a GPU, and dataset.partition the CPU", told)
        self.call("validate", path, "--timing-only", "--device", "cpu")
        if not pathlib.Path("/dev/nvidiactl").exists():
            _, told = self.call("run", path, "--out", "out", status=2)
            self.assertRegex(told, r"json:\d+:\d+: error: model.precision: tf32x3 takes a GPU \(.*no CUDA device.*\)\n    allowed: ")
            self.assertFalse((self.folder / "out").exists())

    def test_a_change_on_the_command_line_is_named_as_the_origin(self):
        path = self.write(changed(SMALL, sweep=None, protocol={"kind": "k-sync", "k": 2}))
        _, told = self.call("run", path, "--set", "protocol.k=9", "--replicas", "0", status=2)
        self.assertIn("--set protocol.k=9: error: protocol.k: must be 1 to 4 (cluster.learners), got 9", told)
        self.assertIn("--replicas 0: error: replicas: must be 1 to 16777215, got 0", told)

    def test_times_that_no_run_comes_to_are_refused(self):
        for limit, law in ((1e300, {"mean": 1}), (1e18, {"mean": 1}), (10, {"mean": 1e-300})):
            cluster = {"learners": 4, "runtime": {"distribution": "exponential", **law}}
            path = self.write(changed(TIMING, cluster=cluster, stop={"time": limit}, sweep=None))
            _, told = self.call("run", path, status=2)
            self.assertRegex(told, r"error: stop.time: takes \S+ minibatches, and a run has 4294967295 at most")
            self.call("run", path, "--set", f'stop={{"time": {limit}, "updates": 5}}', "--quiet", "--force")

    def test_a_sweep_below_what_has_no_keys_is_told_where_that_is(self):
        path = self.write(changed(TIMING, protocol="sync", sweep={"protocol.k": [1, 2]}))
        line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if '"protocol"' in text)
        _, told = self.call("validate", path, status=2)
        self.assertRegex(told, f'scenario.json:{line}:[0-9]+: error: protocol: expected an object, got "sync"')
        self.assertEqual(told.count("error:"), 1)
        self.assertIn('allowed: {"kind": "sync"}', told)

    def test_runs_without_an_update_are_noted(self):
        told, _ = self.call("run", self.write(changed(TIMING, stop={"time": 1e-9}, sweep=None, replicas=2)))
        self.assertIn("note: 2 runs of 2 ended before the first update: a longer stop.time", told)

    def test_data_that_are_not_there_are_told_and_no_mistake(self):
        (self.folder / "data").mkdir()
        data = {"kind": "csv", "path": "nowhere/wine.csv", "test_rows": 1, "label": "quality"}
        for dataset, where in ((data, "nowhere/wine.csv"), ({"kind": "mnist"}, "mnist"), ({"kind": "idx", "path": "../data/mnist"}, "../data/mnist")):
            path = self.write(changed(SMALL, model={"kind": "softmax", "dataset": dataset}))
            told, _ = self.call("validate", path, GRADRACE_DATA=self.folder / "data")
            name = pathlib.Path(where).name
            self.assertRegex(told, f"scenario.json: fine, but {where} is not there \\(looked at /.*/data/{name}.*\\): 6 points x 2 replicas")
            self.assertIn("dataset.path: no f", self.call("run", path, status=2, GRADRACE_DATA="")[1])
            self.assertNotIn("but", self.call("validate", path, "--timing-only")[0])
        (self.folder / "data/mnist").mkdir()
        for kind, file in (("mnist", "train-images-idx3-ubyte"), ("digits", "optdigits.tra"), ("cifar10", "data_batch_1.bin")):
            dataset = {"kind": kind} if kind == "mnist" else {"kind": kind, "path": "data/mnist"}
            path = self.write(changed(SMALL, model={"kind": "softmax", "dataset": dataset}))
            _, told = self.call("validate", path, "--data", self.folder / "data", status=2)
            self.assertRegex(told, f"scenario.json:[0-9]+:[0-9]+: error: model: .*/data/mnist: holds no {file}.*; needed are ")

    def test_a_trace_that_is_not_there_is_told_and_no_mistake(self):
        runtime = {"distribution": "empirical", "path": "times.csv", "column": "time"}
        path = self.write(changed(TIMING, cluster={"learners": 4, "runtime": runtime}, sweep=None))
        told, _ = self.call("validate", path)
        self.assertRegex(told, 'fine but for data, which were not looked at, since cluster.runtime.path: no file "times.csv": looked at /')
        _, told = self.call("run", path, status=2)
        self.assertRegex(told, r'scenario.json:\d+:\d+: error: cluster.runtime.path: no file "times.csv": looked at /')

    def test_validate_looks_into_the_data(self):
        (self.folder / "wine.csv").write_text("acid,kind\n1,red\n2,white\n3,red\n4,rosé\n")
        data = {"kind": "csv", "path": "wine.csv", "test_path": "wine.csv", "label": "kind"}
        fine = changed(SMALL, model={"kind": "softmax", "dataset": data})
        self.call("validate", self.write(fine))
        for model, words in ({"kind": "logistic"}, "needs two classes, and the data set has 3 classes"), ({"kind": "cnn"}, "cnn needs images"):
            _, told = self.call("validate", self.write(changed(fine, model={"dataset": data, **model})), status=2)
            self.assertRegex(told, f"scenario.json:[0-9]+:[0-9]+: error: model: .*{words}")
        (self.folder / "wine.csv").write_text("acid,kind\n1,red\nsour,white\n")
        _, told = self.call("validate", self.write(fine), status=2)
        self.assertRegex(told, 'error: model: .*wine.csv:3: column "acid": expected a finite number, found "sour"')

    def test_curves_that_theory_does_not_know_are_said(self):
        told, noted = self.call("theory", self.write(SMALL), "--curves")
        self.assertEqual(told.count("\n"), 1)
        self.assertIn("note: no row: the loss over time is known of model quadratic alone", noted)

    def test_the_schema_is_told_from_a_scenario(self):
        told, _ = self.call("validate", ROOT / "scenarios/schema.json", ROOT / "scenarios/quickstart.json")
        self.assertIn("scenarios/schema.json: is the schema of scenarios, not one\n", told)
        self.assertIn("quickstart.json: fine: 6 points", told)
        self.assertIn("is the schema of scenarios", self.call("run", ROOT / "scenarios/schema.json", status=2)[1])

    def test_shards_that_cannot_be_made_are_refused_before_a_run(self):
        data = {"kind": "synthetic", "rows": 30, "test_rows": 10, "partition": {"kind": "by-class", "classes": 3}}
        scenario = changed(SMALL, model={"kind": "softmax", "dataset": data}, sweep={"protocol.kind": ["sync"]})
        self.call("validate", self.write(scenario))
        scenario["cluster"]["learners"] = 11
        for command in ("validate", "run"):
            _, told = self.call(command, self.write(scenario), status=2)
            self.assertIn("model.dataset.partition: by-class deals out cluster.learners x classes = 11 x 3 blocks", told)
        self.assertFalse((self.folder / "out").exists())
        self.call("validate", self.write(scenario), "--timing-only")

    def test_a_large_sweep_is_checked_in_seconds(self):
        count = 100_000 if os.environ.get("GRADRACE_LONG") else 30_000 if IS_RELEASE else 4_000
        means = [round(1 + 1e-6 * i, 6) for i in range(count)]
        sweeps = {
            "product": {"protocol.k": [1, 2, 3, 4], "cluster.runtime.mean": means[: count // 4]},
            "zip": {"zip": {"protocol.k": [1 + i % 4 for i in range(count)], "cluster.runtime.mean": means}},
            "wholes": {"protocol": [{"kind": ("k-sync", "k-async")[i % 2], "k": 1 + i // 2} for i in range(count)]},
        }
        for name, sweep in sweeps.items():
            cluster = {**SMALL["cluster"], "learners": count // 2 if name == "wholes" else 4}
            path = self.write(changed(TIMING, cluster=cluster, sweep=sweep))
            with subprocess.Popen([PROGRAM, "validate", path], stdout=subprocess.PIPE, text=True) as process:
                self.assertIn(f"fine: {count} points", process.stdout.read())
                _, process.returncode, used = os.wait4(process.pid, 0)
            self.assertEqual(process.returncode, 0)
            if IS_RELEASE:
                self.assertLess(used.ru_utime, 15e-5 * count, name)  # a tenth of it
                self.assertLess(used.ru_maxrss, 4 * count, name)  # KiB; of 100,000 points 180 to 260 MiB

    def test_a_list_of_a_sweep_is_written_by_its_ends(self):
        rates = [0.01, 0.0215443469003, 0.0464158883361, 0.1, 0.215443469003, 0.464158883361, 1]
        by_ends = {"protocol.k": {"from": 1, "to": 4, "linear": 4}}
        by_ends["zip"] = {"cluster.runtime.mean": {"from": 0.01, "to": 1, "log": 7}, "stop.updates": [*range(3, 10)]}
        written = {"protocol.k": [1, 2, 3, 4], "zip": {"cluster.runtime.mean": rates, "stop.updates": [*range(3, 10)]}}
        for name, sweep in ("ends", by_ends), ("lists", written):
            self.call("run", self.write(changed(TIMING, sweep=sweep)), "--quiet", "--out", name)
        self.assertEqual(self.tables(self.folder / "ends"), self.tables(self.folder / "lists"))
        resolved = json.loads((self.folder / "ends/manifest.json").read_text())["scenario"]
        self.assertEqual(resolved["sweep"], by_ends)
        self.call("run", self.write(resolved), "--quiet", "--out", "again")
        self.assertEqual(self.tables(self.folder / "ends"), self.tables(self.folder / "again"))

    def test_the_page_of_sweeps_has_an_example_of_each_form(self):
        page, _ = self.call("list", "sweep")
        self.assertIn("Several keys multiply", page)
        self.assertIn("zip walks lists of one length in parallel", page)
        examples = re.findall(r'^ *("sweep": .*)$', page, re.MULTILINE)
        self.assertEqual(len(examples), 5)
        scenario = changed(SMALL, protocol={"kind": "k-sync", "k": 2})
        for example in examples:
            self.call("validate", self.write(changed(scenario, **json.loads("{" + example + "}"))))

    def test_20000_wrong_points_are_told_by_a_few(self):
        sweep = {"protocol.k": [3 + i for i in range(20_000)]}
        path = self.write(changed(TIMING, stop={"updtes": 3}, sweep=sweep))
        _, told = self.call("validate", path, status=2)
        self.assertIn("protocol.k: must be 1 to 4 (cluster.learners), got 5", told)
        self.assertIn("\n    and 19978 more of this key\n", told)
        self.assertIn('did you mean "updates"?', told)
        self.assertLess(told.count("\n"), 40)

    def test_a_change_that_the_sweep_overrules_is_refused(self):
        for change in ('protocol={"kind": "all-reduce", "nonsense": 1}', "protocol.k=4"):
            _, told = self.call("validate", self.write(SMALL), "--set", change, status=2)
            path = change.split("=")[0]
            self.assertIn(f"--set {change}: error: {path}: changes nothing, since the sweep sets protocol at every point", told)
            self.assertIn("""another sweep: --set 'sweep={"protocol": [...]}'""", told)
            self.assertEqual(told.count("error"), 1)
        self.call("validate", self.write(SMALL), "--set", 'sweep={"protocol": [{"kind": "sync"}]}')

    def test_a_file_s_own_value_is_read_under_a_sweep(self):
        self.call("validate", self.write(changed(SMALL, protocol={"kind": "k-sync", "k": 4})))
        swept = changed(SMALL, protocol={"kind": "k-sync", "k": 8}, sweep={"protocol.k": [2], "cluster.learners": [4, 8]})
        self.call("validate", self.write(swept))  # 8 of 8
        _, told = self.call("validate", self.write(changed(SMALL, protocol={"kind": "k-sync", "k": 8})), status=2)
        self.assertIn("protocol.k: must be 1 to 4 (cluster.learners), got 8", told)

    def test_a_key_that_says_something_at_one_point_is_fine(self):
        network = {"topology": "mesh", "latency": 1, "collective": "tree"}
        cluster = {"learners": 4, "runtime": SMALL["cluster"]["runtime"], "network": network}
        ring = {"kind": "d-psgd", "graph": "ring"}
        alone = changed(SMALL, cluster=cluster, protocol=ring, sweep={})
        self.assertIn("is of collectives", self.call("validate", self.write(alone), status=2)[1])
        self.call("validate", self.write(changed(alone, sweep={"protocol": [ring, {"kind": "all-reduce"}]})))
        reset = {"kind": "local-sgd", "tau": 2, "momentum_state": "reset"}
        self.call("validate", self.write(changed(alone, protocol=reset, sweep={"optimiser.momentum": [0, 0.9]})))
        speeds = {"learners": 4, "runtime": SMALL["cluster"]["runtime"], "speeds": [1, 1, 1, 1, 1, 1, 1, 0.5]}
        self.assertIn("has 8 values", self.call("validate", self.write(changed(SMALL, cluster=speeds)), status=2)[1])
        self.call("validate", self.write(changed(SMALL, cluster=speeds, sweep={"cluster.learners": [4, 8]}, protocol=ring)))

    def test_what_the_manifest_has_of_defaults_is_fine(self):
        network = {"topology": "nodes", "per_node": 2, "between": {"latency": 1}}
        cluster = {"learners": 4, "runtime": SMALL["cluster"]["runtime"], "network": network}
        for protocol in ({"kind": "d-psgd", "graph": "ring"}, {"kind": "local-sgd", "tau": 2, "outer": {"eta": 0.5}}, {"kind": "all-reduce"}):
            out = protocol["kind"]
            self.call("run", self.write(changed(SMALL, cluster=cluster, protocol=protocol, sweep={})), "--quiet", "--out", out)
            manifest = json.loads((self.folder / out / "manifest.json").read_text())
            self.call("validate", self.write(manifest["scenario"], "again.json"))

    def test_a_file_that_is_not_there_is_a_clear_error(self):
        _, told = self.call("run", "nowhere.json", status=2)
        self.assertIn("nowhere.json", told)


class Usage(ProgramTest):
    def test_help_shows_commands_and_examples(self):
        told, _ = self.call("--help")
        for command in ("run", "reproduce", "search", "advise", "fit", "theory", "validate", "list", "schema", "signature", "plot", "report"):
            self.assertIn(f"  {command} ", told)
            detail, _ = self.call(command, "--help")
            self.assertIn(f"gradrace {command}", detail)
        self.assertIn("--set PATH=VALUE", self.call("run", "--help")[0])

    def test_wrong_words_end_with_2_and_say_what_is_right(self):
        self.assertIn('did you mean "validate"?', self.call("validat", status=2)[1])
        self.assertIn("needs a scenario file", self.call("run", status=2)[1])
        self.assertIn("--frobnicate", self.call("run", "x.json", "--frobnicate", status=2)[1])
        self.assertIn("PATH=VALUE", self.call("run", "x.json", "--set", "seed", status=2)[1])
        self.assertIn("protocols, distributions", self.call("list", "colours", status=2)[1])
        self.assertIn('did you mean "k-async"?', self.call("list", "k-asnc", status=2)[1])
        self.call(status=2)

    def test_jobs_is_a_number_from_1(self):
        for jobs in ("0", "-1", "many"):
            self.assertIn("jobs", self.call("run", "x.json", "--jobs", jobs, status=2)[1])

    def test_counts_are_whole_numbers_however_they_are_written(self):
        self.call("run", "quickstart", "--dry-run", "--jobs", "1e0", "--replicas", "1e1")
        for value, told in (("2.5", "must be a whole number, got 2.5"), ("1e9", "must be <= 16777216, got 1e9"), ("two", 'takes a number, got "two"')):
            self.assertIn(f"run: --jobs {told}\n", self.call("run", "quickstart", "--jobs", value, status=2)[1])

    def test_a_number_in_place_of_a_law_or_a_rate_gets_the_object_that_is_meant(self):
        law = changed(TIMING, cluster={"learners": 4, "runtime": 2})
        rate = changed(SMALL, sweep=None, protocol={"kind": "sync"}, learning_rate=0.1)
        for scenario, meant in ((law, '{"distribution": "deterministic", "value": 2}'), (rate, '{"kind": "constant", "eta": 0.1}')):
            self.assertIn(f"\n    allowed: {meant}\n", self.call("validate", self.write(scenario), status=2)[1])
        self.assertIn(
            'did you mean "exponential"?',
            self.call("validate", self.write(changed(law, cluster={"learners": 4, "runtime": {"distribution": "exp", "mean": 1}})), status=2)[1],
        )

    def test_what_is_elsewhere_is_said_with_how_to_come_by_it(self):
        address = "is an address, and only files of this machine are read and written; "
        home = "~ is the home folder to a shell alone, where no quotes and no = stand before it; write "
        for word, why in (("https://a.b/x", address + "curl -LO copies"), ("s3://a/x", address + "aws s3 cp copies"), ("~/x", home + "/home/me/x")):
            for words in (("run", word), ("run", "quickstart", "--out", word), ("run", "quickstart", "--data", word), ("fit", word), ("report", word)):
                self.assertIn(why, self.call(*words, status=2, HOME="/home/me")[1])
            law = {"distribution": "empirical", "path": word, "column": "time"}
            scenario = self.write(changed(TIMING, cluster={"learners": 4, "runtime": law}))
            self.assertIn(why, self.call("run", scenario, status=2, HOME="/home/me")[1])
        self.assertEqual([path.name for path in self.folder.iterdir()], ["scenario.json"])

    def test_a_scenario_that_is_no_text_is_told_what_it_is(self):
        text = json.dumps(TIMING)
        for content, what in (
            (text.encode("utf-16"), "is in UTF-16\n    allowed: a file in UTF-8, as of iconv -f UTF-16 -t UTF-8"),
            (text.encode("utf-16-be"), "is in UTF-16BE\n"),
            (gzip.compress(text.encode()), "is packed by gzip\n    allowed: what gunzip -k"),
        ):
            (self.folder / "one.json").write_bytes(content)
            self.assertIn(f"one.json: error: {what}", self.call("validate", "one.json", status=2)[1])

    def test_a_name_is_no_path(self):
        for name in ("../escape", "a/b", "..", ""):
            _, told = self.call("run", self.write(changed(SMALL, name=name)), status=2)
            self.assertIn("name: names a folder", told)

    def test_timing_only_needs_no_data(self):
        model = {"kind": "softmax", "dataset": {"kind": "idx", "path": "nowhere"}}
        path = self.write(changed(SMALL, model=model))
        self.assertIn("no folder", self.call("run", path, status=2, GRADRACE_DATA="")[1])
        self.call("run", path, "--timing-only", "--quiet", GRADRACE_DATA="")
        _, told = self.call("run", path, "--timing-only", "--set", "stop.epochs=1", "--force", status=1, GRADRACE_DATA="")
        self.assertIn("no folder", told)

    def test_what_the_readmes_show_runs(self):
        def block(readme, number):
            text = (ROOT / readme).read_text(encoding="utf-8")
            return text.split("```json\n")[number].split("```")[0]

        self.call("run", self.write(json.loads(block("README.md", 1))), "--quiet", "--replicas", "1")
        for readme, key in (("distributions/cluster/README.md", "cluster"), ("protocols/README.md", "protocol")):
            part = json.loads("{" + block(readme, 1) + "}")
            self.call(
                "run", self.write(changed(SMALL, **{"protocol": {"kind": "sync"}, "stop": {"gradients": 400}, "sweep": {}, **part})), "--quiet", "--out", key
            )

    def test_no_floor_is_told_where_updates_differ_in_their_gradients(self):
        noisy = {"kind": "quadratic", "dimensions": 3, "noise": 0.5}
        for k, known in ((1, True), (4, False)):
            protocol = {"kind": "deadline", "k": k, "time": 0.01}
            path = self.write(changed(SMALL, protocol=protocol, model=noisy, sweep={}))
            row = next(csv.DictReader(self.call("theory", path)[0].splitlines()))
            for column in ("error_floor", "error_floor_bound", "largest_bounded_eta"):
                self.assertEqual(bool(row[column]), known, column)

    def test_version_names_a_revision(self):
        self.assertRegex(self.call("--version")[0], r"^gradrace \d+\.\d+\.\d+ \(revision \w+(, dirty)?\)\n$")

    def test_list_shows_every_kind_and_the_page_of_one(self):
        told, _ = self.call("list")
        for name in ("k-batch-async", "two-point", "markov", "softmax", "idx", "constant"):
            self.assertIn(f"  {name} ", told)
        self.assertNotIn("lognormal", self.call("list", "protocols")[0])
        rates, _ = self.call("list", "learning-rates")
        self.assertEqual(rates.count("warm_up"), 1)
        self.assertIn("  every one          scale (none|linear|sqrt, default none), warm_up (length (> 0)", rates)
        page, _ = self.call("list", "k-async")
        self.assertIn("Dutta", page)
        self.assertLessEqual(max(map(len, self.call("list")[0].splitlines())), 100)
        self.assertIn('{"kind": "k-async", "k": 4}', page)

    def test_every_catalog_is_in_the_list_its_help_its_error_and_the_schema(self):
        shown = re.findall(r'(?m)^(\S+) \(key "', self.call("list")[0])
        self.assertGreater(len(shown), 7)
        self.assertEqual(list(json.loads(self.call("schema")[0])["definitions"]), shown)
        names = ", ".join([*shown, "scenario", "columns", "glossary"])
        self.assertIn(f"allowed: {names}, or one of their names", self.call("list", "colours", status=2)[1])
        self.assertIn(names, " ".join(self.call("list", "--help")[0].split()))
        for name in shown:
            self.assertIn(f"{name} (key ", self.call("list", name)[0])

    def test_a_page_has_paragraphs_and_equations_on_lines_of_their_own(self):
        page, _ = self.call("list", "adasync")
        self.assertIn("solution of\n\n      K^2 T'(K) = r k0^2 T'(k0),   r = F(start) / F(now),\n\n  rounded", page)
        self.assertLessEqual(max(map(len, page.splitlines())), 100)
        schema = json.loads(self.call("schema")[0])["definitions"]["protocols"]["oneOf"]
        told = [kind["description"] for kind in schema if kind["properties"]["kind"]["const"] == "adasync"]
        self.assertIn("solution of K^2 T'(K) = r k0^2 T'(k0),   r = F(start) / F(now), rounded", told[0])
        page, _ = self.call("list", "local-sgd")  # lines of the source are one paragraph
        self.assertIn("all wait for each other, and a\n  collective averages their values.  `tau` may", page)

    def test_list_finds_keys_and_values_further_in(self):
        for name, told in {
            "server": ["key: cluster.server\n", "per_gradient", "server: a value of collective of mesh, collective of nodes, collective of regions\n"],
            "failures": ["key: cluster.failures\n", "law of the time from its failure to its return"],
            "network": ["key: cluster.network\n", 'networks (key "topology")', "  star "],
            "topology": ['networks (key "topology")'],
            "graph": ["key: graph of d-psgd\n", "key: graph of ad-psgd\n", "i + 2^j mod P"],
            "ring": ["ring: a value of collective of mesh", "ring: a value of graph of d-psgd", "hears i - 1 and i + 1"],
            "complete": ["complete: a value of graph of d-psgd"],
            "exponential": ["distribution: exponential", "exponential: a value of graph of d-psgd"],
            "halving-doubling": ["2 L a + 2 (g - 1) / g S b"],
            "speeds": ["key: cluster.speeds\n", "speeds[l mod length]"],
            "inside": ["key: inside of nodes"],
        }.items():
            page = self.call("list", name)[0]
            for words in told:
                self.assertIn(words, page)
            self.assertLessEqual(max(map(len, page.splitlines())), 110, name)

    def test_long_pages_have_paragraphs(self):
        for name in ("cnn", "resnet", "adam", "adamw", "local-sgd"):
            page = self.call("list", name)[0].split("\n\n  source:")[0]
            self.assertRegex(page, r"\n\n      \S.* = .*\n")
            longest = max(len(paragraph.split()) for paragraph in page.split("\n\n"))
            self.assertLess(longest, 90, name)

    def test_list_shows_every_key_of_a_scenario(self):
        told, _ = self.call("list", "scenario")
        keys = json.loads(self.call("schema")[0])["properties"]
        self.assertEqual(sorted(re.findall(r"(?m)^  (\S+) ", told)), sorted(keys))
        self.assertIn("  seed               of every random number (0 to 9007199254740992, default 1)\n", told)
        self.assertIn("  device             where gradients are computed; auto: on a GPU where there is one and, for these\n", told)
        self.assertIn("runs, it is the faster one (auto|cpu|cuda, default auto)\n", told)
        self.assertIn("(one of protocols)\n", told)
        for key in keys:
            self.assertIn(f"  {key} ", told)
            self.call("list", key)
        self.assertEqual(self.call("list", "notes")[0], "key: notes\n\n  free text (optional)\n\n")
        self.assertIn(told, self.call("list")[0])
        self.assertEqual(self.call("list", "optimiser"), self.call("list", "optimisers"))
        page, _ = self.call("list", "sgd")
        for key in (
            "    momentum (>= 0 and < 1, default 0): ",
            "    nesterov (default false): ",
            "    clip (> 0, optional): ",
            "    ema (>= 0 and < 1, default 0): ",
            "    rmsprop (decay (>= 0 and < 1, default 0.9), epsilon (>= 1e-37, default 1e-08), optional): ",
            "      decay (>= 0 and < 1, default 0.9): ",
        ):
            self.assertIn(key, page)
        self.assertIn('did you mean "optimiser"?', self.call("list", "optimizer", status=2)[1])

    def test_results_are_not_overwritten_without_force(self):
        path = self.write(SMALL)
        self.call("run", path, "--quiet", "--out", "out")
        before = (self.folder / "out/runs.csv").read_bytes()
        self.assertIn("--force", self.call("run", path, "--quiet", "--out", "out", "--seed", "2", status=2)[1])
        self.assertEqual(before, (self.folder / "out/runs.csv").read_bytes())
        (self.folder / "out/plots").mkdir()
        mine = [self.folder / "out/plots" / name for name in ("error.png", "final_error.pdf", "error_time.txt", "loss_time.png")]
        for name in ("error_time.png", "loss_epochs.pdf", "error_updates_panels.svg", "final_error_by_eta.pdf"):
            (self.folder / "out/plots" / name).write_text(stamped("of the first run", name))
        for file in mine:
            file.write_text("mine")
        (self.folder / "out/report.html").write_text(stamped("of the first run", "report.html"))
        self.call("run", path, "--quiet", "--out", "out", "--seed", "2", "--force")
        self.assertFalse((self.folder / "out/report.html").exists())
        self.assertEqual(sorted((self.folder / "out/plots").iterdir()), sorted(mine))
        self.assertNotEqual(before, (self.folder / "out/runs.csv").read_bytes())

    def test_report_answers_and_says_what_it_cannot_read(self):
        cluster = SMALL["cluster"] | {"price": 0.25}
        path = self.write(changed(SMALL, title="Who wins?", cluster=cluster, targets={"test_error": [0.5]}))
        self.call("run", path, "--quiet", "--out", "out")
        told, _ = self.call("report", "out")
        self.assertRegex(told, r"^.* test error 0\.5.*\.\nreport: out/report\.html\n$")
        page = (self.folder / "out/report.html").read_text(encoding="utf-8")
        self.assertIn("<h1>Who wins?</h1>", page)
        self.assertIn("cost to test error 0.5", page)
        few = changed(SMALL, targets={"test_error": [0.5]}, record={"every_time": 1, "details": False}, sweep={"protocol": SIX[:2]})
        self.call("run", self.write(few), "--quiet", "--out", "few")
        self.call("report", "few", "--out", "pages/one.html", "--plot")
        self.assertTrue((self.folder / "pages/one-figures/trade_off_column.pdf").is_file())
        _, told = self.call("report", "nowhere", status=2)
        self.assertIn("nowhere: holds no results of gradrace: no runs.csv there; give the output folder of a run", told)

    def test_a_price_changes_no_run(self):
        self.call("run", self.write(SMALL), "--quiet", "--out", "out")
        before = self.tables(self.folder / "out")
        self.call("run", self.write(SMALL), "--quiet", "--out", "out", "--set", "cluster.price=2", "--set", "cluster.price_per_gigabyte=3")
        self.assertEqual(before, self.tables(self.folder / "out"))
        manifest = json.loads((self.folder / "out/manifest.json").read_text())
        self.assertEqual(manifest["scenario"]["cluster"]["price"], 2)

    def test_plot_says_what_its_options_take(self):
        self.call("run", self.write(SMALL), "--quiet", "--out", "out")
        for option, word, allowed in (
            ("--x", "hours", "time|updates|gradients|epochs|bytes|cost"),
            ("--format", "gif", "png|svg|pdf"),
            ("--format", "png|svg", "png|svg|pdf"),
            ("--size", "", "page|column"),
        ):
            _, told = self.call("plot", "out", option, word, status=2)
            self.assertIn(f'plot: {option} takes {allowed}, got "{word}"', told)
        self.assertIn("--size is given twice", self.call("plot", "out", "--size", "page", "--size", "page", status=2)[1])

    def test_files_of_the_users_own_are_left_alone(self):
        (self.folder / "out/plots").mkdir(parents=True)
        (self.folder / "out/plots/thesis.txt").write_text("mine")
        _, told = self.call("run", self.write(SMALL), "--quiet", "--out", "out", status=2)
        self.assertIn("out: is no output folder of gradrace (plots is there); use --out DIR", told)
        for words in (["--force"], ["--force"], [], ["--replicas", "3"]):
            self.call("run", self.write(SMALL), "--quiet", "--out", "out", *words)
            self.assertEqual((self.folder / "out/plots/thesis.txt").read_text(), "mine")

    def test_several_files_get_a_folder_each(self):
        one, two = self.write(changed(SMALL, name=None), "one.json"), self.write(changed(SMALL, name=None), "two.json")
        self.call("run", one, two, "--quiet", "--out", "all")
        for name in ("one", "two"):
            self.assertTrue((self.folder / "all" / name / "runs.csv").is_file())
        same = self.write(changed(SMALL, name="one"), "three.json")
        self.assertIn("named", self.call("run", one, same, "--out", "more", status=2)[1])

    def test_the_table_shows_points_and_where_things_are(self):
        told, _ = self.call("run", self.write(SMALL))
        for word in ("k-batch-async k=3", "iteration time", "theory", "staleness", "final test error", "results: out/small/"):
            self.assertIn(word, told)

    def test_the_table_has_95_percent_intervals_of_the_means(self):
        out = "out/many"
        scenario = changed(SMALL, replicas=5, sweep={"protocol": [{"kind": "async"}]})
        told, _ = self.call("run", self.write(scenario), "--out", out)
        values = [float(row["mean_iteration_time"]) for row in rows(self.folder / out / "runs.csv")]
        half = 2.7764451 * statistics.stdev(values) / math.sqrt(5)  # t of 4 degrees of freedom
        self.assertRegex(told, f"(?m)^  async +{statistics.mean(values):.4g} ± {half:.2g} ")
        self.assertIn("mean ± half of its 95 % interval (Student's t) over replicas; times in the unit of the runtime", told)

    def test_the_table_explains_targets_and_minibatches_that_were_not_used(self):
        protocols = [{"kind": "k-sync", "k": 2}, {"kind": "backup", "k": 2}]
        failures = {"up": {"distribution": "exponential", "mean": 20}, "down": {"distribution": "exponential", "mean": 1}}
        scenario = changed(
            SMALL,
            time_unit="ms",
            cluster={**SMALL["cluster"], "failures": failures},
            record={"every_time": 0.5},
            targets={"loss": [2]},
            sweep={"protocol": protocols},
        )
        told, _ = self.call("run", self.write(scenario))
        self.assertIn("over replicas; times in ms\n", told)
        self.assertIn("  time_to_loss_2: the time of the first evaluation at that level or below, which may be up to 0.5 ms too late\n", told)
        table = rows(self.folder / "out/small/runs.csv")
        self.assertEqual({row["resolution_of_time_to_loss_2"] for row in table}, {"0.5"})
        for fate in ("cancelled", "dropped", "lost"):
            self.assertGreater(sum(int(row[f"gradients_{fate}"]) for row in table), 0)
            self.assertRegex(told, f"(?m)^  {fate} \\([0-9.e-]+ % of minibatches\\): ")
        told, _ = self.call("run", self.write(changed(SMALL, sweep={"protocol": [{"kind": "sync"}]})), "--out", "out/all")
        self.assertNotIn("of minibatches", told)

    def test_protocols_at_one_learning_rate_are_warned_of(self):
        warning = "note: all protocols have one learning rate, and the best one may differ (an update of sync averages 4 gradients, one of async 1)"
        self.assertIn(warning, self.call("run", self.write(SMALL))[0])
        of_k = changed(SMALL, sweep={"protocol": [{"kind": "k-sync", "k": k} for k in (1, 2)]})
        warning = "all points have one learning rate, and the best one may differ (an update of k-sync k=2 averages 2 gradients, one of k-sync k=1 1)"
        self.assertIn(warning, self.call("run", self.write(of_k), "--out", "of-k")[0])
        for name, changes in {
            "rates": {"sweep": {"zip": {"protocol": SIX[:2], "learning_rate.eta": [0.1, 0.2]}}},
            "scaled": {"learning_rate": {"kind": "constant", "eta": 0.1, "scale": "linear"}},
            "one": {"sweep": {"protocol": [{"kind": "ssp", "bound": bound} for bound in (1, 2)]}},
            "untrained": {"model": None, "learning_rate": None},
        }.items():
            told, _ = self.call("run", self.write(changed(SMALL, **changes)), "--out", name)
            self.assertNotIn("one learning rate", told, name)

    def test_the_quick_form_is_checked_too(self):
        path = self.write(changed(TIMING, quick={"stop.updatse": 1}))
        self.assertIn("stop.updatse: unknown key", self.call("validate", path, status=2)[1])
        self.write(changed(TIMING, quick={"stop.updates": 1}))
        self.assertEqual(self.call("validate", path)[0].count("fine"), 1)
        self.write(changed(TIMING, stop={"updates": -20}, quick={"stop.updates": -5, "protcol.k": 1}))
        told = self.call("validate", path, status=2)[1]
        self.assertIn("9007199254740992, got -20", told)
        self.assertIn("9007199254740992, got -5", told)
        self.assertIn("protcol: unknown key", told)
        self.write(changed(TIMING, sweep=None, quick={"sweep": {"protocol.k": [1, 2]}}))
        self.assertIn("fine", self.call("validate", path, "--set", "protocol.k=3")[0])

    def test_many_evaluations_are_advised_against(self):
        dataset = {"kind": "synthetic", "rows": 100_000, "test_rows": 10}
        often = changed(
            SMALL,
            replicas=1,
            sweep={"protocol": [{"kind": "async"}]},
            model={"kind": "softmax", "dataset": dataset},
            stop={"updates": 1500},
            record={"every_updates": 1},
        )
        told, _ = self.call("run", self.write(often))
        self.assertRegex(told, r"note: evaluations took (9\d|100) % of the time of the runs: .*record.train_rows")
        self.assertNotIn("evaluations took", self.call("run", self.write(changed(often, record={})), "--force")[0])

    def test_the_rows_of_the_table_compare_by_gradients(self):
        # Of 4 learners at one minibatch a unit of time, without waiting.
        cluster = {"learners": 4, "runtime": {"distribution": "deterministic", "value": 1}}
        sweep = {"protocol": [{"kind": "sync"}, {"kind": "local-sgd", "tau": 4}, {"kind": "ad-psgd", "graph": "bipartite-exponential"}]}
        scenario = changed(SMALL, cluster=cluster, sweep=sweep, stop={"time": 10}, model=None, learning_rate=None)
        lines = self.call("run", self.write(scenario))[0].splitlines()
        header = next(line for line in lines if "gradients/time" in line)
        column = header.index("gradients/time")
        found = [line[column:].split()[0] for line in lines if line.startswith(("  sync", "  local-sgd", "  ad-psgd"))]
        self.assertEqual(found, ["4"] * 3)

    def test_the_table_names_a_swept_object_by_its_kind_and_keys(self):
        rates = [{"kind": "constant", "eta": 0.1}, {"kind": "staleness", "schedule": {"kind": "constant", "eta": 0.1}}]
        sweep = {"learning_rate": rates, "cluster.runtime": [{"distribution": "exponential", "mean": m} for m in (2, 3)]}
        told, _ = self.call("run", self.write(changed(SMALL, protocol={"kind": "k-sync", "k": 2}, sweep=sweep)))
        self.assertIn("  k-sync k=2 constant eta=0.1 mean=2  ", told)
        self.assertIn("  k-sync k=2 staleness constant eta=0.1 mean=2  ", told)

    def test_a_device_that_is_not_there_ends_with_1(self):
        with unittest.mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=""):  # hides those that are
            _, told = self.call("run", self.write(SMALL), "--device", "cuda", status=1)
        self.assertIn("CUDA device", told)
        self.assertIn("use --device cpu", told)

    def test_a_folder_that_cannot_be_written_ends_with_1(self):
        (self.folder / "file").write_text("")
        _, told = self.call("run", self.write(SMALL), "--out", "file/out", status=1)
        self.assertIn("file/out", told)

    def test_an_interrupt_keeps_the_runs_that_had_finished(self):
        scenario = changed(
            SMALL,
            replicas=1000,
            sweep=None,
            protocol={"kind": "async"},
            stop={"updates": 20000},
            record={},
        )
        process = subprocess.Popen(
            [PROGRAM, "run", self.write(scenario), "--out", "out", "--quiet"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(3)
        self.assertIsNone(process.poll(), "the run ended before it was interrupted")
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, told)
        self.assertIn("the runs that had finished are kept; the same call goes on", told)
        table = rows(self.folder / "out/runs.csv")
        self.assertTrue(0 < len(table) < 1000)
        self.assertTrue(all(row["status"] == "finished" for row in table))
        manifest = json.loads((self.folder / "out/manifest.json").read_text())
        self.assertEqual(manifest["runs_finished"], len(table))
        found = {int(row["replica"]) for row in table}
        first = next(replica for replica in range(1000) if replica not in found)  # that had not finished
        self.assertGreater(first, 0)
        told, _ = self.call("run", self.folder / "scenario.json", "--out", "out", "--replicas", str(first))
        self.assertIn(f"small: all {first} runs are there", told)

    def test_an_interrupt_before_any_run_has_finished_leaves_nothing(self):
        scenario = changed(SMALL, replicas=1, sweep=None, protocol={"kind": "async"}, stop={"updates": 10**9})
        for words in ([], ["--timing-only"]):
            process = subprocess.Popen(
                [PROGRAM, "run", self.write(scenario), "--out", "out", "--quiet", *words],
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 130, told)
            self.assertIn("interrupted before a run of small had finished: none is kept", told)
            self.assertFalse((self.folder / "out").exists())


class Columns(ProgramTest):
    def test_the_file_beside_the_results_is_the_programs(self):
        committed = (ROOT / "sim/cli/results/columns.txt").read_text(encoding="utf-8")
        self.assertEqual(self.call("list", "columns")[0], committed)


class Schema(ProgramTest):
    def test_the_schema_beside_the_scenarios_is_the_programs(self):
        committed = (ROOT / "scenarios/schema.json").read_text()
        self.assertEqual(self.call("schema")[0], committed)

    def test_the_schema_is_draft_7_and_names_every_kind(self):
        schema = json.loads(self.call("schema")[0])
        self.assertEqual(schema["$schema"], "http://json-schema.org/draft-07/schema#")
        kinds = [one["properties"]["kind"]["const"] for one in schema["definitions"]["protocols"]["oneOf"]]
        self.assertEqual(len(kinds), len(set(kinds)))
        self.assertIn("k-batch-async", kinds)
        self.assertFalse(schema["additionalProperties"])

    def test_the_examples_of_validate_are_scenarios(self):
        examples = re.findall(r"(?m)^  gradrace (validate scenarios/.*)$", self.call("validate", "--help")[0])
        self.assertTrue(examples)
        for example in examples:
            files = [file for word in example.split()[1:] for file in sorted(ROOT.glob(word))]
            self.assertTrue(files, example)
            self.call("validate", *files, GRADRACE_DATA="")

    def test_every_scenario_of_the_project_is_fine(self):
        files = sorted((ROOT / "scenarios").rglob("*.json"))
        files = [file for file in files if file.name != "schema.json"]
        # Nothing is there, so nothing is read; the places of these are checked where the data are.
        files = [file for file in files if '"path": "../data/' not in file.read_text()]
        for words in ((), ("--quick",)):
            self.call("validate", *files, "--data", self.folder, *words)


class Signature(ProgramTest):
    def test_the_signature_is_of_integers_and_the_same_each_time(self):
        first, second = self.call("signature")[0], self.call("signature")[0]
        self.assertEqual(first, second)
        self.assertRegex(first, r"(?m)^signature +[0-9a-f]{16}$")

    def test_the_schedules_are_those_of_the_last_change_of_behaviour(self):
        known = (ROOT / "tests/sim/cli/signature.expected").read_text().splitlines()
        told = self.call("signature")[0].splitlines()
        self.assertEqual([line for line in known if line not in told], [])


if __name__ == "__main__":
    unittest.main()
