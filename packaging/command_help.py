"""What `gradrace --help` and `gradrace COMMAND --help` say, taken apart: the one source of the man page and the completions."""

import dataclasses
import re
import subprocess

OPTION = re.compile(r"(?:-\w \[ )?(--[\w-]+)(?: \])?(?: ([^\s(]\S*))?(?: \(=.*\))?$")


@dataclasses.dataclass
class Option:
    flag: str
    value: str  # "" where it takes none
    text: str

    @property
    def choices(self):
        """Of a value that is one of several words: ["csv", "parquet"]."""
        return self.value.split("|") if "|" in self.value else []


@dataclasses.dataclass
class Command:
    name: str
    summary: str
    usage: list[str]  # lines
    options: list[Option]


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
