"""What gradrace asks of a program here stands in DIR/asked.new; what that finds goes there too, where gradrace
takes it from. Its simulations are calls of gradrace run, into folders of their own, which go on where they were."""

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec

INTERRUPTED = 130


class Ended(Exception):
    """It ends with that exit status, without a result; the message, if any, is to be told."""

    def __init__(self, status, message=""):
        super().__init__(message)
        self.status = status


class Program:
    """Calls of gradrace, one at a time, which get the signals that this process does."""

    def __init__(self, path):
        self.path, self.call, self.signal = path, None, None
        if find_spec("pyarrow"):  # by which a reader of tables would end
            import pyarrow  # pylint: disable=import-outside-toplevel

            pyarrow.enable_signal_handlers(False)
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            if signal.getsignal(one) is not signal.SIG_IGN:
                signal.signal(one, self.relay)

    def relay(self, number, _):
        self.signal = number
        if self.call:
            self.call.send_signal(number)

    def status(self, *words, seconds=None, told=True):
        """Of a call, which writes to stderr alone, if at all; None of one that was ended after so many seconds."""
        self.call = subprocess.Popen(  # pylint: disable=consider-using-with
            [self.path, *words],
            stdout=subprocess.DEVNULL,
            stderr=None if told else subprocess.DEVNULL,
            env={
                **os.environ,
                "GRADRACE_ENDS_WITH_CALLER": str(os.getpid()),
            },  # a fork to ask that takes 15 ms
        )
        if self.signal:
            self.call.send_signal(self.signal)
        try:
            status = self.call.wait(seconds)
        except subprocess.TimeoutExpired:
            self.call.send_signal(signal.SIGINT)
            self.call.wait()
            status = None
        return INTERRUPTED if self.signal else status


def answer(place, find):
    """The exit status. find(asked): {name: text} of what is found, and the status; raises Ended."""
    asked = json.loads((place / "asked.new").read_text(encoding="utf-8"))
    try:
        found, status = find(asked)
    except Ended as end:
        if end.status == INTERRUPTED:
            print("the same call goes on where it was", file=sys.stderr)
        elif str(end):
            print(f"gradrace: {end}", file=sys.stderr)
        return end.status
    for name, text in found.items():
        (place / f"{name}.new").write_text(text, encoding="utf-8")
    return status
