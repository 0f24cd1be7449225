"""Who takes part: gradrace itself, a process for each run, and the peers, a process for each work."""

import json
import os
import resource
import select
import subprocess
import sys
import tempfile
import time
from csv import DictReader
from dataclasses import dataclass
from pathlib import Path

from peers import environment
from peers.environment import Unavailable
from peers.works import has_images, minibatches_per_update, scenario_of

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCHINDUCTOR_CACHE_DIR": str(environment.FOLDER / "inductor"),
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
# {kind of work, or images: {contestant: (packages or None, module, class)}}; a class of timing is by protocol.
PYTHON = {
    "timing": {"heapq": (None, "heapq_loop"), "simpy": ("simpy", "simpy_processes")},
    "gradients": {
        "numpy": ("numpy", "numpy_loop", "Loop"),
        "torch-eager": ("torch", "torch_loop", "Eager"),
        "torch-compiled": ("torch", "torch_loop", "Compiled"),
        "jax-jit": ("jax", "jax_loop", "Jit"),
        "jax-scan": ("jax", "jax_loop", "Scan"),
        "jax-vmap": ("jax", "jax_loop", "Vmap"),
    },
    "images": {
        "torch-eager": ("torch", "torch_images", "Eager"),
        "torch-compiled": ("torch", "torch_images", "Compiled"),
    },
}
PROGRAMS = {
    "coroutines": lambda: environment.built("coroutines"),
    "simgrid": environment.built_with_simgrid,
}
NAMES = [*PYTHON["timing"], *PROGRAMS, *PYTHON["gradients"]]
CLASSES = {"async": "Async", "k-sync": "KSync"}
PATIENCE = 900  # seconds for one answer, compilation included
# Of memory for an actor with its stack, measured; SimPy's process and its timeout are smaller.
BYTES_PER_LEARNER = {"simgrid": 10_000, "simpy": 2_000}


@dataclass
class Measured:
    count: int
    seconds: float
    processor_seconds: float
    taken_off: float = 0  # processor seconds

    @property
    def rate(self):
        """Minibatches a second; None where a longer run took no longer than a shorter one."""
        return self.count / self.seconds if self.seconds > 0 else None


def python_of(work):
    """The peers in Python that can do the work."""
    return PYTHON["images" if has_images(work) else work["kind"]]


def names_for(work):
    """Of the peers that can do the work, in the order in which they are printed."""
    return [*python_of(work), *(PROGRAMS if work["kind"] == "timing" else ())]


def command_of(name, work, python):
    """The process of a peer; python, if given, in place of the environment's own."""
    if name in PROGRAMS:
        return [PROGRAMS[name](), work["protocol"], str(work["learners"]), str(work["k"])]
    packages, module, *of_gradients = python_of(work)[name]
    made_for = of_gradients[0] if of_gradients else CLASSES[work["protocol"]]
    if packages and not python:
        python = environment.python_with(packages)
    worker = [python or sys.executable, environment.HERE / "worker.py", f"{work['kind']}.{module}"]
    return [*worker, made_for, json.dumps(work)]


