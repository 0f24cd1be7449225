"""Wrong scenarios, data and options: each ends with a message for the user, never with an internal error."""

import gzip
import json
import os
import shutil
import subprocess
import unittest

from program import PROGRAM, ProgramTest, changed, rows

BASE = {
    "name": "base",
    "cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
    "protocol": {"kind": "sync"},
    "stop": {"updates": 20},
}

TEXT = json.dumps(BASE)


def trained(dataset, kind="softmax"):
    model = {"kind": kind, "dataset": dataset, "minibatch": 1}
    return changed(BASE, model=model, learning_rate={"kind": "constant", "eta": 0.1})


CSV = {"kind": "csv", "path": "d.csv", "label": "y", "test_rows": 1}
LIBSVM = {"kind": "libsvm", "path": "d.txt", "test_rows": 1}


def switch(first, second):
    return {"kind": "switch", "phases": [{"protocol": first, "end": {"updates": 9}}, {"protocol": second}]}


def places_of(document):
    """Keys and numbers that lead to each value in a document."""
    items = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in items:
        yield (key,)
        yield from ((key, *place) for place in places_of(value))


def put(document, place, value):
    for key in place[:-1]:
        document = document[key]
    document[place[-1]] = value


class Scenarios(ProgramTest):
    # The text of the file, words beside it, what is told.
    REFUSED = [
        (TEXT + "\0garbage", (), "expected the end of the file"),
        (TEXT + "\0", (), "expected the end of the file"),
        (TEXT + "\n\0\n{}", (), "scenario.json:2:1: error: expected the end of the file"),
        (json.dumps(changed(BASE, quick={"quick": 1, "stop.updates": 3})), ("--quick",), "error: quick.quick: sets itself"),
        (json.dumps(changed(BASE, quick={"quick.a": 1})), (), "sets itself"),
        (json.dumps(changed(BASE, quick=[1])), ("--quick",), "error: quick: expected an object"),
        (TEXT, ("--set", "stop.updates=18446744073709551615"), "stop.updates: must be 1 to 9007199254740992"),
        (TEXT, ("--set", "stop.updates=1e300"), "stop.updates: must be"),
        (TEXT, ("--set", "record.every_updates=18446744073709551615"), "every_updates: must be 1 to 9007199254740992"),
        (TEXT, ("--set", "seed=9007199254740993"), "error: seed: must be 0 to 9007199254740992"),
        (TEXT, ("--seed", "18446744073709551615"), "error: seed: must be"),
        (TEXT, ("--set", b"title=\xff"), "is not UTF-8"),
        (TEXT, ("--set", "name=a\u202eb"), "has no control characters (U+202E)"),
        (TEXT, ("--set", "name=a\u2028b"), "has no control characters (U+2028)"),
        (TEXT, ("--set", "name=\u2066"), "has no control characters (U+2066)"),
        (TEXT, ("--set", 'name="\\u0000"'), "has no control characters (U+0000)"),
        (TEXT, ("--set", 'time_unit="\\u001b"'), "time_unit: is a word"),
        (
            json.dumps(trained({"kind": "synthetic"}) | {"targets": {"test_error": [0.15, 0.15]}, "record": {"every_time": 1}}),
            (),
            "targets.test_error: has a level twice",
        ),
        (json.dumps(trained({"kind": "synthetic", "separation": 1e300})), (), "separation: must be 0 to 1e+30"),
        (json.dumps(trained({"kind": "cifar10", "path": "c", "divisor": 1e-300})), (), "divisor: must be 1e-30 to 1e+30"),
        (json.dumps(trained(changed(CSV, path="a\0b"))), (), "names a file or folder, and has U+0000"),
        (json.dumps(trained({"kind": "synthetic"}, "cnn")), (), "cnn needs images"),
        (json.dumps(trained(changed(CSV, regression=True))), (), "the model needs classes"),
    ]  # fmt: skip

    def test_each_is_refused_by_validate_and_by_run(self):
        (self.folder / "d.csv").write_text("a,y\n1,2.5\n2,3.5\n3,1\n")
        path = self.folder / "scenario.json"
        for text, words, told in self.REFUSED:
            with self.subTest(told=told):
                path.write_text(text)
                for command in ("validate", "run"):
                    done = subprocess.run([PROGRAM, command, path, *words], cwd=self.folder, check=False, capture_output=True)
                    message = done.stderr.decode()
                    self.assertIn(told, message)
                    self.assertNotIn("json.exception", message)
                    of_data = "needs" in told and command == "run"
                    self.assertEqual(done.returncode, 1 if of_data else 2, message)
        self.assertFalse((self.folder / "out").exists())

    def test_protocols_of_16777216_learners_are_read_in_seconds(self):
        for protocol in (
            {"kind": "d-psgd", "graph": "exponential"},
            {"kind": "d-psgd", "graph": "torus"},
            {"kind": "ad-psgd", "graph": "bipartite-exponential"},
            {"kind": "all-reduce"},
            switch({"kind": "all-reduce"}, {"kind": "d-psgd", "graph": "exponential"}),
            {"kind": "ssp", "bound": 3},
            switch({"kind": "sync"}, {"kind": "async"}),
        ):
            scenario = changed(BASE, protocol=protocol, timing_only=True)
            scenario["cluster"]["learners"] = 1 << 24
            with self.subTest(protocol), subprocess.Popen([PROGRAM, "validate", self.write(scenario)]) as process:
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(process.returncode, 0)
                self.assertLess(used.ru_utime, 10)

    def test_keys_without_number_are_refused_at_once(self):
        many = changed(BASE["cluster"], **{f"key{i}": i for i in range(300_000)})
        for keys in (changed(BASE, cluster=many), {"scenario": BASE, "version": "1", "hashes": {"files": many}}):
            words = [PROGRAM, "validate", self.write(keys)]
            with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
                said = process.stderr.read()
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            self.assertRegex(said, rb"scenario.json:1:\d+: error: an object has more than 10000 keys")
            self.assertEqual(process.returncode, 2)
            self.assertLess(used.ru_utime, 3)

    def test_of_9000_unknown_keys_a_few_are_told(self):
        many = changed(BASE["cluster"], **{f"key{i}": i for i in range(9000)})
        told = self.call("validate", self.write(changed(BASE, cluster=many)), status=2)[1]
        self.assertIn("cluster.key19: unknown key", told)
        self.assertIn("\n    and 8980 more unknown keys", told)
        self.assertLess(told.count("\n"), 50)

    def test_a_pipe_that_nobody_writes_to_is_no_scenario(self):
        os.mkfifo(self.folder / "manifest.json")
        for command in ("run", "validate"):
            self.assertIn("it is a pipe, and not a file", self.call(command, "manifest.json", status=1)[1])
        words = ["bash", "-c", f"'{PROGRAM}' validate <(cat scenario.json)"]
        self.write(BASE)
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertIn(": fine: ", done.stdout, done.stderr)

    def test_a_title_with_control_characters_is_shown_as_they_are(self):
        told, _ = self.call("run", self.write(changed(BASE, title="a\0b\u2028c\u0085\x1b]0;x\x07")))
        self.assertIn("base: a\\u0000b\\u2028c\\u0085\\u001b]0;x\\u0007 (1 point", told)

    def test_a_message_is_short_however_long_what_it_is_of(self):
        for text in ('{"replicas": ' + "9" * 100_000 + "}", json.dumps({"k" * 100_000: 1}), json.dumps({"cluster": {"learners": list(range(20_000))}})):
            path = self.write({})
            path.write_text(text)
            self.assertLess(len(self.call("validate", path, status=2)[1]), 2000)


