"""What `gradrace --help` and `gradrace COMMAND --help` say, taken apart: the one source of the man page and the completions. A value
that is one of several words is named by them (`--device auto|cpu|cuda`); what else a value or an operand is, its name says (KINDS)."""

import dataclasses
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]

OPTION = re.compile(r"(?:-\w \[ )?(--[\w-]+)(?: \])?(?: ([^\s(]\S*))?(?: \(=.*\))?$")


# What the name of a value or an operand stands for.
KINDS = {
    "DIR": "folder",
    "FILE": "file",
    "TRACE.csv": "file",
    "EVENTS.json": "file",
    "SCENARIO": "scenario",
    "WHAT": "listed",
    "PAPER": "paper",
}


@dataclasses.dataclass
class Option:
    flag: str
    value: str  # "" where it takes none
    text: str

    @property
    def choices(self):
        """Of a value that is one of several words: ["csv", "parquet"]."""
        return self.value.split("|") if "|" in self.value else []

    @property
    def kind(self):
        """Of KINDS; empty where nothing can be proposed."""
        return KINDS.get(self.value, "")


@dataclasses.dataclass
class Command:
    name: str
    summary: str
    usage: list[str]  # lines
    options: list[Option]

    @property
    def kind(self):
        """What its operands are, of KINDS; empty where it has none."""
        words = re.match(
            rf"\s*gradrace {self.name} \[?(\w+(?:\.\w+)?)", "\n".join(self.usage).strip()
        )
        kind = KINDS.get(words[1], "") if words else ""
        takes_scenario = any(option.flag == "--set" for option in self.options)
        return "scenario" if kind == "file" and takes_scenario else kind


def said(program, *words):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


def options_of(lines):
    """Their texts are in a column of their own, that of -h; a long option has a line of its own."""
    column = next(line.index("this text") for line in lines if "--help" in line)
    options = []
    for line in lines:
        own = len(line) if line[column - 1 : column].strip() else column
        if match := OPTION.match(line[:own].strip()):
            options.append(Option(match[1], match[2] or "", ""))
        options[-1].text = f"{options[-1].text} {line[own:].strip()}".strip()
    return options


def command(program, name, summary):
    lines = said(program, name, "--help").splitlines()
    begin = lines.index("Options:")
    return Command(name, summary, lines[2:begin], options_of(lines[begin + 1 :]))


def commands(program):
    listed = re.findall(
        r"^  ([a-z]+) {2,}(\S.*)$", said(program, "--help").split("First steps")[0], re.MULTILINE
    )
    return [command(program, name, summary) for name, summary in listed]


def listed(program):
    """{what `gradrace list` calls a group: the names in it}."""
    found, group = {}, None
    for line in said(program, "list").splitlines():
        if match := re.match(r"([a-z][a-z ]*?)(?: \(key| *$|:)", line):
            group = found.setdefault(match[1], [])
        elif (match := re.match(r"  ([a-z0-9][\w.-]*)(?= |$)", line)) and group is not None:
            group.append(match[1])
    return {name: list(dict.fromkeys(names)) for name, names in found.items() if names}


def names_of(program):
    """{kind of KINDS: the names that may be typed for it}."""
    groups = re.search(r"^WHAT: (.*?)^Options", said(program, "list", "--help"), re.M | re.S)[1]
    words = re.findall(r"[a-z-]+(?=,)", groups)
    kinds = [name for names in listed(program).values() for name in names]
    scenarios = [path.stem for path in (ROOT / "scenarios").glob("*.json") if path.stem != "schema"]
    papers = [
        path.name
        for path in (ROOT / "analysis/papers").iterdir()
        if path.is_dir() and path.name[0].isalpha()
    ]
    return {
        "listed": sorted({*words, *kinds}),
        "scenario": sorted(scenarios),
        "paper": [*sorted(papers), "all"],
    }
