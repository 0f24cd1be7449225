"""Figures and claims of the exponential penalty for stale gradients (Chan, Lane, Interspeech 2014), and
of what decides how stale gradients are and how much staleness a rate bears."""

TITLE = "An exponential penalty for stale gradients (Chan, Lane, Interspeech 2014)"
LINK = "https://www.isca-archive.org/interspeech_2014/chan14_interspeech.html"
QUESTION = (
    "How stale are gradients, how large a learning rate do they bear, and does a rate that falls exponentially "
    "with the staleness, eta rho^tau, do for more learners than it was chosen for?"
)

EXPERIMENTS = {
    "penalty:penalty": ["D1", "D2"],
    "penalty:similar": ["D1"],
    "penalty:delayed": ["D1", "D2"],
    "penalty:fresh": ["D3"],
    "stale:stale": ["X1"],
    "stable:stable": ["X2"],
}
