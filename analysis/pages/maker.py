"""Self-contained HTML pages, which load nothing: of reports, of searches, of papers."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from plots.stamp import refuse_others, stamp
from plots.whole import whole


def templates(folder, **told):
    """Those of the folder, each in a frame; told: values that all of them have. Every value is escaped but
    what is Markup."""
    found = Environment(
        loader=FileSystemLoader([folder, Path(__file__).parent]), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    found.globals |= told
    return found


def write(path, text):
    """Writes a page, whole or not at all."""
    refuse_others(path)
    with whole(path) as aside:
        aside.write_text(text, encoding="utf-8", newline="")
        stamp(aside, path.name)
