"""Figures and claims of "Heterogeneity-Aware Asynchronous Decentralized Training" (Luo, He, Zhuo,
Qian, 2019): Ripples, which its ASPLOS 2020 version calls Prague."""

from reproduce.paper import words_of

claim, figure_of = words_of("luo2019")
