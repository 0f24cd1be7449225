"""Whose an output folder is: nothing of the user's is deleted."""

import json
import unittest

from program import SMALL, ProgramTest, changed

TIMING = changed(SMALL, model=None, learning_rate=None, record={}, sweep=None, protocol={"kind": "async"})


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
        for name in ("..\0", "\0", ".\0", "x\0/../..", "a\nb", "\x1b[2J", "\x7f", "\x85", "\u202ea\x07"):
            path = self.write(changed(TIMING, name=name))
            for command in ("run", "search"):
                told = self.refused(command, path, "--force")
                self.assertRegex(told, r"scenario\.json:1:\d+: error: name: names a folder, so it (has no control|is no path)")
            set_name = "name=" + json.dumps(name)
            told = self.refused("run", self.write(TIMING), "--set", set_name, "--force", "--out", "several")
            self.assertIn("error: name: names a folder", told)

    def test_names_that_are_no_folders_are_refused(self):
        for name in ("a" * 201, "é" * 101):
            self.refused("run", self.write(changed(TIMING, name=name)), "--force")
        _, told = self.call("run", self.write(TIMING), "--set", b"name=caf\xe9", status=2)
        self.assertIn("--set name=caf\\xe9: is not UTF-8", told)

    def test_odd_names_are_folders_of_their_own(self):
        for name in (" ", "...", ".. ", "a" * 200, "-h", "\u202e", "$(rm -r thesis)"):
            path = self.write(changed(TIMING, name=name))
            before = self.all_files()
            told, _ = self.call("run", path, "--force")
            self.assertTrue((self.folder / "out" / name / "runs.csv").is_file(), ascii(name))
            self.assertNotIn("\u202e", told)
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


if __name__ == "__main__":
    unittest.main()
