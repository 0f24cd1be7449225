"""Figures and claims of "Distributed Deep Learning Using Synchronous Stochastic Gradient Descent" (Das et al., arXiv
1602.06709)."""

from reproduce.paper import words_of

claim, figure_of = words_of("das2016")
