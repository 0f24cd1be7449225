"""Tests that readers of results find in compressed files what is in the others."""

import gzip
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ANALYSIS = Path(__file__).resolve().parents[3] / "analysis"
sys.path.insert(0, str(ANALYSIS))

import fabricate
import pyarrow
from reproduce.outputs import Outputs
from results import packed, read_folder

UPDATES = "point replica update time iteration_time".split()


def pack(folder, ending):
    """Puts compressed files in the place of all but runs.csv and manifest.json."""
    for path in sorted(folder.iterdir()):
        if path.name in ("runs.csv", "manifest.json"):
            continue
        file = path.with_name(path.name + ending)
        if ending == ".gz":
            file.write_bytes(gzip.compress(path.read_bytes()))
        else:
            with pyarrow.CompressedOutputStream(str(file), "zstd") as stream:
                stream.write(path.read_bytes())
        path.unlink()


def read_all(folder):
    """What each reader of outputs finds, as text, in which nan is nan."""
    name, outputs = folder.name, Outputs(folder.parent)
    k_of = lambda row: row["k"]
    found = (
        read_folder(folder).curve.to_csv(),
        read_folder(folder).staleness.to_csv(),
        read_folder(folder).theory.to_csv(),
        outputs.curves(name, k_of, "time", "loss"),
        outputs.theory(name, k_of),
        outputs.staleness(name, k_of),
        outputs.updates(name, k_of, "iteration_time"),
        outputs.trace(name),
    )
    return [repr(one) for one in found]


class Packed(fabricate.Folder):
    def fill(self):
        fabricate.race(self.folder, [1, 2, 4])
        fabricate.staleness(self.folder, {(0, 0): {0: 5, 3: 7}, (2, 1): {1: 2}})
        fabricate.theory(self.folder, {(1, "exact", "moments"): [(1.0, 0.5, 8), (2.0, 0.25, 16)]})
        rows = [dict(zip(UPDATES, (p, 0, 1 + u, 2.5 * u, 2.5))) for p in range(3) for u in range(4)]
        fabricate.write_table(self.folder / "updates.csv", UPDATES, rows)
        events = [fabricate.gradient(0, 1, 0, 0.0, 1.5, "used"), fabricate.version(0, 1, 1.5, 2.0)]
        fabricate.trace(self.folder, events)

    def test_what_is_read_does_not_depend_on_the_form(self):
        self.fill()
        plain = read_all(self.folder)
        self.assertIn("2,1,1,2", plain[1])
        for ending in packed.ENDINGS:
            with self.subTest(ending):
                for path in self.folder.iterdir():
                    path.unlink()
                self.fill()
                pack(self.folder, ending)
                self.assertTrue((self.folder / f"curve.csv{ending}").is_file())
                self.assertEqual(read_all(self.folder), plain)

    def test_what_is_no_table_is_refused_by_its_beginning(self):
        for ending in packed.ENDINGS:
            for content, told in ((bytes(1 << 23), "zero byte"), (b"a" * (1 << 23), "first line has more than 1,048,576")):
                file = self.folder / f"curve.csv{ending}"
                if ending == ".gz":
                    file.write_bytes(gzip.compress(content))
                else:
                    with pyarrow.CompressedOutputStream(str(file), "zstd") as stream:
                        stream.write(content)
                with self.assertRaisesRegex(ValueError, told):
                    with packed.opened(self.folder / "curve.csv"):
                        self.fail("it was opened")
                file.unlink()


if __name__ == "__main__":
    unittest.main()
