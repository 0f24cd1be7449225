"""The first scenario that anybody runs."""

import statistics
import time
import unittest

from program import IS_RELEASE, ROOT, ProgramTest, rows


class Quickstart(ProgramTest):
    def test_races_six_protocols_within_a_minute_and_tells_sync_from_async(self):
        begin = time.monotonic()
        self.call("run", ROOT / "scenarios/quickstart.json", "--out", "out")
        if IS_RELEASE:
            self.assertLess(time.monotonic() - begin, 60)
        curve = rows(self.folder / "out/curve.csv")
        runs = rows(self.folder / "out/runs.csv")
        points = {row["protocol"]: row["point"] for row in runs}
        self.assertEqual(len(points), 6)

        def errors(protocol, at):
            return [float(row["test_error"]) for row in curve if row["point"] == points[protocol] and float(row["time"]) == at]

        # At equal time, early and late: n = 10 replicas each, 3 standard errors of the difference.
        for at, ahead, behind in ((10, "async", "sync"), (100, "sync", "async")):
            better, worse = errors(ahead, at), errors(behind, at)
            self.assertEqual((len(better), len(worse)), (10, 10))
            error = (statistics.variance(better) / 10 + statistics.variance(worse) / 10) ** 0.5
            difference = statistics.mean(worse) - statistics.mean(better)
            print(f"t = {at}: {ahead} ahead by {difference / error:.1f} standard errors")
            self.assertGreater(difference, 3 * error)


if __name__ == "__main__":
    unittest.main()
