"""What the processes have in common that run a class of a user's file for gradrace, which starts them.

    WORKER.py FILE CLASS LENGTH WORD...

makes an object of the class and answers calls until gradrace ends; look.py says what is wrong with the file. Descriptor 6
has LENGTH bytes of arguments, JSON, and then the file as gradrace has read it, so that what runs is what it hashed. Calls
come and answers go by descriptor 3; 4 is memory that both processes have, 5 takes the stack of a process that crashes or
is asked for it by SIGUSR1. See sim/python/python_process.cpp.
"""

import faulthandler
import json
import math
import os
import select
import signal
import struct
import sys
import threading
import types

CALLS, MEMORY, STACK, SOURCE = 3, 4, 5, 6
ANSWER = struct.Struct("=II3d")  # status, bytes that follow, numbers
WELL, FAILED, NOTED = range(3)
NONE = math.nan


class Mistake(Exception):
    """What the user's class gave, or does, is not what it should."""


def answer(status, text="", numbers=(NONE, NONE, NONE)):
    line = " ".join(text.split()) if status != WELL else text
    answer_bytes(status, line.encode(errors="replace"), numbers)


def answer_bytes(status, data, numbers):
    os.write(CALLS, ANSWER.pack(status, len(data), *numbers) + data)


def told(problem):
    """An exception in a line."""
    words = " ".join(f"{type(problem).__name__}: {problem}".split())
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in words)


def place_of(file, problem):
    """The innermost line of the file in its traceback; the file where there is none."""
    import traceback  # pylint: disable=import-outside-toplevel

    if isinstance(problem, SyntaxError) and problem.filename == file:
        return f"{file}:{problem.lineno}:{problem.offset}"
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        if frame.filename == file:
            return f"{file}:{frame.lineno}: in {frame.name}"
    return file


class Forks:
    """Where the user's code has forked. A child has no part in calls."""

    def __init__(self, file):
        self.file = file
        self.place = ""
        self.process = os.getpid()
        os.register_at_fork(
            before=self.note,
            after_in_child=lambda: [os.close(one) for one in (CALLS, MEMORY, STACK)],
        )

    def note(self):
        import traceback  # pylint: disable=import-outside-toplevel

        frames = [frame for frame in traceback.extract_stack() if frame.filename == self.file]
        self.place = (
            f"{self.file}:{frames[-1].lineno}: in {frames[-1].name}" if frames else self.file
        )

    def check(self):
        if os.getpid() != self.process:
            os._exit(1)
        if self.place:
            raise Mistake(f"{self.place}: starts another process by fork, which it may not")


class UserClass:
    """An object of the class, made of the file's text."""

    def __init__(self, file, text, name, arguments):
        self.file, self.name = file, name
        self.forks = Forks(file)
        module = types.ModuleType("gradrace_user")
        module.__file__ = file
        sys.modules["gradrace_user"] = module
        code = compile(text, file, "exec")
        sys.path.insert(0, os.path.dirname(file))
        exec(code, module.__dict__)  # pylint: disable=exec-used
        self.made = getattr(module, name)(**json.loads(arguments))

    def place(self, function):
        """Where it is defined."""
        code = getattr(getattr(self.made, function, None), "__code__", None)
        line = f":{code.co_firstlineno}" if code and code.co_filename == self.file else ""
        return f"{self.file}{line}: {self.name}.{function}"

    def places(self, functions):
        """A line each."""
        return "\n".join(map(self.place, functions))

    def mistake(self, function, what):
        return Mistake(f"{self.place(function)} {what}")


def end_with_caller():
    """Whatever the main thread does."""
    ends = select.poll()
    ends.register(CALLS, 0)
    ends.poll()
    os._exit(0)


def run(work):
    """Calls work(file, text, name, arguments, words...), and answers what goes wrong in it."""
    file, name, length, *words = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # gradrace ends, and this with it
    for descriptor in (CALLS, MEMORY, STACK, SOURCE):
        os.set_inheritable(descriptor, False)  # programs that the class starts
    sys.dont_write_bytecode = True
    del (
        sys.path[0],
        sys.modules[__name__],
    )  # the folder of this file: the user may have such a module
    faulthandler.enable(STACK, all_threads=False)
    faulthandler.register(signal.SIGUSR1, STACK)
    for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    threading.Thread(target=end_with_caller, daemon=True).start()
    with open(SOURCE, "rb") as source:
        arguments, text = source.read(int(length)), source.read()
    try:
        work(file, text, name, arguments, *words)
    except Mistake as problem:
        answer(FAILED, str(problem))
    except BaseException as problem:  # pylint: disable=broad-exception-caught
        answer(FAILED, f"{place_of(file, problem)}: {told(problem)}")
    sys.stdout.flush()
    os._exit(0)
