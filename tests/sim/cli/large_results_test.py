"""Large results: compressed or as Parquet they say the same, have the same bytes each time, and no run is made
again for another form."""

import contextlib
import gzip
import json
import math
import shutil
import sqlite3
import subprocess
import unittest

from program import ROOT, SMALL, ProgramTest, changed, rows

PYTHON = ROOT / ".venv/bin/python"
ENDINGS = {"gzip": ".gz", "zstd": ".zst"}
PLAIN = ("runs.csv", "manifest.json", "runs.store")
SCENARIO = changed(SMALL, stop={"updates": 600})


def unpacked(path):
    """Bytes of a compressed file, by another program than ours."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if shutil.which("zstd"):
        return subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout
    read = "import pyarrow, sys; sys.stdout.buffer.write(pyarrow.input_stream(sys.argv[1], compression='zstd').read())"
    return subprocess.run([PYTHON, "-c", read, path], check=True, capture_output=True).stdout


def can_unpack(form):
    return form == "gzip" or shutil.which("zstd") or PYTHON.exists()


READ_PARQUET = """
import json, pyarrow.parquet, sys
tables = map(pyarrow.parquet.read_table, sys.argv[1:])
print(json.dumps([[{column.name: str(column.type) for column in table.schema}, table.to_pylist()] for table in tables]))
"""

VALUES = {"int64": int, "double": float, "string": str}


def read_parquet(folder):
    """{name of a table: (types by column, rows)}"""
    paths = sorted(folder.glob("*.parquet"))
    done = subprocess.run([PYTHON, "-c", READ_PARQUET, *paths], check=True, capture_output=True)
    return {path.stem: found for path, found in zip(paths, json.loads(done.stdout), strict=True)}


class Compressed(ProgramTest):
    def run_in(self, out, *words):
        told, _ = self.call("run", self.write(SCENARIO), "--out", out, "--quiet", *words)
        return self.folder / out, told

    def all_bytes(self, folder):
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    def test_files_say_the_same_and_have_the_same_bytes_for_any_number_of_jobs(self):
        plain = self.tables(self.run_in("plain")[0])
        for form, ending in ENDINGS.items():
            out, _ = self.run_in(form, "--compress", form, "--jobs", "1")
            self.assertEqual(
                {path.name for path in out.iterdir()},
                {*PLAIN, *(name + ending for name in plain if name not in PLAIN)},
            )
            manifest = json.loads((out / "manifest.json").read_text())
            self.assertIn("curve.csv" + ending, manifest["files"])
            self.assertEqual((out / "runs.csv").read_bytes(), plain["runs.csv"])
            for name, text in plain.items():
                if name not in PLAIN and can_unpack(form):
                    self.assertEqual(unpacked(out / (name + ending)), text, name)
            other, _ = self.run_in(form + "-again", "--compress", form, "--jobs", "3")
            self.assertEqual(self.tables(out), self.tables(other))

    def test_another_form_makes_no_run_again_and_takes_the_place_of_the_first(self):
        forms = {"plain": (), "gzip": ("--compress", "gzip"), "zstd": ("--compress", "zstd")}
        wanted = {form: self.tables(self.run_in(form, *words)[0]) for form, words in forms.items()}
        out, _ = self.run_in("out")
        store = (out / "runs.store").read_bytes()
        for form in ("gzip", "zstd", "plain", "zstd", "gzip", "plain"):
            self.run_in("out", *forms[form])
            self.assertEqual(self.tables(out), wanted[form])
            self.assertEqual((out / "runs.store").read_bytes(), store)
            before = self.all_bytes(out)
            self.run_in("out", *forms[form])
            self.assertEqual(self.all_bytes(out), before)

    def test_no_form_is_left_beside_another(self):
        out, _ = self.run_in("out", "--compress", "zstd")
        wanted = self.tables(out)
        self.run_in("out", "--compress", "gzip")
        self.run_in("out", "--compress", "zstd")
        self.assertEqual(self.tables(out), wanted)
        self.run_in("out", "--force")
        self.assertFalse([path for path in out.iterdir() if path.suffix == ".zst"])

    def test_what_is_not_a_runs_stays(self):
        out, _ = self.run_in("out")
        for name in ("runs.csv.gz", "manifest.json.zst", "fit.csv.gz", "mine.csv.gz"):
            (out / name).write_text("mine")
        self.run_in("out", "--compress", "gzip", "--force")
        for name in ("runs.csv.gz", "manifest.json.zst", "fit.csv.gz", "mine.csv.gz"):
            self.assertEqual((out / name).read_text(), "mine")

    def test_shards_are_collected_into_the_bytes_of_a_run(self):
        path = self.write(SCENARIO)
        for number in (1, 2, 3):
            self.call("run", path, "--out", "shards", "--shard", f"{number}/3", "--quiet")
        for form in ENDINGS:
            whole, _ = self.run_in(form, "--compress", form)
            self.call("collect", "shards", "--out", "from-" + form, "--compress", form, "--quiet")
            self.assertEqual(self.tables(self.folder / ("from-" + form)), self.tables(whole))
        self.call("collect", "shards", "--out", "from-gzip", "--quiet")
        self.assertEqual(self.tables(self.folder / "from-gzip"), self.tables(self.run_in("plain")[0]))

    def test_words_that_are_wrong_are_told(self):
        path = self.write(SCENARIO)
        for command, what in (("run", path), ("collect", self.run_in("out")[0])):
            _, told = self.call(command, what, "--out", "new", "--compress", "lzma", status=2)
            self.assertIn(f'{command}: --compress takes zstd or gzip, got "lzma"', told)
        _, told = self.call("run", path, "--out", "new", "--compress", "zstd", "--shard", "1/2", status=2)
        self.assertIn("--shard writes none; it goes to gradrace collect", told)
        self.assertFalse((self.folder / "new").exists())

    @unittest.skipUnless(PYTHON.exists(), "no Python environment of the plots")
    def test_plots_are_those_of_the_files_as_they_are(self):
        path = self.write(changed(SCENARIO, sweep={"protocol": SMALL["sweep"]["protocol"][:2]}))
        for words in (("plain",), ("zstd", "--compress", "zstd")):
            self.call("run", path, "--out", *words, "--quiet", "--plot")
        plain, packed = (self.all_bytes(self.folder / out / "plots") for out in ("plain", "zstd"))
        self.assertEqual(packed, plain)
        self.assertIn("timeline.png", packed)

    @unittest.skipUnless(PYTHON.exists(), "no Python environment of the plots")
    def test_a_damaged_file_is_told(self):
        damages = (lambda text: text[: len(text) // 2], lambda text: text[:-9] + b"wrong" + text[-4:])
        for (form, ending), damage in zip(ENDINGS.items(), damages):
            out, _ = self.run_in(form, "--compress", form)
            file = out / ("curve.csv" + ending)
            file.write_bytes(damage(file.read_bytes()))
            _, told = self.call("plot", out, status=1)
            self.assertIn(f"{out}/curve.csv{ending}: cannot be decompressed: ", told)


@unittest.skipUnless(PYTHON.exists(), "no Python environment of the plots")
class Parquet(ProgramTest):
    def collected(self, scenario, out="out"):
        """An output folder of CSVs, and one with Parquet files."""
        self.call("run", self.write(scenario), "--out", out, "--quiet")
        self.call("collect", out, "--out", out + "-parquet", "--format", "parquet", "--quiet")
        return self.folder / out, self.folder / (out + "-parquet")

    def check_equal(self, csv_file, parquet_table):
        """Each field is there, as its type says; what is empty is null. Returns the types."""
        types, found = parquet_table
        wanted = rows(csv_file)
        self.assertEqual(list(types), list(wanted[0]) if wanted else list(types))
        self.assertEqual(len(found), len(wanted))
        for row, fields in zip(found, wanted):
            for name, field in fields.items():
                value = VALUES[types[name]](field) if field else None
                if isinstance(value, float) and math.isnan(value):
                    self.assertTrue(math.isnan(row[name]), name)
                else:
                    self.assertEqual(row[name], value, name)
        return types

    def test_it_reads_back_as_the_csv(self):
        scenario = changed(
            SMALL,
            targets={"loss": [0.5, 1e-9]},
            sweep={"learning_rate.eta": [0.1, 1e-300, 1e300], "protocol": SMALL["sweep"]["protocol"][:2]},
        )
        out, tables = self.collected(scenario)
        self.assertIn("nan", [row["final_loss"] for row in rows(out / "runs.csv")])
        files = sorted(path.name for path in out.glob("*.csv"))
        self.assertEqual(
            sorted(path.name for path in tables.iterdir()),
            sorted([*(name.replace(".csv", ".parquet") for name in files), "trace.json", "manifest.json", "runs.store"]),
        )
        for name, found in read_parquet(tables).items():
            types = self.check_equal(out / f"{name}.csv", found)
            self.assertEqual((types["point"], types["replica"]), ("int64", "int64"))
        manifest = json.loads((tables / "manifest.json").read_text())
        self.assertIn("curve.parquet", manifest["files"])
        again = self.folder / "again"
        self.call("collect", out, "--out", again, "--format", "parquet", "--quiet")
        self.assertEqual(self.tables(again), self.tables(tables))

    def test_types_do_not_depend_on_what_is_there_but_for_swept_values(self):
        timed = changed(SMALL, model=None, learning_rate=None, record={"every_time": 1, "updates": True})
        found = {}
        for name, scenario in (("trained", SMALL), ("timed", timed)):
            out, tables = self.collected(scenario, name)
            for table, read in read_parquet(tables).items():
                found[name, table] = self.check_equal(out / f"{table}.csv", read)
        for (name, file), types in found.items():
            self.assertEqual(types, found["trained", file], (name, file))
        of_runs = found["timed", "runs"]
        self.assertEqual([of_runs[name] for name in ("final_loss", "final_hash", "max_staleness", "sweep.protocol")], ["double", "string", "int64", "string"])
        for values, kind in (([2, 4], "int64"), ([0.5, 1], "double"), ([1, 2.5], "double")):
            path = "cluster.learners" if kind == "int64" else "cluster.runtime.mean"
            out, tables = self.collected(changed(timed, protocol={"kind": "async"}, sweep={path: values}), str(values))
            self.assertEqual(self.check_equal(out / "runs.csv", read_parquet(tables)["runs"])[path], kind)

    def test_a_folder_goes_from_one_form_to_another(self):
        out, tables = self.collected(SCENARIO)
        wanted = {"csv": self.tables(out), "parquet": self.tables(tables)}
        store = (out / "runs.store").read_bytes()
        for form in ("parquet", "csv", "parquet"):
            self.call("collect", out, "--format", form, "--quiet")
            self.assertEqual(self.tables(out), wanted[form])
        told, _ = self.call("plot", out, "--format", "png")
        self.assertIn("plots/ (error_time, ", told)
        told, _ = self.call("run", self.write(SCENARIO), "--out", out)
        self.assertIn("all 12 runs are there; the files are written anew\nnote: tables are CSV again", told)
        self.assertEqual(self.tables(out), wanted["csv"])
        self.assertEqual((out / "runs.store").read_bytes(), store)

    def test_a_database_says_the_same_and_what_its_columns_mean(self):
        scenario = changed(SMALL, targets={"loss": [0.5]}, sweep={"learning_rate.eta": [0.1, 1e300], "protocol": SMALL["sweep"]["protocol"][:2]})
        out, tables = self.collected(scenario)
        database_folder = self.folder / "database"
        self.call("collect", out, "--out", database_folder, "--format", "sqlite", "--quiet")
        self.assertEqual({path.name for path in database_folder.iterdir()}, {"results.sqlite", "trace.json", "manifest.json", "runs.store"})
        with contextlib.closing(sqlite3.connect(database_folder / "results.sqlite")) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            database.row_factory, read = sqlite3.Row, read_parquet(tables)
            for file in sorted(out.glob("*.csv")):
                wanted = read[file.stem][1]
                found = [dict(row) for row in database.execute(f"SELECT * FROM {file.stem}")]
                without_nan = [{name: None if value != value else value for name, value in row.items()} for row in wanted]
                self.assertEqual(found, without_nan, file.name)  # SQLite has no NaN
                self.assertEqual([row[0] for row in database.execute('SELECT name FROM columns WHERE "table" = ?', (file.stem,))], list(wanted[0]))
            self.assertEqual([tuple(row) for row in database.execute("SELECT * FROM targets")], [("time_to_loss_0.5", "loss", 0.5)])
            points = database.execute('SELECT point, label, "learning_rate.eta" FROM points').fetchall()
            labels = database.execute('SELECT DISTINCT point, label, "learning_rate.eta" FROM runs ORDER BY point').fetchall()
            self.assertEqual([tuple(row) for row in points], [tuple(row) for row in labels])
        for command in ("plot", "report"):
            _, told = self.call(command, database_folder, status=2)
            self.assertIn(f"database: holds no results of gradrace: a database, results.sqlite; gradrace collect {database_folder} --format csv", told)
        told, _ = self.call("run", self.write(scenario), "--out", database_folder)
        self.assertIn("note: tables are CSV again; gradrace collect --format sqlite", told)
        self.assertEqual(self.tables(database_folder), self.tables(out))

    def test_words_that_are_wrong_are_told(self):
        out, _ = self.collected(changed(SMALL, replicas=1, sweep=None, protocol={"kind": "sync"}))
        before = self.tables(out)
        for words, what in (
            (("--format", "xml"), 'collect: --format takes csv, parquet or sqlite, got "xml"'),
            (("--format", "parquet", "--compress", "zstd"), "take one of --compress and --format parquet"),
            (("--format", "parquet", "--plot"), "take one of --plot and --format parquet"),
        ):
            self.assertIn(what, self.call("collect", out, *words, status=2)[1])
            self.assertEqual(self.tables(out), before)


if __name__ == "__main__":
    unittest.main()
