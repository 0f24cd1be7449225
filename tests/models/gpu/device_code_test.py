"""The kernels as nvcc compiles them: what the device code defines, and what each kernel of the program's PTX takes of a
multiprocessor of sm_90.

nvcc leaves a call out of the device code without a word where a function template of the standard library that is constexpr
would call a function of ours that is not.  So each constructor that is marked GRADRACE_HD must be defined in the code that is
not optimised, and the functions of the standard library in it are those of device_code/library.txt: somebody has looked at what
they call.  Registers, stack and spills are bounded by those recorded with the same nvcc.
The kernels of float64 take as long again and are looked at with GRADRACE_LONG.  Recorded anew:

    GRADRACE_RECORD=1 ctest --preset release -R "device code"
"""

import concurrent.futures
import csv
import itertools
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from program import skip

ROOT = pathlib.Path(__file__).resolve().parents[3]
NVCC = os.environ["GRADRACE_NVCC"]
FLAGS = [*os.environ["GRADRACE_CUDA_FLAGS"].split(), "-arch=sm_90", f"-I{ROOT}", f"-I{os.environ['GRADRACE_RANDOM123']}"]
PTX = pathlib.Path(os.environ["GRADRACE_PTX"])  # of the build
IS_LONG = bool(os.environ.get("GRADRACE_LONG") or os.environ.get("GRADRACE_RECORD"))
SOURCES = [ROOT / f"models/gpu/cuda/cuda_{name}.cu" for name in ("float32", "float64")[: 2 if IS_LONG else 1]]
FOLDER = pathlib.Path(__file__).with_name("device_code")
LIBRARY = FOLDER / "library.txt"
RECORD = 'GRADRACE_RECORD=1 ctest --preset release -R "device code"'
TAKEN = ("registers", "stack", "spill_stores", "spill_loads")

FUNCTION = re.compile(r"^(?:\.(?:visible|weak|extern) )*\.(?:func|entry)\s*(?:\([^)]*\)\s*)?(\w+)\s*(?:\([^)]*\))?[^;{]*([;{])", re.MULTILINE)
CONSTRUCTOR = re.compile(r"GRADRACE_HD (?:explicit |constexpr )*([A-Z]\w*)\(")
KERNEL = re.compile(r"^\.(?:visible|weak) \.entry (\w+)", re.MULTILINE)
NUMBER = re.compile(r"%fd?\d+\b")
PROPERTIES = re.compile(r"Function properties for (\w+)\n\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads\n.*Used (\d+) registers")


def plain_ptx(source):
    """Of the code that is not optimised."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "code.ptx"
        done = subprocess.run([NVCC, *FLAGS, "-G", "-ptx", source, "-o", result], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"nvcc -G -ptx of {source.name}:\n{done.stderr[-4000:]}")
        return result.read_text("utf-8")


def demangled(names):
    return subprocess.run(["c++filt"], input="\n".join(names), text=True, capture_output=True, check=True).stdout.splitlines()


def without_arguments(name):
    """`a::f` of `T a<int>::f<U>(V) const`."""
    kept, depth = "", 0
    for letter in re.sub(r"operator(\(\)|[<>=-]+)", "operator", name):
        depth += (letter == "<") - (letter == ">")
        if depth == 0 and letter != ">":
            kept += letter
    return kept.split("(")[0].split()[-1]


def functions_of(ptx):
    """Names of functions that the code defines, without arguments."""
    return {without_arguments(name) for name in demangled(name for name, ends in FUNCTION.findall(ptx) if ends == "{")}


def constructors_declared():
    """{class: how many constructors are marked for a GPU}"""
    counts = {}
    for folder in ("models", "sim"):
        for header in (ROOT / folder).rglob("*.h"):
            for name in set(CONSTRUCTOR.findall(header.read_text("utf-8"))):
                counts[name] = counts.get(name, 0) + 1
    return counts


def constructors_defined(functions):
    """{class: how many classes of that name have a constructor in the code}"""
    counts = {}
    for *_, of, name in (parts for parts in (function.split("::") for function in functions) if len(parts) > 1):
        if of == name:
            counts[name] = counts.get(name, 0) + 1
    return counts


def shortened(kernel):
    """`Kernel<float, Each>` of `void gradrace::run_blocks<gradrace::kernels::Kernel<float, ...> >(...)`."""
    return re.search(r"run_blocks<(.*)>\(", kernel.replace("gradrace::", "").replace("kernels::", ""))[1].strip()


def taken_by_kernels(told):
    """{kernel: its numbers}"""
    found = PROPERTIES.findall(told)
    kernels = map(shortened, demangled(name for name, *_ in found))
    return {
        kernel: dict(zip(TAKEN, map(int, (registers, stack, stores, loads)), strict=True))
        for kernel, (_, stack, stores, loads, registers) in zip(kernels, found, strict=True)
    }


class Plain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            cls.functions = set().union(*map(functions_of, pool.map(plain_ptx, SOURCES)))

    def test_has_every_constructor(self):
        declared, defined = constructors_declared(), constructors_defined(self.functions)
        self.assertGreater(len(declared), 10)
        for name, count in declared.items():
            with self.subTest(name):
                self.assertGreaterEqual(
                    defined.get(name, 0), count, f"nvcc has left a constructor of {name} out (see sim/host_device.h), or no kernel calls it"
                )

    def test_calls_of_the_standard_library_what_is_known(self):
        called = sorted(name for name in self.functions if name.startswith("std::"))
        if os.environ.get("GRADRACE_RECORD"):
            LIBRARY.write_text("\n".join(called) + "\n", encoding="utf-8")
        new = sorted(set(called) - set(LIBRARY.read_text("utf-8").splitlines()))
        self.assertFalse(new, f"look at whether they call functions of ours that are not constexpr (see sim/host_device.h); then {RECORD}")


def unwritten(kernel):
    """Registers of numbers in a kernel's PTX that are read and never written, but where they are both: as sums of products."""
    read, written = set(), set()
    for line in kernel.splitlines():
        operation, _, operands = re.sub(r"^\s*(@!?%p\d+\s+)?", "", line.split("//")[0]).partition("\t" if "\t" in line.strip() else " ")
        result, rest = re.match(r"\s*(\{[^}]*\}|[^,]*)(.*)", operands).groups()
        keeps = operation.startswith(("st.", "mma."))
        read.update(NUMBER.findall(rest), NUMBER.findall(result) if keeps else ())
        written.update(() if keeps else NUMBER.findall(result))
    return sorted(read - written)


