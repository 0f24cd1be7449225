"""What is compared with what: the points of a folder under the same circumstances, and the contests
among them."""

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd
from plots.choices import CHOICES, is_choice, is_chosen, is_rate
from plots.learners import facts
from plots.measure import headline_measures, time_to
from report.contest import contest
from results import Folder, Label
from results.label import shared_parts
from results.target import in_order

MOST_SHOWN = 8  # points in a figure of curves
NOT_A_CIRCUMSTANCE = (
    "$schema name title notes replicas seed sweep quick record device targets".split()
)


@dataclass
class Case:
    """Points of a folder that differ in what one chooses; `where` says the circumstances, if the
    folder has several."""

    folder: Folder
    where: str
    points: list

    def label(self, point):
        """The point's name among the case's: without what the circumstances are."""
        return self.folder.points[point].label.without(self.of_all)

    @cached_property
    def of_all(self):
        """The parts of the labels that say what the circumstances are."""
        labels = [self.folder.points[point].label for point in self.points]
        return shared_parts(labels) if self.where else []

    @cached_property
    def measures(self):
        """Those of the answer that have any value here."""
        found = headline_measures(self.folder, self.points)
        return [one for one in found if one.values.notna().any(axis=None)]

    @cached_property
    def contests(self):
        """(Measure, Contest or None) of the answer's."""
        return [(one, contest(one, len(self.measures), self.diverged)) for one in self.measures]

    @cached_property
    def targets(self):
        """Measures of the times to all targets."""
        return [time_to(self.folder, target).of(self.points) for target in self.folder.targets]

    @cached_property
    def facts(self):
        """What the runs did [point x fact], means over replicas."""
        return facts(self.folder).reindex(self.points)

    @cached_property
    def diverged(self):
        """By point: the share of its runs that diverged."""
        runs = self.folder.runs
        return (runs["status"] == "diverged").groupby(runs["point"]).mean()

    @property
    def replicas(self):
        return self.folder.runs["replica"].nunique()

    @property
    def shares_random_numbers(self):
        """Whether replicas of one number have the same random numbers at all points."""
        runs = self.folder.runs
        return "seed" in runs and runs[runs["point"].isin(self.points)]["seed"].nunique() == 1

    @cached_property
    def family(self):
        """{point: its choices but for the learning rate}."""
        scenario = self.folder.scenario
        keys = [k for k in self.folder.swept if is_chosen(k, scenario) and not is_rate(k)]
        texts = {point: self.folder.points[point].texts for point in self.points}
        return {
            point: tuple(of_point.get(key) for key in keys) for point, of_point in texts.items()
        }

    @cached_property
    def families(self):
        """{choices but for the learning rate: points}."""
        found = {}
        for point in self.points:
            found.setdefault(self.family[point], []).append(point)
        return found

    @cached_property
    def rates(self):
        """By point: the swept learning rate; NaN where that is not a number."""
        return self.folder.numbers("learning_rate.eta")[self.points]

    def siblings(self, point):
        """The point at other learning rates; nothing where learning rates are all that is swept."""
        if len(self.families) == 1:
            return []
        return [other for other in self.families[self.family[point]] if other != point]

    @cached_property
    def family_labels(self):
        """{choices but for the learning rate: what the labels of its points share, without what the
        circumstances are}."""
        return {
            family: Label(shared_parts([self.label(point) for point in points]))
            for family, points in self.families.items()
        }

    def family_label(self, point):
        """The point's name without its learning rate, where it has siblings."""
        shared = self.family_labels[self.family[point]] if self.siblings(point) else ""
        return shared or self.label(point)

    @cached_property
    def leaders(self):
        """The best looking point of each family, by the first measure."""
        best = {}
        for point in sorted(self.points, key=self.rank):
            best.setdefault(self.family[point] if self.siblings(point) else point, point)
        return list(best.values())

    @cached_property
    def shown(self):
        """Points that figures of curves show, in the folder's order: front-runners, the best of
        each protocol, others."""
        if not self.measures:
            return self.points[:MOST_SHOWN]
        wanted = [one.front for _, one in self.contests if one]
        wanted += self.leaders
        wanted += sorted(self.points, key=lambda p: self.order(self.measures[-1], p))
        kept = list(dict.fromkeys(wanted))[:MOST_SHOWN]
        return [point for point in self.points if point in kept]

    def rank(self, point):
        """What sorts points by how good they look: by the first measure, where that ties by the
        next."""
        return [self.order(measure, point) for measure in self.measures]

    def order(self, measure, point):
        """Few that never got there first, then small means; where no run got there, those at the end."""
        found = measure.samples[point]
        if found.replicas:
            return found.never, found.mean
        end = self.measures[-1].samples[point]
        return float("inf"), end.mean if end.replicas else float("inf")


