"""What a store of runs says is input: it may come from a stranger, and from a disk that lost a part of it."""

import ctypes
import os
import pathlib
import pwd
import re
import shutil
import signal
import struct
import subprocess
import time
import unittest
import uuid

from damaged_store import INTEGER, NONE, NUMBER, PART, change_header, change_run, content_of, record, text_cell
from disks import small_disk
from program import PROGRAM, SMALL, ProgramTest, changed
from run_store import HEAD, MAGIC, NIL, records

BASE = changed(SMALL, record={"every_time": 1}, sweep=None, protocol={"kind": "sync"}, replicas=4, stop={"updates": 5})
TORN = "at its end cannot be read"


def heads(path):
    """(key, data) of every record."""
    bytes_there, place, found = path.read_bytes(), 0, []
    for key, content in records(path):
        found.append((key, HEAD.unpack_from(bytes_there, place)[2]))
        place += HEAD.size + len(content) + 4
    return found


def everything_in(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class Store(ProgramTest):
    def setUp(self):
        super().setUp()
        self.scenario = self.write(BASE)
        self.call("run", self.scenario, "--out", "o", "--quiet")
        self.out, self.store = self.folder / "o", self.folder / "o/runs.store"
        self.usual = self.tables(self.out)

    def restore(self):
        shutil.rmtree(self.out)
        self.call("run", self.scenario, "--out", "o", "--quiet")

    def check_is_left_out(self, change, why):
        """Of `run` and `collect`, with the tables there and without: run 2 of 4 is told, made again or lacks; nothing else is written."""
        for command, published in ((c, p) for c in ("run", "collect") for p in (True, False)):
            with self.subTest(why, command=command, published=published):
                self.restore()
                change_run(self.store, 2, change)
                if not published:
                    for name in (*self.usual, "manifest.json"):
                        (self.out / name).unlink()
                before = everything_in(self.folder)
                words = ("run", self.scenario, "--out", "o", "--quiet") if command == "run" else ("collect", "o", "--quiet")
                status = 0 if command == "run" else 2 if published else 1
                told = self.call(*words, status=status)[1]
                if command == "run" or not published:
                    self.assertIn(f"o/runs.store: run 2 in it is left out: {why}", told)
                after = everything_in(self.folder)
                new = {os.fspath(name) for name in after.keys() - before.keys()}
                self.assertLessEqual(new, {f"o/{name}" for name in (*self.usual, "manifest.json", "runs.store.1")})
                if command == "run":
                    self.assertEqual({n: b for n, b in self.tables(self.out).items() if n != "runs.store.1"}, self.usual)
                    kept = (self.out / "runs.store.1").read_bytes()  # with run 2, which was added
                    self.assertTrue(kept.startswith(before[pathlib.Path("o/runs.store")]))
                elif not published:
                    rows = (self.out / "runs.csv").read_bytes().splitlines()
                    self.assertEqual(rows, [row for row in self.usual["runs.csv"].splitlines() if not row.startswith(b"0,1,")])

    def test_rows_go_to_the_files_of_the_scenario_alone(self):
        owned = os.fspath(self.folder / "owned.txt")
        for name in ("../../owned.txt", owned, "runs.csv", "manifest.json", "plots/x", ".bashrc", "a\0b", "", "updates.csv", "theory.csv"):
            self.check_is_left_out(lambda result, texts, name=name: content_of(result, [*texts, (name, NONE)]), "it has rows for ")

    def test_a_file_has_rows_of_a_run_once(self):
        self.check_is_left_out(lambda result, texts: content_of(result, [*texts, texts[0]]), "it has rows for curve.csv twice")

    def test_rows_have_the_types_of_their_columns(self):
        def with_rows(change):
            return lambda result, tables: content_of(result, [(name, change(cells) if name == "curve.csv" else cells) for name, cells in tables])

        number = NUMBER + bytes(8)  # a row begins with its time
        for change in (
            lambda cells: cells[:-1],
            lambda cells: cells[len(number) :],
            lambda cells: cells + number,
            lambda cells: INTEGER + cells[1:],
            lambda cells: text_cell(b"0") + cells[len(number) :],
            lambda cells: b"\x04" + cells[1:],
            lambda cells: cells + b"\x02\xff\xff\xff\xff",
        ):
            self.check_is_left_out(with_rows(change), "its rows for curve.csv are none of a run")
        traced = self.write(changed(BASE, record={"trace": True}), "t.json")
        self.call("run", traced, "--out", "t", "--quiet")
        change_run(
            self.folder / "t/runs.store",
            1,
            lambda result, tables: content_of(result, [(name, cells.replace(b"server", b"s\x1b[2Jr")) for name, cells in tables]),
        )
        self.assertIn("its rows for trace.json are none of a run", self.call("run", traced, "--out", "t", "--quiet")[1])

    def test_a_run_that_is_there_twice_is_there_with_one_result(self):
        whole = self.store.read_bytes()
        (_, content), *_ = ((key, text) for key, text in records(self.store) if key != NIL)
        for change in (lambda result, texts: content_of(result, [(name, text * 2) for name, text in texts]), None):
            self.store.write_bytes(whole)
            if change is not None:
                change_run(self.store, 1, change)
            head = HEAD.unpack_from(whole, len(whole.split(content)[0]) - HEAD.size)
            changed_store = self.store.read_bytes() + record(uuid.UUID(bytes=head[1]), head[2], content)
            self.store.write_bytes(changed_store)
            for words in (("run", self.scenario, "--out", "o", "--quiet"), ("collect", "o", "--quiet")):
                told = self.call(*words, status=0 if change is None else 2)[1]
                if change is not None:
                    self.assertIn("o/runs.store: has a run twice, with different results", told)
                    self.assertEqual(self.store.read_bytes(), changed_store)

    def test_runs_of_other_replicas_do_not_stand_for_those_that_lack(self):
        """Four whole rows stay, where the store has three of them and one of a fifth replica."""
        self.call("run", self.write(changed(BASE, replicas=5), "five.json"), "--out", "five", "--quiet")
        runs = {}
        for key, content in records(self.folder / "five/runs.store"):
            runs.setdefault(key == NIL, []).append((key, content))
        head = {key: data for key, data in heads(self.store) + heads(self.folder / "five/runs.store")}
        own = [(key, content) for key, content in records(self.store)]
        self.store.write_bytes(b"".join(record(key, head[key], content) for key, content in [*own[:-1], runs[False][4]]))
        before = everything_in(self.out)
        self.assertIn("the stores 3 of them", self.call("collect", "o", "--quiet", status=2)[1])
        self.assertEqual(everything_in(self.out), before)

    def test_of_many_that_are_left_out_twenty_are_told(self):
        self.call("run", self.write(changed(BASE, replicas=30), "many.json"), "--out", "many", "--quiet")
        for number in range(1, 29):
            change_run(self.folder / "many/runs.store", number, lambda result, texts: content_of(b"", texts))
        told = self.call("run", self.folder / "many.json", "--out", "many", "--quiet")[1]
        self.assertEqual(told.count("is left out: "), 20)
        self.assertIn("many/runs.store: 8 runs more left out", told)

    def test_lengths_lie_within_the_record(self):
        for change in (
            lambda result, texts: content_of(result, texts, result_size=2**32 - 1),
            lambda result, texts: content_of(result, texts)[:-1],
            lambda result, texts: content_of(result, texts) + b"\x05curve",
            lambda result, _: content_of(result, []) + PART.pack(b"curve.csv", 2**64 - 1),
            lambda result, texts: b"\0\0",
            lambda result, texts: b"",
        ):
            self.check_is_left_out(change, "its record ends too early")

    def test_a_reason_is_printable_and_no_formula(self):
        for reason in (b"=1+1", b"+1", b"-1", b"@x", b"a\x1b[2J", b"a\nb"):
            begin = INTEGER + bytes(8) + text_cell(reason)  # status, reason
            self.check_is_left_out(lambda result, texts, begin=begin: content_of(begin + result[10:], texts), "it holds no result of a run")

    def test_a_result_is_one_of_the_scenario(self):
        for result in (b"", b"\x81" * 300000, NONE * 300000, INTEGER + b"\xff" * 8, b"\x01", b"no result", (INTEGER + bytes(8)) * 40):
            self.check_is_left_out(lambda _, texts, result=result: content_of(result, texts), "it holds no result of a run")
        # What is no text, another number of targets, and a status that no finished run has.
        with_target = self.write(changed(BASE, targets={"loss": [1e-9]}), "t.json")
        self.call("run", with_target, "--out", "t", "--quiet")
        self.restore()
        kept = []
        change_run(self.folder / "t/runs.store", 1, lambda result, texts: kept.append(result) or content_of(result, texts))
        self.check_is_left_out(lambda _, texts: content_of(kept[0], texts), "it holds no result of a run")
        # It begins with its status and the reason.
        for begin, end in ((INTEGER + bytes(8) + text_cell(b"\xff\xfe"), 10), (INTEGER + struct.pack("<Q", 200), 9)):
            self.check_is_left_out(lambda result, texts, begin=begin, end=end: content_of(begin + result[end:], texts), "it holds no result of a run")
        for size in (2**64 - 1, 2**40, 1):  # of the list of replays that ran out, which is the last
            end = INTEGER + struct.pack("<Q", size)
            self.check_is_left_out(lambda result, texts, end=end: content_of(result[: -len(end)] + end, texts), "it holds no result of a run")


class End(ProgramTest):
    def setUp(self):
        super().setUp()
        self.call("run", self.write(BASE), "--out", "o", "--quiet")
        self.store = self.folder / "o/runs.store"
        self.whole = self.store.read_bytes()
        self.kept = self.folder / "o/runs.store.1"

    def run_again(self):
        told = self.call("run", self.folder / "scenario.json", "--out", "o", "--quiet")[1]
        self.assertEqual(self.store.read_bytes(), self.whole)
        return told

    def test_a_record_that_was_torn_goes_without_a_word(self):
        for left in (5, 47, 48, 200):
            self.store.write_bytes(self.whole + self.whole[:left])
            self.assertNotIn("note", self.run_again())
            self.assertFalse(self.kept.exists())

    def test_what_else_cannot_be_read_is_kept(self):
        flipped = bytearray(self.whole)
        flipped[-600] ^= 4  # in the last record
        for damaged, what in (
            (self.whole + b"of another version" * 50, "900 bytes at its end cannot be read"),
            (bytes(flipped), "damaged record"),
        ):
            with self.subTest(what):
                self.store.write_bytes(damaged)
                told = self.run_again()
                self.assertIn(what, told)
                self.assertIn("o/runs.store: what it held is kept as runs.store.1", told)
                self.assertTrue(self.kept.read_bytes().startswith(damaged))
                self.kept.unlink()

    def test_a_store_of_before_is_told_apart(self):
        before = self.whole.replace(MAGIC, MAGIC[:-1] + b"\1")
        self.store.write_bytes(before)
        for words in (
            ("run", self.folder / "scenario.json", "--out", "o"),
            ("collect", "o"),
            ("run", self.folder / "scenario.json", "--out", "o", "--dry-run"),
        ):
            self.assertIn("o/runs.store: is a store of finished runs as another version of gradrace writes it", self.call(*words, status=2)[1])
            self.assertEqual(self.store.read_bytes(), before)
        self.call("run", self.folder / "scenario.json", "--out", "o", "--quiet", "--force")
        self.assertEqual(self.store.read_bytes(), self.whole)

    def test_a_store_without_a_sound_run_is_not_removed(self):
        for number in range(1, 5):
            change_run(self.store, number, lambda result, texts: content_of(b"", texts))
        damaged = self.store.read_bytes()
        self.call("collect", "o", "--quiet", status=2)
        self.assertEqual(self.store.read_bytes(), damaged)

    def test_the_end_of_a_shard_is_told_and_kept(self):
        for shard in ("1/2", "2/2"):
            self.call("run", self.folder / "scenario.json", "--out", "s", "--shard", shard, "--quiet")
        shard = self.folder / "s/runs.2-of-2.store"
        damaged = shard.read_bytes() + b"foreign" * 50
        shard.write_bytes(damaged)
        self.assertIn("350 bytes at its end cannot be read", self.call("collect", "s", "--quiet")[1])
        self.assertEqual((self.folder / "s/runs.2-of-2.store.1").read_bytes(), damaged)

    def test_heads_that_reach_beyond_the_file_take_no_time(self):
        head = record(NIL, 0, b"", length=2**63)[: HEAD.size]
        self.store.write_bytes(self.whole + head * 200000)  # 9.6 MB
        begin = time.monotonic()
        self.run_again()
        self.assertLess(time.monotonic() - begin, 5)

    def test_a_head_that_is_flipped_takes_no_run_behind_it(self):
        second = self.whole.index(MAGIC, 60)
        flipped = bytearray(self.whole)
        flipped[second + 39] ^= 0x40  # its length
        self.store.write_bytes(bytes(flipped))
        self.assertIn("1 damaged record left out", self.run_again())
        self.assertTrue(self.kept.read_bytes().startswith(flipped))

    def test_holes_are_neither_read_nor_copied(self):
        """A stranger's store that has next to nothing on the disk."""
        content = next(content for key, content in records(self.store) if key != NIL)
        key = next(key for key, _ in records(self.store) if key != NIL)
        for size in (500 << 20, 40 << 30):
            for begin in (self.whole, self.whole + record(key, 0, content, length=size - len(self.whole) - 1000)[: HEAD.size]):
                self.store.write_bytes(begin)
                os.truncate(self.store, size)
                with self.store.open("r+b") as file:
                    file.seek(size - 5)
                    file.write(b"other")
                start = time.monotonic()
                self.assertIn("what it held is kept as runs.store.1", self.run_again())
                self.assertLess(time.monotonic() - start, 5)
                self.assertEqual(self.kept.stat().st_size, size)
                self.assertLess(self.kept.stat().st_blocks * 512, 1 << 20)
                self.kept.unlink()

    def test_a_copy_that_has_no_room_goes(self):
        with small_disk(self.folder / "disk", "256k") as disk:
            store = disk / "o/runs.store"
            self.call("run", self.folder / "scenario.json", "--out", disk / "o", "--quiet")
            damaged = store.read_bytes() + os.urandom(150 << 10)
            store.write_bytes(damaged)
            told = self.call("run", self.folder / "scenario.json", "--out", disk / "o", "--quiet", status=1)[1]
            self.assertIn("runs.store.1: cannot be written: No space left on device", told)
            self.assertFalse((disk / "o/runs.store.1").exists())
            self.assertEqual(store.read_bytes(), damaged)


class Header(ProgramTest):
    def setUp(self):
        super().setUp()
        self.call("run", self.write(BASE), "--out", "o", "--quiet")
        self.store = self.folder / "o/runs.store"

    def refused(self, change, told, status=2):
        """Of run and collect."""
        whole = self.store.read_bytes()
        change_header(self.store, change)
        damaged = self.store.read_bytes()
        for words in (("collect", "o"), ("run", self.folder / "scenario.json", "--out", "o")):
            self.assertRegex(self.call(*words, "--quiet", status=status)[1], told)
            self.assertEqual(self.store.read_bytes(), damaged)
        self.store.write_bytes(whole)

    def test_that_is_nested_deep_is_refused(self):
        deep = b"[" * 300000 + b"]" * 300000
        for key in (b"scenario", b"written"):
            told = "o: |o/runs.store: "
            self.refused(lambda text, key=key: text.replace(b'"%s":{' % key, b'"%s":%s,"x":{' % (key, deep), 1), told)
        manifest = self.folder / "o/manifest.json"
        manifest.write_text('{"version": "", "files": {"runs.csv": ""}, "runs": ' + deep.decode() + "}")
        self.assertIn("manifest.json", self.call("run", self.folder / "scenario.json", "--out", "o", "--quiet")[1])

    def test_whose_scenario_is_none_is_refused(self):
        for key in (b"scenario", b"written"):
            for odd in (b"0", b"[1, 2]", b'"x"'):
                told = "o: |o/runs.store: "
                self.refused(lambda text, key=key, odd=odd: text.replace(b'"%s":{' % key, b'"%s":%s,"x":{' % (key, odd), 1), told)
                self.assertNotIn("json.exception", self.call("run", self.folder / "scenario.json", "--out", "o", "--dry-run")[1])

    def test_that_names_no_data_of_its_points_is_refused(self):
        change_header(self.store, lambda text: re.sub(rb'"data_of_points":\[[^]]*\]', b'"data_of_points":[]', text))
        self.assertIn("do not say which data their points have", self.call("collect", "o", "--quiet", status=2)[1])

    def test_shards_that_lack_are_counted_where_they_are_many(self):
        self.call("run", self.folder / "scenario.json", "--out", "s", "--shard", "1/2", "--quiet")
        change_header(self.folder / "s/runs.1-of-2.store", lambda text: text.replace(b'"1/2"', b'"1/4000000000"'))
        told = self.call("collect", "s", "--quiet", status=1)[1]
        self.assertIn("missing: shard 2/4000000000, 3/4000000000", told)
        self.assertIn("21/4000000000 and 3999999979 more", told)

    def test_that_says_more_runs_than_are_there_makes_no_room_for_them(self):
        change_header(self.store, lambda text: text.replace(b'"replicas":4', b'"replicas":16777215'))
        start = time.monotonic()
        told = self.call("collect", "o", "--quiet", status=2)[1]
        self.assertIn("o/runs.store: says that it is of 16777215 runs, and the stores have 4 of them", told)
        self.assertLess(time.monotonic() - start, 5)

    def test_that_is_damaged_is_in_a_store_of_its_own(self):
        """What collect says of stores is so."""
        for shard in ("1/2", "2/2"):
            self.call("run", self.folder / "scenario.json", "--out", "s", "--shard", shard, "--quiet")
        self.call("run", self.folder / "scenario.json", "--out", "s", "--quiet")
        for shard in ("1/3", "2/3", "3/3"):
            self.call("run", self.folder / "scenario.json", "--out", "t", "--shard", shard, "--quiet")
        shutil.copy(self.folder / "o/runs.store", self.folder / "t/runs.store")
        self.assertIn("their stores are one now", self.call("collect", "t")[0])
        for shard in ("1/3", "2/3"):
            self.call("run", self.folder / "scenario.json", "--out", "u", "--shard", shard, "--quiet")
        foreign = self.folder / "u/runs.3-of-3.store"
        shutil.copy(self.folder / "o/runs.store", self.folder / "u/runs.store")
        foreign.write_bytes(b"".join(record(key, 0, content) for key, content in records(self.store) if key != NIL))
        self.assertNotIn("their stores are one now", self.call("collect", "u")[0])
        self.assertTrue(foreign.exists())


class Place(ProgramTest):
    def begin_slow_run(self):
        slow = self.write(changed(BASE, replicas=1, stop={"updates": 4000000}, record=None), "slow.json")
        run = subprocess.Popen([PROGRAM, "run", slow, "--out", "d", "--quiet"], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.stderr.close)
        self.addCleanup(lambda: (run.kill(), run.wait()))
        while not (self.folder / "d/runs.store").exists():
            time.sleep(0.01)
        time.sleep(0.2)
        return run

    def test_a_store_that_goes_away_is_told(self):
        for other in (None, b"mine"):
            run = self.begin_slow_run()
            store = self.folder / "d/runs.store"
            store.unlink()
            if other is not None:
                store.write_bytes(other)
            run.send_signal(signal.SIGINT)
            self.assertIn("d/runs.store: was removed or replaced while runs were made", run.communicate(timeout=60)[1])
            self.assertEqual(run.returncode, 1)
            if other is not None:
                self.assertEqual(store.read_bytes(), other)
            shutil.rmtree(self.folder / "d", ignore_errors=True)

    def stored_run(self):
        """Of several slow ones, stopped (SIGSTOP) when two are in the store: the process, and where the first one begins."""
        long = self.write(changed(BASE, replicas=4, stop={"updates": 20000}), "long.json")
        run = subprocess.Popen(
            [PROGRAM, "run", long, "--out", "d", "--quiet", "--jobs", "1"],
            cwd=self.folder,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "GRADRACE_PYTHON": "none"},
        )
        self.addCleanup(run.stderr.close)
        self.addCleanup(lambda: (run.kill(), run.wait()))
        store = self.folder / "d/runs.store"
        begins = []
        while len(begins) < 4:  # two headers, two runs
            time.sleep(0.01)
            whole = store.read_bytes() if store.exists() else b""
            begins = [match.start() for match in re.finditer(re.escape(MAGIC), whole)]
            self.assertIsNone(run.poll())
        run.send_signal(signal.SIGSTOP)
        return run, begins[2]

    def test_bytes_that_change_while_runs_are_made_are_not_published(self):
        def flip(store, begin):
            with store.open("r+b") as file:
                file.seek(store.read_bytes().index(b"curve.csv", begin) + 400)
                file.write(bytes(byte ^ 0x11 for byte in store.read_bytes()[file.tell() :][:3]))

        def cut(store, begin):
            os.truncate(store, begin + 200)

        self.write(changed(BASE, replicas=4, stop={"updates": 20000}), "long.json")
        self.call("run", "long.json", "--out", "usual", "--quiet")
        for damage in (flip, cut):
            with self.subTest(damage.__name__):
                shutil.rmtree(self.folder / "d", ignore_errors=True)
                run, begin = self.stored_run()
                damage(self.folder / "d/runs.store", begin)
                run.send_signal(signal.SIGCONT)
                told = run.communicate(timeout=100)[1]
                self.assertEqual(run.returncode, 1, told)
                self.assertRegex(told, rf"d/runs.store: the run at byte {begin} of it is no longer as it was written")
                self.assertEqual(sorted(os.listdir(self.folder / "d")), ["runs.store"])
                told = self.call("run", "long.json", "--out", "d", "--quiet")[1]
                self.assertIn("1 damaged record left out", told)
                self.assertEqual({n: b for n, b in self.tables(self.folder / "d").items() if n != "runs.store.1"}, self.tables(self.folder / "usual"))

    def test_links_that_come_and_go_are_not_followed(self):
        """In place of .unfinished, as often as they can, while a run is made."""
        rename = ctypes.CDLL(None).renameat2
        target, out = self.folder / "target", self.folder / "d"
        target.mkdir()
        names = ["runs.csv", "curve.csv", "manifest.json", "learners.csv", "publishing.json", "lock", "runs.store.new"]
        for name in names:
            (target / name).write_text(f"keep {name}")
        self.write(changed(BASE, replicas=4, stop={"updates": 200}, record={"every_updates": 1}))
        here, unfinished, link, exchange = -100, os.fsencode(out / ".unfinished"), os.fsencode(out / "link"), 2
        ended = set()
        for attempt in range(40):
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            words = [PROGRAM, "run", "scenario.json", "--quiet", "--jobs", "1", "--out", "d"]
            run = subprocess.Popen(words, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while attempt % 2 and run.poll() is None and not (out / "runs.store").exists():
                pass
            (out / "link").symlink_to("../target")
            while run.poll() is None:
                rename(here, unfinished, here, link, exchange)
            ended.add(run.returncode)
            self.assertEqual({path.name: path.read_text() for path in target.iterdir()}, {name: f"keep {name}" for name in names})
        self.assertTrue({0, 1} & ended and ended <= {0, 1, 2}, ended)  # some came as far as their results

    def test_a_folder_that_is_moved_away_keeps_its_runs(self):
        run, _ = self.stored_run()
        (self.folder / "d").rename(self.folder / "moved")
        run.send_signal(signal.SIGCONT)
        told = run.communicate(timeout=100)[1]
        self.assertEqual(run.returncode, 1)
        self.assertIn("d: was moved or replaced", told)
        self.assertIn("finished runs are in the store of the folder that was there", told)
        self.assertFalse((self.folder / "d").exists())
        self.assertIn("all 4 runs are there", self.call("run", "long.json", "--out", "moved")[0])

    def test_what_a_signal_interrupts_is_made_again(self):
        faults = [("fsync", f"EINTR:when={place}") for place in range(1, 12)]
        faults += [("rename", "EINTR:when=1+2"), ("openat", "EINTR:when=9+7"), ("fsync", "ENOSYS")]
        for number, (of, error) in enumerate(faults):
            words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={of}", "-e", f"inject={of}:error={error}"]
            words += [PROGRAM, "run", self.write(BASE), "--quiet", "--out", f"d{number}"]
            if shutil.which("strace") is None or subprocess.run(["strace", "true"], check=False, capture_output=True).returncode != 0:
                self.skipTest("strace is not there, or may not trace here")
            done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(os.geteuid() == 0, "only root becomes another user")
    def test_what_may_not_be_read_is_told_as_that(self):
        nobody = pwd.getpwnam("nobody").pw_uid
        self.folder.chmod(0o755)
        self.call("run", self.write(BASE), "--out", "o", "--quiet")

        def told_to_nobody(*words):
            done = subprocess.run([PROGRAM, *words], cwd=self.folder, user=nobody, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            return done.stderr

        manifest = self.folder / "o/manifest.json"
        manifest.chmod(0)
        self.assertIn("o/manifest.json: cannot be read: Permission denied", told_to_nobody("plot", "o"))
        (self.folder / "o").chmod(0)
        self.assertIn("o: cannot be read: Permission denied", told_to_nobody("collect", "o"))

    @unittest.skipUnless(os.geteuid() == 0, "only root becomes another user")
    def test_a_folder_whose_parent_may_not_be_read_is_as_any_other(self):
        nobody = pwd.getpwnam("nobody").pw_uid
        for mode in (0o711, 0o311):
            parent = self.folder / f"p{mode:o}"
            own = parent / "me"
            own.mkdir(parents=True)
            os.chown(own, nobody, -1)
            self.folder.chmod(0o711)
            parent.chmod(mode)
            self.write(BASE).chmod(0o644)
            words = [PROGRAM, "run", self.folder / "scenario.json", "--quiet", "--out", own]
            done = subprocess.run(words, user=nobody, capture_output=True, text=True, check=False, cwd="/")
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
