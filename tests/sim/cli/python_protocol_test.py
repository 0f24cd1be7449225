"""cli: a protocol in Python has the schedules of its twin in C++, and its mistakes are told with their lines"""

import collections
import os
import random
import re
import time
import unittest

from program import ROOT, ProgramTest, changed, rows, skip

PYTHON = os.environ.get("GRADRACE_PYTHON") or os.fspath(ROOT / ".venv/bin/python")
LONG = bool(os.environ.get("GRADRACE_LONG"))

TWINS = """
class KSync:
    def on_gradient(self, server, gradient):
        server.accept(gradient)
        if server.accepted() < server.k():
            return
        server.update()
        server.cancel_all()
        server.dispatch_waiting()


class Async:
    def on_gradient(self, server, gradient):
        server.apply(gradient)
        server.dispatch(gradient.learner)


class KAsync:
    def on_gradient(self, server, gradient):
        server.accept(gradient)
        if server.accepted() == server.k():
            server.update()
            server.dispatch_waiting()


class Ssp:
    def __init__(self, bound):
        self.bound = bound

    def start(self, server):
        self.clocks, self.waiting = [0] * server.learners(), set()
        server.dispatch_waiting()

    def on_gradient(self, server, gradient):
        server.apply(gradient)
        self.clocks[gradient.learner] += 1
        self.waiting.add(gradient.learner)
        for learner in sorted(self.waiting):
            if self.clocks[learner] - min(self.clocks) <= self.bound:
                self.waiting.remove(learner)
                server.dispatch(learner)


class Deadline:
    def __init__(self, time):
        self.length = time

    def start(self, server):
        self.late = False
        server.dispatch_waiting()
        server.timer(server.time() + self.length)

    def on_gradient(self, server, gradient):
        server.accept(gradient)
        if server.accepted() >= server.k() or self.late:
            self.update(server)

    def on_timer(self, server):
        self.late = True
        if server.accepted():
            self.update(server)

    def update(self, server):
        server.update()
        for learner in range(server.learners()):
            gradient = server.computing(learner)
            if gradient:
                server.cancel(gradient)
        self.start(server)


class KAsyncThatHolds:
    def start(self, server):
        self.held = []
        server.dispatch_waiting()

    def on_gradient(self, server, gradient):
        server.hold(gradient)
        self.held.append(gradient)
        if len(self.held) < server.k():
            return
        for one in self.held:
            server.release(one)
            server.accept(one)
        self.held.clear()
        server.update()
        server.dispatch_waiting()


class SyncWithPauses:
    def start(self, server):
        server.set_k(server.learners())
        server.dispatch_waiting()

    def on_gradient(self, server, gradient):
        server.accept(gradient)
        if server.accepted() == server.learners():
            server.update()
            server.pause(0.25)
            server.dispatch_waiting()
"""


def twin(name, k=1, **keys):
    return {"kind": "python", "file": "policy.py", "class": name, "k": k, **keys}


# Everything random that a class may draw.
DRAWS = """
class Draws:
    def start(self, server):
        self.draw = server.random(3)
        server.dispatch_waiting()

    def on_gradient(self, server, gradient):
        server.apply(gradient)
        idle = [learner for learner in range(server.learners()) if server.computing(learner) is None]
        server.dispatch(self.draw.choice(idle))
"""

LOOKS = """
class Looks:
    def start(self, server):
        server.dispatch_waiting()
        server.evaluate_at(2)

    def on_gradient(self, server, gradient):
        server.apply(gradient)
        server.dispatch(gradient.learner)

    def on_evaluation(self, server, evaluation):
        with open(__file__.replace("policy.py", "losses"), "a") as file:
            print(evaluation.loss, file=file)
        server.set_k(server.k() + 1)
        server.evaluate_at(server.time() + 2)
"""

