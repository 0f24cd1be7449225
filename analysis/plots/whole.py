"""Files that are there whole or not at all."""

import os


def write_whole(path, text):
    """Writes the text aside and renames it: who reads the path sees the old file or the new one."""
    aside = path.with_name(f".{path.name}.new")
    aside.write_text(text, encoding="utf-8", newline="")
    os.replace(aside, path)
