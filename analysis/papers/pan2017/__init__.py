"""Figures and claims of "Revisiting Distributed Synchronous SGD" (Pan, Chen, Monga, Bengio,
Jozefowicz, arXiv 1702.05800, 2017; the same as Chen et al., arXiv 1604.00981)."""

from reproduce.paper import words_of

claim, figure_of = words_of("pan2017")
