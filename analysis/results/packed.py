"""Files of results, each as it is or compressed: what `--compress` names curve.csv.gz or
curve.csv.zst is found and read as curve.csv."""

import contextlib
import io
import os
import resource
from pathlib import Path

ENDINGS = ".gz", ".zst"
# A table or a trace has a line that ends before, and small files may be packed of any number of bytes.
LONGEST_LINE = 1 << 20
BYTES_OF_A_CELL = 32  # of memory, as a table is read and used


def memory_left():
    """Bytes that this process may take yet, as far as the system says (Linux)."""
    found = []
    with contextlib.suppress(OSError, LookupError, ValueError):
        _, told = Path("/proc/meminfo").read_text(encoding="ascii").split("MemAvailable:")
        found.append(1024 * int(told.split()[0]))
    with contextlib.suppress(OSError, ValueError):  # no number where there is no limit
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    with contextlib.suppress(OSError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        if limit != resource.RLIM_INFINITY:
            found.append(limit - int(pages) * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=float("inf"))


def check_fits(cells, size, left):
    """ValueError where cells of so many bytes of text take more memory than is left: libraries end the
    process then."""
    if cells * BYTES_OF_A_CELL + size > left:
        raise ValueError(
            f"it takes more than the {max(left, 0) / 1e9:.1f} GB of memory that are left"
        )


class Checked(io.RawIOBase):
    """The bytes of a stream of text, as long as what they hold fits in memory."""

    def __init__(self, stream):
        self.stream, self.left = stream, memory_left()
        self.cells = self.size = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        count = self.stream.readinto(buffer)
        read = bytes(buffer[:count])
        self.cells += read.count(b",") + read.count(b"\n")
        self.size += count
        check_fits(self.cells, self.size, self.left)
        return count


def look_at(first):
    """At the beginning of a text file; ValueError where it has no line that a result has."""
    if b"\0" in first:
        raise ValueError("the file is no text: it has a zero byte")
    if len(first) >= LONGEST_LINE and b"\n" not in first:
        raise ValueError(
            f"the file is no table: its first line has more than {LONGEST_LINE:,} characters"
        )


def find(path):
    """The file, else its compressed form; None where there is neither."""
    forms = [path, *(path.with_name(path.name + ending) for ending in ENDINGS)]
    return next((form for form in forms if form.is_file()), None)


def is_cut(path):
    """Whether a text file ends within a line."""
    with open(path, "rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - 1))
        return file.read(1) not in (b"", b"\n")


@contextlib.contextmanager
def opened(path):
    """The file, or its compressed form, to read its text from, as bytes; OSError where that cannot be,
    and ValueError where it is cut."""
    import pyarrow  # which takes a while

    found = find(path) or path
    if found.suffix == ".csv" and found.is_file() and is_cut(found):
        raise ValueError("the file is cut: its last line has no end")
    with pyarrow.input_stream(str(found)) as stream:  # decompressed by the file's ending
        file = io.BufferedReader(Checked(stream), LONGEST_LINE)
        try:
            look_at(file.peek())
            yield file
        except OSError as problem:
            raise OSError(f"{found}: cannot be decompressed: {problem}") from problem
