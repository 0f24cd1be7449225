"""What files gradrace fit reads, and how it chooses what to fit."""

import datetime
import gzip
import io
import itertools
import json
import lzma
import math
import pickle
import random
import shlex
import shutil
import statistics
import tarfile
import unittest
import zipfile

from program import ProgramTest, changed

SCENARIO = {"protocol": {"kind": "sync"}, "stop": {"updates": 20}}


def lines(header, table):
    return "\n".join([header, *(",".join(map(str, row)) for row in table)]) + "\n"


def gamma_times(count, seed=1):
    """Of mean 2 and standard deviation 1."""
    numbers = random.Random(seed)
    return [numbers.gammavariate(4, 0.5) for _ in range(count)]


def archive(name):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr(name, "")
    return content.getvalue()


def packed_by_tar(name, content):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


class Input(ProgramTest):
    def trace(self, content, name="trace.csv"):
        text = content if isinstance(content, str) else json.dumps(content)
        (self.folder / name).write_text(text)
        return name

    def fit(self, *words):
        told, _ = self.call("fit", *words, "--out", "out", "--force")
        return told, json.loads((self.folder / "out/fit.json").read_text())

    def refused(self, *words):
        shutil.rmtree(self.folder / "out", ignore_errors=True)
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
            self.assertIn(f"allowed: step, {name};", told)
        self.trace(lines("time,time", [(x, x) for x in times]))
        self.assertIn('has more than one column "time"; allowed: time, time; rename all but one', self.call("fit", "trace.csv", "--out", "none", status=2)[1])
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
        self.assertIn('trace.csv:9: time must be a time, got "0"; so must 2 more rows below', self.refused("trace.csv"))

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
        self.trace(lines("w0,w1", [*[(1, 2)] * 10, (1, ""), (1, 2)]), "short.csv")
        told = self.call("fit", "short.csv", "--column", "w*", status=2)[1]
        self.assertIn('short.csv:12: w1 must be a time, got ""', told)

    def test_the_pattern_of_a_hint_chooses_numbered_columns_alone(self):
        for names in (("w0", "w1", "w2", "wall"), ("gpu9", "gpu10", "gpu11", "gpu_mem"), ("w0", "w1", "w2", "w0_sum")):
            self.trace(lines("step," + ",".join(names), [(n, *gamma_times(4, seed=n)) for n in range(20)]))
            told = self.call("fit", "trace.csv", "--out", "none", status=2)[1]
            hint = told.split("column is a learner's, ")[1].split(";")[0].replace("'", "").split()
            self.assertEqual(self.fit("trace.csv", *hint)[1]["learners"], sorted(names[:3], key=names.index))
            stem = names[0].rstrip("0123456789")
            told = self.call("fit", "trace.csv", "--column", stem + "*", "--out", "none", status=2)[1]
            self.assertIn(f"and {names[3]} is not called like the others; allowed: {' '.join(hint)[:9]}", told.replace("'", ""))

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


