"""Whose an output folder is: nothing of the user's is deleted, and one process at a time writes there."""

import json
import os
import signal
import subprocess
import time
import unittest

from program import PROGRAM, SMALL, ProgramTest, changed, rows

TIMING = changed(SMALL, model=None, learning_rate=None, record={}, sweep=None, protocol={"kind": "async"})
LONG = changed(TIMING, name="long", replicas=1, stop={"updates": 10**9})


class UsersFiles(ProgramTest):
    """A name or a path that is not what it looks like deletes nothing."""

    def setUp(self):
        super().setUp()
        for path in ("thesis/chapter", "out/thesis", "plots/staleness.png", "runs.csv"):
            file = self.folder / path
            file.parent.mkdir(exist_ok=True)
            file.write_text("mine")

    def all_files(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def refused(self, *words, **environment):
        before = self.all_files()
        _, told = self.call(*words, status=2, **environment)
        self.assertEqual(self.all_files(), before)
        self.assertFalse(any(ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160 or c == "\u202e" for c in told), ascii(told))
        return told

    def test_a_name_with_a_control_character_is_refused(self):
        for name in ("..\0", "\0", ".\0", "x\0/../..", "a\nb", "\x1b[2J", "\x7f", "\x85", "\u202ea\x07", "\u202e", "a\u2028b", "\u2066"):
            path = self.write(changed(TIMING, name=name))
            for command in ("run", "search"):
                told = self.refused(command, path, "--force")
                self.assertRegex(told, r"scenario\.json:1:\d+: error: name: names a folder, so it (has no control|is no path)")
            set_name = "name=" + json.dumps(name)
            told = self.refused("run", self.write(TIMING), "--set", set_name, "--force", "--out", "several")
            self.assertIn("error: name: names a folder", told)

    def test_names_that_are_no_folders_are_refused(self):
        for name in (".unfinished", "a" * 201, "é" * 101):
            self.refused("run", self.write(changed(TIMING, name=name)), "--force")
        self.refused("run", self.write(TIMING), "--force", "--out", "out/.unfinished/")
        _, told = self.call("run", self.write(TIMING), "--set", b"name=caf\xe9", status=2)
        self.assertIn("--set name=caf\\xe9: is not UTF-8", told)

    def test_odd_names_are_folders_of_their_own(self):
        for name in (" ", "...", ".. ", "a" * 200, "-h", "\u200b", "$(rm -r thesis)"):
            path = self.write(changed(TIMING, name=name))
            before = self.all_files()
            told, _ = self.call("run", path, "--force")
            self.assertTrue((self.folder / "out" / name / "runs.csv").is_file(), ascii(name))
            self.assertNotIn("\u200b", told)
            self.assertEqual({file: text for file, text in self.all_files().items() if file in before}, before)

    def test_a_files_name_is_a_name(self):
        path = self.write(changed(TIMING, name=None), "a\nb.json")
        self.assertIn("run: names a file or folder, and has U+000A", self.refused("run", path, "--force"))

    def test_paths_of_the_command_line_have_no_control_characters(self):
        path = self.write(TIMING)
        for words in (
            ("run", path, "--out", "a\nb"),
            ("run", path, "--out", "\x1b]0;x\x07"),
            ("run", path, "--out", "a\x7f"),
            ("run", path, "--out", "a\x9b"),
            ("run", path, path, "--out", "a\nb"),
            ("run", path, "--data", "a\nb"),
            ("run", "a\nb"),
            ("validate", path, "a\nb"),
            ("search", path, "--out", "a\nb"),
            ("search", path, "--accuracies", "a\nb"),
            ("reproduce", "dutta2018", "--quick", "--out", "a\nb"),
            ("fit", "a\nb"),
            ("fit", path, "--out", "a\nb"),
            ("plot", "a\nb"),
        ):
            self.assertIn("names a file or folder, and has U+", self.refused(*words))
        self.assertIn("GRADRACE_DATA: names a", self.refused("validate", path, GRADRACE_DATA="a\nb"))

    def test_a_title_is_escaped_where_it_is_printed(self):
        told, _ = self.call("run", self.write(changed(TIMING, title="fdp.\u202eexe\x1b[2J")))
        self.assertIn("small: fdp.\\u202eexe\\u001b[2J (1 point", told)

    def test_force_leaves_what_is_not_its_own(self):
        out = self.folder / "mine"
        unfinished = out / ".unfinished"
        for path in (unfinished / "thesis", unfinished / "deep/thesis", out / "thesis"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("mine")
        (unfinished / "runs.csv").symlink_to(self.folder / "thesis/chapter")  # as if from a call that was killed
        (out / "plots").symlink_to(self.folder / "plots")
        before = self.all_files()
        for _ in range(2):
            self.call("run", self.write(TIMING), "--out", "mine", "--force", "--quiet")
        after = self.all_files()
        before.pop(unfinished / "runs.csv")
        for path, text in before.items():
            self.assertEqual(after[path], text, path)
        self.assertTrue((out / "plots").is_symlink())

    def test_unfinished_results_do_not_go_through_a_link(self):
        (self.folder / "mine").mkdir()
        (self.folder / "mine/.unfinished").symlink_to(self.folder / "thesis")
        before = self.all_files()
        self.call("run", self.write(TIMING, "out/s.json"), "--out", "mine", "--force", "--quiet", status=2)
        self.assertEqual({p: t for p, t in self.all_files().items() if p in before}, before)
        (self.folder / "mine/.unfinished").unlink()
        (self.folder / "mine/.unfinished").mkdir()
        (self.folder / "mine/.unfinished/lock").symlink_to(self.folder / "thesis/chapter")
        self.call("run", self.folder / "out/s.json", "--out", "mine", "--force", "--quiet", status=1)
        self.assertEqual((self.folder / "thesis/chapter").read_text(), "mine")

    def test_a_folder_that_was_there_stays(self):
        (self.folder / "empty").mkdir(mode=0o700)
        (self.folder / "link").symlink_to(self.folder / "empty")
        for out in ("empty", "link"):
            process = subprocess.Popen([PROGRAM, "run", self.write(LONG), "--out", out, "--quiet"], cwd=self.folder, stderr=subprocess.DEVNULL)
            wait_for(self.folder / out / ".unfinished/lock")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(60), 130)
            self.assertEqual(sorted((self.folder / "empty").iterdir()), [])
        self.call("run", self.write(TIMING), "--out", "link", "--quiet")
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertTrue((self.folder / "empty/runs.csv").is_file())


def wait_for(path):
    end = time.monotonic() + 60
    while not (path.is_file() and path.read_text()):
        if time.monotonic() > end:
            raise TimeoutError(path)
        time.sleep(0.01)


class OneProcess(ProgramTest):
    def start(self, *words, out="out"):
        process = subprocess.Popen(
            [PROGRAM, *map(os.fspath, words), "--out", out, "--quiet"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        wait_for(self.folder / out / ".unfinished/lock")
        return process

    def test_the_second_is_refused_and_after_a_kill_the_next_goes_on(self):
        long, short = self.write(LONG, "long.json"), self.write(TIMING)
        self.call("run", short, "--out", "out", "--quiet")
        before = self.tables(self.folder / "out")
        for _ in range(10):
            first = self.start("run", long, "--force")
            told = self.call("run", short, "--out", "out", "--force", "--seed", "7", status=2)[1]
            self.assertIn("out: another call of gradrace writes there (process " + str(first.pid) + " on ", told)
            self.assertRegex(told, r" since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: \S+ run \S+long.json --force")
            self.assertIsNone(first.poll())
            self.assertTrue((self.folder / "out/.unfinished/lock").is_file())
            first.kill()
            first.communicate()
            self.assertTrue((self.folder / "out/.unfinished/lock").is_file())  # the kernel ends the lock, not its file
            self.call("run", short, "--out", "out", "--force", "--quiet")
            self.assertEqual(self.tables(self.folder / "out"), before)

    def test_of_two_at_once_one_is_told_and_the_other_is_whole(self):
        for attempt in range(10):
            out = f"race-{attempt}"
            calls = {}
            for learners in (8, 10):
                path = self.write(changed(TIMING, replicas=20), f"{learners}.json")
                calls[learners] = subprocess.Popen(
                    [PROGRAM, "run", path, "--out", out, "--set", f"cluster.learners={learners}", "--quiet", "--force"],
                    cwd=self.folder,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            told = {learners: call.communicate(timeout=60)[1] for learners, call in calls.items()}
            done = [learners for learners, call in calls.items() if call.returncode == 0]
            self.assertIn(len(done), (1, 2), told)  # two, where the first had ended
            for learners, call in calls.items():
                if call.returncode != 0:
                    self.assertEqual(call.returncode, 2, told)
                    self.assertIn("another call of gradrace writes there", told[learners])
            written = {row["learners"] for row in rows(self.folder / out / "runs.csv")}
            manifest = json.loads((self.folder / out / "manifest.json").read_text())
            self.assertEqual(written, {str(manifest["scenario"]["cluster"]["learners"])})
            self.assertIn(manifest["scenario"]["cluster"]["learners"], done)
            self.assertFalse((self.folder / out / ".unfinished").exists())

    def test_it_holds_for_every_command_and_every_way_to_the_folder(self):
        self.start("run", self.write(LONG, "long.json"))
        (self.folder / "link").symlink_to("out")
        (self.folder / "trace.csv").write_text("seconds\n" + "".join(f"{1 + 3 * i % 7}\n" for i in range(50)))
        scenario = self.write(TIMING)
        switch = self.write(
            changed(
                TIMING,
                protocol={"kind": "switch", "phases": [{"protocol": {"kind": "sync"}, "end": {"work": 0.5}}, {"protocol": {"kind": "async"}}]},
                stop={"gradients": 100},
            ),
            "switch.json",
        )
        (self.folder / "runs.csv").write_text("share,accuracy\n1,0.9\n0.5,0.9\n")
        for words in (
            ("run", scenario, "--out", "out"),
            ("run", scenario, "--out", "link"),
            ("run", scenario, "--out", "out/../out/"),
            ("run", scenario, "--out", self.folder / "out"),
            ("fit", "trace.csv", "--out", "out"),
            ("search", switch, "--accuracies", "runs.csv", "--settings", "1", "--out", "out"),
            ("reproduce", "dutta2018", "--quick", "--out", "out"),
        ):
            _, told = self.call(*words, "--force", status=2)
            self.assertIn("another call of gradrace writes there", told)
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()), [".unfinished", "runs.store"])


if __name__ == "__main__":
    unittest.main()