def free_memory():
    try:
        with open("/proc/meminfo", encoding="utf-8") as file:
            return next(int(l.split()[1]) << 10 for l in file if l.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return float("inf")


class Peer:
    """A conversation with a process that keeps its state between measurements (worker.py)."""

    def __init__(self, name, work, python=None):
        self.name, self.work = name, work
        needed = BYTES_PER_LEARNER.get(name, 0) * work["learners"]
        if needed > 0.8 * free_memory():
            raise Unavailable(f"needs {needed / 1e9:.0f} GB of memory, which is not free")
        command = command_of(name, work, python)
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=os.environ | ONE_THREAD,
            bufsize=0,
        )
        self.version = self.answer()["version"]

    def answer(self):
        said = b""
        deadline = time.monotonic() + PATIENCE
        while not said.endswith(b"\n"):
            wait = max(0, deadline - time.monotonic())
            if not select.select([self.process.stdout], [], [], wait)[0]:
                self.close()
                raise Unavailable(f"no answer in {PATIENCE} s")
            if not (part := os.read(self.process.stdout.fileno(), 65536)):
                raise Unavailable(self.last_words())
            said += part
        return json.loads(said)

    def last_words(self):
        code = self.process.wait()
        self.log.seek(0)
        lines = self.log.read().strip().splitlines()
        return f"ended with {code}" + (f": {lines[-1]}" if lines else "")

    def ask(self, *words):
        try:
            self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        except BrokenPipeError as problem:
            raise Unavailable(self.last_words()) from problem
        return self.answer()

    def measure(self, count):
        """Does at least `count` minibatches."""
        return Measured(**self.ask("advance", count))

    def result(self):
        return self.ask("result")

    def result_from(self, start, updates):
        """After so many updates from another start with other draws; 0 is that of all measurements."""
        self.ask("start", start)
        self.measure(updates)
        return self.result()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.log.close()


def processor_seconds_of_children():
    """Of those that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Gradrace:
    """The program itself: the difference of two runs, so that start-up and evaluations cancel."""

    name = "gradrace"

    def __init__(self, program, scenario, shorter=8, per_update=1):
        """shorter: updates of the shorter run; per_update: minibatches that are counted in one."""
        self.program, self.shorter, self.per_update = program, shorter, per_update
        self.has_model = "model" in scenario
        self.folder = tempfile.TemporaryDirectory()
        self.scenario = Path(self.folder.name) / "scenario.json"
        self.scenario.write_text(json.dumps(scenario))
        self.version = self.text("--version").removeprefix("gradrace ").strip()

    @classmethod
    def at(cls, work, program, data):
        learners, per_update = work["learners"], minibatches_per_update(work)
        begun = 2 * learners if work["kind"] == "timing" else 0
        return cls(program, scenario_of(work, data), max(8, -(-begun // per_update)), per_update)

    def text(self, *words):
        done = subprocess.run([self.program, *words], capture_output=True, text=True)
        return self.output_of(done)

    def output_of(self, done):
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise Unavailable(said[-1] if said else f"{self.program} ended with {done.returncode}")
        return done.stdout

    def run(self, updates, *options):
        """(seconds, processor seconds, rows of runs.csv) of one call."""
        out = Path(self.folder.name) / "out"
        sets = [f"stop.updates={updates}", f"record.every_updates={updates}"]
        if self.has_model and not options:
            sets += ["record.train_rows=100", "record.test_rows=100"]
        words = [word for text in sets for word in ("--set", text)]
        command = [self.program, "run", self.scenario, "--jobs", "1", "--device", "cpu", "--quiet"]
        used, begin = -processor_seconds_of_children(), time.perf_counter()
        done = subprocess.run(
            [*command, "--force", "--out", out, *words, *options], capture_output=True, text=True
        )
        seconds, used = time.perf_counter() - begin, used + processor_seconds_of_children()
        self.output_of(done)
        with open(out / "runs.csv", newline="", encoding="utf-8") as file:
            return seconds, used, list(DictReader(file))

    def measure(self, count):
        updates = -(-count // self.per_update)
        shorter, longer = self.run(self.shorter), self.run(self.shorter + updates)
        self.row = longer[2][0]
        done = updates * self.per_update
        return Measured(done, longer[0] - shorter[0], longer[1] - shorter[1], shorter[1])

    def result(self):
        """Of the longest run of the last measurement."""
        updates = int(self.row["updates"])
        return {"updates": updates, "time": updates * float(self.row["mean_iteration_time"])}

    def losses(self, updates, replicas):
        """Training loss over all rows after so many updates, of each replica."""
        options = ["--replicas", str(replicas), "--set", "record.test_rows=100"]
        rows = self.run(updates, *options)[2]
        return [float(row["final_loss"]) for row in rows]

    def close(self):
        self.folder.cleanup()
