"""Where results come from, as the manifests of their output folders tell it."""

import json
from dataclasses import dataclass
from pathlib import Path

from results.folder import read_json

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Origin:
    """How the results of a scenario were made."""

    scenario: str  # the name of its file and of its output folder
    manifest: dict
    folder: str  # that holds the manifest

    @property
    def title(self):
        return self.manifest["scenario"].get("title", "")

    @property
    def file(self):
        """Its path in the project, where it lies there."""
        path = Path(self.manifest["file"])
        return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path

    @property
    def command(self):
        """That makes it again."""
        if not self.scenario.startswith("search/"):
            device = " --device cuda" if self.scenario.startswith("gpu/") else ""
            return f"gradrace run {self.file}{device}"
        table = self.file.with_suffix(".csv")
        elsewhere = f" --accuracies {table}" if (ROOT / table).is_file() else ""
        return f"gradrace search {self.file}{elsewhere}"

    @property
    def version(self):
        """As `gradrace --version` says it."""
        version = self.manifest["version"]
        dirty = ", dirty" if version["dirty"] else ""
        return f"gradrace {version['number']} (revision {version['revision']}{dirty})"

    @property
    def machine(self):
        """With its threads, which shards that were collected do not say."""
        machine, jobs = self.manifest["machine"], self.manifest.get("jobs")
        threads = f", {jobs} threads" if jobs else ""
        return (
            f"{machine['processor']}, {machine['system']}, compiler {machine['compiler']}{threads}"
        )

    @property
    def text(self):
        """The resolved scenario: saved as a file and run, it gives the same results."""
        return json.dumps(self.manifest["scenario"], indent=2)


def read_origins(folder):
    """The Origin of every output folder in this one, by name; of a search, that of its runs of the
    first protocol alone."""
    folder = Path(folder)
    origins = []
    places = ("*/manifest.json", "search/*/first-*/manifest.json", "gpu/*/manifest.json")
    for path in [path for place in places for path in sorted(folder.glob(place))]:
        place = path.parent.relative_to(folder)
        name = "/".join(place.parts[:2])
        origins.append(Origin(name, read_json(path), str(place)))
    return origins


def duration(seconds):
    """ "3.7 s", "2 min 05 s"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
