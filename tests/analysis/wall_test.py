"""Who may open results, and who may know how their columns are called."""

import ast
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READERS = {"open", "open_text", "read_text", "read_bytes", "read_csv", "read_parquet", "DictReader", "reader", "load"}
# What else is read, which is no result of runs.
OTHERS = {
    "asked.py": "what gradrace asks",
    "plots/whole.py": "files that are being written",
    "plots/stamp.py": "what it has drawn",
    "python/user_class.py": "a user's class",
    "reproduce/overview.py": "verdicts of papers",
    "reproduce/outputs.py": "values digitised from papers",
    "reproduce/table.py": "tables beside a paper's package",
}
PREFIXES = "time_to_", "resolution_of_", "sweep."
PARSERS = {"split", "partition", "rpartition", "removeprefix", "startswith", "sub", "match", "search", "findall"}


def sources(*but):
    """{path below analysis/: its syntax tree}, but for those folders."""
    found = {path.relative_to(ROOT / "analysis").as_posix(): path for path in (ROOT / "analysis").rglob("*.py")}
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in found.items() if not name.startswith(but)}


def calls(tree):
    """The name of each call, its place and its texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            yield name, node.lineno, texts


class Wall(unittest.TestCase):
    def test_nobody_else_opens_a_file_of_results(self):
        found = {name: place for name, tree in sources("results/", "tables/", "guarded.py").items() for call, place, _ in calls(tree) if call in READERS}
        self.assertEqual(set(found), set(OTHERS), found)

    def test_nobody_takes_a_name_of_a_column_apart(self):
        found = [
            f"{name}:{place}"
            for name, tree in sources().items()
            for call, place, texts in calls(tree)
            if call in PARSERS and any(text.startswith(PREFIXES) for text in texts)
        ]
        self.assertEqual(found, [])

    def test_nobody_but_papers_which_know_their_scenario_spells_one_out(self):
        found = [
            f"{name}:{node.lineno}: {node.value}"
            for name, tree in sources("papers/").items()
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(PREFIXES)
        ]
        self.assertEqual(found, [])

    def test_the_reader_knows_nobody(self):
        rooms = {path.name for path in (ROOT / "analysis").iterdir() if path.is_dir()} - {"results"}
        for path in sorted((ROOT / "analysis/results").glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and not node.level:
                    names = [node.module]
                self.assertFalse(rooms & {name.split(".")[0] for name in names}, path)

    def test_the_old_ways_are_seen(self):
        """What the readers before did."""
        tree = ast.parse('level = float(name.removeprefix("time_to_"))\ntable = pd.read_csv(path)')
        self.assertEqual([(call, texts) for call, _, texts in calls(tree) if call in READERS | PARSERS], [("read_csv", []), ("removeprefix", ["time_to_"])])


if __name__ == "__main__":
    unittest.main()
