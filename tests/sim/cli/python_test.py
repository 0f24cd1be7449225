"""cli: a class in Python trains as the model that it is, and its mistakes are told with their lines"""

import os
import pathlib
import signal
import subprocess
import time
import unittest

from program import PROGRAM, ROOT, SIX, ProgramTest, changed, rows, skip

PYTHON = os.environ.get("GRADRACE_PYTHON") or os.fspath(ROOT / ".venv/bin/python")

DATA = """
import numpy, sys
draw = numpy.random.default_rng(1)
def made(rows):
    classes = draw.integers(0, 3, rows)
    return draw.normal(size=(rows, 5)).astype("f4") + classes[:, None].astype("f4"), classes.astype("u1")
(x, y), (x_test, y_test) = made(200), made(50)
numpy.savez(sys.argv[1], x_train=x, y_train=y, x_test=x_test, y_test=y_test)
"""

SOFTMAX = """
import pathlib
import numpy as np


class Net:
    def __init__(self, data="data.npz", l2=0.0):
        arrays = np.load(pathlib.Path(__file__).parent / data)
        self.train = arrays["x_train"].astype(float), arrays["y_train"]
        self.test = arrays["x_test"].astype(float), arrays["y_test"]
        self.rows, self.l2 = len(self.train[0]), l2
        self.features, self.classes = self.train[0].shape[1], int(self.train[1].max()) + 1

    def initial(self, seed):
        return np.zeros((self.features + 1) * self.classes)

    def log_p(self, w, x):
        W, b = self.split(w)
        s = x @ W.T + b
        s -= s.max(axis=1, keepdims=True)
        return s - np.log(np.exp(s).sum(axis=1, keepdims=True))

    def split(self, w):
        return w[: -self.classes].reshape(self.classes, self.features), w[-self.classes :]

    def gradient(self, w, rows):
        x, y = self.train[0][rows], self.train[1][rows]
        r = np.exp(self.log_p(w, x))
        r[np.arange(len(y)), y] -= 1
        r /= len(y)
        return np.concatenate([(r.T @ x + 2 * self.l2 * self.split(w)[0]).ravel(), r.sum(axis=0)])

    def loss(self, w, x, y):
        return -self.log_p(w, x)[np.arange(len(y)), y].mean() + self.l2 * (self.split(w)[0] ** 2).sum()

    def evaluate(self, w):
        wrong = (self.log_p(w, self.test[0]).argmax(axis=1) != self.test[1]).mean()
        return self.loss(w, *self.train), self.loss(w, *self.test), wrong
"""

TORCH = """
import pathlib
import numpy as np
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Net:
    def __init__(self, l2=0.0):
        arrays = np.load(pathlib.Path(__file__).parent / "data.npz")
        rows = lambda name: (torch.from_numpy(arrays["x_" + name]), torch.from_numpy(arrays["y_" + name]).long())
        self.train, self.test, self.l2 = rows("train"), rows("test"), l2
        self.rows = len(self.train[0])
        self.net = torch.nn.Linear(self.train[0].shape[1], int(self.train[1].max()) + 1)

    def initial(self, seed):
        return np.zeros(sum(p.numel() for p in self.net.parameters()))

    def at(self, w):
        w = torch.from_numpy(w)
        vector_to_parameters(w, self.net.to(w.dtype).parameters())
        return self.net

    def objective(self, net, x, y):
        return torch.nn.functional.cross_entropy(net(x.to(net.weight.dtype)), y) + self.l2 * net.weight.square().sum()

    def gradient(self, w, rows):
        net = self.at(w)
        net.zero_grad()
        self.objective(net, self.train[0][rows], self.train[1][rows]).backward()
        return parameters_to_vector([p.grad for p in net.parameters()])

    @torch.no_grad()
    def evaluate(self, w):
        net = self.at(w)
        wrong = net(self.test[0].to(net.weight.dtype)).argmax(1) != self.test[1]
        return self.objective(net, *self.train), self.objective(net, *self.test), wrong.double().mean()
"""

