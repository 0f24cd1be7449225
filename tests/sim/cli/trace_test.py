"""trace.json is valid Chrome trace-event JSON and tells what happened."""

import decimal
import json
import unittest
from collections import defaultdict

from program import SMALL, ProgramTest, changed, rows


# A cluster whose minibatches travel, queue and get lost.
TRAVELLING = changed(
    SMALL,
    cluster={
        "learners": 4,
        "runtime": {"distribution": "exponential", "mean": 1},
        "network": {"push": {"distribution": "exponential", "mean": 0.1}, "bandwidth": 50, "model_bytes": 5},
        "server": {"per_gradient": 0.01, "per_update": 0.02},
        "failures": {
            "up": {"distribution": "exponential", "mean": 8},
            "down": {"distribution": "exponential", "mean": 2},
        },
    },
)


class Trace(ProgramTest):
    def events(self, scenario):
        self.call("run", self.write(scenario), "--out", "out", "--quiet", "--force")
        text = (self.folder / "out/trace.json").read_text()
        return json.loads(text, parse_float=decimal.Decimal)["traceEvents"]

    def test_every_event_has_the_fields_of_the_format(self):
        for event in self.events(SMALL):
            self.assertIn(event["ph"], ("X", "M"))
            self.assertIsInstance(event["name"], str)
            self.assertIsInstance(event["pid"], int)
            self.assertIsInstance(event["tid"], int)
            self.assertGreaterEqual(event["ts"], 0)
            if event["ph"] == "X":
                self.assertGreaterEqual(event["dur"], 0)
            else:
                self.assertIn(event["name"], ("process_name", "thread_name"))
                self.assertIsInstance(event["args"]["name"], str)

    def test_one_track_for_the_server_and_one_for_each_learner(self):
        names = defaultdict(set)
        for event in self.events(SMALL):
            if event["name"] == "thread_name":
                names[event["pid"]].add(event["args"]["name"])
        self.assertEqual(set(names), set(range(6)))
        for tracks in names.values():
            self.assertEqual(tracks, {"server", "learner 0", "learner 1", "learner 2", "learner 3"})

    def test_slices_of_a_track_do_not_overlap(self):
        tracks = defaultdict(list)
        for event in self.events(SMALL):
            if event["ph"] == "X":
                tracks[event["pid"], event["tid"]].append((event["ts"], event["dur"]))
        self.assertEqual(len(tracks), 6 * 5)
        for slices in tracks.values():
            slices.sort()
            for (start, length), (following, _) in zip(slices, slices[1:]):
                self.assertLessEqual(start + length, following)

    def test_times_are_microseconds_of_simulated_seconds(self):
        scenario = changed(
            SMALL,
            sweep=None,
            protocol={"kind": "sync"},
            stop={"updates": 2},
            cluster={"learners": 2, "runtime": {"distribution": "deterministic", "value": 1.5}},
        )
        slices = [event for event in self.events(scenario) if event["ph"] == "X" and event["tid"] == 1]
        self.assertEqual([(one["ts"], one["dur"]) for one in slices][:2], [(0, 1500000), (1500000, 1500000)])

    def test_fates_and_staleness_agree_with_the_tables(self):
        self.check_fates(self.events(SMALL))

    def test_every_minibatch_is_there_once(self):
        peers = [{"kind": "local-sgd", "tau": 3}, {"kind": "ad-psgd", "graph": "bipartite-exponential"}]
        stop = {"time": 20.3}  # some gradients wait for their update
        for scenario, last in (
            (changed(SMALL, stop=stop), {"in flight", "waiting"}),
            (changed(TRAVELLING, stop=stop), {"in flight", "waiting"}),
            (changed(SMALL, sweep={"protocol": peers}, stop=stop), {"in flight"}),
        ):
            draws, fates = defaultdict(list), set()
            for event in self.events(scenario):
                if event.get("cat") == "gradient":
                    draws[event["pid"], event["tid"]].append(event["args"]["draw"])
                    fates.add(event["args"]["fate"])
            self.assertEqual(len(draws), 4 * len(scenario["sweep"]["protocol"]))
            for found in draws.values():
                self.assertEqual(sorted(found), list(range(len(found))))
            self.assertEqual(fates - {"used", "dropped", "cancelled", "lost"}, last)

    def test_what_is_lost_on_the_way_is_told(self):
        self.check_fates(self.events(TRAVELLING))
        self.assertTrue(all(int(row["gradients_lost"]) > 0 for row in rows(self.folder / "out/runs.csv")))
        for row in rows(self.folder / "out/learners.csv"):
            self.assertLess(float(row["busy"]), 0.98 * (float(row["busy"]) + float(row["idle"])))

    def test_pull_and_push_are_inside_their_minibatch(self):
        lengths, minibatches = defaultdict(decimal.Decimal), defaultdict(list)
        events = self.events(TRAVELLING)
        for event in events:
            if event.get("cat") == "gradient":
                minibatches[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        for event in events:
            if event.get("cat") == "transfer":
                self.assertIn(event["name"], ("pull", "push"))
                start, end = event["ts"], event["ts"] + event["dur"]
                self.assertTrue(any(a <= start and end <= b for a, b in minibatches[event["pid"], event["tid"]]))
                lengths[event["pid"], event["tid"] - 1] += event["dur"]
        for row in rows(self.folder / "out/learners.csv"):
            if row["replica"] == "0":
                found = float(lengths[int(row["point"]), int(row["learner"])]) / 1e6
                self.assertAlmostEqual(found, float(row["communicating"]), delta=1e-4)

    def test_the_name_of_a_minibatch_tells_its_fate(self):
        for event in self.events(TRAVELLING):
            if event.get("cat") == "gradient":
                fate = event["args"]["fate"]
                self.assertEqual(event["name"], f"at w{event['args']['version']}" + (f", {fate}" if fate != "used" else ""))

    def check_fates(self, events):
        staleness = defaultdict(int)
        for row in rows(self.folder / "out/staleness.csv"):
            if row["replica"] == "0":
                staleness[int(row["point"]), int(row["staleness"])] += int(row["count"])
        drawn, fates = defaultdict(int), defaultdict(int)
        for event in events:
            if event.get("cat") == "gradient":
                fates[event["pid"], event["args"]["fate"]] += 1
                if event["args"]["fate"] == "used":
                    drawn[event["pid"], event["args"]["staleness"]] += 1
        self.assertEqual(drawn, staleness)
        for row in rows(self.folder / "out/runs.csv"):
            if row["replica"] == "0":
                point = int(row["point"])
                self.assertEqual(fates[point, "cancelled"], int(row["gradients_cancelled"]))
                self.assertEqual(fates[point, "lost"], int(row["gradients_lost"]))
                self.assertEqual(fates[point, "used"], int(row["gradients_applied"]))

    def test_a_cut_trace_ends_at_its_last_update(self):
        scenario = changed(SMALL, record={"trace": True, "trace_updates": 5})
        events = [event for event in self.events(scenario) if event["ph"] == "X"]
        for point in range(6):
            server = [one for one in events if one["pid"] == point and one["tid"] == 0]
            end = max(one["ts"] for one in server)
            self.assertEqual(len(server), 6)
            self.assertTrue(all(one["ts"] + one["dur"] <= end for one in events if one["pid"] == point))

    def test_exchanges_of_learners_stand_beside_what_they_compute(self):
        # Minibatches of 1; four learners of 2 bytes on a mesh: a ring takes 6 x 0.125 + 1.5 x 2 / 4 = 1.5, of two
        # learners 0.75.
        network = {"topology": "mesh", "latency": 0.125, "bandwidth": 4, "model_bytes": 2}
        scenario = {
            "cluster": {"learners": 4, "runtime": {"distribution": "deterministic", "value": 1}, "network": network},
            "protocol": {"kind": "all-reduce"},
            "stop": {"time": 4.25},
            "record": {"trace": True},
            "sweep": {
                "protocol": [
                    {"kind": "local-sgd", "tau": 2},
                    {"kind": "partial-reduce", "group": 2},
                    {"kind": "d-psgd", "graph": "ring", "order": "combine-first"},
                    {"kind": "all-reduce", "buckets": 2, "backward": 0.5},
                ]
            },
        }
        events = self.events(scenario)
        names = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
        self.assertEqual(names[0, 0], "updates")
        places = {(one["pid"], one["tid"]): one["args"]["sort_index"] for one in events if one["name"] == "thread_sort_index"}
        self.assertEqual(sorted(places.values()), sorted(list(range(1, 9)) * 4))
        found = defaultdict(list)
        tracks = defaultdict(list)
        for event in events:
            if event["ph"] != "X":
                continue
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
            if event["cat"] == "exchange":
                learner = int(names[event["pid"], event["tid"]].removeprefix("learner ").removesuffix(", exchanges"))
                self.assertEqual(places[event["pid"], event["tid"]], 2 * learner + 2)
                self.assertEqual(places[event["pid"], learner + 1], 2 * learner + 1)
                begin = float(event["ts"]) / 1e6
                told = {key: value for key, value in event["args"].items() if key != "exchange"}
                found[event["pid"]].append((begin, begin + float(event["dur"]) / 1e6, event["name"], learner, told))
        for slices in tracks.values():
            slices.sort()
            for (_, end), (following, _) in zip(slices, slices[1:]):
                self.assertLessEqual(end, following)
        of_all = {"learners": 4, "bytes": 2}
        self.assertEqual(sorted(found[0], key=lambda one: one[3]), [(2.0, 3.5, "all-reduce", i, of_all) for i in range(4)])
        pair = lambda i: {"learners": 2, "members": [i - i % 2, i - i % 2 + 1], "bytes": 2}
        self.assertEqual(
            sorted(found[1], key=lambda one: (one[0], one[3])),
            [(begin, min(begin + 0.75, 4.25), "group", i, pair(i)) for begin in (1.0, 2.75) for i in range(4)],
        )
        near = lambda i: {"learners": 3, "hears": sorted([(i + 1) % 4, (i + 3) % 4]), "bytes": 2}
        # a + 2 S b = 1.125, beside the minibatch: the last is cut by the end of the run.
        self.assertEqual(
            sorted(found[2], key=lambda one: (one[0], one[3])),
            [(begin, min(begin + 1.125, 4.25), "exchange", i, near(i)) for begin in (0, 1.125, 2.25, 3.375) for i in range(4)],
        )
        # The first of two parts is there at 0.75 and takes 1.125, the second follows.
        half = {"learners": 4, "bytes": 1}
        self.assertEqual(
            sorted(found[3], key=lambda one: (one[3], one[0]))[:3],
            [(0.75, 1.875, "all-reduce", 0, half), (1.875, 3.0, "all-reduce", 0, half), (3.75, 4.25, "all-reduce", 0, half)],
        )

    def test_a_cut_trace_of_learners_ends_at_its_last_update(self):
        network = {"topology": "mesh", "latency": 0.25}
        scenario = changed(
            SMALL,
            protocol={"kind": "dasgd", "tau": 2},
            sweep=None,
            record={"trace": True, "trace_updates": 5},
            cluster={"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}, "network": {**network, "model_bytes": 1}},
        )
        events = [event for event in self.events(scenario) if event["ph"] == "X"]
        end = max(one["ts"] for one in events if one["tid"] == 0)
        self.assertTrue(any(one["cat"] == "exchange" for one in events))
        self.assertTrue(all(one["ts"] + one["dur"] <= end for one in events))

    def test_a_gradient_that_has_moved_its_learners_value_is_used(self):
        scenario = changed(SMALL, protocol={"kind": "local-sgd", "tau": 3}, sweep=None, record={"trace": True}, targets=None, stop={"time": 20})
        fates = defaultdict(int)
        for event in self.events(scenario):
            if event["ph"] == "X" and "fate" in event["args"]:
                fates[event["args"]["fate"]] += 1
        applied = sum(int(row["gradients_applied"]) for row in rows(self.folder / "out/runs.csv") if row["replica"] == "0")
        self.assertEqual((fates["used"], fates["waiting"]), (applied, 0))


if __name__ == "__main__":
    unittest.main()
