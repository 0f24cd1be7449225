"""What `gradrace --help` and `gradrace COMMAND --help` say, taken apart: the one source of the man page and the completions."""

import dataclasses
import re
import subprocess

OPTION = re.compile(r"  (?:-\w \[ )?(--[\w-]+)(?: \])?(?: (\S+))?(?:\s{2,}(.*)|\s*)$")
CONTINUED = re.compile(r"\s{20,}(\S.*)$")


@dataclasses.dataclass
class Option:
    flag: str
    value: str  # "" where it takes none
    text: str


@dataclasses.dataclass
class Command:
    name: str
    summary: str
    usage: list[str]  # lines
    options: list[Option]


def said(program, *words):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


def options_of(lines):
    options = []
    for line in lines:
        if match := OPTION.match(line):
            options.append(Option(match[1], match[2] or "", match[3] or ""))
        elif options and (match := CONTINUED.match(line)):
            options[-1].text = f"{options[-1].text} {match[1]}".strip()
    for option in options:
        option.text = option.text.strip()
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
