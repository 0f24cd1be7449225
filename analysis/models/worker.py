"""Computes the gradients of a user's class for gradrace, which starts one process for each thread that trains.

    worker.py FILE CLASS PRECISION LENGTH

makes an object of the class and answers calls until gradrace ends. Descriptor 6 has so many bytes of arguments, JSON,
and then the file as gradrace has read it, so that what runs is what it hashed. Without arguments it says what is wrong
with the file, and imports nothing that lies beside it. Calls come and answers go by descriptor 3; 4 is the memory of w
and g, 5 takes the stack of a process that crashes or is asked for it by SIGUSR1. See models/python/python_worker.cpp.
"""

import ast
import faulthandler
import importlib.machinery
import importlib.util
import inspect
import json
import math
import mmap
import os
import select
import signal
import struct
import sys
import threading
import traceback
import types

CALLS, MEMORY, STACK, SOURCE = 3, 4, 5, 6
CALL = struct.Struct("=III")  # function, seed, rows that follow
ANSWER = struct.Struct("=II3d")  # status, bytes of the text that follows, numbers
WELL, FAILED, NOTED = range(3)
FUNCTIONS = ("initial", "gradient", "evaluate")
ALIGNMENT = 64  # of w and g, bytes
NONE = math.nan


class Mistake(Exception):
    """What the user's class gave is not what it should."""


def answer(status, text="", numbers=(NONE, NONE, NONE)):
    line = " ".join(text.split()) if status != WELL else text
    data = line.encode(errors="replace")
    os.write(CALLS, ANSWER.pack(status, len(data), *numbers) + data)


def told(problem):
    """An exception in a line."""
    words = " ".join(f"{type(problem).__name__}: {problem}".split())
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in words)


def place_of(file, problem):
    """The innermost line of the file in its traceback; the file where there is none."""
    if isinstance(problem, SyntaxError) and problem.filename == file:
        return f"{file}:{problem.lineno}:{problem.offset}"
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        if frame.filename == file:
            return f"{file}:{frame.lineno}: in {frame.name}"
    return file


def is_there(package, folder):
    """Whether it can be imported; nothing is."""
    finder = importlib.machinery.PathFinder
    return bool(importlib.util.find_spec(package) or finder.find_spec(package, [folder]))


def fault_of(file, text, name):
    """What is wrong with the file, or lacks for it; empty where nothing is, as far as its text says."""
    try:
        tree = ast.parse(text, file)
    except SyntaxError as problem:
        return f"{file}:{problem.lineno}:{problem.offset}: {problem.msg}"
    except ValueError as problem:
        return f"{file}: {problem}"
    if importlib.util.find_spec("numpy") is None:
        return f"{sys.executable} has no NumPy; GRADRACE_PYTHON names another Python"
    for line, package in imported(tree) if b"sys.path" not in text else ():
        if not is_there(package, os.path.dirname(file)):
            return f"{file}:{line}: imports {package}, which {sys.executable} lacks; GRADRACE_PYTHON names another Python"
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    if name not in classes:
        if {name, "*"} & set(bound(tree)):
            return ""
        others = f"; it has {', '.join(classes)}" if classes else ""
        return f"{file}: has no class {name}{others}"
    missing = [function for function in FUNCTIONS if function not in set(bound(classes[name]))]
    if missing and not may_get_more(classes[name], tree):
        return f"{file}:{classes[name].lineno}: class {name} has no {', '.join(missing)}"
    return ""


def may_get_more(cls, tree):
    """Whether a class may have functions that its body does not name."""
    later = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    )
    is_set = any(isinstance(value, ast.Name) and value.id == cls.name for value in later)
    return (
        cls.bases
        or cls.keywords
        or cls.decorator_list
        or is_set
        or {"setattr", "__getattr__"} & names_of(tree)
    )


