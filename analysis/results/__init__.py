"""The one reader of output folders. Whoever draws, tells or judges results takes them from here; nobody
else opens a file of a run, or takes a name or a label apart."""

from .folder import OF_EDITED_FILES, Folder, NoResults, ResultsError, edited, read_folder
from .label import Label
from .sample import Sample, sample
from .target import Target

__all__ = [
    "OF_EDITED_FILES", "Folder", "Label", "NoResults", "ResultsError", "Sample", "Target", "edited",
    "read_folder", "sample",
]  # fmt: skip
