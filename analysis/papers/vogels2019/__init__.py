"""Figures and claims of "PowerSGD: Practical Low-Rank Gradient Compression for Distributed
Optimization" (Vogels, Karimireddy, Jaggi, NeurIPS 2019)."""

from reproduce.paper import words_of

claim, figure_of = words_of("vogels2019")