class Data(ProgramTest):
    def test_numbers_beyond_single_precision_are_refused_with_their_line(self):
        for name, text, dataset, told in (
            ("d.csv", "a,y\n1,0\n1e39,1\n3,0\n", CSV, 'd.csv:3: column "a": 1e+39 is beyond single precision'),
            ("d.csv", "a,y\n1,0\n-1e39,1\n3,0\n", CSV, 'd.csv:3: column "a": -1e+39 is beyond single precision'),
            ("d.txt", "0 1:1\n1 2:1e39\n0 1:2\n", LIBSVM, "d.txt:2: 1e+39 is beyond single precision"),
            ("d.csv", "a,y\n1,0\n2,1e39\n3,0\n", changed(CSV, regression=True), "d.csv:3: target 1e+39 is beyond"),
            ("d.txt", "1 1:1\n-1e300 2:1\n0 1:2\n", changed(LIBSVM, regression=True), "d.txt:2: target -1e+300 is beyond"),
        ):
            with self.subTest(told=told):
                (self.folder / name).write_text(text)
                kind = "least-squares" if dataset.get("regression") else "softmax"
                path = self.write(trained(dataset, kind))
                self.assertIn(told, self.call("validate", path, status=2)[1])
                self.assertIn(told, self.call("run", path, status=1)[1])

    def test_numbers_that_are_too_small_are_0(self):
        (self.folder / "d.csv").write_text("a,y\n1e-400,0\n-1e-50,1\n4.9e-324,0\n3.4e38,1\n")
        told, noted = self.call("validate", self.write(trained(CSV)))
        self.assertIn("fine", told)
        self.assertIn('d.csv:2: column "a": is closer to 0 than single precision goes (1e-45)', noted)
        (self.folder / "d.csv").write_text("a,y\n1,1e-60\n2,0.5\n3,0\n4,1\n")
        _, noted = self.call("validate", self.write(trained({**CSV, "regression": True}, "least-squares")))
        self.assertIn("d.csv:2: target is closer to 0 than single precision goes (1e-45)", noted)

    def test_a_pipe_is_refused_as_data_and_not_waited_for(self):
        os.mkfifo(self.folder / "d.csv")
        os.mkfifo(self.folder / "times")
        self.assertIn("is a pipe", self.call("validate", self.write(trained(CSV)), status=2)[1])
        self.assertIn("is a pipe", self.call("fit", "times", status=2)[1])
        for name in ("d.csv", "times"):
            (self.folder / name).unlink()
            (self.folder / name).symlink_to("/dev/zero")
        self.assertIn("is a device", self.call("validate", self.write(trained(CSV)), status=2)[1])
        self.assertIn("or a device", self.call("fit", "times", status=2)[1])

    def test_text_of_data_is_escaped(self):
        (self.folder / "d.csv").write_text("a,y\n1,0\n\x1b]0;evil\x07,1\n3,1\n")
        told = self.call("validate", self.write(trained(CSV)), status=2)[1]
        self.assertIn('found "\\u001b]0;evil\\u0007"', told)

    def test_damaged_gzip_is_told(self):
        whole = gzip.compress(b"a,y\n" + b"".join(b"%d,%d\n" % (i, i % 2) for i in range(5000)))
        for text in (whole[:-9], whole[: len(whole) // 2], whole[:20] + b"\xff" + whole[21:]):
            (self.folder / "d.csv.gz").write_bytes(text)
            told = self.call("validate", self.write(trained(changed(CSV, path="d.csv.gz"))), status=2)[1]
            self.assertIn("d.csv.gz: cannot be read", told)

    def test_a_line_that_is_too_long_is_told(self):
        with gzip.open(self.folder / "d.csv.gz", "wb", 1) as file:
            file.write(b"a,y\n1,0\n" + b"1" * (65 << 20))
        told = self.call("validate", self.write(trained(changed(CSV, path="d.csv.gz"))), status=2)[1]
        self.assertIn("d.csv.gz:3: has more than 64 MB, as no row of data", told)


class Words(ProgramTest):
    def test_a_folder_that_cannot_be_written_is_named(self):
        path = self.write(BASE)
        for out, where in (("scenario.json/x", "scenario.json"), ("/proc/none/x", "/proc")):
            told = self.call("run", path, "--quiet", "--out", out, status=1)[1]
            self.assertRegex(told, rf"^gradrace: {out}: no results can be written there, in .*{where}: [A-Z].*; use --out DIR")
        loop = self.folder / "runs.2-of-3.store"
        loop.symlink_to(loop)
        _, told = self.call("run", path, "--quiet", "--out", self.folder, status=2)
        self.assertRegex(told, r"runs.2-of-3.store: .*[Tt]oo many levels of symbolic links")
        self.assertNotIn("filesystem error", told)

    def test_no_more_workers_than_learners_are_fitted(self):
        (self.folder / "t.csv").write_text("t\n" + "\n".join(str(1 + 3 * i % 7) for i in range(80)) + "\n")
        told = self.call("fit", "t.csv", "--column", "t", "--slowest-of", "1000000000", status=2)[1]
        self.assertIn("--slowest-of must be <= 16777216, got 1000000000", told)

    def test_a_copy_of_the_program_alone_says_what_lacks(self):
        alone = self.folder / "b/bin/gradrace"
        alone.parent.mkdir(parents=True)
        shutil.copy(PROGRAM, alone)
        self.call("run", self.write(BASE), "--out", "o", "--quiet")
        for command in ("report", "plot"):
            done = subprocess.run([alone, command, "o"], cwd=self.folder, capture_output=True, text=True, check=False)
            told = f"analysis/ is not beside the program: neither {self.folder}/analysis nor {self.folder}/b/share/gradrace/analysis is there"
            self.assertIn(told, done.stderr)
            self.assertEqual(done.returncode, 1)

    def test_names_that_no_folder_has_are_refused(self):
        path = self.write(BASE)
        for words, told in (
            (("run", path, "--out", ""), "names a file or folder, and is empty"),
            (("run", ""), "names a file or folder, and is empty"),
            (("plot", ""), "names a file or folder, and is empty"),
            (("run", path, "--out", "a" * 300), "has a name of more than 255 bytes"),
            (("run", path, "--out", "out/" + "a" * 256 + "/b"), "has a name of more than 255 bytes"),
            (("run", path, "--out", "a\u202eb"), "has U+202E"),
            (("run", path, "--out", path), "is a file"),
            (("run", path, "--jobs", "0"), "--jobs must be >= 1"),
            (("reproduce", "dutta2018", "--replicas", "0"), "replicas: must be 1 to"),
            (("reproduce", "dutta2018", "--device", "tpu"), "device: unknown value"),
        ):
            with self.subTest(told=told):
                self.assertIn(told, self.call(*words, status=2)[1])
        for link, target in (("nowhere", "/nonexistent"), ("loop", "loop")):
            (self.folder / link).symlink_to(target)
            self.assertIn("is a link that leads nowhere", self.call("run", path, "--out", link, status=2)[1])
        self.assertEqual([each.name for each in self.folder.rglob("*") if each.is_file()], ["scenario.json"])

    def test_a_folder_that_is_no_utf8_loses_nothing(self):
        folder = os.fsencode(self.folder) + b"/caf\xe9"
        os.mkdir(folder)
        with open(folder + b"/d.csv", "w", encoding="utf-8") as file:
            file.write("a,y\n1,0\n2,1\n3,0\n4,1\n")
        for name, scenario in ((b"timing", BASE), (b"trained", trained(CSV))):
            with open(folder + b"/" + name + b".json", "w", encoding="utf-8") as file:
                json.dump(scenario, file)
            words = [os.fsencode(PROGRAM), b"run", folder + b"/" + name + b".json", b"--out", folder + b"/" + name]
            done = subprocess.run([*words, b"--quiet"], cwd=self.folder, check=False, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(folder + b"/" + name + b"/manifest.json", encoding="utf-8") as file:
                self.assertIn("caf\\xe9", json.load(file)["file"])
            again = subprocess.run(words, cwd=self.folder, check=False, capture_output=True)
            self.assertIn(b"all 1 run is there; nothing is to be done", again.stdout, again.stderr)

    def test_a_key_that_is_given_twice_is_refused_in_a_set_too(self):
        path = self.write(BASE)
        for text in ('stop={"time":1,"time":2}', 'sweep={"protocol":[{"kind":"sync","kind":"async"}]}'):
            self.assertIn("given twice", self.call("validate", path, "--set", text, status=2)[1])

    def test_zero_bytes_of_traces_are_told_and_packed_ones_read(self):
        (self.folder / "zero.csv").write_bytes(b"x,y\n1,0\n2\0,1\n")
        (self.folder / "trace.csv").write_bytes(b"seconds\n1\n2\0\n")
        (self.folder / "packed.csv").write_bytes(gzip.compress(b"seconds\n1\n2\n"))
        (self.folder / "cut.csv").write_bytes(gzip.compress(b"seconds\n1\n2\n")[:-9])
        self.assertIn(
            "zero.csv:3: holds a zero byte, so that it is no text",
            self.call("validate", self.write(trained({"kind": "csv", "path": "zero.csv", "label": "y", "test_rows": 1})), status=2)[1],
        )
        for name, told in (("trace.csv", "trace.csv:3: holds a zero byte"), ("cut.csv", "cut.csv: cannot be read: what gzip packed is cut or damaged")):
            self.assertIn(told, self.call("fit", name, status=2)[1])
            scenario = changed(BASE, cluster={"learners": 2, "runtime": {"distribution": "empirical", "path": name, "column": "seconds"}})
            self.assertIn(told, self.call("validate", self.write(scenario), status=2)[1])
        self.assertIn("a fit needs at least 10", self.call("fit", "packed.csv", status=2)[1])

    def test_a_strangers_manifest_is_read_or_told_by_file_and_key(self):
        """Every tenth value of one, replaced by one of another type, in each way that a manifest is read."""
        self.call("run", self.write(BASE), "--out", "o", "--quiet")
        usual = (self.folder / "o/manifest.json").read_text()
        places = list(places_of(json.loads(usual)))
        ways = (("run", "scenario.json"), ("run", "scenario.json", "--resume", "--replicas", "2"), ("run", "o/manifest.json"))
        odd = None, "x", -1, 1e300, [], {}, [[[]]]
        for number, place in enumerate(places[::10]):
            changed_one = json.loads(usual)
            put(changed_one, place, odd[number % len(odd)])
            (self.folder / "o/manifest.json").write_text(json.dumps(changed_one))
            words = [*ways[number % len(ways)], "--out", "o", "--quiet"]
            done = subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, text=True, check=False)
            with self.subTest(place=place):
                self.assertIn(done.returncode, (0, 1, 2), done.stderr)
                self.assertNotRegex(done.stderr, r"exception|_error\.|terminate")
                if done.returncode == 2:
                    self.assertRegex(done.stderr, rf"manifest\.json|{place[-1]}")

    def test_kept_results_that_were_changed_are_written_anew(self):
        path = self.write(BASE)
        self.call("run", path, "--out", "o", "--quiet")
        usual = self.tables(self.folder / "o")
        manifest = self.folder / "o/manifest.json"
        for text in ("[]", "{}", "3", '{"runs": "x", "runs_finished": "x"}', '{"runs": 1, "files": {"runs.csv": 1}}', "{"):
            with self.subTest(text):
                manifest.write_text(text)
                self.call("run", path, "--out", "o", "--quiet")
                self.assertEqual(json.loads(manifest.read_text())["runs_finished"], 1)
        for kept in (self.folder / "o").glob("manifest.json.*"):
            kept.unlink()
        (self.folder / "o/runs.csv").write_text("error\n0.0\n")
        told = self.call("run", path, "--out", "o", "--quiet")[1]
        self.assertIn("note: o/runs.csv: was changed since gradrace wrote it; it is runs.csv.1 now", told)
        kept = self.folder / "o/runs.csv.1"
        self.assertEqual(kept.read_text(), "error\n0.0\n")
        kept.unlink()
        self.assertEqual(self.tables(self.folder / "o"), usual)
        self.assertEqual(len(rows(self.folder / "o/runs.csv")), 1)


if __name__ == "__main__":
    unittest.main()
