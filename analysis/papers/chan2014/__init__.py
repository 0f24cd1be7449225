"""Figures and claims of the exponential penalty for stale gradients (Chan, Lane, Interspeech 2014), and
of what decides how stale gradients are and how much staleness a rate bears."""

from papers.chan2014.penalty import delayed, fresh, penalty, similar
from papers.chan2014.stable import stable
from papers.chan2014.stale import stale
from reproduce.words import answers_of, caveats_of, checklist_of

TITLE = "An exponential penalty for stale gradients (Chan, Lane, Interspeech 2014)"
LINK = "https://www.isca-archive.org/interspeech_2014/chan14_interspeech.html"
QUESTION = (
    "How stale are gradients, how large a learning rate do they bear, and does a rate that falls exponentially "
    "with the staleness, eta rho^tau, do for more learners than it was chosen for?"
)
ANSWERS = answers_of("chan2014")
CAVEATS = caveats_of("chan2014")
ABOUT = checklist_of("chan2014")

EXPERIMENTS = [
    (penalty, ["D1", "D2"]),
    (similar, ["D1"]),
    (delayed, ["D1", "D2"]),
    (fresh, ["D3"]),
    (stale, ["X1"]),
    (stable, ["X2"]),
]
