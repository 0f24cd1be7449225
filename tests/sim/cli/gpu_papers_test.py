"""Scenarios of papers that take a GPU: with a small network in place of theirs, what they make is judged."""

import json
import subprocess
import unittest

from program import PROGRAM, ROOT, ProgramTest, skip

PYTHON = ROOT / ".venv/bin/python"
DATA = {"kind": "synthetic", "rows": 600, "test_rows": 300}
# Claims of the paper by what lies in a folder, and whether all of them could be judged.
JUDGE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from reproduce.outputs import Outputs
from reproduce.paper import read_paper
from reproduce.reproduce import judge
judged = judge(read_paper(sys.argv[2]), Outputs(sys.argv[3]))
claims = [[claim.id, claim.verdict, claim.measured] for claim in judged.claims]
print(json.dumps([claims, judged.is_broken, sorted(judged.missing)]))
"""
# {paper: claims of networks that 2 replicas judge}
JUDGED = {
    "dutta2021": {"22.CNN-on-CIFAR-10-k-sync-late", "22.CNN-on-CIFAR-10-k-async-late"},
    "li2021": {"A1.resnet-1", "A1.resnet-2", "A3.resnet"},
    "pan2017": {"5.cnn", "9.cnn", "11.cnn", "12.cnn"},
    "zhang2016": {"5.cnn-fails", "5.cnn-divided"},
    "zhou2020": {"6.resnet-order"},
}


def stand_in(scenario):
    """The scenario with softmax of little data, and less to do."""
    stop = dict(scenario["stop"])
    stop |= {key: 400 for key in ("gradients", "updates") if key in stop}
    stop |= {"time": stop["time"] / 20} if "time" in stop else {}
    minibatch = min(scenario["model"].get("minibatch", 32), 8)
    model = {"kind": "softmax", "dataset": DATA, "minibatch": minibatch}
    return {**scenario, "model": model, "stop": stop, "replicas": 2, "device": "cpu"}


class Papers(ProgramTest):
    def judged(self, paper):
        """Claims {id: (verdict, measured)} of the paper's folder gpu/ alone."""
        out = self.folder / paper
        for file in sorted((ROOT / "scenarios/papers" / paper / "gpu").glob("*.json")):
            scenario = json.loads(file.read_text())
            path = self.write(stand_in(scenario), file.name)
            subprocess.run([PROGRAM, "run", path, "--quiet", "--out", out / "gpu" / file.stem], check=True, capture_output=True)
        told = subprocess.run([PYTHON, "-c", JUDGE, ROOT / "analysis", paper, out], check=True, stdout=subprocess.PIPE, text=True).stdout
        claims, is_broken, missing = json.loads(told)
        self.assertFalse(is_broken)
        self.assertEqual([name for name in missing if name.startswith("gpu/")], [])
        return {id: (verdict, measured) for id, verdict, measured in claims}

    def test_each_is_judged(self):
        for paper, ids in JUDGED.items():
            with self.subTest(paper):
                found = self.judged(paper)
                for id in ids:
                    self.assertIn(found[id][0], ("pass", "fail"), found[id])

    def test_no_paper_is_left_out(self):
        papers = {path.parent.name for path in (ROOT / "scenarios/papers").glob("*/gpu")}
        # Whose network is not judged so far.
        self.assertEqual(papers, JUDGED.keys() | {"luo2019"})


if __name__ == "__main__":
    if not PYTHON.exists():
        skip("no .venv: ./setup.sh could not make the Python environment of the plots")
    unittest.main()
