"""A paper: its package in papers/, and the tables beside it."""

import importlib
import pkgutil
from dataclasses import dataclass, field

from reproduce.rows import claims_of
from reproduce.words import answers_of, caveats_of, checklist_of, figures_of


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


def package_of(name):
    """Its TITLE, LINK, QUESTION, EXPERIMENTS {"module:function": what it judges} and, if it has one, HEAD."""
    return importlib.import_module(f"papers.{name}")


def read_paper(name):
    package = package_of(name)
    experiments = [
        (pkgutil.resolve_name(f"papers.{name}.{place}"), judges)
        for place, judges in package.EXPERIMENTS.items()
    ]
    tables = answers_of(name), caveats_of(name), checklist_of(name)
    told = package.TITLE, package.LINK, package.QUESTION
    return Paper(*told, *tables, experiments, claims_of(name), getattr(package, "HEAD", ""))


def words_of(name):
    """claim(id) and figure(name), of the tables beside its package."""
    return claims_of(name), figures_of(name)
