"""Figures and claims of "DaSGD: Squeezing SGD Parallelization Performance in Distributed Training
Using Delayed Averaging" (Zhou et al., arXiv 2006.00441), and of Local SGD."""

from reproduce.paper import words_of

claim, figure_of = words_of("zhou2020")