def circumstances(folder):
    """Swept keys that say for what one chooses."""
    return [key for key in folder.swept if not is_chosen(key, folder.scenario)]


def cases(folder):
    """A folder's points by their circumstances; all together where each has one of its own."""
    keys = circumstances(folder)
    found = {}
    for number, point in folder.points.items():
        where = ", ".join(f"{key}={point.texts.get(key, '')}" for key in keys)
        found.setdefault(where, []).append(number)
    if not keys or len(keys) == len(folder.swept) or len(found) == len(folder.points):
        return [Case(folder, "", list(folder.points))]
    return [Case(folder, where, points) for where, points in found.items()]


def names_of(cases):
    """Which one each of the cases is."""
    several = len({one.folder.name for one in cases}) > 1
    words = [(one.folder.name if several or not one.where else "", one.where) for one in cases]
    return [", ".join(word for word in both if word) for both in words]


# ---- several folders


def with_short_paths(value, key=""):
    """With the last component of each path alone."""
    if isinstance(value, dict):
        return {name: with_short_paths(child, name) for name, child in value.items()}
    if isinstance(value, list):
        return [with_short_paths(child, key) for child in value]
    is_path = key == "path" or key.endswith((".path", "_path"))
    return Path(value).name if is_path and isinstance(value, str) else value


def without_choices(scenario):
    """The circumstances of a scenario, as text."""
    scenario = with_short_paths(scenario)
    kept = {key: value for key, value in scenario.items() if key not in NOT_A_CIRCUMSTANCE}
    for key in CHOICES:
        first, _, second = key.partition(".")
        if second and isinstance(kept.get(first), dict):
            kept[first] = {k: v for k, v in kept[first].items() if k != second}
        elif not second:
            kept.pop(first, None)
    swept = [key for key in scenario.get("sweep", {}) if not is_choice(key)]
    return json.dumps([kept, scenario.get("targets"), swept and scenario["sweep"]], sort_keys=True)


def known_data(folders):
    """The different data that folders were made of, as far as their manifests say it."""
    hashes = [(folder.manifest.get("hashes") or {}).get("data") for folder in folders]
    return {json.dumps(one) for one in hashes if one is not None}


def why_apart(folders):
    """Why folders are not compared; empty where they differ in what one chooses alone."""
    if not all(folder.scenario for folder in folders):
        return "not all have a manifest"
    if len({without_choices(folder.scenario) for folder in folders}) > 1:
        return "their scenarios differ in more than protocols, learning rates and the like"
    if len(known_data(folders)) > 1:
        return "they were made of different data"
    if len({folder.name for folder in folders}) < len(folders):
        return "two have the same name"
    return ""


class Together(Folder):
    """Several folders as one: their points one after the other, named by their folder too."""

    def __init__(self, folders):  # pylint: disable=super-init-not-called
        self.folders = folders
        self.path, self.manifest = folders[0].path, folders[0].manifest
        self.name = " and ".join(folder.name for folder in folders)
        self.swept = ["run", *dict.fromkeys(key for one in folders for key in one.swept)]
        self.targets = in_order(dict.fromkeys(one for folder in folders for one in folder.targets))
        counts = [max(folder.points) + 1 for folder in folders]
        self.shifts = [sum(counts[:i]) for i in range(len(counts))]
        self.points = {
            number + shift: self.named(folder, replace(point, number=number + shift))
            for folder, shift in zip(folders, self.shifts)
            for number, point in folder.points.items()
        }
        self.runs = self.gathered(folder.runs for folder in folders)

    @staticmethod
    def named(folder, point):
        """The point as one of several folders."""
        alone = len(folder.points) == 1
        parts = [("", folder.name)] if alone else [("", f"{folder.name}:"), *point.label.parts]
        files = {key: with_short_paths(value, key) for key, value in point.settings.items()}
        return replace(point, label=Label(parts), settings={"run": folder.name, **files})

    def gathered(self, tables):
        shifted = [
            table.assign(point=table["point"] + shift) if "point" in table else table
            for table, shift in zip(tables, self.shifts)
        ]
        return pd.concat(shifted, ignore_index=True)

    @property
    def events(self):
        return [
            {**event, "pid": event["pid"] + shift}
            for folder, shift in zip(self.folders, self.shifts)
            for event in folder.events
        ]

    def found(self, name):
        return self.gathered(folder.found(name) for folder in self.folders)

    @property
    def unfinished(self):
        return "; ".join(f"{one.name}: {one.unfinished}" for one in self.folders if one.unfinished)
