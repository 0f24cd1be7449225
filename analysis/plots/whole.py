"""Files that are there whole or not at all."""

import os
import secrets
from contextlib import contextmanager


@contextmanager
def whole(path):
    """A path aside, for what is to be written: renamed at the end, so that who reads the path sees
    the old file or the new one; removed where that fails. A link is followed."""
    target = path.resolve()
    aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield aside
        os.replace(aside, target)
    except BaseException as problem:
        aside.unlink(missing_ok=True)
        if isinstance(problem, OSError):
            raise OSError(problem.errno, problem.strerror, str(path)) from problem
        raise


def write_whole(path, text):
    with whole(path) as aside:
        aside.write_text(text, encoding="utf-8", newline="")
