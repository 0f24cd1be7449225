"""Figures and claims of "Slow and Stale Gradients Can Win the Race" (Dutta, Joshi, Ghosh, Dube,
Nagpurkar, AISTATS 2018) and its supplement. The tables beside the figures are what is plotted in
the paper."""

from reproduce.paper import words_of

claim, figure_of = words_of("dutta2018")
