"""The last line of every commit's message says what the commit changed: "Signature: HASH", the last line of `gradrace signature`,
where results or words may have changed, or "No behaviour change".

Looked at are the commits after the one that brought this file; merges are not."""

import re
import subprocess
import sys
import unittest

from program import ROOT, skip

THIS = "tests/commits_test.py"
LAST_LINE = re.compile(r"Signature: [0-9a-f]{16}|No behaviour change")


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout


def last_line(message):
    return message.strip().rpartition("\n")[2]


class Commits(unittest.TestCase):
    def test_each_says_what_it_changed(self):
        first = git("log", "--diff-filter=A", "--format=%H", "--", THIS).split()
        if not first or git("rev-parse", "--is-shallow-repository").strip() != "false":
            skip(f"the commit that brought {THIS} is not in this clone")
        silent = [
            commit
            for commit in git("rev-list", "--no-merges", f"{first[-1]}..HEAD").split()
            if not LAST_LINE.fullmatch(last_line(git("log", "-1", "--format=%B", commit)))
        ]
        self.assertEqual(silent, [], f"the last line of a message is to be {LAST_LINE.pattern}")

    def test_which_lines_pass(self):
        for message, passes in (
            ("Add x\n\nSignature: b457ab54589be95f\n", True),
            ("Move y\n\nNo behaviour change", True),
            ("Add x", False),
            ("Signature: b457ab54589be95f\n\nMore", False),
        ):
            self.assertEqual(bool(LAST_LINE.fullmatch(last_line(message))), passes, message)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