WHATEVER = """
class Whatever:
    def start(self, server):
        self.draw, self.gradients = server.random(1), []
        self.order(server)

    def on_gradient(self, server, gradient):
        self.gradients = [*self.gradients[-20:], gradient]
        self.order(server)
        for settle in self.draw.sample([server.accept, server.drop, server.hold], 3):
            self.try_it(settle, gradient)

    def on_timer(self, server):
        self.order(server)
        server.dispatch_waiting()

    def on_loss(self, server, learner):
        self.order(server)

    on_return = on_loss
    on_evaluation = on_loss

    def use(self, server, held):
        server.release(held)
        server.accept(held)

    def try_it(self, what, *arguments):
        try:
            what(*arguments)
        except ValueError:
            pass

    def order(self, server):
        draw = self.draw
        for _ in range(draw.randrange(5)):
            learner, later = draw.randrange(server.learners()), server.time() + draw.random()
            gradient = draw.choice(self.gradients) if self.gradients else None
            orders = [
                (server.dispatch, learner),
                (server.dispatch_waiting,),
                (server.cancel_all,),
                (server.update,),
                (server.pause, draw.random() / 4),
                (server.timer, later),
                (server.evaluate_at, later),
                (server.set_k, draw.randrange(1, 9)),
            ]
            if gradient:
                computed = server.computing(learner) or gradient
                orders.append((self.use, server, gradient))
                orders += [(one, gradient) for one in (server.accept, server.drop, server.hold)] + [(server.cancel, computed)]
            self.try_it(*draw.choice(orders))
        self.try_it(server.timer, server.time() + 1)
"""

POLICY = """
import os
import time


class Policy:
    def __init__(self, mistake):
        self.mistake = mistake

    def on_gradient(self, server, gradient):
        if server.version() > 5:
            self.err(server, gradient)
        if self.mistake != "leaves":
            server.apply(gradient)
        if self.mistake != "stands still" or server.version() < 5:
            server.dispatch(gradient.learner)

    def on_timer(self, server):
        server.timer(server.time())

    def err(self, server, gradient):
        other = next((one for one in range(4) if server.computing(one)), None)
        match self.mistake:
"""

# name, what it does, what is told
MISTAKES = [
    ("raises", "1 / 0", "LINE: ZeroDivisionError: division by zero"),
    ("ends", "raise SystemExit(3)", "LINE: SystemExit: 3"),
    ("accepts twice", "server.drop(gradient); server.accept(gradient)", "LINE: ValueError: accept: the gradient of learner NUMBER has not just arrived"),
    ("accepts nothing", "server.accept(None)", "LINE: AttributeError: 'NoneType' object has no attribute 'number'"),
    ("begins twice", "server.dispatch(other)", "LINE: ValueError: dispatch: learner NUMBER is not idle"),
    ("begins elsewhere", "server.dispatch(4)", "LINE: ValueError: dispatch: 4 is no learner, of 0 to 3"),
    ("begins a word", "server.dispatch('x')", "LINE: TypeError: "),
    ("updates", "server.update()", "LINE: ValueError: update: no gradient is accepted"),
    ("NaN", "server.timer(float('nan'))", "LINE: ValueError: timer: nan is not now, NUMBER, or later"),
    ("past", "server.timer(0)", "LINE: ValueError: timer: 0 is not now, NUMBER, or later"),
    ("cancels", "server.cancel(gradient)", "LINE: ValueError: cancel: learner NUMBER does not compute that gradient"),
    ("releases", "server.release(gradient)", "LINE: ValueError: release: the gradient of learner NUMBER is not held"),
    ("begins a held one", "server.hold(gradient); server.dispatch(gradient.learner)", "LINE: ValueError: dispatch: learner NUMBER has a gradient that is held"),
    ("pauses", "server.pause(1)", "LINE: ValueError: pause: needs protocol.pauses: true"),
    ("evaluates", "server.evaluate_at(9)", "LINE: ValueError: evaluate_at: needs protocol.evaluations: true"),
    ("K", "server.set_k(0)", "LINE: ValueError: set_k: 0 is no number of gradients"),
    ("leaves", "pass", ":10: Policy.on_gradient neither accepts nor drops nor holds the gradient of learner NUMBER"),
    ("stands still", "pass", ":10: Policy.on_gradient leaves nobody computing, and no timer, at NUMBER: nothing would happen any more"),
    ("forks", "os.fork()", "LINE: starts another process by fork, which it may not"),
    ("exits", "os._exit(3)", ":10: Policy.on_gradient: ended its process, with status 3"),
    ("crashes", "os.kill(os.getpid(), 11)", "LINE: its process was ended by a signal: Segmentation fault"),
    ("is killed", "os.kill(os.getpid(), 9)", ":10: Policy.on_gradient: its process was ended by a signal: Killed"),
    ("forges", "server._orders.extend((2, 99))", ": class Policy orders what cannot be"),
    ("forges an idle one", "server._orders.extend((0, other))", ": class Policy orders what cannot be: a learner computes one minibatch at a time"),
    ("ticks", "server.timer(server.time())", ": class Policy has been told of 10005 events at one time"),
]