def assembled(ptx):
    """What ptxas tells of the kernels."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "code.ptx"
        path.write_bytes(ptx)
        command = [pathlib.Path(NVCC).with_name("ptxas"), "-arch=sm_90", "-O3", "-v", path, "-o", os.devnull]
        return subprocess.run(command, capture_output=True, text=True, check=True).stderr


class Optimised(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ptx = [min(PTX.glob(f"{path.stem}*.ptx")).read_bytes() for path in SOURCES]

    def test_numbers_are_written_before_they_are_read(self):
        for text in map(bytes.decode, self.ptx):
            starts = [*(match.start() for match in KERNEL.finditer(text)), len(text)]
            for begin, end in itertools.pairwise(starts):
                kernel = text[begin:end]
                with self.subTest(demangled([KERNEL.match(kernel)[1]])[0]):
                    self.assertEqual(unwritten(kernel), [], "nvcc has left out how an array begins (see sim/host_device.h)")

    def test_kernels_take_no_more_than_recorded(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            kernels = {name: taken for told in pool.map(assembled, self.ptx) for name, taken in taken_by_kernels(told).items()}
        told = subprocess.run([NVCC, "--version"], capture_output=True, text=True, check=True).stdout
        version = re.search(r"V([\d.]+)", told)[1]
        recorded = FOLDER / f"nvcc-{version}.csv"
        if os.environ.get("GRADRACE_RECORD"):
            write(kernels, recorded)
        if not recorded.exists():
            here = pathlib.Path(recorded.name).resolve()
            write(kernels, here)
            self.skipTest(f"no bounds are recorded for nvcc {version}: its figures are in {here}; {RECORD} keeps them")
        bounds = read(recorded)
        compared = [kernel for kernel in bounds if IS_LONG or kernel in kernels]
        self.assertEqual(sorted(compared), sorted(kernels), f"other kernels than recorded; {RECORD}")
        for kernel, taken in kernels.items():
            for what, count in taken.items():
                with self.subTest(kernel, what=what):
                    self.assertLessEqual(count, bounds[kernel][what], f"find out why; or, if it is worth that, {RECORD}")


def write(kernels, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["kernel", *TAKEN])
        rows.writerows([kernel, *taken.values()] for kernel, taken in sorted(kernels.items()))


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {row["kernel"]: {what: int(row[what]) for what in TAKEN} for row in csv.DictReader(file)}


class Names(unittest.TestCase):
    def test_have_no_arguments(self):
        for name, wanted in {
            "gradrace::Adam::Step<float>::Step(gradrace::Adam const&)": "gradrace::Adam::Step::Step",
            "float a::activated<float>(a::Activation, float)": "a::activated",
            "bool a::operator< <int>(int)": "a::operator",
            "a::F<&(a::g<int>())>::h() const": "a::F::h",
        }.items():
            self.assertEqual(without_arguments(name), wanted)


if __name__ == "__main__":
    if not NVCC:
        skip("this build has no nvcc: -DGRADRACE_CUDA=OFF, or none was found")
    unittest.main()
