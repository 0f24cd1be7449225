"""What files gradrace fit reads, and how it chooses what to fit."""

import json
import random
import unittest

from program import ProgramTest, changed

SCENARIO = {"protocol": {"kind": "sync"}, "stop": {"updates": 20}}


def lines(header, table):
    return "\n".join([header, *(",".join(map(str, row)) for row in table)]) + "\n"


def gamma_times(count, seed=1):
    """Of mean 2 and standard deviation 1."""
    numbers = random.Random(seed)
    return [numbers.gammavariate(4, 0.5) for _ in range(count)]


class Input(ProgramTest):
    def trace(self, content, name="trace.csv"):
        text = content if isinstance(content, str) else json.dumps(content)
        (self.folder / name).write_text(text)
        return name

    def fit(self, *words):
        told, _ = self.call("fit", *words, "--out", "out", "--force")
        return told, json.loads((self.folder / "out/fit.json").read_text())

    def refused(self, *words):
        _, told = self.call("fit", *words, status=2)
        self.assertFalse((self.folder / "out").exists())
        return told

    def sample(self):
        """[(learner, time)] as fitted."""
        table = (self.folder / "out/sample.csv").read_text().splitlines()[1:]
        return [(row.split(",")[0], float(row.split(",")[2])) for row in table]

    def replays(self, facts):
        scenario = changed(SCENARIO, cluster=facts["replay"])
        self.call("run", self.write(scenario), "--force", "--quiet")


