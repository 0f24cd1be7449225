"""Files that are there whole or not at all."""

import fcntl
import glob
import os
import secrets
from contextlib import contextmanager, suppress

UNFINISHED = ".unfinished"


class NotWritten(OSError):
    """A file, or a folder for some, cannot be written."""


@contextmanager
def writing(path):
    """What the system refuses is NotWritten, of that path."""
    try:
        yield
    except OSError as problem:
        if problem.errno is None:
            raise
        why = f"cannot be written: {problem.strerror}"
        raise NotWritten(problem.errno, why, str(path)) from problem


def opened_aside(target):
    """A new file beside the target, and its descriptor, which has the lock on it."""
    while True:
        aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}{UNFINISHED}")
        descriptor = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        with suppress(OSError):  # without locks nothing that was left goes
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if aside.exists():  # nobody has taken it for left over before it was locked
            return aside, descriptor
        os.close(descriptor)


def remove_left(target):
    """What was written for the target by a process that was killed: nobody has its lock."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.{8 * '[0-9a-f]'}{UNFINISHED}"):
        with suppress(OSError):
            descriptor = os.open(left, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
            finally:
                os.close(descriptor)


def made_folder(path, error):
    """A folder for what is drawn, made where it is not there; `error` where it is a link."""
    if path.is_symlink():
        raise error(f"{path}: is a link, through which nothing is written; move it away")
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def whole(path):
    """A path aside, for what is to be written: renamed at the end, so that who reads the path sees
    the old file or the new one; removed where that fails. Of a link, the link is replaced."""
    target = path.parent.resolve() / path.name
    with writing(path):
        remove_left(target)
        aside, descriptor = opened_aside(target)
        try:
            yield aside
            os.fsync(descriptor)
            os.replace(aside, target)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)


def write_whole(path, text):
    with whole(path) as aside:
        aside.write_text(text, encoding="utf-8", newline="")
