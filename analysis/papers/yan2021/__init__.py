"""Figures and claims of "DQ-SGD: Dynamic Quantization in SGD for Communication-Efficient Distributed
Learning" (Yan, Huang, Lan, Song, arXiv 2107.14575)."""

from reproduce.paper import words_of

claim, figure_of = words_of("yan2021")