class Columns(Input):
    def test_the_column_is_chosen_by_its_name_before_a_cell_is_read(self):
        times = gamma_times(20)
        for name in ("time", "batch_ms", "Seconds", "stepDuration", "wall time"):
            self.trace(lines(f"step,{name},loss", [(i, x, 1 / x) for i, x in enumerate(times)]))
            told, facts = self.fit("trace.csv")
            self.assertEqual(facts["column"], name)
            self.assertIn(f"times: column {name} (chosen by its name)", told)
        for name in ("timestamp", "items", "x"):
            self.trace(lines(f"step,{name}", enumerate(times)))
            told = self.call("fit", "trace.csv", "--out", "none", status=2)[1]
            self.assertIn("which column holds the times?  Say --column NAME; no column's name", told)
            self.assertIn(f"allowed: step, {name}\n", told)
        self.trace(lines("time,wait_ms", [(x, x) for x in times]))
        told = self.call("fit", "trace.csv", "--out", "none", status=2)[1]
        self.assertIn("more than one says so by its name: time, wait_ms; allowed: time, wait_ms", told)

    def test_a_bad_cell_is_an_error_and_no_reason_for_another_column(self):
        for cell in ("", "slow", "nan", "0"):
            table = [(i, x) for i, x in enumerate(gamma_times(20))]
            table[7] = (7, cell)
            self.trace(lines("step,time", table))
            told = self.refused("trace.csv")
            self.assertIn(f'trace.csv:9: time must be a time, got "{cell}"', told)
            self.assertIn("allowed: a finite number > 0", told)
        self.trace(lines("step,time", [*table, (21, "x"), (22, -1)]))
        self.assertIn('trace.csv:9: time must be a time, got "0"; so must 2 more below', self.refused("trace.csv"))

    def test_a_scale_multiplies_every_time(self):
        times = gamma_times(20)
        self.trace(lines("rank,ms", [(i % 2, 1000 * x) for i, x in enumerate(times)]))
        _, facts = self.fit("trace.csv", "--scale", "1e-3")
        self.assertAlmostEqual(facts["mean"], sum(times) / 20, delta=1e-9)
        self.assertEqual(facts["replay"]["runtime"]["scale"], 1e-3)
        self.replays(facts)
        for bad in ("0", "-1", "inf"):
            self.assertIn("--scale must be a finite number > 0", self.call("fit", "trace.csv", "--scale", bad, status=2)[1])

    def test_several_columns_are_a_learner_each(self):
        rows = [(n, *gamma_times(3, seed=n)) for n in range(20)]
        self.trace(lines("step,w0,w1,w2", rows))
        told = self.refused("trace.csv")
        self.assertIn("allowed: step, w0, w1, w2; or, where each column is a learner's, --column 'w*'", told)
        for words in (("--column", "w*"), ("--column", "w0", "--column", "w1", "--column", "w2")):
            told, facts = self.fit("trace.csv", *words)
            self.assertEqual(facts["learners"], ["w0", "w1", "w2"])
            self.assertEqual(self.sample()[:20], [("w0", row[1]) for row in rows])
            self.assertIn("columns w0, w1, w2; learners: one a column", told)
            self.replays(facts)
        self.assertIn('has no column "v*"; allowed: step, w0', self.call("fit", "trace.csv", "--column", "v*", status=2)[1])
        self.trace(lines("w0,w1", [*[(1, 2)] * 10, (1, "")]), "short.csv")
        told = self.call("fit", "short.csv", "--column", "w*", status=2)[1]
        self.assertIn('short.csv:12: w1 must be a time, got ""', told)

    def test_a_column_that_is_named_twice_is_one_learner(self):
        self.trace(lines("step,w0,w1", [(n, *gamma_times(2, seed=n)) for n in range(20)]))
        for words in ("w0", "w0"), ("w*", "w0", "w1"):
            _, facts = self.fit("trace.csv", *(word for name in words for word in ("--column", name)))
            self.assertEqual(len(facts["learners"]), len({*words} - {"w*"}))

    def test_several_columns_of_times_beside_one_of_learners_are_refused(self):
        self.trace(lines("rank,forward_ms,backward_ms", [(n % 2, *gamma_times(2, seed=n)) for n in range(20)]))
        told = self.refused("trace.csv", "--column", "*_ms")
        self.assertIn("columns forward_ms, backward_ms would be a learner's each, but column rank says whose a row is", told)
        _, facts = self.fit("trace.csv", "--column", "*_ms", "--learner", "")
        self.assertEqual(facts["learners"], ["forward_ms", "backward_ms"])

    def test_the_fastest_of_each_step_alone_are_doubted(self):
        rounds = [sorted(zip(gamma_times(8, seed=n), range(8)))[:4] for n in range(50)]
        self.trace(lines("step,rank,time", [(n, rank, x) for n, times in enumerate(rounds) for x, rank in times]))
        told, _ = self.fit("trace.csv")
        self.assertIn("warning: each step has times of 4 of the 8 learners, as where the others' minibatches were cancelled and not logged", told)

    def test_the_same_fit_again_is_no_conflict(self):
        self.trace(lines("rank,ms", [(i % 2, x) for i, x in enumerate(gamma_times(20))]))
        first = self.call("fit", "trace.csv")[0]
        self.assertEqual(self.call("fit", "trace.csv")[0], first)
        self.assertIn("holds results", self.call("fit", "trace.csv", "--scale", "2", status=2)[1])
        (self.folder / "out/fit-trace/sample.csv").unlink()
        self.call("fit", "trace.csv", "--force")
        self.assertTrue((self.folder / "out/fit-trace/sample.csv").exists())