def names_of(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | set(bound(tree))


def bound(tree):
    """Names that stand for something after these statements, as far as they are seen."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        if isinstance(node, ast.alias):
            yield node.asname or node.name
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def imported(tree):
    """Lines and packages of the imports that the file makes whatever happens."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, node.module.split(".")[0]


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
        frames = [frame for frame in traceback.extract_stack() if frame.filename == self.file]
        self.place = (
            f"{self.file}:{frames[-1].lineno}: in {frames[-1].name}" if frames else self.file
        )

    def check(self):
        if os.getpid() != self.process:
            os._exit(1)
        if self.place:
            raise Mistake(f"{self.place}: starts another process by fork, which a model may not")


class Server:
    """Answers calls with an object of the user's class."""

    def __init__(self, file, text, name, arguments, precision):
        import numpy  # pylint: disable=import-outside-toplevel

        self.numpy = numpy
        self.file, self.name = file, name
        self.forks = Forks(file)
        module = types.ModuleType("gradrace_model")
        module.__file__ = file
        sys.modules["gradrace_model"] = module
        code = compile(text, file, "exec")
        sys.path.insert(0, os.path.dirname(file))
        exec(code, module.__dict__)  # pylint: disable=exec-used
        self.net = getattr(module, name)(**json.loads(arguments))
        self.functions = [getattr(self.net, function) for function in FUNCTIONS]
        self.takes_seed = "seed" in inspect.signature(self.net.gradient).parameters
        self.rows = self.checked_rows()
        self.type = numpy.dtype(precision)
        initial = self.array(self.net.initial(0), "initial")
        if initial.ndim != 1 or initial.size == 0:
            raise self.mistake(
                "initial",
                f"gave an array of shape {initial.shape}; allowed: (d,), one axis with all parameters",
            )
        self.parameters = initial.size
        self.w, self.g = self.mapped()
        self.forks.check()

    def checked_rows(self):
        rows = getattr(self.net, "rows", None)
        if (
            isinstance(rows, bool)
            or not isinstance(rows, (int, self.numpy.integer))
            or not 0 < rows < 1 << 32
        ):
            raise Mistake(
                f"{self.file}: {self.name}().rows is {rows!r}; allowed: the number of rows of the training set, 1 to 4294967295"
            )
        return int(rows)

    def mapped(self):
        stride = -(-self.parameters * self.type.itemsize // ALIGNMENT) * ALIGNMENT
        os.ftruncate(MEMORY, 2 * stride)
        memory = mmap.mmap(MEMORY, 2 * stride)
        return [
            self.numpy.frombuffer(memory, self.type, self.parameters, offset)
            for offset in (0, stride)
        ]

    def place(self, function):
        """Where it is defined."""
        code = getattr(getattr(self.net, function), "__code__", None)
        line = f":{code.co_firstlineno}" if code and code.co_filename == self.file else ""
        return f"{self.file}{line}: {self.name}.{function}"

    def mistake(self, function, what):
        return Mistake(f"{self.place(function)} {what}")

    def array(self, values, function):
        """Of numbers, in whatever precision."""
        array = self.numpy.asarray(values)
        if array.dtype.kind not in "fiu":
            raise self.mistake(
                function, f"gave {type(values).__name__} of {array.dtype}, no array of real numbers"
            )
        return array

    def put(self, values, where, function):
        array = self.array(values, function)
        if array.shape != where.shape:
            raise self.mistake(
                function, f"gave an array of shape {array.shape}; allowed: {where.shape}, as w"
            )
        where[:] = array

    def is_finite(self, array):
        """The sum may overflow where no number is infinite."""
        with self.numpy.errstate(all="ignore"):
            return math.isfinite(array.sum()) or bool(self.numpy.isfinite(array).all())

    def initial(self, seed, _):
        self.put(self.functions[0](seed), self.w, "initial")
        return WELL, "", (NONE, NONE, NONE)

    def gradient(self, seed, rows):
        if self.takes_seed:
            self.put(self.functions[1](self.w, rows, seed=seed), self.g, "gradient")
        else:
            self.put(self.functions[1](self.w, rows), self.g, "gradient")
        if self.is_finite(self.g) or not self.is_finite(self.w):
            return WELL, "", (NONE, NONE, NONE)
        return (
            NOTED,
            f"{self.place('gradient')} gave numbers that are not finite where w is",
            (NONE, NONE, NONE),
        )

    def evaluate(self, _seed, _rows):
        values = self.functions[2](self.w)
        numbers = [
            float(one) for one in (values if isinstance(values, (tuple, list)) else (values,))
        ]
        if not 0 < len(numbers) < 4:
            raise self.mistake(
                "evaluate",
                f"gave {len(numbers)} numbers; allowed: loss, or (loss, test_loss, test_error)",
            )
        numbers += [NONE] * (3 - len(numbers))
        if math.isfinite(numbers[0]) or not self.is_finite(self.w):
            return WELL, "", numbers
        return NOTED, f"{self.place('evaluate')} gave a loss that is not finite where w is", numbers

    def serve(self):
        numpy, check = self.numpy, self.forks.check
        functions = (self.initial, self.gradient, self.evaluate)
        while True:
            data = os.read(CALLS, 1 << 16)
            if not data:
                return
            function, seed, count = CALL.unpack_from(data)
            while len(data) < CALL.size + 4 * count:
                data += os.read(CALLS, 1 << 20)
            rows = numpy.frombuffer(data, numpy.uint32, count, CALL.size).astype(numpy.intp)
            try:
                found = functions[function](seed, rows)
            finally:
                check()
            answer(*found)


def end_with_caller():
    """Whatever the main thread does."""
    ends = select.poll()
    ends.register(CALLS, 0)
    ends.poll()
    os._exit(0)


def main(file, name, precision, length):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # gradrace ends, and this with it
    sys.dont_write_bytecode = True
    del sys.path[0]  # this script's folder
    faulthandler.enable(STACK, all_threads=False)
    faulthandler.register(signal.SIGUSR1, STACK)
    for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    threading.Thread(target=end_with_caller, daemon=True).start()
    with open(SOURCE, "rb") as source:
        arguments, text = source.read(int(length)), source.read()
    try:
        if not arguments:
            fault = fault_of(file, text, name)
            return answer(FAILED if fault else WELL, fault, (0, 0, 0))
        server = Server(file, text, name, arguments, precision)
        answer(
            WELL, "\n".join(map(server.place, FUNCTIONS)), (server.parameters, server.rows, NONE)
        )
        server.serve()
    except Mistake as problem:
        answer(FAILED, str(problem))
    except BaseException as problem:  # pylint: disable=broad-exception-caught
        answer(FAILED, f"{place_of(file, problem)}: {told(problem)}")
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)
