"""Figures and claims of "Hemingway: Modeling Distributed Optimization Algorithms" (Pan, Venkataraman, Tai, Gonzalez, arXiv
1702.05865)."""

from reproduce.paper import words_of

claim, figure_of = words_of("pan2016hemingway")


def machines(m):
    return f"{m} machine{'s' * (m > 1)}"