class Jobs(Input):
    """500 rounds of 8 learners whose times have the mean 2."""

    def setUp(self):
        super().setUp()
        self.rounds = [gamma_times(8, seed=n) for n in range(500)]

    def mean_of(self, facts):
        law = facts["cluster"]["runtime"]
        self.assertEqual(law["distribution"], "gamma")
        return law["shape"] * law["scale"]

    def write_cancelled(self, header):
        table = []
        for times in self.rounds:
            last = sorted(times)[3]
            for l, x in enumerate(times):
                table.append((l, f"{min(x, last):.9g}", int(x > last))[: header.count(",") + 1])
        self.trace(lines(header, table))

    def test_cancelled_minibatches_are_censored(self):
        # The mean of 4000 whole times has a standard error of 0.8 %; 4 % is five of it.
        self.write_cancelled("learner,time,cancelled")
        told, facts = self.fit("trace.csv", "--censored", "cancelled")
        self.assertAlmostEqual(self.mean_of(facts), 2, delta=0.08)
        self.assertEqual(facts["warnings"], [])
        self.assertEqual(facts["verdict"], "assumed independent")
        self.assertIn("2000 of them of minibatches that were cancelled", told)
        self.assertIsNone(facts["replay"])
        self.assertNotIn("as measured", told)
        self.call("run", self.write(changed(SCENARIO, cluster=facts["cluster"])), "--force", "--quiet")
        # Taken for whole times they are 24 % too short, and the column's name tells.
        told, facts = self.fit("trace.csv")
        self.assertLess(facts["mean"], 0.8 * 2)
        self.assertIn("warning: column cancelled may say which minibatches were cancelled", told)

    def test_cancellation_that_strikes_some_learners_more_says_that_they_differ(self):
        """Learner 0 takes three times as long: nine tenths of its minibatches are cancelled."""
        self.rounds = [[3 * times[0], *times[1:]] for times in self.rounds]
        self.write_cancelled("learner,time,cancelled")
        told, facts = self.fit("trace.csv", "--censored", "cancelled")
        self.assertRegex(told, r"warning: the learners are unlike: 4\d % of those of learner \d were cancelled, \d+ % of those of learner 0")
        self.assertEqual(len(facts["warnings"]), 1)

    def test_equal_longest_times_tell_of_cancellation(self):
        self.write_cancelled("learner,time")
        told, facts = self.fit("trace.csv")
        self.assertIn("the longest times are equal, as those of minibatches are that were cancelled", told)
        self.assertEqual(len(facts["warnings"]), 1)

    def test_steps_of_a_synchronous_job_are_the_slowest_of_its_workers(self):
        # The mean of 500 such times has a standard error of 1.1 %, and lies in the law's upper tail.
        self.trace(lines("step,step_time", [(n, f"{max(x):.9g}") for n, x in enumerate(self.rounds)]))
        told, facts = self.fit("trace.csv", "--slowest-of", "8")
        fits = (self.folder / "out/fit.csv").read_text().splitlines()
        (gamma,) = [row for row in fits if row.startswith("gamma")]
        law = json.loads(gamma[gamma.index('"{') + 1 : gamma.index('}"') + 1].replace('""', '"'))
        self.assertAlmostEqual(law["shape"] * law["scale"], 2, delta=0.12)
        self.assertEqual(facts["cluster"]["learners"], 8)
        self.assertEqual(facts["warnings"], [])
        self.assertIsNone(facts["replay"])
        told, facts = self.fit("trace.csv")
        self.assertGreater(facts["mean"], 1.7 * 2)
        self.assertIn('warning: "step_time" is one series', told)
        self.assertIn("say --slowest-of P", told)

    def test_learners_that_log_the_same_steps_tell_of_a_synchronous_job(self):
        table = [(l, f"{max(x) * (1 + 1e-4 * l):.9g}") for x in self.rounds for l in range(8)]
        self.trace(lines("rank,time", table))
        _, facts = self.fit("trace.csv")
        (warning,) = facts["warnings"]
        self.assertIn("of the rounds all learners have the same time", warning)

    def test_times_that_only_rise_are_doubted(self):
        self.trace(lines("step,elapsed", [(n, f"{1.5 * n + 1:.6g}") for n in range(40)]))
        told, _ = self.fit("trace.csv")
        self.assertIn('warning: "elapsed" only rises, as timestamps and running totals do', told)

    def test_ordinary_times_raise_no_doubt(self):
        for digits in (2, 6):
            table = [(l, f"{x:.{digits}g}") for times in self.rounds for l, x in enumerate(times)]
            self.trace(lines("rank,time", table))
            told, facts = self.fit("trace.csv")
            self.assertEqual(facts["warnings"], [])
            self.assertNotIn("warning", told)
            self.assertAlmostEqual(self.mean_of(facts), 2, delta=0.08)

    def test_what_the_options_do_not_allow_is_said(self):
        self.trace(lines("time,cut", [(x, "perhaps") for x in gamma_times(20)]))
        told = self.refused("trace.csv", "--censored", "cut")
        self.assertIn('trace.csv:2: cut must say whether the minibatch was cancelled, got "perhaps"', told)
        self.assertIn("allowed: 1 or true (cancelled), 0 or false", told)
        self.assertIn('has no column "no"', self.refused("trace.csv", "--censored", "no"))
        self.assertIn("--slowest-of must be >= 1, got 0", self.refused("trace.csv", "--slowest-of", "0"))
        self.trace(lines("time,cut", [(x, 1) for x in gamma_times(20)]))
        self.assertIn("0 times of minibatches not cancelled", self.refused("trace.csv", "--censored", "cut"))