# A line of a test is what the gradient or the evaluation does.
SMALL_CLASS = """import os, time
import numpy as np
class Net:
    rows = 10
    def __init__(self, **arguments):
        self.does = arguments
    def initial(self, seed):
        return np.ones(2)
    def gradient(self, w, rows):
        {gradient}
        return w
    def evaluate(self, w):
        {evaluate}
        return float(w.sum())
"""

TRAINED = {
    "name": "python",
    "replicas": 2,
    "cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
    "model": {"kind": "python", "file": "model.py", "class": "Net", "minibatch": 5, "precision": "float64", "arguments": {"l2": 0.01}},
    "learning_rate": {"kind": "constant", "eta": 0.1},
    "stop": {"updates": 200},
    "record": {"every_updates": 20},
}
NATIVE = {"kind": "softmax", "dataset": {"kind": "npz", "path": "data.npz"}, "minibatch": 5, "precision": "float64", "l2": 0.01}
EIGHT = [
    *SIX,
    {"kind": "softsync", "n": 2},
    {"kind": "ssp", "bound": 2},
    {"kind": "backup", "backups": 1},
    {"kind": "local-sgd", "tau": 3},
]
NUMBERS = ("loss", "test_loss", "test_error")


def lacks(package):
    return subprocess.run([PYTHON, "-c", f"import {package}"], capture_output=True, check=False).returncode != 0


