"""Prints the man page gradrace(1) of a program: man_page.py PROGRAM > gradrace.1"""

import sys

from command_help import commands, said


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def option_lines(option):
    value = f" \\fI{escaped(option.value)}\\fR" if option.value else ""
    return [".TP", f"\\fB{escaped(option.flag)}\\fR{value}", escaped(option.text)]


def command_lines(command):
    lines = [
        f".SS {command.name}",
        escaped(command.summary[0].upper() + command.summary[1:]) + ".",
        ".PP",
        ".nf",
    ]
    lines += [escaped(line) for line in command.usage]
    lines.append(".fi")
    for option in command.options:
        lines += option_lines(option)
    return lines


def page(program):
    version = said(program, "--version").split()[1]
    lines = [
        f'.TH GRADRACE 1 "" "gradrace {version}" "User Commands"',
        ".SH NAME",
        "gradrace \\- races protocols of distributed SGD in simulated wall\\-clock time",
        ".SH SYNOPSIS",
        ".B gradrace",
        "\\fICOMMAND\\fR [\\fIOPTION\\fR]...",
        ".SH DESCRIPTION",
        "Someone who trains on several machines must choose how they synchronise.  gradrace simulates the protocols, event by event,",
        "with real gradients, and writes error against simulated time as CSV files and plots.",
        ".SH COMMANDS",
    ]
    for command in commands(program):
        lines += command_lines(command)
    lines += [
        ".SH EXIT STATUS",
        "0: done; 1: a run failed; 2: bad usage or bad scenario; 130: interrupted.",
        ".SH ENVIRONMENT",
        ".TP",
        "\\fBGRADRACE_DATA\\fR",
        "A folder where data sets are looked for that are not at their path.",
        ".TP",
        "\\fBGRADRACE_PYTHON\\fR",
        "The Python interpreter that draws plots, where it is not the one that gradrace was installed with.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page(sys.argv[1]))
