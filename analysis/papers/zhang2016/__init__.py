"""Figures and claims of "Staleness-aware Async-SGD for Distributed Deep Learning" (Zhang, Gupta,
Lian, Liu, IJCAI 2016), and orderings of its companion (Gupta, Zhang, Wang, ICDM 2016)."""

from reproduce.paper import words_of

claim, figure_of = words_of("zhang2016")
