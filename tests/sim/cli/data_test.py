"""Data in the shapes that people bring: read and told, or refused with the cure."""

import gzip
import json
import random
import struct
import unittest
import zipfile

from program import ProgramTest, changed, rows

JOB = {
    "name": "data",
    "cluster": {"learners": 2, "runtime": {"distribution": "deterministic", "value": 1}},
    "protocol": {"kind": "sync"},
    "learning_rate": {"kind": "constant", "eta": 0.05},
    "stop": {"updates": 200},
    "record": {"every_updates": 100},
}


class Data(ProgramTest):
    def job(self, data, kind="softmax"):
        return changed(JOB, model={"kind": kind, "minibatch": 8, "dataset": data})

    def learnt(self, data, kind="softmax", out="out"):
        """The evaluations of a run, and what was told."""
        _, told = self.call("run", self.write(self.job(data, kind)), "--out", out, "--quiet", "--device", "cpu")
        return rows(self.folder / out / "curve.csv"), told

    def refused(self, data):
        """What run says, which validate says too."""
        path = self.write(self.job(data))
        told = self.call("validate", path, status=2)[1]
        self.assertIn(told.split(": ", 1)[1].strip()[:60], told)
        return told

    def table(self, numbers, name="table.csv", head="a,b,label", first=lambda row: ""):
        """Two classes that a line parts."""
        chance = random.Random(7)
        lines = [head] if head else []
        for row in range(numbers):
            label = row % 2
            x = [chance.gauss(3 * label, 1), chance.gauss(-3 * label, 1)]
            lines.append(first(row) + ",".join(f"{value:.3f}" for value in x) + f",{label}")
        (self.folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def test_a_first_line_of_data_is_refused_and_read_where_that_is_said(self):
        self.table(120, head="")
        data = {"kind": "csv", "path": "table.csv", "label": "0", "test_rows": 40}
        self.assertIn('is a row of data where a line of names is needed; allowed: "header": false', self.refused(data))
        curve, _ = self.learnt({**data, "label": "3", "header": False})
        self.assertLess(float(curve[-1]["test_error"]), 0.1)
        self.assertEqual(float(curve[-1]["epoch"]), 400 * 8 / 80)  # of 80 rows: none is lost

    def test_a_table_that_is_no_text_is_told_what_it_is(self):
        (self.folder / "table.csv").write_bytes("a,label\n1,2\n".encode("utf-16"))
        told = self.refused({"kind": "csv", "path": "table.csv", "label": "label", "test_rows": 1})
        self.assertRegex(told, r"table.csv: is in UTF-16; allowed: a file in UTF-8, as of iconv -f UTF-16 -t UTF-8 .*table.csv")

    def test_labels_with_fractions_are_told_from_classes(self):
        (self.folder / "table.csv").write_text("a,label\n" + "".join(f"{row},{row / 7:.3f}\n" for row in range(60)))
        told = self.refused({"kind": "csv", "path": "table.csv", "label": "label", "test_rows": 9})
        self.assertIn('; numbers with fractions are targets: "regression": true, and the model least-squares', told)

    def test_an_index_without_a_name_is_no_feature(self):
        self.table(200)
        plain, told = self.learnt({"kind": "csv", "path": "table.csv", "label": "label", "test_rows": 40})
        self.assertNotIn("note", told)
        self.table(200, head=",a,b,label", first=lambda row: f"{row},")
        curve, told = self.learnt({"kind": "csv", "path": "table.csv", "label": "label", "test_rows": 40}, out="index")
        self.assertIn("the first column has no name and numbers the rows: it is no feature", told)
        self.assertEqual([row["loss"] for row in curve], [row["loss"] for row in plain])

    def test_a_loss_that_rises_is_told_with_the_cure(self):
        self.table(120, head="time,a,b,label", first=lambda row: f"{1e5 + 1400 * row},")
        data = {"kind": "csv", "path": "table.csv", "label": "label", "test_rows": 40}
        curve, told = self.learnt(data)
        self.assertGreater(float(curve[-1]["loss"]), 1.1 * float(curve[0]["loss"]))
        self.assertIn("features are of very different size", told)
        (note,) = json.loads((self.folder / "out/manifest.json").read_text())["notes"]
        self.assertRegex(note, r"the loss of 1 run of 1 ended above where it began, furthest that of .* \(0.693 to .*standardise")
        curve, told = self.learnt({**data, "standardise": True}, out="standard")
        self.assertLess(float(curve[-1]["test_error"]), 0.1)
        self.assertNotIn("note", told)
        self.assertEqual(json.loads((self.folder / "standard/manifest.json").read_text())["notes"], [])

    def sparse(self, name, rows_, features, greatest):
        """Rows of eight numbers; the last index stands in one row, with a number 0."""
        chance = random.Random(11)
        lines = []
        for row in range(rows_):
            places = sorted(chance.sample(range(1, features + 1), 8))
            pairs = [f"{place}:{(1 if row % 2 else -1) * chance.random():.4f}" for place in places]
            lines.append(f"{row % 2} " + " ".join(pairs) + (f" {greatest}:0" if row == 0 and greatest else ""))
        (self.folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def test_rows_that_are_kept_sparse_learn_what_others_do(self):
        self.sparse("dense.svm", 2000, 500, 0)
        self.sparse("sparse.svm", 2000, 500, 600_000)  # 1.1e9 numbers
        for kind in ("logistic", "softmax"):
            curves = [self.learnt({"kind": "libsvm", "path": f"{name}.svm", "test_rows": 100}, kind, f"{kind}-{name}")[0] for name in ("dense", "sparse")]
            numbers = [[(row["time"], row["test_error"]) for row in curve] for curve in curves]
            self.assertEqual(*numbers)
            for one, other in zip(*curves, strict=True):
                self.assertAlmostEqual(float(one["loss"]), float(other["loss"]), delta=1e-6)
            self.assertLess(float(curves[1][-1]["test_error"]), 0.2)

    def test_a_file_where_a_folder_is_due_is_told_so(self):
        (self.folder / "mnist.npz").write_bytes(b"PK")
        told = self.refused({"kind": "idx", "path": "mnist.npz"})
        self.assertIn('model.dataset.path: is a file, and the data set is a folder of files, got "mnist.npz"', told)
        self.assertIn("allowed: kind npz", told)
        self.assertIn("mnist.npz: is no ZIP archive", self.refused({"kind": "npz", "path": "mnist.npz"}))
        (self.folder / "mnist.npz").write_bytes(b"MATLAB 5.0 MAT-file, Platform" + bytes(200))
        self.assertIn("mnist.npz: is a file of MATLAB, and no ZIP archive", self.refused({"kind": "npz", "path": "mnist.npz"}))

    def arrays(self, name, packing=zipfile.ZIP_DEFLATED, **arrays):
        """As numpy.savez writes them: of each its type, its shape and its bytes."""
        with zipfile.ZipFile(self.folder / name, "w", packing) as file:
            for key, (kind, shape, content) in arrays.items():
                text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
                text += " " * (-(len(text) + 11) % 64) + "\n"
                file.writestr(f"{key}.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + content)

    def test_arrays_of_numpy_are_what_idx_files_say(self):
        chance = random.Random(3)
        images = {split: chance.randbytes(count * 6) for split, count in (("train", 90), ("test", 30))}
        labels = {split: bytes(pixels[6 * i] // 86 for i in range(len(pixels) // 6)) for split, pixels in images.items()}
        for split, name in (("train", "train"), ("test", "t10k")):
            count = len(labels[split])
            pixels = struct.pack(">4I", 0x803, count, 2, 3) + images[split]
            (self.folder / f"{name}-images-idx3-ubyte").write_bytes(pixels)
            (self.folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, count) + labels[split])
        wanted, _ = self.learnt({"kind": "idx", "path": "."}, out="idx")
        wide = {split: struct.pack(f"<{len(these)}q", *these) for split, these in labels.items()}
        for number, (x, y, kind, of_labels) in enumerate(
            (
                ("x_train x_test", "y_train y_test", "|u1", labels),
                ("train_images test_images", "train_labels test_labels", "<i8", wide),
            )
        ):
            these = {}
            for split, x_name, y_name in zip(("train", "test"), x.split(), y.split(), strict=True):
                count = len(labels[split])
                these[x_name] = ("|u1", (count, 2, 3), images[split])
                these[y_name] = (kind, (count, 1) if number else (count,), of_labels[split])
            self.arrays("a.npz", zipfile.ZIP_STORED if number else zipfile.ZIP_DEFLATED, **these)
            found, _ = self.learnt({"kind": "npz", "path": "a.npz"}, out=f"npz-{number}")
            self.assertEqual(found, wanted)
        tiny, of_tiny = ("<f8", (2, 2), struct.pack("<4d", 1, 2, 1e-310, 4)), ("|u1", (2,), b"\0\1")
        self.arrays("tiny.npz", x_train=tiny, y_train=of_tiny, x_test=tiny, y_test=of_tiny)
        _, told = self.learnt({"kind": "npz", "path": "tiny.npz"}, out="tiny")
        self.assertIn("tiny.npz: x_train[1]: is closer to 0 than single precision goes", told)
        self.arrays("a.npz", x_train=("|u1", (1 << 30, 1), b"\0"), y_train=these[y_name], x_test=these[x_name], y_test=these[y_name])
        told = self.refused({"kind": "npz", "path": "a.npz"})
        self.assertRegex(told, r"a.npz: x_train.npy has \d+ bytes, and says that it has 1073741\d+")

    def test_arrays_and_labels_that_are_not_read_get_the_call_that_makes_them(self):
        x, y = ("|u1", (4, 2), bytes(8)), ("|u1", (4,), bytes([0, 1, 0, 1]))
        for wrong, said in (
            ({"x_train": ("<f2", (4, 2), bytes(16))}, "x_train is of type '<f2', which is not read: save it with .astype(\"float32\")"),
            ({"x_train": (">f4", (4, 2), bytes(32))}, "x_train is of type '>f4', which is not read"),
            ({"y_train": ("|u1", (4, 2), bytes(8))}, "8 labels for the 4 rows of x_train, 2 a row: where they are one-hot, save y_train.argmax(axis=1)"),
            ({"y_train": ("|i1", (4,), b"\1\xff\1\xff")}, "y_train[1] is -1; allowed are whole numbers from 0 to 255: of labels -1 and 1, (y + 1) / 2"),
        ):
            self.arrays("a.npz", **{"x_train": x, "y_train": y, "x_test": x, "y_test": y, **wrong})
            self.assertIn(said, self.refused({"kind": "npz", "path": "a.npz"}))

    def test_a_folder_one_deeper_is_found_and_pickles_are_told(self):
        chance = random.Random(5)

        def records(labels, count=20):
            return b"".join(bytes([i % 10] * labels) + chance.randbytes(3072) for i in range(count))

        inner = self.folder / "cifar" / "cifar-10-batches-bin"
        inner.mkdir(parents=True)
        for name in (*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"):
            (inner / name).write_bytes(records(1))
        shown = [self.learnt({"kind": "cifar10", "path": path}, out=path[:5] + path[-3:])[0] for path in ("cifar", "cifar/cifar-10-batches-bin")]
        self.assertEqual(shown[0], shown[1])
        raw = self.folder / "MNIST" / "raw"
        raw.mkdir(parents=True)
        for split in ("train", "t10k"):
            (raw / f"{split}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, 4, 1, 2) + bytes(8))
            (raw / f"{split}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, 4) + b"\0\1\0\1")
        self.learnt({"kind": "idx", "path": "MNIST"}, out="raw")
        for kind, folder, file, archive in (
            ("cifar10", "cifar-10-batches-py", "data_batch_1", "cifar-10-binary.tar.gz"),
            ("cifar100", "cifar-100-python", "train", "cifar-100-binary.tar.gz"),
        ):
            (self.folder / kind / folder).mkdir(parents=True)
            (self.folder / kind / folder / file).write_bytes(b"\x80\2")
            for path in (f"{kind}/{folder}", kind):
                told = self.refused({"kind": kind, "path": path})
                self.assertIn(f"it has pickles of the version for Python, which are not read: get the binary version, {archive}", told)

    def test_what_is_packed_of_too_much_is_named(self):
        for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
            with gzip.open(self.folder / f"{name}-ubyte.gz", "wb") as file:
                for _ in range(200):
                    file.write(bytes(1 << 20))
        told = self.refused({"kind": "idx", "path": "."})
        self.assertRegex(told, r"(train|t10k)-images-idx3-ubyte.gz: magic number 0x00000000, expected 0x00000803")
        (self.folder / "train-images-idx3-ubyte.gz").rename(self.folder / "a.csv.gz")
        told = self.refused({"kind": "csv", "path": "a.csv.gz", "label": "y", "test_rows": 1})
        self.assertIn("a.csv.gz:1: holds a zero byte, so that it is no text", told)

    def told(self, text, data, name="t.csv", status=0, kind="softmax"):
        """What validate says of such a file."""
        (self.folder / name).write_text(text, encoding="utf-8")
        data = {"kind": "csv", "path": name, "test_path": name, "label": "y", **data}
        data = {key: value for key, value in data.items() if value is not None}
        return self.call("validate", self.write(self.job(data, kind)), status=status)[1]

    def test_what_may_be_meant_otherwise_is_noted_and_the_like_is_not(self):
        chance = random.Random(2)
        draws = [f"{chance.gauss(5, 2):.2f}" for _ in range(60)]

        def table(head, cells):
            return f"{head}\n" + "".join(",".join(map(str, cells(row))) + "\n" for row in range(60))

        def labels(of_row):
            return table("x,y", lambda row: (draws[row], of_row(row)))

        def feature(of_row, name="z"):
            return table(f"x,{name},y", lambda row: (draws[row], of_row(row), row % 3))

        shuffled = chance.sample(range(892, 952), 60)
        for text, said in (
            (labels(lambda row: row if row < 49 else row - 20), 'has 49 classes in 60 rows; if labels are targets: "regression": true'),
            (labels(lambda row: row % 3), None),
            (labels(lambda row: row % 3 / 2), None),
            (labels(lambda row: "Total" if row == 59 else row % 3), 't.csv:61: no other row has the label "Total": a slip, or a sum of the rows above?'),
            (
                labels(lambda row: {7: "caat", 9: "dgo"}.get(row, "cat dog".split()[row % 2])),
                't.csv:9: no other row has the label "caat" (2 labels are of one row)',
            ),
            (labels(lambda row: row % 4 - 1), "label -1 beside 0 to 2 is a class as every other; rows without a label"),
            (labels(lambda row: row % 2 * 2 - 1), None),
            (labels(lambda row: ("a", "b", "a|b")[row % 3]), 'label "a|b" is a class beside "a"'),
            (labels(lambda row: ("a", "b", '"b, a"')[row % 3]), 'label "b, a" is a class beside "b"'),
            (labels(lambda row: ("a", "b", "a b")[row % 3]), None),
            (feature(lambda row: "Total" if row == 59 else "ab"[row % 2]), 't.csv:61: no other row has "Total" in column "z": a sum of the rows above?'),
            (feature(lambda row: shuffled[row]), 'column "z" has another number in each row, as ids have'),
            (feature(lambda row: 1000001 + 2 * row), 'column "z" has another number in each row'),
            (feature(lambda row: 7 * row * row + 100, "PassengerId"), 'column "PassengerId" has another number in each row'),
            (feature(lambda row: 7 * row * row + 100, "acid"), None),
            (feature(lambda row: 20_000_001 + row, "patient_id"), 'column "patient_id" has another number in each row'),
            (feature(lambda row: 20_000_000, "patient_id"), None),
            (feature(lambda row: row % 50), None),
            (feature(lambda row: -999 if row % 9 == 0 else 100 + row * row), 'column "z" has -999, far from its other numbers'),
            (feature(lambda row: 99999 if row % 9 == 0 else draws[row]), 'column "z" has 99999, far from'),
            (feature(lambda row: 1e6 if row % 9 == 0 else draws[row]), 'column "z" has 1000000, far from'),
            (feature(lambda row: 1e6 if row == 9 else draws[row]), None),
            (feature(lambda row: 999 if row % 9 == 0 else 20 * row), None),
            (feature(lambda row: row // 9 % 2), None),
            (feature(lambda row: 5 - row % 3), 'column "z": the label in another form'),
            (feature(lambda row: "abc"[row % 3]), 'column "z": the label in another form'),
            (
                table("a,y_0,y_1,y", lambda row: (draws[row], int(row % 3 == 0), int(row % 3 == 1), int(row % 3 == 2))),
                'column "y_0", column "y_1": the label in another form',
            ),
        ):
            told = self.told(text, {"standardise": True})
            with self.subTest(told=told, said=said, text=text[:80]):
                self.assertIn(said or "", told)
                self.assertEqual("note" in told, said is not None)
        text = table("x,z,y", lambda row: (draws[row], 3 - 2 * float(draws[row - 1]), draws[row - 1]))
        self.assertIn('column "z": the label in another form', self.told(text, {"regression": True}, kind="least-squares"))
        told = self.told("".join(f"{row // 2} 1:{draws[row]}\n" for row in range(60)), {"kind": "libsvm", "label": None})
        self.assertIn("has 30 classes in 60 rows; if labels are targets", told)

    def test_what_cannot_be_read_gets_its_cure(self):
        unread = "of the file, or write a class so called as another word"
        for text, said in (
            *((f"x,y\n1,a\n2,{none}\n", unread) for none in ("NA", "N/A", "NULL", "None", "?", "#N/A", "nan")),
            ("@RELATION iris\n\n@ATTRIBUTE x NUMERIC\n@DATA\n1,2\n", 'is ARFF: leave out the lines up to @DATA, and say "header": false'),
            ("x,y\n1.1.2026,2\n", "a column of dates or times is no feature"),
            ("x,y\n1.234.567,2\n", "points between thousands are to be left out"),
            ("x,y\n#DIV/0!,2\n", "leave such a row out of the file, or give it a number"),
            ("x,y\n1,2\n96.26 EUR,2\n", "units behind numbers are to be left out"),
            ("x,y\n\u22123,2\n", "a minus is to be -, and not U+2212"),
            ("x,z,y\n1,,0\n2,,1\n", "or leave out a column without any"),
            ("y;x\n1;1.234\n0;2.345\n", '"1.234" may be 1234, as every point of the column is before three digits, and semicolons separate'),
            (
                "x,y\n" + "".join(f"{row},{row / 7:.3f}\n" for row in range(60)),
                'has 60 classes in 60 rows; numbers with fractions are targets: "regression": true',
            ),
        ):
            with self.subTest(text=text[:40]):
                self.assertIn(said, self.told(text, {}, status=2))
        for text, said in (
            ("1,1:2,2:3\n", "t.csv:1: has commas between pairs, where blanks are to be"),
            ("1 1:2,2:3\n", "t.csv:1: has commas between pairs, where blanks are to be"),
            ("1:2 2:3\n", 'begins with "1:2", and not with a label: rows need one, without a weight behind it'),
            ("1 age:2\n", 'index "age" is a name; features are to be numbered, from 1'),
            ("yes 1:2\n", 'label "yes" is no finite number; write words as 0, 1 and so on'),
            ("1 3:2\n", 'index 3, and the key "features" is 2'),
        ):
            with self.subTest(text=text):
                self.assertIn(said, self.told(text, {"kind": "libsvm", "label": None, "features": 2}, status=2))
        (self.folder / "a.mat").write_bytes(b"MATLAB 5.0 MAT-file, Platform: GLNXA64" + bytes(99))
        told = self.refused({"kind": "csv", "path": "a.mat", "label": "y", "test_rows": 9})
        self.assertIn("a.mat: is a file of MATLAB; allowed: a table in CSV, as of writematrix, or arrays in .npz", told)
        (self.folder / "data" / "MNIST" / "raw").mkdir(parents=True)
        self.assertIn("test; give the folder data/MNIST/raw", self.refused({"kind": "idx", "path": "data"}).replace(str(self.folder) + "/", ""))
        path = self.write(changed(self.job({"kind": "synthetic"}), stop=60))
        self.assertIn("stop: expected an object, got 60", told := self.call("validate", path, status=2)[1])
        self.assertIn('allowed: {"time": 60}', told)


if __name__ == "__main__":
    unittest.main()
