"""Computes the gradients of a user's class for gradrace, which starts one process for each thread that trains.

    model_worker.py FILE CLASS LENGTH PRECISION

See user_class.py, and models/python/python_worker.cpp, which asks it. Descriptor 4 is the memory of w and g.
"""

import inspect
import math
import mmap
import os
import struct

from user_class import CALLS, MEMORY, NONE, NOTED, WELL, Mistake, UserClass, answer, run

CALL = struct.Struct("=III")  # function, seed, rows that follow
FUNCTIONS = ("initial", "gradient", "evaluate")
ALIGNMENT = 64  # of w and g, bytes


class Model:
    """Answers calls with an object of the user's class."""

    def __init__(self, user, precision):
        import numpy  # pylint: disable=import-outside-toplevel

        self.numpy, self.user, self.net = numpy, user, user.made
        self.functions = [getattr(self.net, function) for function in FUNCTIONS]
        self.takes_seed = "seed" in inspect.signature(self.net.gradient).parameters
        self.rows = self.checked_rows()
        self.type = numpy.dtype(precision)
        initial = self.array(self.net.initial(0), "initial")
        if initial.ndim != 1 or initial.size == 0:
            raise user.mistake(
                "initial",
                f"gave an array of shape {initial.shape}; allowed: (d,), one axis with all parameters",
            )
        self.parameters = initial.size
        self.w, self.g = self.mapped()
        user.forks.check()

    def checked_rows(self):
        rows = getattr(self.net, "rows", None)
        if (
            isinstance(rows, bool)
            or not isinstance(rows, (int, self.numpy.integer))
            or not 0 < rows < 1 << 32
        ):
            raise Mistake(
                f"{self.user.file}: {self.user.name}().rows is {rows!r}; allowed: the number of rows of the training set, 1 to 4294967295"
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

    def array(self, values, function):
        """Of numbers, in whatever precision."""
        array = self.numpy.asarray(values)
        if array.dtype.kind not in "fiu":
            raise self.user.mistake(
                function, f"gave {type(values).__name__} of {array.dtype}, no array of real numbers"
            )
        return array

    def put(self, values, where, function):
        array = self.array(values, function)
        if array.shape != where.shape:
            raise self.user.mistake(
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
            f"{self.user.place('gradient')} gave numbers that are not finite where w is",
            (NONE, NONE, NONE),
        )

    def evaluate(self, _seed, _rows):
        values = self.functions[2](self.w)
        numbers = [
            float(one) for one in (values if isinstance(values, (tuple, list)) else (values,))
        ]
        if not 0 < len(numbers) < 4:
            raise self.user.mistake(
                "evaluate",
                f"gave {len(numbers)} numbers; allowed: loss, or (loss, test_loss, test_error)",
            )
        numbers += [NONE] * (3 - len(numbers))
        if math.isfinite(numbers[0]) or not self.is_finite(self.w):
            return WELL, "", numbers
        return (
            NOTED,
            f"{self.user.place('evaluate')} gave a loss that is not finite where w is",
            numbers,
        )

    def serve(self):
        numpy, check = self.numpy, self.user.forks.check
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


def work(file, text, name, arguments, precision):
    user = UserClass(file, text, name, arguments)
    model = Model(user, precision)
    answer(WELL, user.places(FUNCTIONS), (model.parameters, model.rows, NONE))
    model.serve()


if __name__ == "__main__":
    run(work)
