"""Figures and claims of "Slow and Stale Gradients Can Win the Race" (Dutta, Wang, Joshi, IEEE
Journal on Selected Areas in Information Theory, 2021): AdaSync. What that paper repeats of Dutta et
al., 2018 is judged there."""

from reproduce.paper import words_of

claim, figure_of = words_of("dutta2021")
