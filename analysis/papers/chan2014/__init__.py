"""Figures and claims of the exponential penalty for stale gradients (Chan, Lane, Interspeech 2014), and
of what decides how stale gradients are and how much staleness a rate bears."""

from reproduce.paper import words_of

claim, figure_of = words_of("chan2014")