class Events(Input):
    """Files in the formats that frameworks write; times in microseconds."""

    def kineto(self, rank, times, **more):
        events = [{"ph": "M", "name": "process_name", "pid": 4242, "tid": 0, "args": {"name": "python"}}]
        at = 1000.5
        for n, x in enumerate(times):
            step = {"ph": "X", "name": f"ProfilerStep#{n}", "ts": at, "dur": 1e6 * x}
            events.append({**step, "cat": "user_annotation", "pid": 4242, "tid": 4242})
            events.append({**step, "cat": "gpu_user_annotation", "pid": 0, "tid": 7, "dur": 5e5 * x})
            events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 4242, "tid": 4242, "ts": at, "dur": 3})
            at += 1e6 * x
        info = {"backend": "nccl", "rank": rank, "world_size": 2}
        return {"schemaVersion": 1, "distributedInfo": info, "traceEvents": events, **more}

    def test_steps_of_the_pytorch_profiler_a_file_a_rank(self):
        times = [gamma_times(20, seed) for seed in (1, 2)]
        for rank in (0, 1):
            self.trace(self.kineto(rank, times[rank]), f"r{rank}.json")
        told, facts = self.fit("r1.json", "r0.json")
        self.assertIn("event ProfilerStep, in seconds (the steps of PyTorch's profiler)", told)
        self.assertEqual(facts["learners"], ["0", "1"])
        for (learner, ours), known in zip(self.sample(), times[0] + times[1], strict=True):
            self.assertAlmostEqual(ours, known, delta=1e-9)
        self.replays(facts)
        _, facts = self.fit("r0.json")
        self.assertIn('"ProfilerStep" is one series', facts["warnings"][0])

    def test_chrome_events_that_last_or_begin_and_end(self):
        times = gamma_times(24)
        events, at = [], 0
        for n, x in enumerate(times):
            track = {"pid": 1, "tid": n % 2}
            if n % 4 < 2:
                events.append({"ph": "X", "name": "train step", "ts": at, "dur": 1e6 * x, **track})
            else:
                events.append({"ph": "B", "name": f"train step {n}", "ts": at, **track})
                events.append({"ph": "B", "name": "forward", "ts": at, **track})
                events.append({"ph": "E", "ts": at + 1, **track})
                events.append({"ph": "E", "ts": at + 1e6 * x, **track})
            at += 2e7
        whole = [event for event in events if event["ph"] == "X"]  # whose order is free
        events = [event for event in events if event["ph"] != "X"] + whole[::-1]
        whole = json.dumps(events, indent=1)
        for text in (whole, whole.rstrip("]\n "), whole.rstrip("]\n ") + ",\n"):
            self.trace(text, "t.json")
            _, facts = self.fit("t.json", "--step", "train step")
            self.assertEqual(facts["learners"], ["0", "1"])
            for (learner, ours), known in zip(self.sample(), times[::2] + times[1::2], strict=True):
                self.assertAlmostEqual(ours, known, delta=1e-6)
        told = self.call("fit", "t.json", status=2)[1]
        self.assertIn('t.json: no event that lasts is called "ProfilerStep"; say --step NAME', told)
        self.assertIn("allowed: train step (24), forward (12)", told)

    def horovod(self, times, ticks=True):
        """Tensor 1 is ready half a second before tensor 2, which ends each rank's minibatch; the
        all-reduce of both takes a second."""
        text, at = "[\n", 0
        names = "first/grad", "last/grad"

        def event(**keys):
            nonlocal text
            text += json.dumps(keys) + ",\n"

        for pid, name in enumerate(names, 1):
            event(name="process_name", ph="M", pid=pid, args={"name": name})
        for row in times:
            end = at + 1e6 * max(row)
            for pid, early in ((1, 5e5), (2, 0)):
                event(ph="B", name="NEGOTIATE_ALLREDUCE", ts=at + 1e6 * min(row) - early, pid=pid)
                for rank, x in sorted(enumerate(row), key=lambda pair: pair[1]) if ticks else ():
                    event(ph="X", name=str(rank), ts=at + 1e6 * x - early, pid=pid, dur=0)
                event(ph="E", ts=end - early, pid=pid)
                event(ph="B", name="ALLREDUCE", ts=end - early, pid=pid)
                event(ph="B", name="NCCL_ALLREDUCE", ts=end - early + 5, pid=pid)
                event(ph="E", ts=end - early + 9, pid=pid)
                event(ph="E", ts=end + 1e6, pid=pid, args={"dtype": "float32"})
            at = end + 1e6
        return text

    def test_a_horovod_timeline_tells_when_each_rank_was_ready(self):
        times = [[1 + x for x in gamma_times(2, seed)] for seed in range(21)]
        self.trace(self.horovod(times), "timeline.json")
        told, facts = self.fit("timeline.json")
        self.assertIn("tensor last/grad, in seconds (Horovod timeline: from all-reduce to each", told)
        self.assertEqual(facts["learners"], ["0", "1"])
        known = [row[0] for row in times[1:]] + [row[1] for row in times[1:]]
        for (learner, ours), x in zip(self.sample(), known, strict=True):
            self.assertAlmostEqual(ours, x, delta=1e-9)
        self.fit("timeline.json", "--step", "first/grad")
        for (learner, ours), x in zip(self.sample(), known, strict=True):
            self.assertAlmostEqual(ours, x - 0.5, delta=1e-9)
        told = self.call("fit", "timeline.json", "--step", "grad", status=2)[1]
        self.assertIn('no tensor called "grad" is all-reduced; allowed: first/grad, last/grad', told)

    def test_a_horovod_timeline_without_ticks_has_step_times(self):
        times = [[1 + x for x in gamma_times(2, seed)] for seed in range(21)]
        self.trace(self.horovod(times, ticks=False), "timeline.json")
        told, facts = self.fit("timeline.json")
        self.assertEqual(facts["times"], 20)
        self.assertIn("without ticks of ranks", told)
        self.assertIn("say --slowest-of P", facts["warnings"][0])

    def test_defects_of_events_are_said_with_their_place(self):
        good = {"ph": "X", "name": "s", "ts": 1, "dur": 2}

        def told(text, *words):
            self.trace(text, "t.json")
            return self.refused("t.json", *words)

        text = "[\n" + json.dumps(good) + ",\n  " + json.dumps({**good, "dur": 0}) + "]"
        self.assertIn('t.json:3:3: event "s" must last, got 0 microseconds', told(text, "--step", "s"))
        text = json.dumps([good, {**good, "dur": 5e-324}])  # 0 seconds
        self.assertIn('event "s" must last, got', told(text, "--step", "s"))
        text = '{"traceEvents": [\n ' + json.dumps({**good, "dur": "x"}) + "]}"
        self.assertIn('t.json:2:2: event "s" must last, got no number for "dur"', told(text, "--step", "s"))
        self.assertIn("t.json:1:", told('[{"ph": }]'))
        self.assertIn("is no JSON", told('{"traceEvents": [{"ph": "X"}'))
        self.assertIn("t.json: has no trace events; allowed: a JSON array of events", told('{"a": 1}'))
        self.assertIn("--column is for CSV files", told("[]", "--column", "t"))
        self.assertIn("t.json: is compressed", told("\x1f\x8b"))
        self.trace(lines("time", [(x,) for x in gamma_times(20)]))
        self.assertIn("--step names an event of a JSON file", self.refused("trace.csv", "--step", "s"))
        self.assertIn("takes one CSV file", self.refused("trace.csv", "trace.csv"))


if __name__ == "__main__":
    unittest.main()
