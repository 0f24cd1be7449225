"""Figures and claims of the exponential penalty for stale gradients (Chan, Lane, Interspeech 2014), and
of what decides how stale gradients are and how much staleness a rate bears."""

from papers.caveats import caveats_of
from papers.chan2014.penalty import delayed, fresh, penalty, similar
from papers.chan2014.stable import stable
from papers.chan2014.stale import stale
from reproduce.words import answers_of

TITLE = "An exponential penalty for stale gradients (Chan, Lane, Interspeech 2014)"
LINK = "https://www.isca-archive.org/interspeech_2014/chan14_interspeech.html"
QUESTION = (
    "How stale are gradients, how large a learning rate do they bear, and does a rate that falls exponentially "
    "with the staleness, eta rho^tau, do for more learners than it was chosen for?"
)
ANSWERS = answers_of("chan2014")
CAVEATS = caveats_of("chan2014")

ABOUT = {
    "D1": "with few learners the exponential rule and eta / tau both converge, to a similar error",
    "D2": "with 30 learners a penalty chosen for 5 stalls, and one near 1 does not help",
    "D3": "a fresh gradient gets the whole rate",
    "X1": "the mean staleness is decided by how many learners compute at an update, not by runtimes",
    "X2": "the largest stable rate at a constant staleness",
}

EXPERIMENTS = [
    (penalty, ["D1", "D2"]),
    (similar, ["D1"]),
    (delayed, ["D1", "D2"]),
    (fresh, ["D3"]),
    (stale, ["X1"]),
    (stable, ["X2"]),
]
