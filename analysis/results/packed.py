"""Files of results, each as it is or compressed: what `--compress` names curve.csv.gz or
curve.csv.zst is found and read as curve.csv."""

import contextlib
import gzip
import io
import zlib


def damaged(path, problem):
    return OSError(f"{path}: cannot be decompressed: {problem}")


# Characters: a table or a trace has a line that ends before, and small files may be packed of any number.
LONGEST_LINE = 1 << 20


def look_at(file):
    """Reads the beginning of a text file; ValueError where it has no line that a result has."""
    first = file.read(LONGEST_LINE)
    if "\0" in first:
        raise ValueError("the file is no text: it has a zero byte")
    if len(first) == LONGEST_LINE and "\n" not in first:
        raise ValueError(
            f"the file is no table: its first line has more than {LONGEST_LINE:,} characters"
        )


@contextlib.contextmanager
def open_gzip(path, **text):
    try:
        with gzip.open(path, "rt", **text) as file:
            look_at(file)
            file.seek(0)
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise damaged(path, problem) from problem


@contextlib.contextmanager
def open_zstd(path, **text):
    try:
        import pyarrow
    except ImportError:
        raise OSError(
            f"{path}: to read it Python needs the package pyarrow, which ./setup.sh installs; "
            "or let gradrace write it anew with --compress gzip, or without --compress"
        ) from None
    try:
        with open(path, "rb") as packed, pyarrow.CompressedInputStream(packed, "zstd") as file:
            look_at(io.TextIOWrapper(file, **text))
        with open(path, "rb") as packed, pyarrow.CompressedInputStream(packed, "zstd") as file:
            yield io.TextIOWrapper(file, **text)
    except OSError as problem:
        raise damaged(path, problem) from problem


OPENERS = {".gz": open_gzip, ".zst": open_zstd}


def find(path):
    """The file, else its compressed form; None where there is neither."""
    forms = [path, *(path.with_name(path.name + ending) for ending in OPENERS)]
    return next((form for form in forms if form.is_file()), None)


def is_cut(path):
    """Whether a text file ends within a line."""
    with open(path, "rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - 1))
        return file.read(1) not in (b"", b"\n")


def open_text(path):
    """Opens the file, or its compressed form, to read its text; OSError where that cannot be, and
    ValueError where it is cut."""
    found = find(path) or path
    if found.suffix == ".csv" and found.is_file() and is_cut(found):
        raise ValueError("the file is cut: its last line has no end")
    return OPENERS.get(found.suffix, open)(found, newline="", encoding="utf-8-sig")