class PythonTest(ProgramTest):
    def setUp(self):
        super().setUp()
        subprocess.run([PYTHON, "-c", DATA, self.folder / "data.npz"], check=True)
        (self.folder / "model.py").write_text(SOFTMAX, encoding="utf-8")

    def call(self, *words, **more):
        return super().call(*words, **{"GRADRACE_PYTHON": PYTHON, **more})

    def trained(self, scenario, out="out", *words, status=0, **more):
        """curve.csv and what was told."""
        self.told = " ".join("".join(self.call("run", self.write(scenario), "--out", out, "--force", *words, status=status, **more)).split())
        return rows(self.folder / out / "curve.csv") if (self.folder / out / "curve.csv").exists() else []

    def small(self, gradient="pass", evaluate="pass", **keys):
        """Runs a class that does this, beside a run of a sweep that does not; its class, and the runs."""
        text = SMALL_CLASS.format(gradient=f'if self.does.get("bad"): {gradient}', evaluate=f'if self.does.get("bad"): {evaluate}')
        (self.folder / "model.py").write_text(text, encoding="utf-8")
        model = {"kind": "python", "file": "model.py", "class": "Net", "arguments": {"bad": False}, **keys}
        return changed(TRAINED, model=model, replicas=1, stop={"updates": 4}, protocol={"kind": "sync"}, sweep={"model.arguments.bad": [True, False]})

    def check_failed(self, text, status=1, **small):
        scenario = self.small(**small)
        self.trained(scenario, status=status)
        self.assertIn(f"{self.folder / 'model.py'}:{text}", self.told.replace("/private", ""))
        by = {row["model.arguments.bad"]: row["status"] for row in rows(self.folder / "out/runs.csv")}
        self.assertEqual(by["false"], "finished")
        return by.get("true")

    def test_softmax_in_numpy_is_the_softmax_under_every_kind_of_protocol(self):
        many = changed(TRAINED, sweep={"protocol": EIGHT})
        ours = self.trained(changed(many, model=NATIVE))
        theirs = self.trained(many)
        self.assertEqual(len(ours), len(theirs))
        self.assertEqual(len({row["point"] for row in theirs}), len(EIGHT))
        for one, other in zip(ours, theirs):
            self.assertEqual(
                {key: one[key] for key in one if key not in NUMBERS + ("disagreement",)},
                {key: other[key] for key in one if key not in NUMBERS + ("disagreement",)},
            )
            for name in NUMBERS:
                self.assertAlmostEqual(float(one[name]), float(other[name]), delta=1e-12 * abs(float(one[name])))

    @unittest.skipIf(lacks("torch"), f"{PYTHON} has no torch")
    def test_softmax_in_pytorch_is_the_softmax(self):
        (self.folder / "model.py").write_text(TORCH, encoding="utf-8")
        many = changed(TRAINED, replicas=1, sweep={"protocol": EIGHT})
        for precision, near in ("float64", 1e-12), ("float32", 2e-6):
            ours = self.trained(changed(many, model={**NATIVE, "precision": precision}))
            theirs = self.trained(changed(many, model={**TRAINED["model"], "precision": precision}))
            for one, other in zip(ours, theirs, strict=True):
                self.assertAlmostEqual(float(one["loss"]), float(other["loss"]), delta=near * float(one["loss"]))
                self.assertAlmostEqual(float(one["test_loss"]), float(other["test_loss"]), delta=near * float(one["test_loss"]))

    def test_float32_is_float64_to_rounding_and_epochs_are_counted(self):
        epochs = changed(
            TRAINED, protocol={"kind": "k-async", "k": 2}, stop={"epochs": 2}, record={"every_epochs": 0.5}, model={**TRAINED["model"], "sampling": "epoch"}
        )
        double = self.trained(epochs)
        single = self.trained(changed(epochs, model={**epochs["model"], "precision": "float32"}))
        self.assertEqual(double[-1]["epoch"], "2")
        for one, other in zip(double, single):
            self.assertAlmostEqual(float(one["loss"]), float(other["loss"]), delta=1e-5)

    def test_equal_bits_for_any_jobs_and_shards(self):
        many = changed(TRAINED, sweep={"protocol": EIGHT[:4]}, stop={"updates": 60})
        self.trained(many, "one", "--jobs", "1")
        self.trained(many, "four", "--jobs", "4")
        self.assertEqual(self.tables(self.folder / "one"), self.tables(self.folder / "four"))
        for shard in "1/2", "2/2":
            self.call("run", self.folder / "scenario.json", "--out", f"part{shard[0]}", "--shard", shard)
        self.call("collect", "part1", "part2", "--out", "all", GRADRACE_PYTHON="none")
        self.assertEqual(self.tables(self.folder / "one"), self.tables(self.folder / "all"))

    def test_threads_without_a_run_help_with_large_gradients(self):
        text = SMALL_CLASS.format(gradient="return w * np.sin(rows.sum() + np.arange(1 << 18))", evaluate="pass")
        (self.folder / "model.py").write_text(text.replace("np.ones(2)", "np.ones(1 << 18)"), encoding="utf-8")
        large = changed(
            TRAINED, model={**TRAINED["model"], "arguments": {}}, protocol={"kind": "sync"}, replicas=1, stop={"updates": 5}, record={"every_updates": 1}
        )
        one = self.trained(large, "one", "--jobs", "1")
        self.assertEqual(one, self.trained(large, "two", "--jobs", "2"))
        self.assertNotEqual(one[-1]["loss"], one[0]["loss"])

    def test_a_killed_run_goes_on_and_its_workers_end(self):
        long = changed(TRAINED, protocol={"kind": "async"}, replicas=40, stop={"updates": 400})
        whole = self.trained(long, "whole") and self.tables(self.folder / "whole")
        environment = {**os.environ, "GRADRACE_PYTHON": PYTHON}
        words = [PROGRAM, "run", "scenario.json", "--out", "out", "--quiet"]
        for end in signal.SIGKILL, signal.SIGTERM:
            with subprocess.Popen(words, cwd=self.folder, env=environment, stderr=subprocess.DEVNULL) as running:
                deadline = time.monotonic() + 60
                while time.monotonic() < deadline and not workers(self.folder):
                    time.sleep(0.01)
                time.sleep(0.3)
                self.assertTrue(workers(self.folder))
                running.send_signal(end)
            while time.monotonic() < deadline and workers(self.folder):
                time.sleep(0.01)
            self.assertEqual(workers(self.folder), [])
        self.call("run", "scenario.json", "--out", "out", "--resume", status=None)
        self.call("run", "scenario.json", "--out", "out")
        self.assertEqual(whole, self.tables(self.folder / "out"))

    def test_a_worker_that_hangs_ends_with_its_caller(self):
        self.write(self.small(gradient="exec('while True: pass')"))
        words = [PROGRAM, "run", "scenario.json", "--out", "out", "--quiet"]
        environment = {**os.environ, "GRADRACE_PYTHON": PYTHON}
        with subprocess.Popen(words, cwd=self.folder, env=environment) as running:
            time.sleep(3)
            self.assertTrue(workers(self.folder))
            running.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and workers(self.folder):
            time.sleep(0.01)
        self.assertEqual(workers(self.folder), [])

    def test_another_file_is_refused_for_a_resume(self):
        scenario = changed(TRAINED, protocol={"kind": "sync"})
        self.trained(scenario)
        (self.folder / "model.py").write_text(SOFTMAX + "\n# changed\n", encoding="utf-8")
        _, errors = self.call("run", "scenario.json", "--out", "out", "--resume", status=2)
        self.assertIn("data", errors)

    def test_what_runs_is_what_was_read_whatever_becomes_of_the_file(self):
        text = """
import os, pathlib
import numpy as np


class Net:
    def __init__(self):
        self.rows = 4
        file = pathlib.Path(__file__)
        other = file.with_suffix(f".{os.getpid()}")
        other.write_text(file.read_text().replace("w * 1", "w * 5"))
        other.replace(file)

    def initial(self, seed):
        return np.ones(2)

    def gradient(self, w, rows):
        return w * 1

    def evaluate(self, w):
        return float(w @ w)
"""
        (self.folder / "model.py").write_text(text, encoding="utf-8")
        model = {"kind": "python", "file": "model.py", "class": "Net"}
        scenario = changed(TRAINED, protocol={"kind": "sync"}, stop={"updates": 5}, replicas=6, model=model)
        self.write(scenario, "scenario.json")
        self.call("run", "scenario.json", "--out", "kept", "--quiet", "--jobs", "3")
        self.assertIn("w * 5", (self.folder / "model.py").read_text())
        self.assertEqual(len({row["final_loss"] for row in rows(self.folder / "kept/runs.csv")}), 1)

    def test_nothing_beside_the_file_is_imported_by_a_look_at_it(self):
        mark = self.folder / "imported"
        for codec, module in (("idna", "stringprep"), ("quopri_codec", "quopri"), ("utf-8", "json"), ("utf-8", "ast")):
            (self.folder / "model.py").write_text(f"# coding: {codec}\n{SOFTMAX}", encoding="utf-8")
            beside = self.folder / f"{module}.py"
            beside.write_text(f"open({os.fspath(mark)!r}, 'w')\n", encoding="utf-8")
            self.call("validate", self.write(changed(TRAINED, protocol={"kind": "sync"}), "scenario.json"), status=None)
            self.assertFalse(mark.exists(), module)
            beside.unlink()

    def test_an_exception_is_told_with_its_line(self):
        self.assertIn(self.check_failed("10: in gradient: ZeroDivisionError: division by zero", gradient="1 / 0"), ("failed", None))
        self.check_failed("13: in evaluate: KeyError: 'x'", evaluate="{}['x']")
        self.check_failed("10: in gradient: SystemExit: 3", gradient="raise SystemExit(3)")

    def test_a_wrong_shape_is_told(self):
        self.check_failed("9: Net.gradient gave an array of shape (3,); allowed: (2,), as w", gradient="return np.ones(3)")
        self.check_failed("9: Net.gradient gave NoneType of object, no array of real numbers", gradient="return None")
        self.check_failed("12: Net.evaluate gave 4 numbers; allowed: loss, or (loss, test_loss, test_error)", evaluate="return 1, 2, 3, 4")

    def test_numbers_that_are_not_finite_diverge_and_are_told(self):
        diverged = self.check_failed("9: Net.gradient gave numbers that are not finite where w is", status=0, gradient="return w * np.nan")
        self.assertEqual(diverged, "diverged")
        self.assertEqual(self.check_failed("12: Net.evaluate gave a loss that is not finite where w is", status=0, evaluate="return np.inf"), "diverged")

    def test_a_hang_is_ended_at_its_line(self):
        self.check_failed("10: in gradient: did not come back within 1 seconds (model.timeout)", gradient="time.sleep(1000)", timeout=1)
        self.refused("model.timeout: must be 0.001 to 10000000, got 5e-07", timeout=5e-7)
        self.check_failed("13: in evaluate: did not come back within 1 seconds", evaluate="exec('while True: pass')", timeout=1)

    def test_a_fork_is_refused_at_its_line(self):
        self.check_failed("10: in gradient: starts another process by fork, which it may not", gradient="os.fork()")
        self.check_failed("13: in evaluate: starts another process by fork", evaluate="os.fork()")

    def test_an_end_of_the_process_is_told(self):
        self.check_failed("9: Net.gradient: ended its process, with status 3", gradient="os._exit(3)")
        self.check_failed("10: in gradient: its process was ended by a signal: Segmentation fault", gradient="os.kill(os.getpid(), 11)")
        self.check_failed("9: Net.gradient: its process was ended by a signal: Killed", gradient="os.kill(os.getpid(), 9)")

    def test_python_is_run_below_the_scenario_or_where_it_is_allowed(self):
        inner = self.folder / "inner"
        inner.mkdir()
        scenario = changed(TRAINED, protocol={"kind": "sync"}, stop={"updates": 2}, model={**TRAINED["model"], "file": "../model.py"})
        mark = self.folder / "imported"
        (self.folder / "model.py").write_text(SOFTMAX + f"\npathlib.Path({str(mark)!r}).touch()\n", encoding="utf-8")
        outside = self.write(scenario, "inner/scenario.json")
        linked = self.write(changed(scenario, model={**scenario["model"], "file": "link.py"}), "inner/linked.json")
        (inner / "link.py").symlink_to("../model.py")
        self.call("run", self.write(changed(scenario, model=TRAINED["model"])), "--out", "out")
        self.assertTrue(mark.exists())
        manifest = self.folder / "out/manifest.json"
        for file, text in (outside, "is Python outside the scenario's folder"), (linked, "is Python outside"), (manifest, "a manifest runs none by itself"):
            for command in "run", "validate":
                mark.unlink(missing_ok=True)
                _, errors = self.call(command, file, status=2)
                self.assertIn(text, errors)
                self.assertIn("--allow-python", errors)
                self.assertFalse(mark.exists())
            self.call("validate", file, "--allow-python")
            self.call("theory", file, "--allow-python")
            self.assertFalse(mark.exists())
            self.call("run", file, "--allow-python", "--out", self.folder / "again", "--force")
            self.assertTrue(mark.exists())
        mark.unlink()
        self.call("validate", "scenario.json")
        self.call("theory", "scenario.json")
        self.call("collect", "out", "--out", "collected")
        if os.environ.get("GRADRACE_LONG"):
            self.call("plot", "out")
        self.call("report", "out")
        self.assertFalse(mark.exists())

    def refused(self, text, *, python=PYTHON, **model):
        scenario = self.write(changed(TRAINED, protocol={"kind": "sync"}, model={**TRAINED["model"], **model}))
        for command in "validate", "run":
            _, errors = self.call(command, scenario, status=2, GRADRACE_PYTHON=python)
            self.assertIn(text, " ".join(errors.split()))

    def test_what_lacks_is_told_before_a_run(self):
        model = self.folder / "model.py"
        self.refused(f"class: {model}: has no class Nett; it has Net", **{"class": "Nett"})
        model.write_text("import numpy\nclass Net:\n    def gradient(self): pass\n", encoding="utf-8")
        self.refused(f"{model}:2: class Net has no initial, evaluate")
        model.write_text("import numpy\n\ndef f(:\n", encoding="utf-8")
        self.refused(f"{model}:3:7: invalid syntax")
        model.write_text("import no_such_package\nclass Net: pass\n", encoding="utf-8")
        self.refused(f"{model}:1: imports no_such_package, which")
        if subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True, check=False).returncode != 0:
            model.write_text(SOFTMAX, encoding="utf-8")
            self.refused("has no NumPy; GRADRACE_PYTHON names another Python", python="/usr/bin/python3")
        self.refused("none: cannot be run: No such file or directory", python="none")
        model.unlink()
        _, errors = self.call("run", "scenario.json", status=2)
        self.assertIn('no file "model.py"', errors)
        self.assertIn("model.py is not there", self.call("validate", "scenario.json")[0])

    def test_a_class_may_get_its_functions_and_imports_when_the_file_runs(self):
        """Where packages are, and what a class has, is then seen when it is made."""
        (self.folder / "lib").mkdir()
        (self.folder / "lib/beside.py").write_text("ZERO = 0.0\n", encoding="utf-8")
        head = "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'lib'))\nimport beside\n"
        whole = "    rows = 9\n    def initial(self, seed): return [1.0]\n    def gradient(self, w, rows): return w\n"
        later = "def evaluate(self, w): return w[0] + beside.ZERO\n"
        for text in (
            f"class Net:\n{whole}    {later}",
            f"class Net:\n{whole}{later}Net.evaluate = evaluate\n",
            f"{later}def whole(cls): cls.evaluate = evaluate; return cls\n@whole\nclass Net:\n{whole}",
        ):
            (self.folder / "model.py").write_text(head + text, encoding="utf-8")
            without = changed(TRAINED, protocol={"kind": "sync"}, model={**TRAINED["model"], "arguments": {}})
            self.trained(without)
        (self.folder / "model.py").write_text(head.replace("'lib'", "'other'") + f"class Net:\n{whole}    {later}", encoding="utf-8")
        self.trained(without, status=1)
        self.assertIn("model.py:3: in <module>: ModuleNotFoundError: No module named 'beside'", self.told)

    def test_a_class_that_cannot_be_made_is_told_at_its_line(self):
        for maker, text in {
            "def __init__(self, l2): 1 / 0": ":3: in __init__: ZeroDivisionError: division by zero",
            "rows = 0": ": Net().rows is 0; allowed: the number of rows of the training set, 1 to 4294967295",
            "def __init__(self, l3): pass": ": TypeError: Net.__init__() got an unexpected keyword argument 'l2'",
        }.items():
            arguments = {"l2": 1} if "__init__" in maker else {}
            text_of_class = f"import numpy\nclass Net:\n    {maker}\n    def initial(self, seed): return [1.0]\n    gradient = evaluate = initial\n"
            (self.folder / "model.py").write_text(text_of_class, encoding="utf-8")
            self.trained(changed(TRAINED, protocol={"kind": "sync"}, model={**TRAINED["model"], "arguments": arguments}), status=1)
            self.assertIn(f"{self.folder / 'model.py'}{text}", self.told)


def workers(folder):
    """Processes that serve the model in the folder."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.endswith(b"python/model_worker.py") for word in words) and os.fsencode(folder / "model.py") in words:
            found.append(process.name)
    return found


if __name__ == "__main__":
    if lacks("numpy"):
        skip(f"{PYTHON} has no NumPy")
    unittest.main()