class Rows(Input):
    """Which rows are minibatches, and whose."""

    def optable(self, header="rank,step,optype,duration"):
        """Three parts of each step of four ranks, of 0.03, 0.08 and 0.01 of it."""
        table, steps = [], []
        for n, x in enumerate(gamma_times(120)):
            steps.append(x)
            parts = {"forward": 0.25, "backward": 0.67, "reduce": 0.08}
            table += [(n % 4, n // 4, name, f"{x * share:.9g}") for name, share in parts.items()]
        self.trace(lines(header, table))
        return steps

    def test_refusals_of_odd_rows_name_the_cure(self):
        records = [{"step": n, **({"loss": 1.0} if n % 2 else {"step_time": 0.5})} for n in range(20)]
        self.trace("".join(json.dumps(one) + "\n" for one in records), "log.jsonl")
        self.assertIn("--where 'step_time!='", self.refused("log.jsonl"))
        self.trace(lines("machine,start,end", [("m0", "23:58:00", "23:59:30"), ("m0", "23:59:30", "00:01:00")]))
        self.assertIn("stamps that pass midnight with their date", self.refused("trace.csv", "--begin", "start", "--end", "end"))
        self.trace("Report by tool X\nHost: a, GPUs: 8\n\n" + lines("rank,step_time", [(0, x) for x in gamma_times(20)]))
        self.assertIn("left out before the line of names: 2 lines", self.fit("trace.csv")[0])

    def test_plain_times_are_not_doubted(self):
        numbers = random.Random(5)
        four = [(n % 4, n) for n in range(240)]
        near = [numbers.randint(11510, 11550) for _ in four]
        warm = [0.5 + 4 * math.exp(-n / 12) + numbers.gauss(0, 0.01) for n, _ in enumerate(four)]
        for header, rows in (
            ("worker,step_time_ms", [(w, x) for (w, _), x in zip(four, near)]),
            ("worker,step_us", [(w, x - 1500) for (w, _), x in zip(four, near)]),
            ("worker,duration_min", [(w, x) for (w, _), x in zip(four, gamma_times(240))]),
            ("worker,sync_step_time", [(w, x) for (w, _), x in zip(four, gamma_times(240))]),
            ("worker,step_time", [(w, 2.0 if w else 1.0) for w, _ in four]),
            ("worker,step,step_time", [(w, n, x) for (w, n), x in zip(four, gamma_times(240))]),
            ("worker,step_time", [(0, x) for x in warm]),
        ):
            self.trace(lines(header, rows))
            told = self.fit("trace.csv")[0]
            for word in ("hours, minutes", "percentile", "part of a minibatch", "timeout", "--scale", "average"):
                self.assertNotIn(word, told, header)

    def test_the_first_step_of_one_learner_is_told(self):
        rows = [(rank, n, x) for n, x in enumerate(gamma_times(60)) for rank in range(3)]
        self.trace(lines("rank,step,duration", rows))
        self.assertNotIn("stands far above its others", self.fit("trace.csv")[0])
        rows[2] = (2, 0, 80)
        self.trace(lines("rank,step,duration", rows))
        told = self.fit("trace.csv")[0]
        self.assertIn("the first time of learner 2, 80, stands far above its others", told)
        self.assertIn("--skip 1 leaves out the first", told)

    def test_numbers_within_names_tell_no_kinds(self):
        times = gamma_times(60)
        names = "step_{}", "step_{}/forward", "step_{}/backward"
        rows = [(name.format(i), one * part) for i, one in enumerate(times) for name, part in zip(names, (1, 0.4, 0.5))]
        self.trace(lines("span,seconds", rows))
        told = self.refused("trace.csv")
        self.assertIn("rows are of 3 kinds by column span", told)
        self.assertIn("step_*/forward (60 times", told)
        self.fit("trace.csv", "--where", "span!=*/*")
        self.assertEqual([one for _, one in self.sample()], times)
        shutil.rmtree(self.folder / "out")
        for name, other in [("{}:train", "{}:load"), ("epoch 0 step {} model", "epoch 0 step {} optimizer")]:
            self.trace(lines("part,ms", [(text.format(i), one * share) for i, one in enumerate(times) for text, share in ((name, 1), (other, 0.1))]))
            self.assertIn("rows are of 2 kinds by column part", self.refused("trace.csv"))
        # Parts of a net that come again and again are kinds each.
        self.trace(lines("part,ms", [(f"block{b}/conv", one * (1 + b)) for one in times for b in range(3)]))
        self.assertIn("block0/conv (60 times", self.refused("trace.csv"))

    def test_rows_of_several_kinds_are_asked_for(self):
        steps = self.optable()
        told = self.refused("trace.csv")
        self.assertIn("rows are of 3 kinds by column optype", told)
        self.assertIn("backward (120 times, mean", told)
        for option in ("--where 'optype=PATTERN'", "--sum-by step"):
            self.assertIn(option, told)
        _, facts = self.fit("trace.csv", "--sum-by", "step")
        self.assertAlmostEqual(facts["mean"], sum(steps) / 120, delta=1e-6)
        self.assertEqual((facts["times"], facts["learners"]), (120, ["0", "1", "2", "3"]))
        self.replays(facts)
        _, facts = self.fit("trace.csv", "--where", "optype=back*")
        self.assertAlmostEqual(facts["mean"], 0.67 * sum(steps) / 120, delta=1e-6)
        _, facts = self.fit("trace.csv", "--where", "optype!=reduce", "--sum-by", "step")
        self.assertAlmostEqual(facts["mean"], 0.92 * sum(steps) / 120, delta=1e-6)
        self.assertEqual(self.fit("trace.csv", "--where", "optype=*", "--where", "step=*")[1]["times"], 360)
        told = self.call("fit", "trace.csv", "--where", "optype=none", "--out", "none", status=2)[1]
        self.assertIn('no row has optype like "none"; allowed: backward (120 times)', told)

    def test_parts_of_a_step_that_no_text_names_are_asked_for(self):
        steps = self.optable("rank,step,microbatch,duration")
        text = (self.folder / "trace.csv").read_text()
        for number, name in enumerate(("forward", "backward", "reduce")):
            text = text.replace(name, str(number))
        self.trace(text)
        told = self.refused("trace.csv")
        self.assertIn("a step of a learner has 3 rows on average, by column step", told)
        self.assertIn("Told apart by: microbatch", told)
        _, facts = self.fit("trace.csv", "--sum-by", "step")
        self.assertAlmostEqual(facts["mean"], sum(steps) / 120, delta=1e-6)

    def test_a_row_within_another_of_its_step_counts_once(self):
        """Iterations with a forward range, which has a matrix product in it, and a backward one."""
        random.seed(5)
        rows, steps, now = [], [], 0.0
        for n, x in enumerate(gamma_times(40)):
            steps.append(x + 0.3)
            forward = 0.4 * x
            parts = {"forward": (0.1, forward), "matmul": (0.1, forward / 2), "backward": (0.1 + forward, 0.6 * x)}
            rows += [(n % 2, n // 2, ":iteration", now, x + 0.3)]
            rows += [(n % 2, n // 2, name, now + after, length) for name, (after, length) in parts.items()]
            now += x + 1
        random.shuffle(rows)
        ends = [f"{rank},{step},{name},{at:.6f},{at + length:.6f},{length:.6f}" for rank, step, name, at, length in rows]
        begins = [f"{rank},{step},{name},{at:.6f},{length:.6f}" for rank, step, name, at, length in rows]
        nanoseconds = [f"{rank},{step},{name},{1e9 * at:.0f},{1e3 * length:.3f}" for rank, step, name, at, length in rows]
        options = "--column", "duration", "--sum-by", "step"
        for header, table in (
            ("rank,step,Name,start,end,duration", ends),
            ("rank,step,Name,start_ts,duration", begins),
            ("rank,step,Name,timestamp,duration", begins),
        ):
            self.trace("\n".join([header, *table]))
            told, facts = self.fit("trace.csv", *options)
            self.assertAlmostEqual(facts["mean"], sum(steps) / 40, delta=1e-5)
            self.assertIn("left out: 120 rows within another of the same sum, by column " + header.split(",")[3], told)
        told, facts = self.fit("trace.csv", *options, "--where", "Name!=:iteration")
        self.assertAlmostEqual(facts["mean"], sum(steps) / 40 - 0.3, delta=1e-5)
        self.trace("\n".join(["rank,step,Name,start (ns),duration", *nanoseconds]))
        told, facts = self.fit("trace.csv", *options, "--where", "Name=*ward")
        self.assertAlmostEqual(facts["mean"], 1e3 * (sum(steps) / 40 - 0.3), delta=1e-2)
        self.trace("\n".join(["rank,step,Name,duration", *(row.rpartition(",")[0].rpartition(",")[0] + "," + row.rpartition(",")[2] for row in begins)]))
        told, facts = self.fit("trace.csv", *options)
        self.assertIn("no column says when rows begin, and a row that lies within another one counts twice", told)

    def test_a_number_behind_a_name_makes_no_kind_unless_it_comes_again(self):
        times = gamma_times(60)
        self.trace(lines("Name,ms", [(f":iteration {n}", x) for n, x in enumerate(times)]))
        self.assertEqual(self.fit("trace.csv")[1]["times"], 60)
        self.trace(lines("Name,ms", [(f"layer{n % 3}", x) for n, x in enumerate(times)]))
        told = self.call("fit", "trace.csv", "--out", "none", status=2)[1]
        self.assertIn("rows are of 3 kinds by column Name, and a law is fitted to minibatches: layer0 (20 times", told)

    def test_learners_have_many_names(self):
        table = [(n // 8, n % 8, f"{x:.6g}") for n, x in enumerate(gamma_times(240))]
        for name in ("worker_id", "Worker ID", "global_rank", "local_rank", " GPU ", "device", "pid", "hostname", "localRank"):
            self.trace(lines(f"step,{name},step_time", table))
            _, facts = self.fit("trace.csv")
            self.assertEqual((facts["learner_column"], len(facts["learners"])), (name.strip(), 8))
            self.replays(facts)
        self.trace(lines("node,local_rank,step,step_time", [(f"n{r // 4}", r % 4, n, x) for n, r, x in table]))
        _, facts = self.fit("trace.csv")
        self.assertEqual(facts["learners"][:2], ["n0/0", "n0/1"])
        self.assertEqual(len(facts["learners"]), 8)

    def test_rows_of_a_step_without_a_learner_are_asked_for(self):
        self.trace(lines("step,where_it_ran,step_time", [(n // 8, n % 8, f"{x:.6g}") for n, x in enumerate(gamma_times(240))]))
        told = self.refused("trace.csv")
        self.assertIn("a step has 8 rows on average, by column step: whose are they, or of what?  Told apart by: where_it_ran", told)
        self.assertEqual(len(self.fit("trace.csv", "--learner", "where_it_ran")[1]["learners"]), 8)
        self.assertEqual(len(self.fit("trace.csv", "--learner", "")[1]["learners"]), 1)

    def test_learners_whose_column_has_an_unknown_name_are_asked_for(self):
        table = [(n // 4, n % 4, f"{x:.6g}") for n, x in enumerate(gamma_times(240))]
        for name in ("mpi_rank", "hvd_rank", "rank (global)", "ranks", "cid", "pod", "ip", "tpu", "cuda_device", "Rang", "Knoten"):
            self.trace(lines(f"itr,{name},seconds", table))
            self.assertEqual(len(self.fit("trace.csv")[1]["learners"]), 4, name)
        blocks = sorted(table, key=lambda row: row[1])
        for name in ("site", "executor", "shard", "user_id", "task", "x"):
            for header, rows in ((f"it,{name},seconds", table), (f"counter,{name},seconds", blocks)):
                self.trace(lines(header, rows))
                told = self.call("fit", "trace.csv", "--out", "none", status=2)[1]
                self.assertRegex(told, f"(whose are they, or of what|does a column say whose a row is)\\?.*{name}.*--learner")
            self.trace(lines(f"{name},seconds", [row[1:] for row in table]))
            told = self.call("fit", "trace.csv", "--out", "none", status=2)[1]
            self.assertIn(f"Column {name} has 4 values that come again and again; allowed: --learner '{name}'", told)
            self.assertEqual(len(self.fit("trace.csv", "--learner", name)[1]["learners"]), 4)
            self.assertEqual(len(self.fit("trace.csv", "--learner", "")[1]["learners"]), 1)
        for name in ("epoch", "loss", "batch_size", "lr"):
            self.trace(lines(f"{name},seconds", [(n // 60, x) for n, _, x in table]))
            self.assertEqual(len(self.fit("trace.csv")[1]["learners"]), 1)
        self.trace(lines("flag,seconds", [(int(n % 10 == 0), x) for n, _, x in table]))
        self.assertEqual(len(self.fit("trace.csv")[1]["learners"]), 1)

    def test_a_rank_that_counts_on_each_node_is_told_apart_by_both(self):
        table = [(f"n{r // 2}", r % 2, n, f"{x * (1 + r // 2):.6g}") for n in range(40) for r, x in enumerate(gamma_times(4, seed=n))]
        for header, rows in (("node,rank,step,step_time", table), ("node,rank,step_time", [(a, b, x) for a, b, _, x in table])):
            self.trace(lines(header, rows))
            told, facts = self.fit("trace.csv")
            self.assertEqual(facts["learners"], ["n0/0", "n0/1", "n1/0", "n1/1"])
            self.assertIn("columns node, rank (chosen by its name)", told)
        self.trace(lines("node,rank,step,step_time", [(node, 2 * int(node[1]) + r, n, x) for node, r, n, x in table]))
        self.assertEqual(self.fit("trace.csv")[1]["learner_column"], "rank")

    def test_a_column_that_numbers_the_rows_says_nothing_of_cancellation(self):
        self.trace(lines("global_step,worker,step_time", [(n, n * n % 7 % 3, x) for n, x in enumerate(gamma_times(120))]))
        self.assertNotIn("cancelled", self.fit("trace.csv")[0])

    def test_rates_are_no_times(self):
        times = gamma_times(40)
        for name in ("img_sec", "images_sec", "samples_s", "tokens/s", "its_s"):
            self.trace(lines(f"step,{name}", [(n, 64 / x) for n, x in enumerate(times)]))
            told = self.call("fit", "trace.csv", "--out", "none", status=2)[1]
            self.assertIn(f"of a rate, --column '{name}' --rate ITEMS", told)
        self.trace(lines("step,samples/sec", [(n, 64 / x) for n, x in enumerate(times)]))
        self.assertIn("--column 'samples/sec' --rate ITEMS", self.refused("trace.csv"))
        self.assertIn("is a rate by its name", self.refused("trace.csv", "--column", "samples/sec"))
        _, facts = self.fit("trace.csv", "--column", "samples/sec", "--rate", "64")
        self.assertAlmostEqual(facts["mean"], sum(times) / 40, delta=1e-6)
        self.trace(lines("step,its_s", enumerate(times)))
        self.assertEqual(self.fit("trace.csv", "--column", "its_s", "--durations")[1]["times"], 40)


class Order(Input):
    """Rows of a learner stand in the order of its steps, and a step that comes again is another."""

    def test_a_step_that_goes_back_and_comes_again_is_another_minibatch(self):
        times = gamma_times(120)
        restarted = [(n % 2, n // 2 % 20, x) for n, x in enumerate(times)]
        self.trace(lines("rank,step,time", restarted))
        for words in ((), ("--sum-by", "step")):
            told, facts = self.fit("trace.csv", *words)
            self.assertEqual(facts["times"], 120)
            self.assertAlmostEqual(facts["mean"], sum(times) / 120, delta=1e-9)
            self.assertIn("column step goes back 2 times in a learner's rows", told)
            self.assertEqual(facts["warnings"], [])
        parts = [(r, n, name, x * share) for r, n, x in restarted for name, share in (("fwd", 0.25), ("bwd", 0.75))]
        one_by_one = sorted(parts[:40], key=lambda row: row[2])  # all of one op, then all of the other
        shuffled = random.Random(1).sample(parts[:80], 80)
        for table, count in ((parts, 120), (one_by_one, 20), (shuffled, 40)):
            self.trace(lines("rank,step,op,time", table))
            _, facts = self.fit("trace.csv", "--sum-by", "step")
            self.assertEqual(facts["times"], count)
            self.assertAlmostEqual(facts["mean"], sum(times[:count]) / count, delta=1e-9)
        # A job that goes on from step 10, two times alike.
        steps = [*range(20), *range(10, 30)]
        self.trace(
            lines("rank,step,op,time", [(r, n, o, x) for n in steps for r in (0, 1) for o, x in (("fwd", 0.1), ("bwd", f"{0.2 + n * 3 % 7 / 100:.3f}"))])
        )
        told, facts = self.fit("trace.csv", "--sum-by", "step")
        self.assertEqual(facts["times"], 80)
        self.assertAlmostEqual(facts["mean"], sum(0.3 + n * 3 % 7 / 100 for n in steps) / 40, delta=1e-9)
        self.assertIn("column step goes back 1 time in a learner's rows", told)

    def test_rows_without_a_learner_whose_step_goes_back_are_asked_for(self):
        self.trace(lines("step,time", [(n % 20, x) for n, x in enumerate(gamma_times(60))]))
        told = self.refused("trace.csv")
        self.assertIn("column step goes back 2 times: are the rows of several learners, one after the other", told)
        self.assertNotIn("--sum-by", told)
        self.assertEqual(self.fit("trace.csv", "--learner", "")[1]["times"], 60)

    def test_rows_are_put_into_the_order_of_their_steps(self):
        slow = [0.1 * math.exp(0.8 * math.sin(n / 6)) for n in range(60)]
        orders = {"ordered": range(60), "shuffled": [n * 37 % 60 for n in range(60)], "as texts": sorted(range(60), key=str), "reversed": range(59, -1, -1)}
        for order, steps in orders.items():
            self.trace(lines("rank,step,time", [(r, n, slow[n] * (1 + r)) for n in steps for r in (0, 1)]))
            told, facts = self.fit("trace.csv")
            self.assertGreater(facts["lag1"]["pooled"], 0.9, order)
            self.assertEqual("rows are put into the order of step" in told, order != "ordered")
            self.assertEqual(self.sample()[:60], [("0", x) for x in slow])
            self.replays(facts)
            self.trace(lines("rank,step,elapsed_s", [(r, n, f"{2 * n + 2 + slow[n]:.5f}") for n in steps for r in (0, 1)]))
            _, facts = self.fit("trace.csv", "--differences")
            self.assertEqual(facts["times"], 118)
            self.assertAlmostEqual(facts["mean"], 2 + (slow[59] - slow[0]) / 59, delta=1e-5)

    def test_a_total_of_every_tenth_step_that_begins_again_is_divided_at_that_too(self):
        total = [20 * (n + 1) + x for n, x in enumerate(gamma_times(40))]
        for again in (10, 40):
            self.trace(lines("rank,step,elapsed_s", [(0, 10 * (n % again), x) for n, x in enumerate(total)]))
            _, facts = self.fit("trace.csv", "--differences")
            self.assertEqual(facts["times"], 39)
            self.assertAlmostEqual(facts["mean"], (total[39] - total[0]) / 390, delta=1e-9)


class Doubtful(Input):
    """What would give wrong numbers is asked for or told."""

    def test_points_between_thousands_are_asked_for_where_smaller_numbers_have_none(self):
        self.trace("rank;time_ms\n" + "".join(f"{n % 2};{850 + 400 * (n % 2) + 3 * n:,}\n" for n in range(40)).replace(",", "."))
        told = self.refused("trace.csv")
        self.assertIn('time_ms has "1.253", whose point may stand before decimals or, since numbers below 1000 have none, between thousands', told)
        for times in ([f"{x:.3f}" for x in gamma_times(40)], [f"{1 + x:.3f}" for x in gamma_times(40)], ["2000", *(f"{1 + x:.3f}" for x in gamma_times(39))]):
            self.trace(lines("time", [(x,) for x in times]))
            self.assertAlmostEqual(self.fit("trace.csv")[1]["mean"], sum(map(float, times)) / 40, delta=1e-9)

    def test_a_clock_that_goes_forward_is_told(self):
        begin = datetime.datetime(2026, 3, 29, 1, 50)
        at = [begin + datetime.timedelta(seconds=x) for x in itertools.accumulate(gamma_times(60, seed=2), lambda a, b: a + 10 * b, initial=0)]
        summer = [x + datetime.timedelta(hours=x >= datetime.datetime(2026, 3, 29, 2)) for x in at]
        rows = [(n, a.isoformat(), b.isoformat()) for n, (a, b) in enumerate(itertools.pairwise(summer))]
        self.trace(lines("step,start,end", rows))
        words = "--begin", "start", "--end", "end"
        told = self.refused("trace.csv", *words)
        self.assertIn("s, an hour longer than the others, and the stamps have no zone: as where summer time begins", told)
        cure = told.split("--where '")[1].split("'")[0]
        self.assertEqual(self.fit("trace.csv", *words, "--where", cure)[1]["times"], 59)
        self.assertEqual(self.fit("trace.csv", *words, "--durations")[1]["times"], 60)
        self.trace(lines("step,stamp", [row[:2] for row in rows]))
        self.assertIn("an hour longer than the others", self.call("fit", "trace.csv", "--column", "stamp", "--differences", "--out", "none", status=2)[1])
        self.trace(lines("step,start,end", [(n, a + "Z", b + "Z") for n, a, b in rows]))
        self.assertEqual(self.fit("trace.csv", *words)[1]["times"], 60)

    def test_a_column_of_few_numbers_that_splits_the_times_is_asked_for(self):
        times = gamma_times(160)
        for name, values in (("batch_size", (32, 128)), ("is_eval", (0, 1)), ("layer", (0, 1, 2)), ("trial", (0, 1, 2))):
            table = [(values[n // 2 % len(values)], n % 2, 10 ** (n // 2 % len(values)) * (5 + x)) for n, x in enumerate(times)]
            for rows in (table, sorted(table, key=lambda row: row[0])):
                self.trace(lines(f"{name},rank,time", rows))
                told = self.call("fit", "trace.csv", "--out", "none", status=2)[1]
                self.assertIn(f"rows are of {len(values)} kinds by column {name}, and a law is fitted to minibatches", told)
            self.assertEqual(self.fit("trace.csv", "--where", f"{name}=*")[1]["times"], 160)
        # Speeds of learners, and settings that change little, are no kinds.
        self.trace(lines("slot,rank,time", [(n % 2, n % 2, (1 + 9 * (n % 2)) * (5 + x)) for n, x in enumerate(times)]))
        self.assertEqual(self.fit("trace.csv")[1]["times"], 160)
        self.trace(lines("batch_size,rank,time", [(32 << n // 80, n % 2, 1 + n // 80 / 10 + x) for n, x in enumerate(times)]))
        self.assertEqual(self.fit("trace.csv")[1]["times"], 160)

    def test_columns_of_different_units_are_refused(self):
        times = gamma_times(40)
        for header, cells in (
            ("step,gpu0 (ms),gpu1 (s)", lambda x: (1000 * x, x)),
            ("step,gpu0,gpu1", lambda x: (f"{1000 * x} ms", x)),
        ):
            self.trace(lines(header, [(n, *cells(x)) for n, x in enumerate(times)]))
            told = self.refused("trace.csv", "--column", "gpu*")
            self.assertIn("are of different units; allowed: columns of one unit", told)
        for header, cells in (("step,gpu0 (s),gpu1 (sec)", lambda x: (x, x)), ("step,gpu0,gpu1", lambda x: (f"{1000 * x} ms", f"{x} s"))):
            self.trace(lines(header, [(n, *cells(x)) for n, x in enumerate(times)]))
            self.assertAlmostEqual(self.fit("trace.csv", "--column", "gpu*")[1]["mean"], sum(times) / 40, delta=1e-9)

    def test_parentheses_that_take_a_part_of_a_number_or_leave_its_unit_are_refused(self):
        times = [1200 + 100 * x for x in gamma_times(60)]
        self.trace("".join(f"step {n} took {x:,.1f} ms.\n" for n, x in enumerate(times)), "t.log")
        for pattern in ("([0-9.]+) ms", "took ([0-9]+)", "([0-9]) ms"):
            told = self.refused("t.log", "--pattern", pattern)
            self.assertRegex(told, r't.log:1: the parentheses of --pattern match "[0-9.]+", a part of "1,\d+\.\d"; allowed: a group that takes all')
        self.assertAlmostEqual(self.fit("t.log", "--pattern", "took ([0-9.,]+)")[1]["mean"], sum(times) / 60, delta=0.1)
        self.trace("".join(f"took {x}ms\n" if n % 7 else f"took {x / 1000}s\n" for n, x in enumerate(times)), "t.log")
        told = self.call("fit", "t.log", "--pattern", "took ([0-9.]+)", "--out", "none", status=2)[1]
        self.assertRegex(told, r't.log:2: the parentheses of --pattern match "[0-9.]+" of unit ms, and in line 1 it is s')
        self.assertAlmostEqual(self.fit("t.log", "--pattern", "took ([0-9.]+ *[a-z]+)")[1]["mean"], sum(times) / 6e4, delta=1e-6)

    def test_json_with_a_key_twice_is_refused_and_what_is_no_number_read(self):
        self.trace("".join(f'{{"rank": {n % 2}, "time": 0.1, "time": {x}}}\n' for n, x in enumerate(gamma_times(40))), "t.jsonl")
        self.assertIn('t.jsonl:1: an object has the key "time" twice', self.refused("t.jsonl"))
        for mark in ("", "\ufeff"):
            self.trace(
                mark
                + "".join(
                    f'{{"note": "a \\"NaN", "of": {{"time": {x}}}, "time": {x}, "loss": {loss}}}\n' for x in gamma_times(20) for loss in ("NaN", "-Infinity")
                ),
                "t.jsonl",
            )
            self.assertEqual(self.fit("t.jsonl", "--column", "time")[1]["times"], 40)

    def test_averages_are_doubted(self):
        times = gamma_times(60)
        self.trace(lines("step,avg_time", [(n, sum(times[: n + 1]) / (n + 1)) for n in range(60)]))
        self.assertIn('warning: "avg_time" says that it is an average', self.fit("trace.csv", "--durations")[0])


class Shapes(Input):
    """The same times in the shapes that tools write."""

    def setUp(self):
        super().setUp()
        self.rows = [(n // 2, n % 2, x) for n, x in enumerate(gamma_times(40))]
        self.mean = sum(x for _, _, x in self.rows) / 40

    def check(self, text, *words, name="trace.csv", learners=2):
        (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        told, facts = self.fit(name, *words)
        self.assertAlmostEqual(facts["mean"], self.mean, delta=1e-6)
        self.assertEqual((facts["times"], len(facts["learners"])), (40, learners))
        self.replays(facts)
        return told

    def test_separators_comments_and_units(self):
        text = lines("step,rank,time", self.rows)
        self.check(gzip.compress(text.encode()), name="trace.csv.gz")
        self.check(text.replace(",", "\t"))
        told = self.check(text.replace(".", "|").replace(",", ";").replace("|", ","))
        self.assertIn("note: cells are separated by semicolons\n  note: a comma in a number is a decimal comma\n", told)
        self.assertIn("separated by |", self.check(text.replace(",", "|")))
        for blank in (" ", "   "):
            self.assertIn("separated by blanks", self.check(text.replace(",", blank)))
        self.check("# made by a tool\n" + text.replace("\n", "\n# noise\n", 3))
        self.check("# " + text)
        self.check("==12== Profiling\n==12== result:\n" + text.replace("rank,time\n", "rank,time\n,,s\n"))
        milli = [(n, rank, 1000 * x) for n, rank, x in self.rows]
        self.check(lines("step,rank,time", [("", "", "ms"), *milli]))
        told = self.check(lines("step,rank,time", [(n, r, f"{x!r} ms") for n, r, x in milli]))
        self.assertIn("times are in seconds, by the units in the cells", told)
        self.check(lines("time", [(f'"{x!r}"'.replace(".", ","),) for _, _, x in self.rows]), learners=1)
        cut = self.check(text + "20,")
        self.assertIn("the last row was cut, and is left out", cut)

    def test_columns_aligned_by_blanks(self):
        """As sacct, nsys and pandas print them."""
        table = [("step", "rank", "wall time"), *((str(n), str(rank), repr(x)) for n, rank, x in self.rows)]
        widths = [max(len(row[i]) for row in table) for i in range(3)]
        right = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
        left = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
        rule = "  ".join("-" * width for width in widths)
        for rows in (right, left):
            self.assertIn("separated by blanks", self.check("\n".join(rows) + "\n"))
            self.check("\n".join([rows[0], rule, *rows[1:]]) + "\n")
            end = ["Total wall time: 1 h in all", ""]
            self.check("\n".join([rule, rows[0], rule, *rows[1:], rule, *end]))
            self.check("\n".join(["# " + rows[0], "# s", *rows[1:]]) + "\n")
        index = [" " * 4 + right[0], *(f"{i:<4}" + row for i, row in enumerate(right[1:]))]
        self.check("\n".join(index) + "\n")
        self.check("\n".join([index[0], *(f"{i + 3 * (i > 2):<4}" + row for i, row in enumerate(right[1:]))]) + "\n")
        cut = self.check("\n".join(right) + "\n 20  1")
        self.assertIn("the last row was cut, and is left out", cut)
        self.trace("\n".join([*index[:5], "x" + index[5][1:], *index[6:]]))
        self.assertIn("must be a time", self.refused("trace.csv"))

    def test_a_preface_with_commas_is_left_out(self):
        text = lines("step,rank,time", self.rows)
        told = self.check("Run on a, 8 GPUs, bf16\nmade in 2024\n" + text)
        self.assertIn('left out before the line of names: 2 lines such as "Run on a, 8 GPUs, bf16"', told)

    def test_two_lines_of_names_are_refused(self):
        self.trace(",time,time\n,mean,std\nstep,,\n" + "".join(f"{n},{x},0.1\n" for n, _, x in self.rows))
        told = self.refused("trace.csv")
        self.assertIn('trace.csv:2: is a second line of names, such as "mean"; allowed: one line of names', told)

    def test_rates_in_thousands(self):
        """tqdm writes 1.02kit/s behind 998it/s."""
        rates = [f"{x:.3f}k" if i % 2 else f"{1000 * x:.0f}" for i, (_, _, x) in enumerate(self.rows)]
        mean = sum(1 / (1000 * round(x, 3)) for _, _, x in self.rows) / 40
        self.trace(lines("rate_hz", [(rate,) for rate in rates]))
        self.assertAlmostEqual(self.fit("trace.csv", "--column", "rate_hz", "--rate", "1")[1]["mean"] / mean, 1, delta=1e-9)
        self.trace("".join(f"a: {rate}it/s\n" for rate in rates))
        told = self.refused("trace.csv", "--pattern", "([0-9.]+)k?it/s", "--rate", "1")
        self.assertIn('match "', told)
        self.assertIn("a group that takes the letter too, such as ([0-9.]+[kM]?)", told)

    def test_what_a_log_says_is_proposed_as_a_pattern(self):
        """And reads it."""
        for line, seconds in (
            ("[2024-01-01] Epoch 0 | step {n} | loss 2.1 | step_time {x:.3f} s", 1),
            ("iteration {n}/ 50 | elapsed time per iteration (ms): {x:.3f} | loss 1", 1),
            ("Train: 0 [ {n}/125]  Loss: 6.95 (6.95)  Time: {x:.3f}s, 81/s", 1),
            ("- n: {n}\n  time: {x:.3f}", 1),
            ("step {n}: took {x:.3f}, loss 2", 1),
        ):
            with self.subTest(line):
                self.trace("".join(line.format(n=n, x=x) + "\n" for n, _, x in self.rows))
                words = shlex.split(self.refused("trace.csv").split("allowed: ")[1])
                _, facts = self.fit("trace.csv", *words)
                self.assertAlmostEqual(facts["mean"] / seconds, self.mean, delta=1e-3)
        for line, words in (
            ("a|{n}/100 [00:01<00:11, {x:.2f}it/s]", "--pattern '([0-9.]+[kM]?)it/s' --rate 1"),
            ("{n}: {x:.1f} samples/sec", "--pattern '([0-9.]+[kM]?) *samples/sec' --rate ITEMS, how"),
            ("{n}/100 - ETA: 1:03 - loss: 2.3 - {n}ms/step", "--pattern '([0-9.]+)ms/step'"),
        ):
            self.trace("".join(line.format(n=n, x=x) + "\n" for n, _, x in self.rows))
            self.assertIn(f"trace.csv: is a log, and no table; allowed: {words}", self.refused("trace.csv"))

    def test_what_has_no_times_says_so(self):
        rows = [(n, 1 / x) for n, x in enumerate(gamma_times(20))]
        self.trace(lines("epoch,val_loss", rows))
        self.assertIn("trace.csv: has no times, but epoch, val_loss; allowed: a row for each step with its time", self.refused("trace.csv"))
        self.trace(lines("key,value,timestamp,step", [("step_time", x, n, n) for n, x in rows]))
        self.assertIn("or, of one quantity in key, --where 'key=NAME' --column value", self.refused("trace.csv"))
        self.assertAlmostEqual(self.fit("trace.csv", "--where", "key=step_time", "--column", "value")[1]["mean"], sum(x for _, x in rows) / 20, delta=1e-9)
        self.trace(lines("date,x", [("2026-11-28_08-00-00", x) for _, x in rows]))
        self.assertNotIn("--differences", self.refused("trace.csv"))
        self.trace("0.5\n0.25\n")
        self.assertIn('allowed: a first line "time"', self.refused("trace.csv"))
        self.trace("1700 0.5 0\n1701 0.25 1\n")
        self.assertIn('allowed: a first line of 3 names, such as "step,worker,time"', self.refused("trace.csv"))

    def test_summaries_are_named(self):
        head = "#  size  count  type  redop  root  time  algbw  busbw\n"
        for text in (
            '# TYPE s histogram\ns_bucket{le="0.1"} 3\ns_bucket{le="1"} 5\n',
            "FIT Profiler Report\n\n| a | 1 |\n",
            head + "  8  2  float  sum  -1  28.5  0.00  0.00\n" * 3,
        ):
            self.trace(text)
            self.assertIn("trace.csv: sums up times", self.refused("trace.csv"))

    def test_a_table_in_markdown_is_read(self):
        text = lines("step,rank,time", self.rows).replace(",", " | ").replace("\n", " |\n| ")[:-2]
        self.check("| " + text.replace("\n", "\n|------|:----:|-----|\n", 1))

    def test_asynchronous_events_begin_and_end_by_their_identity(self):
        events, at = [], {0: 0, 1: 7}
        for n, rank, x in self.rows:
            key = {"id": n} if n % 2 else {"id2": {"local": f"0x{n}"}}
            event = {"cat": "a", "name": "step", "pid": rank, "tid": 0, "args": {"x": 1}} | key
            events += [event | {"ph": "b", "ts": at[rank]}, event | {"ph": "e", "ts": at[rank] + 1e6 * x, "tid": 1}]
            at[rank] += 1e6 * x
        random.Random(1).shuffle(events)
        events.sort(key=lambda event: event["ts"])
        self.check(json.dumps({"traceEvents": events}), "--step", "step")

    def test_files_of_other_tools_are_refused_with_the_cure(self):
        prometheus = {"data": {"resultType": "matrix", "result": []}}
        jaeger = {"data": [{"spans": [{"operationName": "a", "duration": 1}]}]}
        for content, what in (
            (json.dumps(prometheus), "is an answer of Prometheus, and no table; allowed: a CSV file, as of jq -r"),
            (json.dumps(jaeger), "is a trace of Jaeger, and no table; allowed: a CSV file, as of jq -r"),
            (json.dumps({"results": [{"times": [1, 2]}]}), "is what hyperfine measured, and no table; allowed"),
            ("<table></table>", "is HTML or XML; allowed: a table in CSV, as of pandas.read_html"),
            (pickle.dumps([1.5]), "is a pickle of Python; allowed: a table in CSV"),
            (b"\x18" + bytes(11) + b"\x09\0\0\x1a\x0dbrain.Event:2", "has events of TensorBoard; allowed: the table in CSV"),
            (archive("x/data.pkl"), "is a file of PyTorch; allowed: a table in CSV"),
            (packed_by_tar("t.csv", b"time\n1\n"), "is an archive of tar; allowed: a file that tar xf"),
        ):
            (self.folder / "trace.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
            self.assertIn(f"trace.csv: {what}", self.refused("trace.csv"))

    def test_mixed_units_and_commas_of_two_meanings_are_refused(self):
        self.trace(lines("time", [(f"{x} ms",) for _, _, x in self.rows] + [(1,)]))
        self.assertIn('trace.csv:42: time is "1", which is not written like the others', self.refused("trace.csv"))
        self.trace(lines("time", [('"1,234"',)] * 20))
        self.assertIn("may stand before decimals or between thousands", self.refused("trace.csv"))
        self.trace("time;rank\n" + "1,5\n" * 12)
        self.assertIn('"time;rank" has one cell, and the line below it is no line of names', self.refused("trace.csv"))

    def test_a_column_tells_what_its_commas_and_points_are(self):
        times = [900 + 300 * x for x in gamma_times(60)]
        for separator in ("\t", ";"):
            header = separator.join(("rank", "ms"))
            self.trace(header + "\n" + "".join(f"{n % 4}{separator}{x:,.2f}\n" for n, x in enumerate(times)))
            told, facts = self.fit("trace.csv")
            self.assertAlmostEqual(facts["mean"], sum(times) / 60, delta=0.01)
            self.assertIn("note: a comma in a number stands between thousands", told)
            self.trace(header + "\n" + "".join(f"{n % 4}{separator}{x:,.2f}\n" for n, x in enumerate(times)).replace(",", "'"))
            self.assertAlmostEqual(self.fit("trace.csv")[1]["mean"], sum(times) / 60, delta=0.01)
            german = [f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in times]
            self.trace(header + "\n" + "".join(f"{n % 4}{separator}{x}\n" for n, x in enumerate(german)))
            self.assertAlmostEqual(self.fit("trace.csv")[1]["mean"], sum(times) / 60, delta=0.01)
            self.trace(header + "\n" + "".join(f"{n % 4}{separator}{x + 100:,.0f}\n" for n, x in enumerate(times)))
            told = self.call("fit", "trace.csv", "--out", "none", status=2)[1]
            self.assertIn("whose comma may stand before decimals or between thousands; allowed: numbers with a decimal point", told)
            self.trace(header + "\n" + "".join(f"{n % 4}{separator}{x}\n" for n, x in enumerate([*german, "0.75"])))
            told = self.call("fit", "trace.csv", "--out", "none", status=2)[1]
            self.assertIn("decimals are behind a comma in one and behind a point in the other", told)

    def test_json_lines_with_ever_other_keys_are_bounded(self):
        self.trace("".join(json.dumps({"time": x, f"k{n}": 1}) + "\n" for n, x in enumerate(gamma_times(1200))), "t.jsonl")
        told = self.refused("t.jsonl")
        self.assertIn('t.jsonl:1000: key "k999" is one more than the 1000 different keys that are read', told)

    def test_json_lines_and_logs(self):
        records = [json.dumps({"step": n, "rank": r, "times": {"step_time": x}}) for n, r, x in self.rows]
        self.check("\n".join(records) + "\n", name="t.jsonl")
        self.assertIn("the last line was cut", self.check("\n".join([*records, '{"step": 3, "ra']), name="t.jsonl"))
        self.check("[" + ",\n".join(records) + "]", name="t.json")
        self.check("\n".join(":::MLLOG " + one for one in records), name="t.log")
        log = "".join(f"[2026-01-01 00:00] INFO rank {r} iteration {n}/20 | time (ms): {1000 * x!r} | loss 1\nnoise\n" for n, r, x in self.rows)
        self.trace(log, "t.log")
        self.assertIn(
            r"t.log: is neither JSON nor a table; allowed: --pattern 'time *\(ms\): *([0-9.]+)'", self.call("fit", "t.log", "--out", "none", status=2)[1]
        )
        pattern = r"rank (?P<rank>\d+) iteration (?<step>\d+).*time \(ms\): ([0-9.]+)"
        told = self.check(log, "--pattern", pattern, "--scale", "1e-3", name="t.log")
        self.assertIn("--pattern matches 40 lines of 80", told)
        for bad in ("rank", "(", "nothing ([0-9]+) of the kind"):
            self.assertIn("--pattern", self.call("fit", "t.log", "--pattern", bad, "--out", "none", status=2)[1])

    def test_a_list_of_objects_in_json_lines_has_a_row_for_each(self):
        steps = [{"step": n, "events": [{"name": "forward", "time": x}, {"name": "backward", "time": 2 * x}]} for n, x in enumerate(gamma_times(40))]
        self.trace("\n".join(map(json.dumps, steps)), "t.jsonl")
        self.assertIn("rows are of 2 kinds by column events.name", self.refused("t.jsonl"))
        told, facts = self.fit("t.jsonl", "--where", "events.name=*", "--sum-by", "step")
        self.assertIn('note: each object of the list "events" is a row', told)
        self.assertAlmostEqual(facts["mean"], 3 * sum(gamma_times(40)) / 40, delta=1e-9)

    def test_a_list_beside_a_time_has_no_rows_and_two_lists_of_times_are_asked_for(self):
        times = gamma_times(40)
        self.trace("\n".join(json.dumps({"time": x, "tags": [{"k": 1}] * (2 + n % 7)}) for n, x in enumerate(times)), "t.jsonl")
        told, facts = self.fit("t.jsonl")
        self.assertEqual(facts["times"], 40)
        self.assertAlmostEqual(facts["mean"], sum(times) / 40, delta=1e-9)
        self.assertIn('note: left out: the objects of the list "tags", as a time stands beside it', told)
        self.trace("\n".join(json.dumps({"step": n, "a": [{"time": x}], "b": [{"time": 5 * x}]}) for n, x in enumerate(times)), "t.jsonl")
        self.assertIn('t.jsonl:1: two lists have objects with times, "a" and "b"; allowed: one of them, as after jq', self.refused("t.jsonl"))
        self.trace("\n".join(json.dumps({"timestamp": n, "tags": [{"k": 1}], "b": [{"time": x}]}) for n, x in enumerate(times)), "t.jsonl")
        self.assertAlmostEqual(self.fit("t.jsonl")[1]["mean"], sum(times) / 40, delta=1e-9)

    def test_the_column_of_an_iteration_is_chosen_among_those_of_a_progress_file(self):
        table, clock = [], 0.0
        for n, x in enumerate(gamma_times(60)):
            clock += x
            table.append((n, x, clock, 1_790_000_000 + int(clock), clock / (n + 1)))
        self.trace(lines("training_iteration,time_this_iter_s,time_total_s,timestamp,time_since_restore", table))
        self.assertIn("time_this_iter_s, time_total_s, time_since_restore", self.refused("trace.csv"))
        told, facts = self.fit("trace.csv", "--column", "time_this_iter_s")
        self.assertIn("--slowest-of P", told)
        self.assertAlmostEqual(facts["mean"], sum(gamma_times(60)) / 60, delta=1e-9)

    def test_blank_cells_at_the_end_are_of_a_learner_that_stopped(self):
        wide = [(n, *gamma_times(3, seed=n)) for n in range(20)]
        wide = [(n, a, b if n < 12 else blank, c) for blank in [""] for n, a, b, c in wide]
        self.trace(lines("step,w0,w1,w2", wide))
        told, facts = self.fit("trace.csv", "--column", "w*")
        self.assertEqual(facts["times"], 52)
        self.assertIn("note: blank cells at the end left out, as of a learner that stopped: 8 of w1", told)
        self.replays(facts)

    def test_rows_that_sum_up_the_others_are_left_out(self):
        times = gamma_times(80)
        rows = [(i, f"{x:.6f}") for i, x in enumerate(times)]
        for end in ([("mean", sum(times) / 80), ("std", 0.5)], [("Total", sum(times))]):
            self.trace(lines("step,time", [*rows, *end]))
            told, facts = self.fit("trace.csv")
            self.assertEqual(facts["times"], 80)
            self.assertAlmostEqual(facts["mean"], sum(times) / 80, delta=1e-5)
            self.assertIn(f"left out: {len(end)} row{'s' * (len(end) > 1)} at the end that sum up those above, such as", told)
        self.trace("sep=;\n" + lines("step;time", []) + "\n".join(f"{i};{x}" for i, x in rows))
        self.assertEqual(self.fit("trace.csv")[1]["times"], 80)

    def test_ends_of_lines_units_and_separators_of_other_programs_are_read(self):
        text = lines("step,rank,time", self.rows)
        self.check(text.replace("\n", "\r"))
        self.check(text.replace("\n", "\r\n"))
        self.check("sep=;\r\n" + text.replace(",", ";").replace(".", ",").replace("\n", "\r\n"))
        self.check(lines("step,rank,time", [("[-]", "[-]", "[ms]"), *((n, r, 1000 * x) for n, r, x in self.rows)]))
        bar = "".join(f"step: {n}/20 [00:00<00:10, {x!r}s/it]\r" for n, _, x in self.rows)
        told = self.check(bar, "--pattern", r"([0-9.]+)s/it", name="t.log", learners=1)
        self.assertIn("--pattern matches 40 lines of 40", told)

    def test_times_of_several_steps_or_that_come_twice_are_doubted(self):
        times = gamma_times(40)
        for name, steps in (("time_per_10_steps", 10), ("ms/100 iterations", 100)):
            self.trace(lines(name, [(x,) for x in times]))
            self.assertIn(f'"{name}" says that each time is that of {steps} steps together', str(self.fit("trace.csv", "--column", name)[1]["warnings"]))
        table = [(i, l, times[2 * i + l]) for i in range(20) for l in range(2)]
        for rows in (table + table, [row for row in table for _ in range(2)]):
            self.trace(lines("number,rank,time", rows))
            self.assertIn("every time comes twice, in the same order", self.fit("trace.csv")[1]["warnings"][0])
        for name in ("v100_step_time", "bs32_step_time", "gpu_2_batch_time"):
            self.trace(lines(name, [(x,) for x in times]))
            self.assertNotIn("steps together", str(self.fit("trace.csv", "--column", name)[1]["warnings"]))
        self.trace(lines("number,rank,time_of_step_2", table + [(i, l, x + 1e-9) for i, l, x in table]))
        self.assertEqual(self.fit("trace.csv")[1]["warnings"], [])

    def test_times_that_drift_or_change_are_doubted(self):
        times = [gamma_times(200, seed=l) for l in range(4)]

        def doubts(factor, of=times):
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            self.trace(lines("rank,time", [(l, x * factor(l, i)) for l, xs in enumerate(of) for i, x in enumerate(xs)]))
            return " ".join(self.fit("trace.csv")[1]["warnings"])

        slower = r"the last \d+ % of the times are (1\.[3-9]|2)\d* times as long as those before"
        self.assertRegex(doubts(lambda l, i: 2 ** (i / 200)), slower)
        self.assertRegex(doubts(lambda l, i: 0.4 ** (i / 200)), r"are 0\.[4-7]\d* times as long")
        self.assertRegex(doubts(lambda l, i: 1 + (i >= 160)), r"the last 20 % of the times are 2(\.\d+)? times|are 1\.9\d* times")
        self.assertRegex(doubts(lambda l, i: 3 if 80 <= i < 120 else 1), r"the last \d+ % of the times are")
        self.assertRegex(doubts(lambda l, i: 1 + 2 * (l == 2 and i >= 100)), "of learner 2's times are 3")
        self.assertNotIn("drift", doubts(lambda l, i: 1))
        self.assertNotIn("drift", doubts(lambda l, i: 1 + l))
        for seed in range(4):  # persists for 30 times, and has no trend
            numbers, a, persistent = random.Random(seed), 0.0, []
            for _ in range(1000):
                a = 0.97 * a + numbers.gauss(0, 0.07)
                persistent.append(math.exp(a))
            self.assertNotIn("drift", doubts(lambda l, i: 1, [persistent]))

    def test_names_of_learners_that_may_be_one_are_doubted(self):
        times = [gamma_times(30, seed=l) for l in range(3)]
        for pair in (("GPU0", "gpu0"), ("0", "0.0"), ("00", "0"), ("n0", "n0.cluster.local"), ("a", "b")):
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            self.trace(lines("rank,time", [(name, x) for name, of in zip((*pair, "7"), times) for x in of]))
            told = " ".join(self.fit("trace.csv")[1]["warnings"])
            self.assertEqual("are two by their names" in told, pair != ("a", "b"), told)

    def test_a_number_with_an_exponent_a_rate_and_units_that_differ_are_refused(self):
        times = gamma_times(30)
        for name, number, said in (
            ("dt=%s", "([0-9.]+)", 'match "[0-9.]+", a part of "[0-9.]+e[-+]0[0-9]"'),
            ("%s it/s", r"([0-9.e+-]+) it", 'is a rate, as "it/s" stands beside it'),
            ("%s samples/sec", r"([0-9.e+-]+) ", 'is a rate, as "samples/sec" stands beside it'),
            ("%s Hz", r"([0-9.e+-]+) ", 'is a rate, as "Hz" stands beside it'),
        ):
            self.trace("\n".join(name % f"{x:.3e}" for x in times) + "\n", "t.log")
            self.assertRegex(self.refused("t.log", "--pattern", name.split("%")[0] + number), said)
        self.fit("t.log", "--pattern", "([0-9.e+-]+) Hz", "--rate", "1")
        shutil.rmtree(self.folder / "out")
        ends = list(itertools.accumulate(times))
        self.trace(lines("start_s,end_ms", [(a, 1000 * b) for a, b in zip([0, *ends], ends)]))
        self.assertIn("columns start_s and end_ms are of different units", self.refused("trace.csv", "--begin", "start_s", "--end", "end_ms"))
        begin = datetime.datetime(2026, 3, 3, 9, 58, 9)
        self.trace(lines("stamp", [((begin + datetime.timedelta(seconds=20 * n)).strftime("%Y%m%d%H%M%S"),) for n in range(30)]))
        self.assertIn("whose digits count no seconds", self.refused("trace.csv", "--column", "stamp", "--differences"))

    def test_binary_files_and_dates_of_other_lands_name_the_cure(self):
        for magic, said in (
            (b"\x93NUMPY\x01\0v\0", "is an array of NumPy"),
            (b"\x89HDF\r\n\x1a\n\0", "is a file in HDF5"),
            (b"ARROW1\0\0", "is a table in Arrow (Feather)"),
        ):
            (self.folder / "t.bin").write_bytes(magic + bytes(range(256)))
            told = self.refused("t.bin")
            self.assertIn(said, told)
            self.assertIn("a table in CSV, as of", told)
        for cell in ("03/03/2026 09:58:09", "03.03.2026 09:58:09"):
            self.trace(lines("time", [(cell,)] * 9))
            self.assertIn("a stamp as ISO 8601 has it (2026-03-03T09:58:09.5)", self.refused("trace.csv", "--column", "time"))

    def test_a_log_of_several_ranks_is_noted_however_it_names_them(self):
        for prefix in ("{}: step", "[default{}]:", "[1,{}]<stdout>:", "on cuda:{}", "Process {}/4", "(RayTrainWorker pid=10{}, ip=1.2.3.4)"):
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            rows = [f"{prefix.format(l)} took {x}" for x in gamma_times(20) for l in range(4)]
            self.trace("\n".join(rows) + "\n", "t.log")
            self.assertIn("name several learners", self.fit("t.log", "--pattern", "took ([0-9.]+)")[0], prefix)
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        self.trace("\n".join(f"{n}: took {x}" for n, x in enumerate(gamma_times(40))) + "\n", "t.log")
        self.assertNotIn("name several learners", self.fit("t.log", "--pattern", "took ([0-9.]+)")[0])

    def test_stamps_out_of_order_are_no_times(self):
        numbers = random.Random(5)
        for unit in (1, 1000):
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            stamps = [(l, round(unit * (1.7e9 + x), 3)) for l in range(3) for x in itertools.accumulate(gamma_times(40, seed=l))]
            numbers.shuffle(stamps)
            self.trace(lines("rank,time", stamps))
            self.assertIn('"time" has times since 1970, whose rows are not in their order', self.refused("trace.csv"))
            self.assertRegex(
                self.refused("trace.csv", "--differences"), r"\d+ differences of \d+ fall, and not to 0: the rows of a learner are not in the order"
            )
            self.trace(lines("rank,time", sorted(stamps, key=lambda row: row[1])))
            self.assertAlmostEqual(self.fit("trace.csv", "--differences")[1]["mean"], 2 * unit, delta=0.5 * unit)

    def test_durations_of_nanoseconds_are_no_stamps_and_a_name_no_table_in_parquet(self):
        self.trace(lines("rank,duration", [(i % 2, round(1.5e9 + 1e5 * x)) for i, x in enumerate(gamma_times(40))]))
        self.assertEqual(self.fit("trace.csv")[1]["times"], 40)
        self.trace(lines("PAR1 time", [(x,) for x in gamma_times(40)]))
        self.assertEqual(self.fit("trace.csv")[1]["times"], 40)

    def test_a_greatest_time_that_comes_again_is_doubted(self):
        times = gamma_times(40)
        self.trace(lines("rank,time", [(i % 2, "999.0" if i in (7, 20, 31) else x) for i, x in enumerate(times)]))
        _, facts = self.fit("trace.csv")
        self.assertIn("the greatest time, 999, comes again and again, ten times as long as any other", facts["warnings"][0])
        self.assertEqual(self.fit("trace.csv", "--where", "time!=999.0")[1]["warnings"], [])

    def test_a_log_of_several_learners_asks_for_a_group_of_theirs(self):
        self.trace("".join(f"localhost: {i} GPU {70 + i}% busy, took {1000 * x:.2f} ms\n" for i, x in enumerate(gamma_times(20))), "one.log")
        self.assertNotIn("name several learners", self.fit("one.log", "--pattern", "took ([0-9.]+) ms")[0])
        self.trace("".join(f"[rank{i % 3}] iteration {i // 3} took {1000 * x:.2f} ms\n" for i, x in enumerate(gamma_times(60))), "t.log")
        _, facts = self.fit("t.log", "--pattern", "took ([0-9.]+) ms")
        self.assertIn("several learners", str(facts["notes"]))
        _, facts = self.fit("t.log", "--pattern", "rank(?<rank>[0-9]).* took ([0-9.]+) ms")
        self.assertEqual((len(facts["learners"]), "several learners" in str(facts["notes"])), (3, False))

    def test_a_log_with_commas_and_a_column_of_begins_get_the_option_that_reads_them(self):
        self.trace("".join(f"2026-01-01 10:00:{i},123 INFO rank {i % 2} step_time={x:.4f}\n" for i, x in enumerate(gamma_times(40))))
        self.assertIn("is a log, and no table; allowed: --pattern 'step_time=([0-9.]+)'", self.refused("trace.csv"))
        self.trace(lines("rank,start", [(0, x) for x in itertools.accumulate(gamma_times(40))]))
        self.assertIn("from row to row, --column 'start' --differences", self.refused("trace.csv"))

    def test_what_no_table_is_says_why(self):
        def told(text, *words):
            (self.folder / "trace.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
            return self.call("fit", "trace.csv", *words, "--out", "none", status=2)[1]

        text = lines("step,rank,time", self.rows)
        self.assertIn("trace.csv: is in UTF-16; allowed: a file in UTF-8", told(text.encode("utf-16")))
        self.assertIn("trace.csv: is in UTF-16LE; allowed: a file in UTF-8", told(text.encode("utf-16-le")))
        self.assertIn("trace.csv: is packed by xz; allowed: what unxz -k trace.csv makes of it", told(lzma.compress(text.encode())))
        self.assertIn("trace.csv: is an Excel workbook; allowed: the table saved as CSV", told(archive("xl/workbook.xml")))
        self.assertIn("trace.csv: is a ZIP archive; allowed: what unzip trace.csv makes of it", told(archive("trace.csv")))
        self.assertIn("4 fields, the first line has 3; a separator stands at the end of the line", told(text.replace("\n", ",\n").replace("time,", "time")))
        self.assertIn(
            "4 fields, the first line has 3; a decimal comma separates too, unless the number is in quotes, and a column", told(text.replace(".", ","))
        )
        self.assertIn("2 fields, the first line has 3; a blank cell at the end needs its separator", told(text + "1,2\n" + "1,2,3\n"))
        for bad in ("time", "", "n/a"):
            said = told(text + f"step,rank,{bad}\n20,0,1\n", "--learner", "")
            self.assertIn(f"--where 'time!={bad}', which leaves such rows out", said)
            self.trace(text + f"step,rank,{bad}\n")
            self.assertEqual(self.fit("trace.csv", "--learner", "", "--where", f"time!={bad}")[1]["times"], 40)

    def test_lists_in_json_are_told_from_logs(self):
        self.trace(gamma_times(20), "list.json")
        self.assertIn(
            "list.json: is a list in JSON, and not of objects; allowed: a list of objects", self.call("fit", "list.json", "--out", "none", status=2)[1]
        )
        self.trace({"rank0": gamma_times(20)}, "lists.json")
        self.assertIn("lists.json: its objects have lists, and no single values; allowed:", self.call("fit", "lists.json", "--out", "none", status=2)[1])

    def test_several_tables_are_a_learner_each(self):
        for rank in (0, 1):
            (self.folder / f"rank{rank}").mkdir()
            rows = [(n, x) for n, r, x in self.rows if r == rank]
            (self.folder / f"rank{rank}/log.csv").write_text(lines("step,time", rows))
        _, facts = self.fit("rank0/log.csv", "rank1/log.csv")
        self.assertEqual(facts["learners"], ["rank0/log", "rank1/log"])
        self.assertAlmostEqual(facts["mean"], self.mean, delta=1e-9)


class Logs(Input):
    """Numbers in logs that are no minibatch's time."""

    def told(self, text, *words, status=0):
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        self.trace(text, "t.log")
        return self.refused("t.log", *words) if status else " ".join(self.fit("t.log", *words)[1]["warnings"])

    def averages(self, count, seed=1):
        times = gamma_times(count, seed)
        return times, [total / n for n, total in enumerate(itertools.accumulate(times), 1)]

    def test_averages_that_loggers_write_are_doubted_with_the_cure(self):
        times, averages = self.averages(80)
        both = "".join(f"Epoch: [0][{n}/80]\tTime {x:6.3f} ({a:6.3f})\tLoss {2 - n / 100:.2f} (1.80)\n" for n, (x, a) in enumerate(zip(times, averages)))
        self.assertIn("match the number before the parentheses", self.told(both, "--pattern", r"Time +[0-9.]+ \( *([0-9.]+)\)"))
        self.assertNotIn("average", self.told(both, "--pattern", "Time +([0-9.]+)"))
        counted = "".join(f"step {n} ({x:.3f} s)\n" for n, x in enumerate(times))
        self.assertNotIn("average", self.told(counted, "--pattern", r"\(([0-9.]+) s"))
        for bar, said in (
            ("100/100 [====] - 1s %dms/step - loss: 0.5\n", "Keras' progress bar has the average since the epoch began"),
            ("\x1b[1m100/100\x1b[0m \x1b[32m━━━\x1b[0m \x1b[1m2:05\x1b[0m %dms/step - loss: 0.5\n", "Keras' progress bar"),
            ("\r 4%%|#   | 4/100 [00:10<01:30, %ds/it]", "tqdm's bar has a smoothed average"),
        ):
            self.assertIn(said, self.told("".join(bar % (1000 * x) for x in times), "--pattern", r"([0-9.]+)m?s/(?:step|it)"))
        self.assertNotIn("average", self.told("".join(f"took {1000 * x:.0f}ms/step\n" for x in times), "--pattern", "([0-9.]+)ms"))

    def test_averages_so_far_are_doubted_by_their_values(self):
        for epochs in (1, 4):
            seen = 0
            for seed in range(8):
                rows = [x for epoch in range(epochs) for x in self.averages(200 // epochs, 100 * seed + epoch)[1]]
                seen += "changes ever less" in self.told(lines("time", [(f"{x:.4f}",) for x in rows]))
            self.assertGreaterEqual(seen, 7)
        for seed in range(8):  # persists
            numbers, a, rows = random.Random(seed), 0.0, []
            for _ in range(200):
                a = 0.95 * a + numbers.gauss(0, 0.1)
                rows.append((math.exp(a),))
            self.assertNotIn("changes ever less", self.told(lines("time", rows), "--durations"))

    def test_times_of_many_steps_or_of_parts_of_a_minibatch_are_doubted(self):
        times = gamma_times(40)
        for name, said in (
            ("time_per_1k_steps", "of 1000 steps together"),
            ("ms/1000 steps", "--scale 0.001"),
            ("sec_10kiters", "of 10000 steps together"),
            ("sec/kimg", "by kimg"),
            ("ms_per_token", "say --scale M where a minibatch has M of them"),
            ("time_per_1000_samples", "by samples"),
        ):
            self.assertIn(said, self.told(lines(name, [(x,) for x in times]), "--column", name))
        self.assertNotIn("--scale", self.told(lines("ms_per_token", [(x,) for x in times]), "--scale", "512"))
        for name in ("ms/step", "sec_per_iteration", "step_time_per_gpu", "k_step_time"):
            self.assertNotIn("--scale", self.told(lines(name, [(x,) for x in times]), "--column", name))
        for line, pattern, said in (
            ("time per 100 iterations: %.3f s, ok", "iterations: ([0-9.]+)", '"per 100 iterations" says that each time is that of 100 steps'),
            ("loss 1.1, %.3f s/1k steps, ok", "([0-9.]+) s", '"/1k steps" says that each time is that of 1000 steps'),
            ("took %.3f ms/sample", "([0-9.]+) ms", "by sample"),
            ("step 3/100 steps, time per iteration (ms): %.3f | loss", r"ms\): ([0-9.]+)", ""),
        ):
            told = self.told("".join(line % x + "\n" for x in times), "--pattern", pattern)
            self.assertIn(said, told)
            self.assertEqual("--scale" in told, said != "")

    def test_names_beside_a_number_say_what_it_is(self):
        times = gamma_times(40)
        for line, pattern in (
            ("x RunningAvgSamplesPerSec=%.4f, MemAllocated=1GB", "SamplesPerSec=([0-9.]+)"),
            ('{"ups": "%.2f", "wall": "9"}', '"ups": "([0-9.]+)"'),
            ("INFO:tensorflow:global_step/sec: %.4f", "sec: ([0-9.]+)"),
            ("Batch [20]\tSpeed: %.2f\taccuracy=0.5", "Speed: ([0-9.]+)"),
            ("Batch [20]\tat %.2f samples/sec\taccuracy=0.5", "at ([0-9.]+)"),
        ):
            self.assertRegex(self.told("".join(line % x + "\n" for x in times), "--pattern", pattern, status=2), "is a rate, as .* stands beside it")
        for line, pattern, said in (
            ("time (ms) | fwd_microstep: %.2f | bwd", "fwd_microstep: ([0-9.]+)", '"fwd_microstep" says that a time is a part of a minibatch'),
            ("epoch time: %.2f, loss 1", "time: ([0-9.]+)", '"epoch time" says that a time is that of many minibatches'),
            ("avg_batch_time=%.3f s", "time=([0-9.]+)", '"avg_batch_time" says that it is an average'),
            ("iteration 7/ 500 | elapsed time per iteration (ms): %.1f |", r"\(ms\): ([0-9.]+)", ""),
            ("iter 3: loss 2.3, time %.2fms, mfu 30.00%%", "time ([0-9.]+)", ""),
            ("INFO step 3 took %.2f s", "took ([0-9.]+)", ""),
        ):
            told = self.told("".join(line % x + "\n" for x in times), "--pattern", pattern)
            self.assertIn(said, told)
            self.assertEqual("says that" in told, said != "", told)
        for name in ("log10_time", "std_time", "epoch_time", "data_time", "allreduce_ms", "p99_latency"):
            self.assertIn(f'"{name}" says that a time is', self.told(lines(name, [(x,) for x in times]), "--column", name))
        for name in ("time", "step_time", "batch_time_s", "elapsed_ms", "iter_duration"):
            self.assertNotIn("says that", self.told(lines(name, [(x,) for x in times]), "--column", name))
        self.trace(lines("step,time", [(50 * n, x) for n, x in enumerate(times)]))
        self.assertIn("the column step goes on by 50 or more: each time is taken for that of one step", self.fit("trace.csv")[0])

    def test_what_a_pattern_would_drop_is_refused(self):
        text = "".join(f"data time: {0.01 * x:.4f} time: {x:.4f}\n" for x in gamma_times(40))
        told = self.told(text, "--pattern", "time: ([0-9.]+)", status=2)
        self.assertRegex(told, r't.log:1: --pattern matches twice in a line, "0\.0\d+" and "[0-9.]+"; allowed: more of what stands before the time')
        for cure, factor in (("^.*?", 0.01), ("^.*", 1)):
            self.told(text, "--pattern", cure + "time: ([0-9.]+)")
            self.assertAlmostEqual(self.sample()[0][1], factor * gamma_times(1)[0], delta=1e-4)
        told = self.told(text, "--pattern", "data time: ([0-9.]+) time: ([0-9.]+)", status=2)
        self.assertIn("has 2 groups of parentheses without a name, and one alone can be the time; allowed: (?<time>...)", told)
        self.told(text, "--pattern", "(?:data) time: (?<of_data>[0-9.]+) (time): (?<time>[0-9.]+)")

    def test_a_pattern_that_takes_a_part_of_a_clock_or_number_is_refused(self):
        for part, whole, group in (
            ("2", "2:4{}.70", "took ([0-9.]+)"),
            ("1", "1_7{} ms", "took ([0-9]+)"),
            ("1", "1 7{} ms", "took ([0-9]+)"),
            ("0.2", "-0.2{} s", "([0-9.]+) s"),
        ):
            text = "".join(f"took {whole.format(n % 10 if 'took' in group and ':' in whole else 10 + n)}\n" for n in range(20))
            told = self.told(text, "--pattern", group, status=2)
            self.assertRegex(told, rf't.log:1: the parentheses of --pattern match "{part}\d*", a part of "[-0-9 :._]+"')
        text = "".join(f"rank 3:0.{n} s, took {x:.3f} ms of 12 345\n" for n, x in enumerate(gamma_times(40)))
        self.told(text, "--pattern", "took ([0-9.]+) ms")
        self.told("".join(f"took {x:.3f}\r\n" for x in gamma_times(40)), "--pattern", "took ([0-9.]+)$")
        self.assertAlmostEqual(self.sample()[0][1], gamma_times(1)[0], delta=1e-3)
        self.assertIn("is the mean of several", self.told("".join(f"{x:.3f} ms ± 12 ms\n" for x in gamma_times(40)), "--pattern", "^([0-9.]+)"))

    def test_colours_of_a_terminal_are_no_part_of_a_log(self):
        times = gamma_times(40)
        self.told("".join(f"\x1b[32mINFO\x1b[0m took \x1b[1;38;5;208m{x:.6f}\x1b[0m s\x1b[K\n" for x in times) + "\x1b[", "--pattern", "took ([0-9.]+) s")
        self.assertAlmostEqual(self.sample()[39][1], times[39], delta=1e-6)


class Values(Input):
    """What values, cells and files say that is not what they seem."""

    def warnings(self, table, *words, header="rank,time"):
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        self.trace(lines(header, table))
        return " ".join(self.fit("trace.csv", *words)[1]["warnings"])

    def test_a_cap_that_many_times_share_is_doubted(self):
        times = gamma_times(200)
        for share in (0.03, 0.2):
            cap = sorted(times)[round(200 * (1 - share))]
            told = self.warnings([(i % 4, f"{min(x, cap):.4f}") for i, x in enumerate(times)])
            self.assertRegex(told, r"\d+ of 200 times are the greatest, [0-9.]+, to the last digit, as where a timeout .* say --censored COLUMN")
        self.assertNotIn("the greatest", self.warnings([(i % 4, f"{x:.1f}") for i, x in enumerate(times)]))
        capped = [(i % 4, f"{min(x, 2.5):.4f}", int(x > 2.5)) for i, x in enumerate(times)]
        self.assertNotIn("the greatest", self.warnings(capped, "--censored", "cut", header="rank,time,cut"))

    def test_names_that_are_of_no_minibatch_are_doubted(self):
        for name in ("idle_time", "time_left", "timeout_ms", "predicted_step_time", "step_time_delta", "time_pct", "h2d_ms", "compile_seconds"):
            self.assertIn("says that a time is", self.warnings([(0, x) for x in gamma_times(20)], "--column", name, header=f"rank,{name}"), name)

    def test_a_column_that_counts_learners_names_none(self):
        for name in ("workers", "ranks", "num_workers", "world_size", "gpu_count"):
            self.trace(lines(f"{name},time", [(2 ** (n % 4), x * (1 + 3 * (n % 4))) for n, x in enumerate(gamma_times(80))]))
            self.assertIn(f"rows are of 4 kinds by column {name}", self.refused("trace.csv"))
            self.fit("trace.csv", "--where", f"{name}=4")
            shutil.rmtree(self.folder / "out")
        self.trace(lines("workers,time", [(n % 4, x) for n, x in enumerate(gamma_times(80))]))
        self.assertEqual(len(self.fit("trace.csv")[1]["learners"]), 4)

    def test_columns_of_two_kinds_are_refused(self):
        self.trace(lines("gpu0_time,gpu1_time,gpu0_temp,gpu1_temp", [(x, x / 2, 70, 71) for x in gamma_times(20)]))
        self.assertIn("chooses columns of 2 kinds: gpu0_time, gpu1_time, gpu0_temp, gpu1_temp", self.refused("trace.csv", "--column", "gpu*"))
        self.assertEqual(self.fit("trace.csv", "--column", "gpu*_time")[1]["times"], 40)

    def test_sums_that_lack_a_part_are_told(self):
        table = [(n, op, x) for n, x in enumerate(gamma_times(60)) for op in ("fwd", "bwd") if n % 6 or op == "fwd"]
        self.trace(lines("step,op,time", table))
        self.assertIn("note: 10 of 60 sums are of fewer rows than 2", self.fit("trace.csv", "--sum-by", "step")[0])

    def test_a_pause_in_a_total_is_told(self):
        clock, table = 0.0, []
        for n, x in enumerate(gamma_times(100)):
            clock += x + (28800 if n == 50 else 0)
            table.append((clock,))
        self.trace(lines("elapsed", table))
        self.assertRegex(self.fit("trace.csv", "--differences")[0], r"warning: 1 time, 288\d\d\.?\d*, is more than 30 times as long .* without:")

    def test_a_total_of_unlike_numbers_of_samples_is_told(self):
        for sizes, said in (((32, 64, 96), True), ((32, 32, 32), False)):
            samples, clock, table = 0, 0.0, []
            for n, x in enumerate(gamma_times(60)):
                samples, clock = samples + sizes[n % 3], clock + x * sizes[n % 3]
                table.append((samples, clock))
            self.trace(lines("samples,elapsed", table))
            self.assertEqual("note: the column samples goes on by 32 to 96" in self.fit("trace.csv", "--differences")[0], said)

    def test_a_column_of_units_and_a_second_table_are_no_kinds_of_rows(self):
        self.trace(lines("time,unit", [(x * (1 if n % 2 else 1000), "s" if n % 2 else "ms") for n, x in enumerate(gamma_times(60))]))
        self.assertRegex(self.refused("trace.csv"), r"column unit has 2 units of time: .*; allowed: a table in one unit; or the rows of one, as --where 'unit=")
        self.trace(
            lines("step,rank,time", [(n, 0, x) for n, x in enumerate(gamma_times(40))])
            + lines("epoch,rank,epoch_time", [(n, 0, 40 * x) for n, x in enumerate(gamma_times(9))])
        )
        self.assertIn('trace.csv:42: has names, such as "epoch_time": another table begins there; allowed: a file for each table', self.refused("trace.csv"))

    def test_a_row_that_sums_up_a_round_is_told_and_no_sign_of_cancelled_ones(self):
        times = gamma_times(240)
        table = [(n // 4, n % 4, x) for n, x in enumerate(times)]
        for name, of in (("-1", max), ("mean", statistics.mean)):
            rounds = [(n, name, of(times[4 * n : 4 * n + 4])) for n in range(60)]
            told = self.warnings([row[1:] for row in sorted(table + rounds, key=lambda row: row[0])])
            self.assertRegex(told, rf'learner "{name}" is in each round the (mean|greatest) of the others.*--where \'rank!={name}\'')
            self.assertNotIn("cancelled", told)
        cancelled = [(f"gpu{n % 4}", max(times[n - n % 4 + 1 : n - n % 4 + 4]) if n % 4 == 0 else x) for n, x in enumerate(times)]
        self.assertIn("cancelled", self.warnings(cancelled))  # of the slow one

    def test_learners_that_are_slow_together_are_told(self):
        common, own = gamma_times(100), gamma_times(400, 2)
        told = self.warnings([(n % 4, common[n // 4] + x / 4) for n, x in enumerate(own)])
        self.assertRegex(told, r"times rise and fall together \(rank correlation 0\.[89]")
        self.assertNotIn("together", self.warnings([(n % 4, x) for n, x in enumerate(own)]))

    def test_processes_under_new_names_are_no_sign_of_cancelled_ones(self):
        table = [(n // 4, n % 4 + (1000 if n < 200 else 1100), x) for n, x in enumerate(gamma_times(400))]
        self.assertNotIn("cancelled", self.warnings(table, header="step,pid,time"))

    def test_the_slowest_of_learners_with_times_of_their_own_is_doubted(self):
        table = [(n % 4, x) for n, x in enumerate(gamma_times(400))]
        self.assertIn("--slowest-of is for the times of a job that waits", self.warnings(table, "--slowest-of", "4"))

    def test_stamps_in_nanoseconds_lose_no_digit(self):
        clock, table, lengths = 1_767_225_600 * 10**9, [], []
        for x in gamma_times(100):
            lengths.append(500 + round(100 * x))
            table.append((clock, clock + lengths[-1]))
            clock += lengths[-1] + 137
        self.trace(lines("start_ns,end_ns", table))
        self.fit("trace.csv", "--begin", "start_ns", "--end", "end_ns")
        self.assertEqual([x for _, x in self.sample()], lengths)
        self.fit("trace.csv", "--column", "end_ns", "--differences")
        self.assertEqual([x for _, x in self.sample()], [x + 137 for x in lengths[1:]])

    def test_minibatches_that_overlap_are_told(self):
        self.trace(lines("rank,begin,end", [(0, n / 5, n / 5 + x) for n, x in enumerate(gamma_times(60))]))
        self.assertRegex(self.fit("trace.csv", "--begin", "begin", "--end", "end")[0], r"note: \d+ of 60 rows of learner \"0\" begin before")

    def test_clocks_of_hours_and_of_days_are_read(self):
        for header, cell, seconds in (("elapsed (h:mm)", "1:25", 5100), ("elapsed", "1:25", 85), ("Elapsed", "1-02:03:04", 93784)):
            self.trace(lines(header, [(cell,)] * 19 + [(cell[:-1] + "9",)]))
            told, _ = self.fit("trace.csv", "--durations")
            self.assertIn(f'times are in seconds, by the units in the cells, "{cell}" for {seconds:.4g}', told)
            self.assertEqual(self.sample()[0][1], seconds)

    def test_a_column_of_finished_ones_is_no_column_of_cancelled_ones(self):
        table = [(0, x, int(n % 5 > 0)) for n, x in enumerate(gamma_times(200))]
        for name in ("done", "isCompleted", "cut"):
            self.trace(lines(f"rank,time,{name}", table))
            self.assertEqual("its name says that one was finished" in self.fit("trace.csv", "--censored", name)[0], name != "cut")

    def test_a_table_of_r_names_the_cure(self):
        for text in ('"step" "time"\n' + "".join(f'"{n}" {n} {x}\n' for n, x in enumerate(gamma_times(20), 1)),
                     '"step","time"\n' + "".join(f'"{n}",{n},{x}\n' for n, x in enumerate(gamma_times(20), 1))):  # fmt: skip
            self.trace(text)
            self.assertIn("row.names = FALSE", self.refused("trace.csv"))

    def test_files_of_unlike_units_are_doubted(self):
        times = gamma_times(120)
        for factor, said in ((1000, True), (1e6, True), (30, False)):
            told = self.warnings([(i % 2, x * (factor if i % 2 else 1)) for i, x in enumerate(times)])
            self.assertEqual("as where its times are in a smaller unit" in told, said)

    def test_rows_that_stand_in_two_files_are_doubted(self):
        times = gamma_times(100)
        for first, second, said in ((range(60), range(40, 100), True), (range(50), range(50, 100), False)):
            for name, part in (("a.csv", first), ("b.csv", second)):
                self.trace(lines("rank,step,time", [(0, n, times[n]) for n in part]), name)
            told = str(self.fit("a.csv", "b.csv")[1]["warnings"])
            self.assertEqual("as where a file is given twice or logs overlap" in told, said)
        self.trace(lines("rank,step,time", [(0, n, times[n]) for n in range(50)]), "b.csv")
        shutil.rmtree(self.folder / "out")
        self.assertIn("Told apart by: file", self.refused("a.csv", "b.csv"))
        for name, seed in (("a.csv", 1), ("b.csv", 2)):  # of few values
            self.trace(lines("time", [(f"{x:.0f}.5",) for x in gamma_times(400, seed)]), name)
        self.assertNotIn("overlap", str(self.fit("a.csv", "b.csv")[1]["warnings"]))

    def test_a_summary_by_kernel_is_refused(self):
        times = gamma_times(20)
        for header, row in (
            ("Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name", "5,{0},9,{0},{0},{0},{0},1,k{1}"),
            ('"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n,%,ms,,us,us,ms,', '"GPU activities",5,{0},9,{0},{0},{0},"k{1}"'),
            ("Name,Self CPU total,CPU total,CPU time avg,Number of Calls", "k{1},{0},{0},{0},9"),
        ):
            self.trace("\n".join([header, *(row.format(x, n) for n, x in enumerate(times))]) + "\n")
            for words in ((), ("--column", header.split(",")[1].strip('"'))):
                told = self.refused("trace.csv", *words)
                self.assertIn("a row is what many calls of one kernel, range or collective took, and no minibatch; allowed: a row for each minibatch", told)
        self.trace(lines("step,time,count,avg_loss,min_loss,max_loss", [(n, x, 9, 1, 1, 1) for n, x in enumerate(times)]))
        self.fit("trace.csv")

    def test_a_clock_of_digits_is_no_number(self):
        at = [datetime.datetime(2026, 3, 3, 9, 58) + datetime.timedelta(seconds=23 * n) for n in range(40)]
        self.trace(lines("clock,x", [(f"{stamp:%H%M%S}".lstrip("0"), 1) for stamp in at]))
        for words in ((), ("--differences",)):
            told = self.refused("trace.csv", "--column", "clock", *words)
            self.assertIn('clock has stamps such as "95800", whose digits count no seconds but hours, minutes and seconds', told)
        self.warnings([(n % 2, 100000 + 10000 * (n % 5)) for n in range(40)])  # microseconds
        self.warnings([(n % 2, round(1e5 * x)) for n, x in enumerate(gamma_times(40))])

    def test_durations_are_read_however_they_are_written(self):
        times = [round(x, 3) for x in gamma_times(40)]
        for written in (
            lambda x: f"{int(60 * x) // 60}m{60 * x % 60:.3f}s",
            lambda x: f"{int(x)} min {60 * (x % 1):.3f} sec",
            lambda x: f"0 days 00:{int(x):02d}:{60 * (x % 1):09.6f}",
            lambda x: f"00:{int(x):02d}:{60 * (x % 1):06.3f}",
            lambda x: f"PT{60 * x:.3f}S",
            lambda x: f"P0DT0H{int(x)}M{60 * (x % 1):.3f}S",
            lambda x: f"0h{60 * x * 1000:.0f}ms",
        ):
            self.trace(lines("time", [(written(x),) for x in times]))
            _, facts = self.fit("trace.csv")
            self.assertAlmostEqual(facts["mean"], 60 * sum(times) / 40, delta=1e-3)
        self.trace(lines("time", [("1 day, 2:03:04",)] * 9 + [("2 days, 0:00:01",)]))
        self.assertEqual(self.fit("trace.csv")[1]["times"], 10)
        self.assertEqual(self.sample()[0][1], 93784)
        for cell in ("1s20m", "1m20", "m20s", "1m2m", "5m", "P"):
            self.trace(lines("time", [(cell,)] * 10))
            self.assertIn("must be a time", self.call("fit", "trace.csv", "--out", "none", status=2)[1])

    def test_tables_in_json_as_pandas_writes_them_are_read(self):
        times = gamma_times(40)
        by_columns = {"rank": {str(n): n % 2 for n in range(40)}, "time": {str(n): x for n, x in enumerate(times)}}
        by_rows = {str(n): {"rank": n % 2, "time": x} for n, x in enumerate(times)}
        for table in (by_columns, by_rows):
            for indent in (None, 1):
                self.trace(json.dumps(table, indent=indent), "t.json")
                told, facts = self.fit("t.json")
                self.assertIn("one object in JSON is a table, as pandas writes it", told)
                self.assertEqual([x for rank, x in self.sample()], times[::2] + times[1::2])
        shutil.rmtree(self.folder / "out")
        state = {"best_metric": None, "epoch": 1.0, "log_history": [{"epoch": 0.1, "loss": 1.0, "step": 10}], "max_steps": 500}
        for indent in (None, 2):
            self.trace(json.dumps(state, indent=indent), "t.json")
            self.assertIn("is the state of Hugging Face's Trainer, whose log_history has no time of a step; allowed: times that", self.refused("t.json"))

    def test_an_object_with_a_list_of_times_is_a_table(self):
        logged = [{"epoch": n / 40, "loss": 1.0, "step": n, "step_time": x} for n, x in enumerate(gamma_times(40))]
        for indent in (None, 2):
            self.trace(json.dumps({"epoch": 1.0, "log_history": [*logged, {"step": 40, "train_runtime": 99.0}], "max_steps": 40}, indent=indent), "t.json")
            self.fit("t.json", "--column", "log_history.step_time")
            self.assertEqual([x for _, x in self.sample()], gamma_times(40))

    def test_columns_that_are_filled_in_turn_are_a_learner_each(self):
        times = gamma_times(60)
        table = [(n // 3, *(x if learner == n % 3 else "" for learner in range(3))) for n, x in enumerate(times)]
        self.trace(lines("Step,w0 - step_time,w1 - step_time,w2 - step_time", table))
        told, _ = self.fit("trace.csv", "--column", "w* - step_time")
        self.assertIn("note: a row has the time of one column, the others are blank", told)
        self.assertEqual([x for _, x in self.sample()], times[::3] + times[1::3] + times[2::3])

    def test_a_comma_in_a_stamp_is_no_mark_of_a_number(self):
        begin = datetime.datetime(2026, 3, 3, 9, 58)
        at = [begin + datetime.timedelta(seconds=x) for x in itertools.accumulate(gamma_times(40))]
        self.trace("stamp;loss\n" + "".join(f"{x:%Y-%m-%d %H:%M:%S},{x.microsecond // 1000:03d};1\n" for x in at))
        self.assertNotIn("a comma in a number", self.fit("trace.csv", "--column", "stamp", "--differences")[0])


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

    def test_times_that_only_rise_are_refused_and_their_differences_fitted(self):
        """Of any shape: with equal values, that begin again, of a short series among long ones."""
        times = gamma_times(120)
        total = list(itertools.accumulate(times))
        epochs = [sum(times[n - n % 20 : n + 1]) for n in range(120)]
        shapes = {
            "elapsed": lines("step,elapsed", [(n, f"{x:.6f}") for n, x in enumerate(total)]),
            "seconds": lines("step,seconds", [(n, int(x) + 1) for n, x in enumerate(total)]),
            "time": lines("epoch,batch,time", [(n // 20, n % 20, f"{x:.6f}") for n, x in enumerate(epochs)]),
            "wall time": lines("step,rank,wall time", [(n, r, f"{x + r:.6f}") for r in (0, 1) for n, x in enumerate(total[: 120 - 115 * r])]),
        }
        for name, text in shapes.items():
            self.trace(text)
            told = self.call("fit", "trace.csv", "--column", name, "--out", "none", status=2)[1]
            self.assertIn(f'"{name}" only rises, as timestamps and running totals do', told)
            self.assertIn("allowed: --differences", told)
            _, facts = self.fit("trace.csv", "--column", name, "--differences")
            # The first value of a total that never begins again is no difference.
            known = times if name == "time" else times[1:] + (times[1:5] if name == "wall time" else [])
            delta = 2 / 119 if name == "seconds" else 1e-4
            self.assertAlmostEqual(facts["mean"], sum(known) / len(known), delta=delta)
        self.trace(lines("time", [(x,) for x in sorted(times)]))
        self.assertEqual(self.fit("trace.csv", "--durations")[1]["times"], 120)

    def test_stamps_that_are_set_back_and_clocks_over_midnight(self):
        times = gamma_times(60)
        total = list(itertools.accumulate(times, initial=0))
        known = (sum(times) - times[29]) / 59
        iso = datetime.datetime(2026, 3, 1, 12)
        shapes = {
            "unix": [f"{1.7e9 + x - 2 * (n >= 30):.4f}" for n, x in enumerate(total)],
            "iso": [(iso + datetime.timedelta(seconds=x - 3600 * (n >= 30))).isoformat() for n, x in enumerate(total)],
            "checkpoint": [f"{500 + x - 50 * (n >= 30):.4f}" for n, x in enumerate(total)],
        }
        for name, column in shapes.items():
            self.trace(lines("step,at", enumerate(column)))
            told, facts = self.fit("trace.csv", "--column", "at", "--differences")
            self.assertEqual(facts["times"], 59, name)
            self.assertAlmostEqual(facts["mean"], known, delta=1e-4, msg=name)
            self.assertIn("left out: 1 difference in which the value falls, but not to 0", told)
            self.assertNotIn("--skip", told)
        self.trace(lines("step,at", [(n - 5 * (n >= 30), f"{1.7e9 + x + 3600 * (n >= 30):.4f}") for n, x in enumerate(total)]))
        told, facts = self.fit("trace.csv", "--column", "at", "--differences")
        self.assertEqual(facts["times"], 59)
        self.assertAlmostEqual(facts["mean"], known, delta=1e-4)
        self.assertIn("or the step goes back, but not to the first", told)
        day = datetime.datetime(2026, 3, 1, 23, 59)
        self.trace(lines("step,clock", [(n, f"{day + datetime.timedelta(seconds=x):%H:%M:%S.%f}") for n, x in enumerate(total)]))
        told, facts = self.fit("trace.csv", "--column", "clock", "--differences")
        self.assertEqual(facts["times"], 60)
        self.assertAlmostEqual(facts["mean"], sum(times) / 60, delta=1e-4)
        self.assertIn("the clock goes over midnight 1 time: 24 h are added", told)

    def test_totals_of_few_rows_and_times_that_are_left_are_no_durations(self):
        times = [0.5 + x / 20 for x in gamma_times(120)]
        self.trace(lines("elapsed", [(f"{sum(times[n - n % 3 : n + 1]):.6f}",) for n in range(120)]))
        self.assertIn('"elapsed" only rises', self.refused("trace.csv"))
        _, facts = self.fit("trace.csv", "--differences")
        self.assertEqual(facts["times"], 120)
        self.assertAlmostEqual(facts["mean"], sum(times) / 120, delta=1e-5)
        self.trace(lines("elapsed", [(f"{sum(times[n - n % 2 : n + 1]):.6f}",) for n in range(120)]))
        self.assertIn('"elapsed" rises at every second time', self.call("fit", "trace.csv", "--out", "none", status=2)[1])
        self.assertAlmostEqual(self.fit("trace.csv", "--differences")[1]["mean"], sum(times) / 120, delta=1e-5)
        epochs = [(n // 20, n % 20, sum(times[n - n % 20 : n + 1]) + 30 * (n < 20)) for n in range(120)]
        for header, rows in (("epoch,step,elapsed", epochs), ("elapsed", [row[2:] for row in epochs])):
            self.trace(lines(header, rows))
            told, facts = self.fit("trace.csv", "--differences")
            known = header == "epoch,step,elapsed"  # that the first 30 s are of a minibatch
            self.assertEqual(facts["times"], 119 + known)
            self.assertEqual("say --skip 1" in told, known)
            self.assertEqual("left out: the first value of 1 learner, which is far from 0" in told, not known)
        left = lines("step,wait_s", [(n, f"{sum(times[n:]):.6f}") for n in range(120)])
        self.trace(left)
        self.assertIn('"wait_s" only falls, as the time that is left does', self.call("fit", "trace.csv", "--out", "none", status=2)[1])
        self.assertIn("falls from row to row", self.call("fit", "trace.csv", "--differences", "--out", "none", status=2)[1])
        self.trace(left.replace("wait_s", "eta_seconds"))
        self.assertIn("which column holds the times?", self.call("fit", "trace.csv", "--out", "none", status=2)[1])
        begins = lines("step,elapsed", [(n, f"{sum(times[:n]):.6f}") for n in range(60)])
        self.trace(begins)
        self.assertIn("or, where it is a running total that begins at 0, --differences", self.call("fit", "trace.csv", "--out", "none", status=2)[1])
        self.assertEqual(self.fit("trace.csv", "--differences")[1]["times"], 59)

    def test_stamps_tell_times_by_rows_or_by_begin_and_end(self):
        times = gamma_times(40)
        begin = datetime.datetime(2026, 2, 28, 23, 59, 30, tzinfo=datetime.UTC)
        at = [begin + datetime.timedelta(seconds=x) for x in itertools.accumulate(times, initial=0)]
        for text in (datetime.datetime.isoformat, lambda x: x.strftime("%Y-%m-%d %H:%M:%S.%f")):
            self.trace(lines("step,timestamp", [(n, text(x)) for n, x in enumerate(at)]))
            told = self.call("fit", "trace.csv", "--column", "timestamp", "--out", "none", status=2)[1]
            self.assertIn("column timestamp has time stamps", told)
            self.assertIn("--differences", told)
            _, facts = self.fit("trace.csv", "--column", "timestamp", "--differences")
            self.assertAlmostEqual(facts["mean"], sum(times) / 40, delta=1e-5)
            self.trace(lines("start_time,end_time", [(text(a), text(b)) for a, b in itertools.pairwise(at)]))
            told = self.call("fit", "trace.csv", "--out", "none", status=2)[1]
            self.assertIn("--begin 'start_time' --end 'end_time'", told)
            _, facts = self.fit("trace.csv", "--begin", "start_time", "--end", "end_time")
            self.assertAlmostEqual(facts["mean"], sum(times) / 40, delta=1e-5)
            self.assertEqual(facts["warnings"], [])

    def test_first_steps_that_compile_are_told_with_what_they_change(self):
        for learners in (1, 4):
            times = [[(30 if n == 0 else 0.5) + x / 20 for x in gamma_times(learners, seed=n)] for n in range(60)]
            self.trace(lines("step,rank,step_time", [(n, r, f"{x:.6g}") for n, row in enumerate(times) for r, x in enumerate(row)]))
            told, facts = self.fit("trace.csv")
            self.assertIn("far above the others, as steps do that compile", told)
            self.assertIn("say --skip 1", told)
            self.assertIn("as fitted, with the slow beginning", told)
            told, facts = self.fit("trace.csv", "--skip", "1")
            rest = [x for row in times[1:] for x in row]
            self.assertAlmostEqual(facts["mean"], sum(rest) / len(rest), delta=1e-5)
            self.assertNotIn("compile", told)

    def test_many_slow_first_steps_are_no_checkpoints_and_what_is_skipped_counts(self):
        times = [(r, n, (4 if n < 20 else 1) * (1 + x / 100)) for n in range(60) for r, x in enumerate(gamma_times(2, seed=n))]
        self.trace(lines("rank,step,time", times))
        told = self.fit("trace.csv")[0]
        self.assertIn("the first 20 times of all learners stand far above the others", told)
        self.assertNotIn("checkpoint", told)
        self.assertIn(": say --skip 20", told)
        self.assertIn(": say --skip 20", self.fit("trace.csv", "--skip", "15")[0])
        self.trace(lines("time", [(30 if n == 0 else 1 + x / 20,) for n, x in enumerate(gamma_times(40))]))
        self.assertRegex(self.fit("trace.csv")[0], r"the first time stands far above .* the mean is \S+ with it, ")

    def test_the_column_of_times_counts_no_steps(self):
        self.trace(lines("rank,step_time", [(n % 8, f"{x:.4g}") for n, x in enumerate(gamma_times(240))]))
        self.assertEqual(self.fit("trace.csv")[1]["warnings"], [])
        self.trace(lines("step,w0,w1,w2", [(n, *gamma_times(3, seed=n)) for n in range(20)]))
        self.assertEqual(self.fit("trace.csv", "--column", "w*")[1]["warnings"], [])

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
        self.assertIn("t.json: has no trace events; allowed: a JSON array of events", told('{\n"a": 1}'))
        self.assertIn("--column is for CSV files", told("[]", "--column", "t"))
        self.trace(lines("time", [(x,) for x in gamma_times(20)]))
        self.assertIn("--step names an event of a JSON file", self.refused("trace.csv", "--step", "s"))
        self.assertIn("trace.csv: is given twice", self.refused("trace.csv", "trace.csv"))

    def test_files_of_one_rank_are_one_learner_and_equal_names_are_told_apart_by_folders(self):
        times = [gamma_times(20, seed) for seed in (1, 2)]
        for cycle in (0, 1):
            self.trace(self.kineto(0, times[cycle]), f"cycle{cycle}.json")
        told, facts = self.fit("cycle0.json", "cycle1.json")
        self.assertEqual(facts["learners"], ["0"])
        self.assertEqual(facts["times"], 40)
        self.assertIn("2 files say that they are of rank 0", told)
        for rank in (0, 1):
            (self.folder / f"rank{rank}").mkdir()
            whole = self.kineto(rank, times[rank])
            del whole["distributedInfo"]
            self.trace(whole, f"rank{rank}/trace.json")
        _, facts = self.fit("rank0/trace.json", "rank1/trace.json")
        self.assertEqual(facts["learners"], ["rank0/trace", "rank1/trace"])

    def test_bad_values_of_other_events_and_cut_ends_lose_nothing_else(self):
        times = gamma_times(20)
        text = json.dumps(self.kineto(0, times))
        other = '{"ph": "X", "name": "copy", "pid": 1, "tid": 2, "ts": 1, "dur": 2, "args": {"GB/s": %s}}, '
        for bad in ("inf", "-nan", "NaN", "N/A", "Infinity", '"a "quoted" name"'):
            self.trace(text.replace('"traceEvents": [', '"traceEvents": [' + other % bad), "t.json")
            told, facts = self.fit("t.json")
            self.assertEqual(facts["times"], 20)
            self.assertEqual("1 event left out that cannot be read" in told, "quoted" in bad)
        self.trace(text[: text.index('"ProfilerStep#15"') + 30], "t.json")
        told, facts = self.fit("t.json")
        self.assertIn("the last event was cut, and is left out", told)
        self.assertIn(facts["times"], (14, 15))
        (self.folder / "t.json.gz").write_bytes(gzip.compress(text.encode()))
        self.assertEqual(self.fit("t.json.gz")[1]["times"], 20)
        strings = json.loads(text)
        for event in strings["traceEvents"]:
            if "ts" in event:
                event["ts"] = str(event["ts"])
        self.trace(strings, "t.json")
        self.assertEqual(self.fit("t.json")[1]["times"], 20)

    def test_tracks_of_a_host_and_a_device_are_asked_for(self):
        times = gamma_times(30)
        events = [
            {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/host:CPU"}},
            {"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "/device:TPU:0"}},
            {"ph": "M", "name": "thread_name", "pid": 3, "tid": 1, "args": {"name": "Steps"}},
        ]
        at = 0
        for n, x in enumerate(times):
            events.append({"ph": "X", "name": "train", "pid": 1, "tid": 9, "ts": at, "dur": 1e5 * x})
            events.append({"ph": "X", "name": str(n), "pid": 3, "tid": 1, "ts": at, "dur": 1e6 * x})
            at += 1e6 * x + 1
        self.trace(events, "t.json")
        told = self.refused("t.json", "--step", "train")
        self.assertIn("which of these are minibatches?", told)
        self.assertIn("thread Steps of process /device:TPU:0 (30 events, mean 2.", told)
        self.assertIn("thread Steps of process /device:TPU:0, --where thread=Steps", self.refused("t.json"))
        # A device's line is known by its events, whatever its name.
        for name in "Stream #16(Compute)", "XLA Steps":
            self.trace([event | ({"args": {"name": name}} if event.get("args", {}).get("name") == "Steps" else {}) for event in events], "t.json")
            self.assertIn(f"thread {name} of process /device:TPU:0 (30 events, mean 2.", self.refused("t.json", "--step", "train"))
        self.trace(events, "t.json")
        _, facts = self.fit("t.json", "--where", "thread=Steps")
        self.assertAlmostEqual(facts["mean"], sum(times) / 30, delta=1e-6)
        _, facts = self.fit("t.json", "--step", "train", "--where", "process=/host*")
        self.assertAlmostEqual(facts["mean"], sum(times) / 300, delta=1e-6)

    def test_events_within_events_are_refused(self):
        events = []
        for n, x in enumerate(gamma_times(30)):
            event = {"ph": "X", "name": "block", "pid": 1, "tid": 9, "ts": 1e7 * n, "dur": 1e6 * x}
            events += [event, {**event, "dur": 4e5 * x}]
        self.trace(events, "t.json")
        self.assertIn('event "block" lies within "block" on its track', self.refused("t.json", "--step", "block"))
        for n, event in enumerate(events):
            event.update(name=f"layer{n % 2}", ts=1e7 * n)
        self.trace(events, "t.json")
        self.assertIn("the events are of 2 kinds", self.refused("t.json", "--step", "layer"))
        self.assertEqual(self.fit("t.json", "--step", "layer0")[1]["times"], 30)

    def test_a_horovod_timeline_with_few_ticks_has_step_times(self):
        times = [[1 + x for x in gamma_times(2, seed)] for seed in range(21)]
        few, none = self.horovod(times), self.horovod(times, ticks=False)
        of_one, of_none = (text.split('"ALLREDUCE"', 2) for text in (few, none))  # a step of two tensors
        self.trace('"ALLREDUCE"'.join([*of_one[:2], of_none[2]]), "timeline.json")
        told, facts = self.fit("timeline.json")
        self.assertEqual(facts["times"], 20)
        self.assertIn("ranks' ticks are in 1 of 21 steps alone", told)
        self.trace(none.replace("NEGOTIATE_ALLREDUCE", "NEGOTIATE_ADASUM").replace('"ALLREDUCE"', '"ADASUM"'), "timeline.json")
        self.assertEqual(self.fit("timeline.json")[1]["times"], 20)


if __name__ == "__main__":
    unittest.main()
