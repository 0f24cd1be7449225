"""Files of results, each as it is or compressed: what `--compress` names curve.csv.gz or
curve.csv.zst is found and read as curve.csv."""

import contextlib
import io

ENDINGS = ".gz", ".zst"
# A table or a trace has a line that ends before, and small files may be packed of any number of bytes.
LONGEST_LINE = 1 << 20


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
        file = io.BufferedReader(stream, LONGEST_LINE)
        try:
            look_at(file.peek())
            yield file
        except OSError as problem:
            raise OSError(f"{found}: cannot be decompressed: {problem}") from problem
