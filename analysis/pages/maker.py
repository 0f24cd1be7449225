"""Self-contained HTML pages, which load nothing: of reports, of searches, of papers."""

import re
from io import StringIO
from pathlib import Path

import matplotlib
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plots import style
from plots.stamp import refuse_others, stamp
from plots.whole import whole

FONT = re.compile(r"font: ([\d.]+)px [^;\"]*")
ATTRIBUTE = re.compile(r' (?:d|x|y|transform)="[^"]*"')
DECIMALS = re.compile(r"(\d\.\d{2})\d+")


def templates(folder, **told):
    """Those of the folder, each in a frame; told: values that all of them have. Every value is escaped but
    what is Markup."""
    found = Environment(
        loader=FileSystemLoader([folder, Path(__file__).parent]), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    found.globals |= told
    return found


def svg(figure, name, words):
    """A figure of matplotlib as an element of a page, its ids made its own by the name; `words` say
    what it shows to who does not see it."""
    file = StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        style.draw(figure, file, "svg")
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", text)
    text = re.sub(r'(<svg [^>]*?)width="[^"]*" |height="[\d.]+pt" ', r"\1", text, count=2)
    text = FONT.sub(r"font: \1px sans-serif", text)
    text = text.replace("<svg ", Markup('<svg role="img" aria-label="{}" ').format(words), 1)
    return Markup(ATTRIBUTE.sub(lambda found: DECIMALS.sub(r"\1", found[0]), text))


def write(path, text):
    """Writes a page, whole or not at all."""
    refuse_others(path)
    with whole(path) as aside:
        aside.write_text(text, encoding="utf-8", newline="")
        stamp(aside, path.name)
