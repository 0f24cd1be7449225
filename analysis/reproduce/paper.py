"""A paper: its package in papers/, and the tables beside it."""

import pkgutil
from dataclasses import dataclass, field

from reproduce.outputs import PAPERS
from reproduce.rows import claims_of
from reproduce.words import answers_of, caveats_of, checklist_of, figures_of
from results.folder import read_json


@dataclass
class Paper:
    """What its page says: the title, a link, the question, what is said ahead of all; answers {name of a
    figure: what came out}, caveats, about {item of the checklist: what it is about} and, in the order of
    the page, experiments [(function(outputs): figures and claims, what it judges: items, or ids of claims)]."""

    title: str
    link: str
    question: str
    answers: dict
    caveats: list
    about: dict = field(default_factory=dict)
    experiments: list = field(default_factory=list)
    claim: object = None  # claim(id): its Row
    head: str = ""


def page_of(name):
    """Of page.json: title, link, question, experiments {"module:function": what it judges} and perhaps head."""
    return read_json(PAPERS / name / "page.json")


def read_paper(name):
    page = page_of(name)
    page["experiments"] = [
        (pkgutil.resolve_name(f"papers.{name}.{place}"), judges)
        for place, judges in page["experiments"].items()
    ]
    tables = {"answers": answers_of(name), "caveats": caveats_of(name), "about": checklist_of(name)}
    return Paper(**page, **tables, claim=claims_of(name))


def words_of(name):
    """claim(id) and figure(name), of the tables beside its package."""
    return claims_of(name), figures_of(name)