PAIRS = [
    ({"kind": "k-sync", "k": 2}, twin("KSync", 2)),
    ({"kind": "async"}, twin("Async")),
    ({"kind": "k-async", "k": 2}, twin("KAsync", 2)),
    ({"kind": "ssp", "bound": 1}, twin("Ssp", arguments={"bound": 1})),
    ({"kind": "deadline", "k": 2, "time": 0.6}, twin("Deadline", 2, arguments={"time": 0.6})),
    ({"kind": "k-async", "k": 2}, twin("KAsyncThatHolds", 2)),
]
WITH_PAUSES = (
    {"kind": "switch", "phases": [{"protocol": {"kind": "sync"}, "per_update": 0.25}]},
    twin("SyncWithPauses", pauses=True),
)

RACE = {
    "name": "policy",
    "cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
    "model": {"kind": "quadratic", "minibatch": 4, "noise": 1},
    "learning_rate": {"kind": "constant", "eta": 0.05},
    "protocol": twin("KSync", 2),
    "stop": {"updates": 40},
    "record": {"every_updates": 8, "updates": True},
}


def random_clusters(count):
    """Some with learners that are slow or fail, messages, a server that is busy."""
    draw = random.Random(1)
    laws = [
        {"distribution": "exponential", "mean": 1},
        {"distribution": "shifted-exponential", "shift": 0.5, "mean": 0.5},
        {"distribution": "pareto", "scale": 0.5, "shape": 2},
        {"distribution": "uniform", "low": 0.5, "high": 1.5},
        {"distribution": "deterministic", "value": 1},  # ties
    ]
    clusters = []
    for number in range(count):
        cluster = {"learners": draw.randrange(2, 10), "runtime": laws[number % len(laws)]}
        if draw.random() < 0.3:
            cluster["slow"] = {"learners": [1], "factor": 3}
        if draw.random() < 0.4:
            cluster["network"] = {"pull": laws[0], "push": laws[3]}
        if draw.random() < 0.3:
            cluster["server"] = {"per_gradient": 0.1, "per_update": 0.1}
        if draw.random() < 0.3:
            cluster["failures"] = {"up": {"distribution": "exponential", "mean": 5}, "down": laws[0]}
        clusters.append(cluster)
    return clusters


class PythonProtocolTest(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.folder / "policy.py").write_text(TWINS, encoding="utf-8")

    def call(self, *words, **more):
        return super().call(*words, **{"GRADRACE_PYTHON": PYTHON, **more})

    def raced(self, scenario, out="out", *words, status=0, **more):
        """What was told."""
        return " ".join("".join(self.call("run", self.write(scenario), "--out", out, "--force", *words, status=status, **more)).split())

    def by_point(self, name, without=()):
        found = collections.defaultdict(list)
        for row in rows(self.folder / "out" / name):
            found[int(row["point"])].append({key: value for key, value in row.items() if key not in ("point", "label", *without)})
        return found

    def check_twins(self, clusters, pairs):
        both = [protocol for pair in pairs for protocol in pair]
        self.raced(changed(RACE, sweep={"cluster": clusters, "protocol": both}))
        for name in "curve.csv", "updates.csv":
            found = self.by_point(name)
            self.assertEqual(len(found), len(clusters) * len(both))
            for point in range(0, len(found), 2):
                self.assertTrue(found[point])
                self.assertEqual(found[point], found[point + 1], f"{both[point % len(both)]} on {clusters[point // len(both)]}")

    def test_schedules_are_those_of_the_twins(self):
        clusters = random_clusters(20)
        self.check_twins(clusters, PAIRS if LONG else PAIRS[:3])
        self.check_twins(clusters[:4], [*PAIRS[3:], WITH_PAUSES])

    def test_what_the_server_lets_through_breaks_nothing(self):
        (self.folder / "policy.py").write_text(WHATEVER, encoding="utf-8")
        clusters = random_clusters(400 if LONG else 40)
        told = self.raced(changed(RACE, protocol=twin("Whatever", evaluations=True, pauses=True), stop={"time": 20}, sweep={"cluster": clusters}))
        self.assertNotIn("gradrace: failed", told)
        made = rows(self.folder / "out/runs.csv")
        for count in "updates", "gradients_dropped", "gradients_cancelled", "gradients_lost", "max_staleness":
            self.assertTrue(any(int(row[count]) > 0 for row in made), count)

    def test_equal_bits_for_any_jobs_and_shards_and_after_an_interruption(self):
        many = changed(RACE, replicas=3, sweep={"protocol": [PAIRS[0][1], twin("Draws")]})
        (self.folder / "policy.py").write_text(TWINS + DRAWS, encoding="utf-8")
        self.raced(many, "one", "--jobs", "1")
        self.raced(many, "two", "--jobs", "2")
        one = self.tables(self.folder / "one")
        self.assertEqual(one, self.tables(self.folder / "two"))
        self.assertEqual(len({row["final_loss"] for row in rows(self.folder / "one/runs.csv")}), 6)
        for shard in "1/2", "2/2":
            self.call("run", "scenario.json", "--out", f"part{shard[0]}", "--shard", shard)
        self.call("collect", "part1", "part2", "--out", "all", GRADRACE_PYTHON="none")
        self.assertEqual(one, self.tables(self.folder / "all"))
        self.raced(changed(many, replicas=1), "grown")
        self.call("run", self.write(many), "--out", "grown")
        self.assertEqual(one, self.tables(self.folder / "grown"))

    def test_a_program_that_outlives_its_class_hides_no_end(self):
        text = "import os\nclass Leaves:\n    def on_gradient(self, server, gradient):\n        os.system('sleep 20 >/dev/null 2>&1 &')\n        os._exit(3)\n"
        (self.folder / "policy.py").write_text(text, encoding="utf-8")
        begin = time.monotonic()
        self.assertNotIn("did not come back", self.raced(changed(RACE, protocol=twin("Leaves")), status=1))
        self.assertLess(time.monotonic() - begin, 15)

    def test_a_class_that_asks_for_ever_is_ended_too(self):
        text = "class Asks:\n    def on_gradient(self, server, gradient):\n        while server.work().gradients < 1:\n            pass\n"
        (self.folder / "policy.py").write_text(text, encoding="utf-8")
        told = self.raced(changed(RACE, protocol=twin("Asks", timeout=1)), status=1)
        self.assertRegex(told, r"policy.py:[34]: in on_gradient: did not come back within 1 seconds? \(protocol.timeout\), and was ended")

    def test_evaluations_are_those_of_the_curve(self):
        (self.folder / "policy.py").write_text(LOOKS, encoding="utf-8")
        scenario = changed(RACE, protocol=twin("Looks", evaluations=True), record={"every_time": 2}, stop={"time": 11})
        self.raced(scenario)
        seen = [float(row["loss"]) for row in rows(self.folder / "out/curve.csv")]
        told = [float(one) for one in (self.folder / "losses").read_text().split()]
        self.assertEqual(told, seen[1 : len(told) + 1])
        self.assertEqual(len(told), 5)
        self.assertEqual({row["k"] for row in rows(self.folder / "out/curve.csv")}, {"1", "2", "3", "4", "5", "6"})
        self.assertIn("decides by the loss", self.raced(changed(scenario, timing_only=True, record=None), status=2))

    def test_mistakes_are_told_with_their_lines_and_lose_nothing(self):
        text = POLICY + "".join(f"            case {name!r}:\n                {does}\n" for name, does, _ in MISTAKES)
        (self.folder / "policy.py").write_text(text, encoding="utf-8")
        names = ["nothing", *(name for name, _, _ in MISTAKES), "something else"]
        policy = twin("Policy", arguments={"mistake": "nothing"})
        told = self.raced(changed(RACE, protocol=policy, sweep={"protocol.arguments.mistake": names}), status=1)
        by = {row["protocol.arguments.mistake"]: row for row in rows(self.folder / "out/runs.csv")}
        for name, does, what in MISTAKES:
            line = next(number for number, one in enumerate(text.splitlines(), 1) if one.strip() == f"case {name!r}:") + 1
            at = f"{self.folder / 'policy.py'}{what.replace('LINE', f':{line}: in err')}"
            with self.subTest(name):
                self.assertRegex(told, re.escape(f"={name}, replica 0: ") + re.escape(at).replace("NUMBER", "[0-9.]+"))
                self.assertIn(by.get(name, {"status": "failed"})["status"], "failed")
        for name in "nothing", "something else":
            self.assertEqual(by[name]["status"], "finished")
            self.assertEqual(by[name]["updates"], "40")

    def test_a_hang_is_ended_at_its_line(self):
        text = TWINS.replace("server.cancel_all()", "exec('while True: pass')", 1)
        (self.folder / "policy.py").write_text(text, encoding="utf-8")
        protocols = [twin("KSync", 2, timeout=2), twin("Async")]
        told = self.raced(changed(RACE, sweep={"protocol": protocols}), status=1)
        self.assertIn("policy.py:8: in on_gradient: did not come back within 2 seconds (protocol.timeout), and was ended", told)
        self.assertEqual([row["updates"] for row in rows(self.folder / "out/runs.csv") if row["status"] == "finished"], ["40"])

    def test_what_lacks_is_told_before_a_run(self):
        policy = self.folder / "policy.py"
        self.refused(f"class: {policy}: has no class KSyncc; it has KSync, Async", twin("KSyncc"))
        self.refused("protocol.file: is not for a phase of switch", {"kind": "switch", "phases": [{"protocol": twin("KSync", 2)}]})
        policy.write_text("class KSync:\n    def on_gradients(self): pass\n", encoding="utf-8")
        self.refused(f"{policy}:1: class KSync has no on_gradient", twin("KSync"))
        policy.unlink()
        self.assertIn('no file "policy.py"', self.refused("protocol.file", twin("KSync"), validates=0))

    def refused(self, text, protocol, validates=2):
        scenario = self.write(changed(RACE, protocol=protocol))
        for command, status in ("validate", validates), ("run", 2):
            told = " ".join("".join(self.call(command, scenario, status=status)).split())
            self.assertIn(text, told)
        return told

    def test_it_is_run_below_the_scenario_or_where_it_is_allowed(self):
        inner = self.folder / "inner"
        inner.mkdir()
        mark = self.folder / "imported"
        (self.folder / "policy.py").write_text(TWINS + f"\nopen({os.fspath(mark)!r}, 'w')\n", encoding="utf-8")
        outside = self.write(changed(RACE, protocol=twin("KSync", 2, file="../policy.py"), stop={"updates": 2}), "inner/scenario.json")
        self.raced(RACE)
        self.assertTrue(mark.exists())
        manifest = self.folder / "out/manifest.json"
        for file, text in (outside, "is Python outside the scenario's folder"), (manifest, "a manifest runs none by itself"):
            mark.unlink(missing_ok=True)
            for command in "run", "validate":
                self.assertIn(text, self.call(command, file, status=2)[1])
            for command in "validate", "theory":
                self.call(command, file, "--allow-python")
            self.assertFalse(mark.exists())
            self.call("run", file, "--allow-python", "--out", "again", "--force")
            self.assertTrue(mark.exists())
        mark.unlink()
        for words in ("validate", "scenario.json"), ("theory", "scenario.json"), ("collect", "out", "--out", "all"), ("plot", "out"), ("report", "out"):
            self.call(*words)
        self.assertFalse(mark.exists())

    def test_another_file_is_refused_for_a_resume(self):
        self.raced(RACE)
        manifest = (self.folder / "out/manifest.json").read_text()
        (self.folder / "policy.py").write_text(TWINS + "# changed\n", encoding="utf-8")
        self.assertIn("data", self.call("run", "scenario.json", "--out", "out", "--resume", status=2)[1])
        self.raced(RACE, "other")
        hashes = [re.search(r'"data": \[\s*"([0-9a-f]{16})"', text)[1] for text in (manifest, (self.folder / "other/manifest.json").read_text())]
        self.assertNotEqual(*hashes)

    def test_ringmaster_stops_who_is_late(self):
        """Runtimes 1 and 2.5, threshold 2, by hand: learner 0 makes updates at 1 to 8, learner 1 is stopped at 2, 4, 6 and 8."""
        cluster = {"learners": 2, "runtime": {"distribution": "deterministic", "value": 1}, "slow": {"learners": [1], "factor": 2.5}}
        (self.folder / "own_protocol.py").write_text((ROOT / "scenarios/own_protocol.py").read_text(), encoding="utf-8")
        protocol = {"kind": "python", "file": "own_protocol.py", "class": "Ringmaster", "arguments": {"threshold": 2}}
        self.raced(changed(RACE, cluster=cluster, protocol=protocol, stop={"updates": 8}))
        self.assertEqual([float(row["time"]) for row in rows(self.folder / "out/updates.csv")], list(range(1, 9)))
        (run,) = rows(self.folder / "out/runs.csv")
        self.assertEqual((run["gradients_cancelled"], run["gradients_dropped"], run["max_staleness"]), ("4", "0", "0"))


if __name__ == "__main__":
    unittest.main()
